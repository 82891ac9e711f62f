/** Bounds the failed authentications of one address. Only failures count, so callers behind one address never slow each other down. */
import type { RateConfig } from '#config/model/model.js'
import type { CompiledLimit, RateRule } from '#policy/limits/charge.js'
import { compileFailures } from '#policy/limits/compile.js'
import { chargesOf } from '#policy/limits/keys.js'
import { networkOf } from '#wire/ip.js'
import type { LimitKey } from './limit-store.js'
import { MemoryLimits } from './memory-limits.js'

/** A failure beyond a limit. */
export interface ThrottledFailure {
  /** Id of the limit. */
  readonly limit: string
  /** ms until a failure is allowed again. */
  readonly wait: number
}

/** The address of a client, and the agent that it called. */
export interface Failing { readonly address: string | undefined, readonly agent: string }

export class FailureThrottle {
  private limits: readonly CompiledLimit[]
  private readonly counts: MemoryLimits

  constructor (rates: readonly RateConfig[] = [], max = 10_000) {
    this.limits = compileFailures(rates)
    this.counts = new MemoryLimits(undefined, max)
  }

  /** Called after a reload. */
  use (rates: readonly RateConfig[]): void {
    this.limits = compileFailures(rates)
  }

  /**
   * True when a failure would be beyond a limit.
   * @param now ms of a clock that never steps back
   * @param pending authentications of the address that have begun, and may fail too
   */
  isThrottled (failing: Failing, now: number, pending = 0): boolean {
    if (this.counts.size === 0 && pending === 0) return false
    return this.keysOf(failing).some(({ key, rule }) => this.counts.waitFor(key, rule as RateRule, now, pending) > 0)
  }

  /** Counts a failure. @returns null when it is within the limits */
  failed (failing: Failing, now: number): ThrottledFailure | null {
    const { rejected, wait } = this.counts.take(this.keysOf(failing), now)
    const limit = this.limits[rejected]
    return limit === undefined ? null : { limit: limit.id, wait }
  }

  /** One key for each limit, in their order. */
  private keysOf ({ address, agent }: Failing): LimitKey[] {
    const charges = chargesOf(this.limits, { agent, principal: null, network: networkOf(address) }, null)
    return charges.map(({ limit: { rule }, key }) => ({ key, rule }))
  }
}

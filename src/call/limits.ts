/** The limits of the running gateway: asks memory first, then the server that gateways share, and decides while the server is away. */
import { digest } from '#config/digest.js'
import type { Config } from '#config/model/model.js'
import type { Charge, CompiledLimit } from '#policy/limits/charge.js'
import { isBudget } from '#policy/limits/charge.js'
import { FailureThrottle } from '#state/limits/failure-throttle.js'
import type { LimitKey, LimitStore, Spending, Taken } from '#state/limits/limit-store.js'
import { MemoryLimits } from '#state/limits/memory-limits.js'
import { RedisLimits } from '#state/limits/redis-limits.js'
import type { Log } from '#telemetry/log.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'
import { FailureLog } from '#agents/identity/failure-log.js'
import { whenReady } from '#wire/when-ready.js'

/** The parts of the configuration on which the limits depend. */
export type LimitsConfig = Pick<Config, 'rates' | 'budgets' | 'state'>

/** Current count under the key of a charge. */
export interface Count {
  readonly charge: Charge
  /** Requests or amounts that count now. */
  readonly used: number
}

/** Result of one step. */
export type Admission =
  | { readonly kind: 'admitted', readonly counts: readonly Count[] }
  /** @param wait ms until no limit rejects the request */
  | { readonly kind: 'limited', readonly limit: CompiledLimit, readonly wait: number, readonly counts: readonly Count[] }
  /** The store of a limit with `onStoreDown: reject` does not respond. */
  | { readonly kind: 'unavailable', readonly limit: CompiledLimit }

/** An amount that a response reports. */
export interface Spent { readonly charge: Charge, readonly amount: number }

export class Limits {
  readonly throttle: FailureThrottle
  /** Bounds the audit lines of rejections, by limit. */
  readonly lines = new FailureLog()
  private readonly metrics: Metrics
  private readonly log: Log
  private readonly memory: LimitStore
  /** Counts of a worker while the primary does not respond. */
  private readonly own = new MemoryLimits()
  private server: { readonly store: RedisLimits, readonly config: string } | null = null

  /** @param memory the store of limits that are not shared; a worker asks its primary */
  constructor (config: LimitsConfig, metrics: Metrics, log: Log, memory: LimitStore = new MemoryLimits()) {
    this.metrics = metrics
    this.log = log
    this.memory = memory
    this.throttle = new FailureThrottle(config.rates)
    this.use(config)
  }

  /** Called after a reload: counts stay, and the connection stays while the settings of the server stay the same. */
  use ({ rates, budgets, state }: LimitsConfig): void {
    this.throttle.use(rates)
    const shared = state.store !== 'memory' && [...rates, ...budgets].some(({ scope }) => scope === 'shared')
    const wanted = shared ? digest(state) : null
    if (wanted === (this.server?.config ?? null)) return
    const old = this.server
    this.server = wanted === null ? null : { store: new RedisLimits(state, this.log), config: wanted }
    old?.store.close().catch((error: unknown) => { this.log.warn({ err: error }, 'the previous store of limits could not be closed') })
  }

  /** Counts one request. Returns at once when nothing is shared between processes; a promise never rejects. */
  take (charges: readonly Charge[]): Admission | Promise<Admission> {
    return charges.some(({ limit }) => limit.shared) ? this.takeShared(charges) : this.takeOwn(charges, keyOf)
  }

  /** Adds amounts to budgets. */
  spend (spent: readonly Spent[]): void {
    for (const { charge, amount } of spent) this.metrics.addAmount('budget_spent_total', amount, charge.limit.id)
    const own = spent.filter(({ charge }) => !charge.limit.shared)
    const shared = spent.filter(({ charge }) => charge.limit.shared)
    if (own.length > 0) this.spendOwn(own.flatMap(expense => spendingOf(expense, keyOf(expense.charge))))
    if (shared.length === 0) return
    const local = (): void => { this.spendOwn(shared.flatMap(expense => spendingOf(expense, localKeyOf(expense.charge)))) }
    const outcome = this.server?.store.spend(shared.flatMap(expense => spendingOf(expense, keyOf(expense.charge)))) ?? false
    const settle = (isKept: boolean): void => {
      this.metrics.add('rate_store_total', isKept ? 'ok' : 'unavailable')
      if (!isKept) local()
    }
    if (typeof outcome === 'boolean') settle(outcome)
    else outcome.then(settle, local)
  }

  async close (): Promise<void> {
    await Promise.all([this.server?.store.close(), this.memory.close()])
  }

  private spendOwn (spendings: readonly Spending[]): void {
    const outcome = this.memory.spend(spendings)
    if (typeof outcome !== 'boolean') outcome.then(isKept => { if (!isKept) this.own.spend(spendings) }, () => {})
  }

  private takeOwn (charges: readonly Charge[], toKey: (charge: Charge) => LimitKey): Admission | Promise<Admission> {
    const keys = charges.map(toKey)
    return whenReady(this.memory.take(keys), taken => admissionOf(charges, taken ?? this.own.take(keys)))
  }

  /** The memory is asked first: its counts can be withdrawn without another round trip. */
  private async takeShared (charges: readonly Charge[]): Promise<Admission> {
    const own = charges.filter(({ limit }) => !limit.shared)
    const shared = charges.filter(({ limit }) => limit.shared)
    const first = own.length === 0 ? ADMITTED : await this.takeOwn(own, keyOf)
    if (first.kind !== 'admitted') return first
    const taken = await (this.server?.store.take(shared.map(keyOf)) ?? null)
    this.metrics.add('rate_store_total', taken === null ? 'unavailable' : 'ok')
    const second = taken === null ? await this.withoutServer(shared) : admissionOf(shared, taken)
    if (second.kind === 'admitted') return { kind: 'admitted', counts: [...first.counts, ...second.counts] }
    if (own.length > 0) this.memory.release(own.map(keyOf))
    return second
  }

  private withoutServer (shared: readonly Charge[]): Admission | Promise<Admission> {
    const strict = shared.find(({ limit }) => limit.onStoreDown === 'reject')
    if (strict !== undefined) return { kind: 'unavailable', limit: strict.limit }
    const local = shared.filter(({ limit }) => limit.onStoreDown === 'local')
    return local.length === 0 ? ADMITTED : this.takeOwn(local, localKeyOf)
  }
}

const ADMITTED = { kind: 'admitted', counts: [] } as const satisfies Admission

function keyOf ({ key, open, limit: { rule } }: Charge): LimitKey {
  return { key, rule, open }
}

/** A level is in units of its rule, so the part of one gateway has a count of its own. */
function localKeyOf ({ key, open, limit: { localRule } }: Charge): LimitKey {
  return { key: `${key}\nlocal`, rule: localRule, open }
}

function spendingOf ({ amount }: Spent, { key, rule, open }: LimitKey): Spending[] {
  return isBudget(rule) ? [{ key, rule, ...(open === true ? { open } : {}), amount }] : []
}

function admissionOf (charges: readonly Charge[], { rejected, wait, used }: Taken): Admission {
  const counts = charges.map((charge, i) => ({ charge, used: used[i] ?? 0 }))
  const limit = charges[rejected]?.limit
  return limit === undefined ? { kind: 'admitted', counts } : { kind: 'limited', limit, wait, counts }
}

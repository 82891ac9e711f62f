/**
 * Bounds the failed authentications of one address. The rate is a GCRA: one number for each address, without a window that could be waited
 * for. Only failures count, so callers behind one address never slow each other down.
 */
import { parseAddress } from '../wire/ip.js'

/** Milliseconds per failure: 20 in 10 s. */
const INTERVAL = 500
/** Failures that an address may have at once. */
const BURST = 50
/** Addresses in memory. The address that has not failed for the longest time is forgotten first. */
const ADDRESSES = 10_000

export class Brake {
  /** The time until which the failures of an address use up its rate. Ordered by the last failure. */
  private readonly until = new Map<string, number>()

  /** True when a failure of the address would be beyond the rate. */
  holds (address: string | undefined, now: number): boolean {
    const until = this.until.size === 0 ? undefined : this.until.get(networkOf(address))
    return until !== undefined && until + INTERVAL - now > BURST * INTERVAL
  }

  /**
   * Counts a failure.
   * @param now milliseconds of a clock that never steps back
   * @returns the milliseconds until a failure is allowed again; 0 when this one is within the rate
   */
  failed (address: string | undefined, now: number): number {
    const key = networkOf(address)
    const before = Math.max(this.until.get(key) ?? now, now)
    const wait = before + INTERVAL - now - BURST * INTERVAL
    if (wait > 0) return wait
    this.until.delete(key)
    this.until.set(key, before + INTERVAL)
    if (this.until.size > ADDRESSES) this.until.delete(this.until.keys().next().value ?? '')
    return 0
  }
}

/** One customer of a provider has a /64 of IPv6 (RFC 6177), and may use any address in it. */
function networkOf (address: string | undefined): string {
  const groups = address === undefined ? null : parseAddress(address)
  if (groups === null) return ''
  const mapped = groups.slice(0, 5).every(group => group === 0) && groups[5] === 0xffff
  return (mapped ? groups : groups.slice(0, 4)).join(':')
}

/**
 * The generic cell rate algorithm (ITU-T I.371): one number for each key, no window that ends at once, and the exact time to wait. The
 * number is the theoretical arrival time, here in units of the rate: a request adds exactly 1, so that no rounding adds up.
 */
import type { RateRule } from '#policy/limits/charge.js'

/** The part of a request by which the rounding of times may differ from the exact value. */
const SLACK = 1e-6

/** @param now ms */
export function unitsAt (now: number, { count, period }: RateRule): number {
  return now * count / period
}

/**
 * Returns the requests that count at this time, at most `burst`: a clock that steps back must not lock anybody out.
 * @param level of the key; undefined for a new key
 */
export function usedOf (level: number | undefined, units: number, { burst }: RateRule): number {
  return level === undefined ? 0 : Math.min(Math.max(level - units, 0), burst)
}

/** Returns the milliseconds until one more request fits; 0 when it fits now. */
export function waitOf (used: number, { count, period, burst }: RateRule): number {
  const over = used + 1 - burst - SLACK
  return over <= 0 ? 0 : Math.ceil(over * period / count)
}

/** Headers that show a caller how much is left: IETF draft-ietf-httpapi-ratelimit-headers-11. */
import type { Count } from './limits.js'
import type { Charge } from '#policy/limits/charge.js'
import { isBudget } from '#policy/limits/charge.js'

/** Remainder of one limit. */
export interface Left {
  /** Requests that the caller can send at once. */
  readonly requests: number
  /** Flat list of names and values. */
  readonly headers: readonly string[]
}

/** Limits of one exchange. */
export interface RequestLimits {
  /** Null when the caller sees no limit. */
  readonly left: Left | null
  /** Budgets that the response is charged to. */
  readonly budgets: readonly Charge[]
}

/**
 * Returns the limit with the fewest requests left, of those that the caller may see.
 * @param before what is left of the limits of an earlier step
 */
export function tightest (counts: readonly Count[], before: Left | null): Left | null {
  let least = before
  for (const { charge: { limit }, used } of counts) {
    const { id, rule, shown } = limit
    if (!shown || isBudget(rule)) continue
    const { count, period, burst } = rule
    const requests = Math.max(0, Math.floor(burst - used))
    if (least !== null && least.requests <= requests) continue
    const reset = Math.ceil(used * period / count / 1_000)
    // `w` has whole seconds: a rate of less than a second is shown for the next whole second.
    const seconds = Math.ceil(period / 1_000)
    const quota = Math.floor(count * seconds * 1_000 / period)
    least = { requests, headers: ['ratelimit-policy', `"${id}";q=${quota};w=${seconds}`, 'ratelimit', `"${id}";r=${requests};t=${reset}`] }
  }
  return least
}

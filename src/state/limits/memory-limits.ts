/** Counts in the memory of this process. The memory is bounded: counts that were not used for the longest time are forgotten first. */
import type { RateRule } from '#policy/limits/charge.js'
import { isBudget } from '#policy/limits/charge.js'
import type { LimitKey, LimitStore, Spending, Taken } from './limit-store.js'
import { RecentMap } from '#wire/recent-map.js'

/** Maximum number of counts in each of the four maps, at about 200 bytes each. */
export const MAX_KEYS = 100_000

/** The level of a key, as `gcra.ts` defines it. */
interface Count { level: number }

interface Spent { amount: number, ends: number }

export class MemoryLimits implements LimitStore {
  private readonly now: () => number
  private readonly counts: RecentMap<Count>
  /** Apart from the counts of callers: a flood of addresses must not make the gateway forget how much a caller has sent. */
  private readonly openCounts: RecentMap<Count>
  /** Apart from the counts of requests. */
  private readonly budgets: RecentMap<Spent>
  private readonly openBudgets: RecentMap<Spent>

  /** @param now a clock that never steps back, ms */
  constructor (now: () => number = () => performance.now(), max = MAX_KEYS) {
    this.now = now
    this.counts = new RecentMap(max)
    this.openCounts = new RecentMap(max)
    this.budgets = new RecentMap(max)
    this.openBudgets = new RecentMap(max)
  }

  get size (): number {
    return this.counts.size + this.openCounts.size + this.budgets.size + this.openBudgets.size
  }

  take (keys: readonly LimitKey[], now = this.now()): Taken {
    const used: number[] = []
    let rejected = -1
    let longest = 0
    for (let i = 0; i < keys.length; i++) {
      const { key, rule, open } = keys[i] as LimitKey
      let wait = 0
      if (isBudget(rule)) {
        const { amount, ends } = spentAt(this.budgetsOf(open).get(key), rule.window, now)
        used.push(amount)
        if (amount >= rule.limit) wait = Math.max(1, Math.ceil(ends - now))
      } else {
        const usage = usedOf(this.countsOf(open).get(key)?.level, unitsAt(now, rule), rule)
        used.push(usage)
        wait = waitOf(usage, rule)
      }
      if (wait <= longest) continue
      rejected = i
      longest = wait
    }
    for (let i = 0; i < keys.length; i++) {
      const { key, rule, open } = keys[i] as LimitKey
      if (isBudget(rule)) continue
      const counts = this.countsOf(open)
      const count = counts.get(key)
      const units = unitsAt(now, rule)
      if (rejected >= 0) {
        // No level is higher, unless the clock has stepped back.
        if (count !== undefined) count.level = Math.min(count.level, units + rule.burst)
        continue
      }
      const after = (used[i] as number) + 1
      used[i] = after
      if (count === undefined) counts.set(key, { level: units + after })
      else count.level = units + after
    }
    return { rejected, wait: longest, used }
  }

  /**
   * Returns the time until a request would be within the limit, in ms. Does not count it.
   * @param pending requests that may count before it
   */
  waitFor (key: string, rule: RateRule, now = this.now(), pending = 0): number {
    if (this.counts.size === 0 && pending === 0) return 0
    return waitOf(usedOf(this.counts.get(key)?.level, unitsAt(now, rule), rule) + pending, rule)
  }

  release (keys: readonly LimitKey[]): void {
    for (const { key, rule, open } of keys) {
      const count = this.countsOf(open).get(key)
      if (count !== undefined && !isBudget(rule)) count.level--
    }
  }

  spend (spendings: readonly Spending[]): boolean {
    const now = this.now()
    for (const { key, rule: { window }, open, amount } of spendings) {
      const budgets = this.budgetsOf(open)
      const budget = budgets.get(key)
      const { amount: before, ends } = spentAt(budget, window, now)
      const spent = { amount: Math.min(before + amount, Number.MAX_SAFE_INTEGER), ends }
      if (budget === undefined) budgets.set(key, spent)
      else Object.assign(budget, spent)
    }
    return true
  }

  async close (): Promise<void> {
    this.counts.clear()
    this.openCounts.clear()
    this.budgets.clear()
    this.openBudgets.clear()
  }

  private countsOf (open: boolean | undefined): RecentMap<Count> {
    return open === true ? this.openCounts : this.counts
  }

  private budgetsOf (open: boolean | undefined): RecentMap<Spent> {
    return open === true ? this.openBudgets : this.budgets
  }
}

function spentAt (spent: Spent | undefined, window: number, now: number): Spent {
  if (spent === undefined || spent.ends <= now) return { amount: 0, ends: now + window }
  // After a clock has stepped back, no window is longer than the configuration says.
  return { amount: spent.amount, ends: Math.min(spent.ends, now + window) }
}

// The generic cell rate algorithm (ITU-T I.371): one number for each key, no window that ends at once, and the exact time to wait. The
// number is the theoretical arrival time, here in units of the rate: a request adds exactly 1, so that no rounding adds up.

/** The part of a request by which the rounding of times may differ from the exact value. */
const SLACK = 1e-6

/** @param now ms */
function unitsAt (now: number, { count, period }: RateRule): number {
  return now * count / period
}

/**
 * Returns the requests that count at this time, at most `burst`: a clock that steps back must not lock anybody out.
 * @param level of the key; undefined for a new key
 */
function usedOf (level: number | undefined, units: number, { burst }: RateRule): number {
  return level === undefined ? 0 : Math.min(Math.max(level - units, 0), burst)
}

/** Returns the milliseconds until one more request fits; 0 when it fits now. */
function waitOf (used: number, { count, period, burst }: RateRule): number {
  const over = used + 1 - burst - SLACK
  return over <= 0 ? 0 : Math.ceil(over * period / count)
}

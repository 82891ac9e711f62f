/** Counts in the memory of this process. The memory is bounded: counts that were not used for the longest time are forgotten first. */
import type { RateRule } from '../../policy/limits/charge.js'
import { isBudget } from '../../policy/limits/charge.js'
import { unitsAt, usedOf, waitOf } from './gcra.js'
import type { LimitKey, LimitStore, Spending, Taken } from './limit-store.js'
import { RecentMap } from './recent-map.js'

/** Maximum number of counts of requests, and of budgets, at about 200 bytes each. */
export const MAX_KEYS = 100_000

/** The level of a key, as `gcra.ts` defines it. */
interface Count { level: number }

interface Spent { amount: number, ends: number }

export class MemoryLimits implements LimitStore {
  private readonly now: () => number
  private readonly counts: RecentMap<Count>
  /** Apart from the counts of requests: a flood of addresses must not make the gateway forget what somebody has spent. */
  private readonly budgets: RecentMap<Spent>

  /** @param now a clock that never steps back, ms */
  constructor (now: () => number = () => performance.now(), max = MAX_KEYS) {
    this.now = now
    this.counts = new RecentMap(max)
    this.budgets = new RecentMap(max)
  }

  get size (): number {
    return this.counts.size + this.budgets.size
  }

  take (keys: readonly LimitKey[], now = this.now()): Taken {
    const used: number[] = []
    let rejected = -1
    let longest = 0
    for (let i = 0; i < keys.length; i++) {
      const { key, rule } = keys[i] as LimitKey
      let wait = 0
      if (isBudget(rule)) {
        const { amount, ends } = spentAt(this.budgets.get(key), rule.window, now)
        used.push(amount)
        if (amount >= rule.limit) wait = Math.max(1, Math.ceil(ends - now))
      } else {
        const found = usedOf(this.counts.get(key)?.level, unitsAt(now, rule), rule)
        used.push(found)
        wait = waitOf(found, rule)
      }
      if (wait <= longest) continue
      rejected = i
      longest = wait
    }
    for (let i = 0; i < keys.length; i++) {
      const { key, rule } = keys[i] as LimitKey
      if (isBudget(rule)) continue
      const count = this.counts.get(key)
      const units = unitsAt(now, rule)
      if (rejected >= 0) {
        // No level is higher, unless the clock has stepped back.
        if (count !== undefined) count.level = Math.min(count.level, units + rule.burst)
        continue
      }
      const after = (used[i] as number) + 1
      used[i] = after
      if (count === undefined) this.counts.set(key, { level: units + after })
      else count.level = units + after
    }
    return { rejected, wait: longest, used }
  }

  /** Returns the time until a request would be within the limit, in ms. Does not count it. */
  waitFor (key: string, rule: RateRule, now = this.now()): number {
    return this.counts.size === 0 ? 0 : waitOf(usedOf(this.counts.get(key)?.level, unitsAt(now, rule), rule), rule)
  }

  release (keys: readonly LimitKey[]): void {
    for (const { key, rule } of keys) {
      const count = this.counts.get(key)
      if (count !== undefined && !isBudget(rule)) count.level--
    }
  }

  spend (spendings: readonly Spending[]): boolean {
    const now = this.now()
    for (const { key, rule: { window }, amount } of spendings) {
      const known = this.budgets.get(key)
      const { amount: before, ends } = spentAt(known, window, now)
      const spent = { amount: Math.min(before + amount, Number.MAX_SAFE_INTEGER), ends }
      if (known === undefined) this.budgets.set(key, spent)
      else Object.assign(known, spent)
    }
    return true
  }

  async close (): Promise<void> {
    this.counts.clear()
    this.budgets.clear()
  }
}

function spentAt (spent: Spent | undefined, window: number, now: number): Spent {
  if (spent === undefined || spent.ends <= now) return { amount: 0, ends: now + window }
  // After a clock has stepped back, no window is longer than the configuration says.
  return { amount: spent.amount, ends: Math.min(spent.ends, now + window) }
}

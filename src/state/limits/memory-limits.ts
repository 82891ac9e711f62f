/** Counts in the memory of this process. The memory is bounded: the count that was used least recently is forgotten first. */
import type { RateRule } from '../../policy/limits/charge.js'
import { isBudget } from '../../policy/limits/charge.js'
import { unitsAt, usedOf, waitOf } from './gcra.js'
import type { LimitKey, LimitStore, Spending, Taken } from './limit-store.js'

/** Maximum number of counts of requests, and of budgets, at about 200 bytes each. */
export const MAX_KEYS = 100_000

/** The part of a full memory that is forgotten at once is one of these. */
const FORGOTTEN = 64

interface Spent { readonly amount: number, readonly ends: number }

export class MemoryLimits implements LimitStore {
  private readonly now: () => number
  private readonly max: number
  /** Levels by key, the least recently used first. */
  private readonly levels = new Map<string, number>()
  /** Apart from the levels: a flood of addresses must not make the gateway forget what somebody has spent. */
  private readonly budgets = new Map<string, Spent>()

  /** @param now a clock that never steps back, ms */
  constructor (now: () => number = () => performance.now(), max = MAX_KEYS) {
    this.now = now
    this.max = max
  }

  get size (): number {
    return this.levels.size + this.budgets.size
  }

  take (keys: readonly LimitKey[], now = this.now()): Taken {
    const used: number[] = []
    let rejected = -1
    let longest = 0
    for (let i = 0; i < keys.length; i++) {
      const { key, rule } = keys[i] as LimitKey
      let wait = 0
      if (isBudget(rule)) {
        const { amount, ends } = this.spent(key, rule.window, now)
        used.push(amount)
        if (amount >= rule.limit) wait = Math.max(1, Math.ceil(ends - now))
      } else {
        const found = usedOf(this.levels.get(key), unitsAt(now, rule), rule)
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
      // A request that is rejected does not count. It still is a use: otherwise a flood of other keys could end the rejections.
      if (rejected < 0) this.count(key, used, i, rule, now)
      else this.touch(key, unitsAt(now, rule) + rule.burst)
    }
    return { rejected, wait: longest, used }
  }

  /** Returns the time until a request would be within the limit, in ms. Does not count it. */
  waitFor (key: string, rule: RateRule, now = this.now()): number {
    return this.levels.size === 0 ? 0 : waitOf(usedOf(this.levels.get(key), unitsAt(now, rule), rule), rule)
  }

  release (keys: readonly LimitKey[]): void {
    for (const { key, rule } of keys) {
      const level = this.levels.get(key)
      if (level !== undefined && !isBudget(rule)) this.levels.set(key, level - 1)
    }
  }

  spend (spendings: readonly Spending[]): boolean {
    const now = this.now()
    for (const { key, rule: { window }, amount } of spendings) {
      const spent = this.spent(key, window, now)
      this.budgets.delete(key)
      this.budgets.set(key, { amount: Math.min(spent.amount + amount, Number.MAX_SAFE_INTEGER), ends: spent.ends })
      forgetStalest(this.budgets, this.max)
    }
    return true
  }

  async close (): Promise<void> {
    this.levels.clear()
    this.budgets.clear()
  }

  private spent (key: string, window: number, now: number): Spent {
    const found = this.budgets.get(key)
    // After a clock has stepped back, no window is longer than the configuration says.
    return found === undefined || found.ends <= now
      ? { amount: 0, ends: now + window }
      : { amount: found.amount, ends: Math.min(found.ends, now + window) }
  }

  private count (key: string, used: number[], i: number, rule: RateRule, now: number): void {
    const after = (used[i] as number) + 1
    used[i] = after
    this.levels.delete(key)
    this.levels.set(key, unitsAt(now, rule) + after)
    forgetStalest(this.levels, this.max)
  }

  /** @param highest level that the key can have, unless the clock has stepped back */
  private touch (key: string, highest: number): void {
    const level = this.levels.get(key)
    if (level === undefined) return
    this.levels.delete(key)
    this.levels.set(key, Math.min(level, highest))
  }
}

/**
 * Forgets a part of the counts at once. V8 keeps the place of a deleted entry until it rehashes the map, so that the search for the first
 * entry passes many of them (10^6 new keys, one forgotten at a time: more than 30 s).
 */
function forgetStalest (counts: Map<string, unknown>, max: number): void {
  if (counts.size <= max) return
  let rest = Math.ceil(max / FORGOTTEN)
  for (const key of counts.keys()) {
    counts.delete(key)
    if (--rest === 0) return
  }
}

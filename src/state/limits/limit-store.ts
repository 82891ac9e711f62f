/** Interface of the store of counts. Three backends: memory, the primary of a cluster, and a server that several gateways share. */
import type { BudgetRule, LimitRule } from '#policy/limits/charge.js'

/** One count, and its rule. */
export interface LimitKey {
  readonly key: string
  readonly rule: LimitRule
  /** True when clients can name as many keys as they like. Default: false. */
  readonly open?: boolean
}

/** An amount for the count of a budget. */
export interface Spending {
  readonly key: string
  readonly rule: BudgetRule
  readonly open?: boolean
  readonly amount: number
}

/** Result of one step, for all keys together: a request that one limit rejects counts in none. */
export interface Taken {
  /** Index of the key with the longest wait; -1 when the request is within all limits. */
  readonly rejected: number
  /** ms until no limit rejects the request. */
  readonly wait: number
  /** Requests or amounts that count now, by key. */
  readonly used: readonly number[]
}

export interface LimitStore {
  /** Counts one request. @returns null when the store cannot tell. A promise never rejects */
  take (keys: readonly LimitKey[]): Taken | null | Promise<Taken | null>
  /** Withdraws a request that another store has rejected. */
  release (keys: readonly LimitKey[]): void
  /** Adds amounts to budgets. @returns false when they are not kept. A promise never rejects */
  spend (spendings: readonly Spending[]): boolean | Promise<boolean>
  close (): Promise<void>
}

/** The limits of an agent, and the keys under which a request counts. Pure: a front asks the store. */
import type { Operation } from '#a2a/operations.js'
import type { LimitScope, RateKey } from '#config/model/model.js'
import type { Rate } from '#config/model/rates-model.js'

/** `burst` requests at once, and `count` in `period` ms. */
export interface RateRule extends Rate { readonly burst: number }

/** An amount in each window of `window` ms, which begins with the first amount. */
export interface BudgetRule { readonly limit: number, readonly window: number }

export type LimitRule = RateRule | BudgetRule

export interface CompiledLimit extends Pick<LimitScope, 'onStoreDown'> {
  readonly id: string
  readonly rule: LimitRule
  /** The part of one gateway while the server of a shared limit does not respond. */
  readonly localRule: LimitRule
  readonly shared: boolean
  /** True when clients see the limit in the headers of responses. */
  readonly shown: boolean
  readonly by: readonly RateKey[]
  /** Operations that count. Null: all requests. */
  readonly on: ReadonlySet<Operation> | null
  /** Name of the policy whose extension must be active. */
  readonly extension: string | null
  /** `policy/metric` of a budget, and the largest amount of one report. Null for rates. */
  readonly spends: { readonly of: string, readonly max: number } | null
  /** JSON Pointer to the amount that is left in the request, of a budget. */
  readonly remaining: string | null
}

/** One count that a request adds to. */
export interface Charge {
  readonly limit: CompiledLimit
  /** Names the count: at most 400 characters, and none that a client chose. */
  readonly key: string
  /** True when clients can name as many keys as they like: addresses, and tenants that no source has verified. */
  readonly open: boolean
}

/** The limits of one agent, by step. */
export interface AgentLimits {
  /** Need the head of a request only. */
  readonly early: readonly CompiledLimit[]
  /** Need the call. Includes budgets. */
  readonly late: readonly CompiledLimit[]
}

export function isBudget (rule: LimitRule): rule is BudgetRule {
  return 'limit' in rule
}

/** `rates` and `budgets`: how much callers may use. */

/** Properties of a request by which limits count. */
export type BudgetKey = 'caller' | 'client' | 'source' | 'tenant' | 'address' | 'agent' | 'chain'

export type RateKey = BudgetKey | 'operation' | 'extension'

/** Where a limit counts, and what happens while the server of `state.store` cannot be reached. */
export interface LimitScope {
  readonly scope: 'process' | 'shared'
  readonly onStoreDown: 'local' | 'allow' | 'reject'
  /** Number of gateways that share the limit. With `local`, each of them admits this part of it. */
  readonly replicas: number
}

export interface RateConfig extends LimitScope {
  readonly id: string
  /** One count for each combination of the values. */
  readonly by: readonly RateKey[]
  readonly rate: Rate
  /** Requests at once. */
  readonly burst: number
  /** `failures`: requests with credentials that are not valid. Otherwise operations, `messages` and `all`. */
  readonly on: 'failures' | readonly string[]
  /** Names of agents. Null: all. */
  readonly agents: readonly string[] | null
  /** Name of a policy whose extension must be active. Null: any request. */
  readonly extension: string | null
  /** `draft`: responses have the headers `RateLimit-Policy` and `RateLimit`. */
  readonly headers: 'draft' | 'none'
}

/** `count` requests in `period` ms. */
export interface Rate { readonly count: number, readonly period: number }

export interface BudgetConfig extends LimitScope {
  readonly id: string
  readonly by: readonly BudgetKey[]
  /** `policy/metric`: a counter of `observe.metrics`. */
  readonly of: string
  readonly limit: number
  /** ms */
  readonly window: number
  /** Largest amount that one report of the agent counts. Null: no limit. */
  readonly max: number | null
  /** JSON Pointer into the request: the amount that is left, as the caller says. Null: only headers say it. */
  readonly remaining: string | null
}

/** The limit of failed authentications without an entry of `rates` with `on: failures`. */
export const FAILURES = { id: 'failed-authentications', rate: { count: 20, period: 10_000 }, burst: 50 } as const

const RATE = /^([1-9]\d{0,6})\/([1-9]\d{0,8})(ms|s|m|h)$/
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
/** Requests in a second. Faster rates limit nothing that a process could serve. */
const FASTEST = 100_000
/** 30 days: as long as task state may be stored. */
const MAX_PERIOD_MS = 720 * 3_600_000

/** Reads `600/1m`. @returns a hint for the correct notation when the text is no rate */
export function readRate (text: string): Rate | { readonly hint: string } {
  const match = RATE.exec(text)
  if (match === null) return { hint: 'whole numbers above 0: requests, "/" and a duration, such as "600/1m"' }
  const [, count, number, unit = ''] = match
  const rate = { count: Number(count), period: Number(number) * (UNITS[unit] ?? 1) }
  if (rate.period > MAX_PERIOD_MS) return { hint: 'at most 720h' }
  return rate.count * 1_000 > FASTEST * rate.period ? { hint: `at most ${FASTEST} requests in a second` } : rate
}

/** Returns a valid rate. Throws RangeError for any other text. */
export function rateOf (text: string): Rate {
  const rate = readRate(text)
  if ('hint' in rate) throw new RangeError(`"${text}": ${rate.hint}`)
  return rate
}

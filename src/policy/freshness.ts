/** `notOlderThan`: rejects values that are too old, expired, or dated in the future. */
import type { FreshnessConfig } from '#config/model/policy-model.js'
import { duration } from '#config/model/units.js'
import { currentTime, isInexact, NOT_EXACT, spendBudget } from '#jsonschema/evaluation.js'
import { parsePointer } from '#wire/json/pointer.js'
import { descend, descendPath } from './selectors/selection.js'
import type { Selected } from './selectors/selection.js'

/** A value that breaks a rule, without the rule. */
export interface CountProblem {
  readonly path: string
  readonly message: string
}

export interface CompiledFreshness {
  /** Milliseconds. Infinity: the age has no limit. */
  readonly age: number
  /** Steps from the value to its time, to its lifetime in seconds, and to its time of expiry. Null: the rule reads none. */
  readonly time: readonly string[] | null
  readonly ttl: readonly string[] | null
  readonly expires: readonly string[] | null
  /** Milliseconds by which clocks may differ. */
  readonly skew: number
}

/** Default of `skew`, in milliseconds. */
const SKEW = 30_000

export function compileFreshness ({ age, time, ttl, expires, skew }: FreshnessConfig): CompiledFreshness {
  return {
    age: age === undefined ? Number.POSITIVE_INFINITY : duration(age),
    time: time !== undefined ? parsePointer(time) : age === undefined && ttl === undefined ? null : [],
    ttl: ttl === undefined ? null : parsePointer(ttl),
    expires: expires === undefined ? null : parsePointer(expires),
    skew: skew === undefined ? SKEW : duration(skew)
  }
}

/** Steps of a check: a time is parsed up to twice. */
const CHECK = 3

/** @returns null when the value is fresh */
export function freshnessProblem ({ age, time, ttl, expires, skew }: CompiledFreshness, match: Selected): CountProblem | null {
  spendBudget(CHECK)
  const now = currentTime()
  if (now === null) return { path: match.path, message: 'cannot be evaluated: the current time is not known' }
  const problem = (steps: readonly string[], message: string): CountProblem => ({ path: descendPath(match.path, steps), message })
  const issued = time === null ? 0 : readTime(descend(match.value, time, null))
  if (typeof issued === 'string') return problem(time ?? [], issued)
  if (issued - skew > now) return problem(time ?? [], 'is in the future; check the clock of the sender')
  let end = time === null ? Number.POSITIVE_INFINITY : issued + age
  const lifetime = ttl === null ? undefined : descend(match.value, ttl, null)
  if (lifetime !== undefined && ttl !== null) {
    if (isInexact(lifetime)) return problem(ttl, NOT_EXACT)
    if (typeof lifetime !== 'number' || lifetime < 0) return problem(ttl, 'must be a number of seconds, 0 or more')
    end = Math.min(end, issued + lifetime * 1000)
  }
  const expiry = expires === null ? undefined : descend(match.value, expires, null)
  if (expiry !== undefined && expires !== null) {
    const at = readTime(expiry)
    if (typeof at === 'string') return problem(expires, at)
    end = Math.min(end, at)
  }
  return end + skew < now ? problem(time ?? expires ?? [], 'is too old; send a new one') : null
}

/** RFC 3339, section 5.6. */
const DATE_TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,12})?(?:[Zz]|[+-]\d\d:\d\d)$/
const SECONDS = /^\d{1,12}(?:\.\d{1,12})?$/

/** @returns milliseconds since 1970, or the problem: RFC 3339, or seconds since 1970 as a number or a numeric string */
function readTime (value: unknown): number | string {
  if (isInexact(value)) return NOT_EXACT
  const seconds = typeof value === 'string' && SECONDS.test(value) ? Number(value) : value
  const time =
    typeof seconds === 'number'
      ? seconds * 1000
      : typeof value === 'string' &&
      DATE_TIME.test(value)
        ? Date.parse(value.toUpperCase())
        : NaN
  return Number.isFinite(time) ? time : 'must be a time: RFC 3339, or seconds since 1970'
}

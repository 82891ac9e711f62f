/**
 * Limits the cost of evaluating one request, one response or one event of a stream, and knows which of its numbers cannot be compared.
 * Evaluation is synchronous: one evaluation runs at a time, so module variables serve all evaluations.
 */
import type { InexactNumbers } from '#wire/json/number.js'

/**
 * Steps of one evaluation. A step is at most one microsecond (bench/worst-case.ts measures each kind of work, docs/reference/limits.md has
 * the table). All values, rules and policies of a request share the steps, because no bound on schema or data alone is enough. A recursive
 * schema with two branches into the same member takes 2^depth steps on data nested that deep. A thousand alternatives on thirty thousand
 * items took 15 s. Four hundred small parts with a separate budget each took 9.7 s.
 */
export const MAX_STEPS = 100_000

/** Steps that are left. The array of doubles avoids an allocation: a variable would allocate a number with each subtraction. */
const left = new Float64Array([Number.POSITIVE_INFINITY])

/** Doubles that represent numbers of the data that no double holds exactly. Null when there are none. */
let inexact: Pick<InexactNumbers, 'has'> | null = null

/** Time of the evaluation, in milliseconds since 1970. Null when the caller gives none. */
let time: number | null = null

export class TooManySteps extends Error {}

/** A rule reached a number that cannot be compared exactly. */
export class InexactNumber extends Error {
  /** JSON Pointer from the value that a schema validates. Null when the rule does not know the place. */
  readonly pointer: string | null

  constructor (pointer: string | null = null) {
    super('a number that cannot be compared exactly')
    this.pointer = pointer
  }
}

/** Message for a number that is not exact, as a predicate of its path. */
export const NOT_EXACT =
  'is a number that cannot be compared exactly, because a double does not keep all its digits; send fewer digits, or a string'

/**
 * Runs one evaluation with its own budget of steps.
 * @param numbers the inexact numbers that `parseStrict` found
 * @param now milliseconds since 1970, for rules about the age of values
 */
export function withBudget<T> (numbers: Pick<InexactNumbers, 'has'> | null, run: () => T, now: number | null = null): T {
  const stepsBefore = left[0] as number
  const numbersBefore = inexact
  const timeBefore = time
  time = now
  left[0] = MAX_STEPS
  inexact = numbers
  try {
    return run()
  } finally {
    left[0] = stepsBefore
    inexact = numbersBefore
    time = timeBefore
  }
}

/** Time of this evaluation, in milliseconds since 1970; null when it is not known. */
export function currentTime (): number | null {
  return time
}

/**
 * Runs a part of an evaluation with at most `limit` of the steps that are left.
 * @throws TooManySteps
 */
export function withSteps<T> (limit: number, run: () => T): T {
  const before = left[0] as number
  const mine = Math.min(limit, before)
  left[0] = mine
  try {
    return run()
  } finally {
    left[0] = before - (mine - left[0])
  }
}

/**
 * Charges work of about `cost` microseconds. Every loop over data is charged before it runs, or while it runs.
 * @throws TooManySteps
 */
export function spendBudget (cost: number): void {
  if ((left[0] = (left[0] as number) - cost) < 0) throw new TooManySteps('too many steps')
}

export function stepsLeft (): number {
  return left[0] as number
}

/** @returns the reason why a rule cannot be checked, as a predicate of a path; null for an error that is a fault of the gateway */
export function unevaluated (error: unknown): string | null {
  if (error instanceof TooManySteps) return 'cannot be checked: it takes too many steps; send less data'
  return error instanceof InexactNumber
    ? 'cannot be checked: it contains a number with more digits than a double keeps; send fewer digits, or a string'
    : null
}

/**
 * True when the double differs from the number that it represents. The check uses the value, not the place: the gateway cannot distinguish
 * one 1e400 from another.
 */
export function isInexact (value: unknown): boolean {
  return inexact !== null && typeof value === 'number' && inexact.has(value)
}

/** True when the document of this evaluation may have inexact numbers. */
export function hasInexactNumbers (): boolean {
  return inexact !== null
}

/** Path to the first number beyond the range of doubles. Ajv does not treat such a number as a number, so `maximum` does not check it. */
export function infinitePath (root: unknown): (string | number)[] | null {
  return isInexact(Number.POSITIVE_INFINITY) || isInexact(Number.NEGATIVE_INFINITY)
    ? inexactPath(root, value => typeof value === 'number' && !Number.isFinite(value))
    : null
}

/** @returns keys from the root to the first matching number, or null when there is none */
export function inexactPath (root: unknown, isMeant = isInexact): (string | number)[] | null {
  if (isMeant(root)) return []
  if (inexact === null || typeof root !== 'object' || root === null) return null
  for (const key of Object.keys(root)) {
    const path = inexactPath((root as Readonly<Record<string, unknown>>)[key], isMeant)
    if (path !== null) return [Array.isArray(root) ? Number(key) : key, ...path]
  }
  return null
}

/** Tests of single values that checker.as leaves to JavaScript: patterns and formats without an automaton, and different items. */
import { countedPattern } from '../ajv.js'
import { knownFormats } from '../code.js'
import { spendBudget } from '../evaluation.js'
import { areUnique, CHARACTER } from '../keyword-functions.js'
import { Patterns } from '../regexp.js'

/**
 * Tests a value that JSON text means, as Ajv does.
 * @throws TooManySteps, InexactNumber
 */
export type ValueTest = (value: unknown) => boolean

/** The pattern is compiled at the first value: most texts need only the automaton. */
export function patternTest (pattern: string): ValueTest {
  let matcher: ReturnType<typeof countedPattern> | null = null
  return value => (matcher ??= countedPattern(pattern, new Patterns())).test(value as string)
}

/** @returns null for a format that no validator knows, and for one that accepts every string */
export function formatTest (name: string): ValueTest | null {
  const formats = knownFormats()
  const definition = Object.hasOwn(formats, name) ? formats[name] : undefined
  const test = typeof definition === 'object' && definition !== null && 'validate' in definition ? definition.validate : definition
  if (test instanceof RegExp) return value => charged(value as string) && test.test(value as string)
  return typeof test === 'function' ? value => charged(value as string) && test(value) === true : null
}

function charged (text: string): true {
  spendBudget(1 + 2 * CHARACTER * text.length)
  return true
}

export const uniqueTest: ValueTest = value => areUnique(value as readonly unknown[])

/**
 * The seed of all random input. No other module reads randomness.
 *
 *     A2A_TEST_SEED=7 npm test -- wire/json        # other inputs than those of the default seed, 1
 *     A2A_TEST_SEED=random npm test -- wire/json   # a new seed, printed
 *     A2A_TEST_RUNS=10 npm test -- wire/json       # ten times as many inputs for each property, and whole corpora
 *
 * A property that fails prints its seed, the command that repeats the failure, and one line for `test/regressions/<name>.json`, where
 * <name> is the property's first argument. To keep the input, put the line into that file, which is a JSON array. {@link check} tries these
 * entries before generated inputs. An entry is `{"input": [ARGUMENTS OF THE PROPERTY], "why": "..."}`, or `{"seed": 1, "path": "3:1",
 * "why": "..."}` for inputs that JSON cannot express (buffers, undefined, -0, infinite streams). An entry with a path depends on the
 * generators of the property: prefer `input`.
 */
import { randomInt } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { Random } from '../fuzz/engine/random.js'
import { inTests } from './paths.js'

const MAX_SEED = 0x7fff_ffff

/** @returns a new random seed */
export function newSeed (): number {
  return randomInt(1, MAX_SEED)
}

/** @returns the seed that the environment defines */
export function seedOf (text: string | undefined): number {
  if (text === undefined || text === '') return 1
  if (text === 'random') return newSeed()
  const seed = Number(text)
  if (!Number.isInteger(seed) || Math.abs(seed) > MAX_SEED) {
    throw new Error(`A2A_TEST_SEED must be "random" or an integer up to ${MAX_SEED}, not "${text}"`)
  }
  return seed
}

/** @returns the factor by which the environment multiplies the number of inputs */
export function factorOf (text: string | undefined): number {
  const factor = Number(text ?? 1)
  if (!(factor > 0)) throw new Error(`A2A_TEST_RUNS must be a number above 0, not "${text}"`)
  return factor
}

export const SEED = seedOf(process.env.A2A_TEST_SEED)
const FACTOR = factorOf(process.env.A2A_TEST_RUNS)

if (process.env.A2A_TEST_SEED === 'random') {
  process.stderr.write(`# random input: A2A_TEST_SEED=${SEED} repeats this run\n`)
  // Processes that a test starts use the same seed.
  process.env.A2A_TEST_SEED = String(SEED)
}

/** @returns the number of inputs to try, where `count` is the number without A2A_TEST_RUNS; at least one */
export function runs (count: number): number {
  return Math.max(1, Math.round(count * FACTOR))
}

/** True when tests use all cases of their corpora. */
export const WHOLE = FACTOR >= 10

/** The reason to skip a check that needs all cases of a corpus, or minutes; false when the check can run. */
export const NIGHTLY_ONLY = WHOLE ? false : 'part of the nightly suite: A2A_TEST_RUNS=10, see npm run test:nightly'

/**
 * The cases of a large corpus that run outside the nightly suite: every seventh. Cases are written once and expanded to four forms and
 * several places, so that a step with a common divisor would leave some of them out.
 */
export function partOf<T> (cases: readonly T[]): readonly T[] {
  return WHOLE ? cases : cases.filter((_case, i) => i % 7 === 0)
}

/** @param name distinguishes the numbers of two users */
export function random (name: string, seed = SEED): Random {
  return Random.of(Buffer.from(`${seed} ${name}`))
}

export interface CheckOptions {
  /** Number of inputs, without those of the regressions file; default 100. Multiplied by A2A_TEST_RUNS. */
  readonly numRuns?: number
  /** Reports the first failing input without shrinking, for properties that take long. */
  readonly endOnFailure?: boolean
  /** Default: the seed of the environment. */
  readonly seed?: number
}

/** An entry of a regressions file. */
type Entry =
  { readonly input: readonly unknown[]; readonly why?: string } | { readonly seed: number; readonly path: string; readonly why?: string }

/**
 * Throws when the property fails on an entry of `test/regressions/<name>.json` or on a generated input. @param name a unique name: the test
 * file, then the subject of the property, as in `wire/json/counts`
 * @returns the number of inputs for which the property holds
 */
export function check<T> (name: string, property: fc.IProperty<T>, options: CheckOptions = {}): number {
  return stages<T>(name, options).reduce((sum, parameters) => sum + judge(name, fc.check(property, parameters)), 0)
}

/** {@link check} for an asynchronous property. */
export async function checkAsync<T> (name: string, property: fc.IAsyncProperty<T>, options: CheckOptions = {}): Promise<number> {
  let inputs = 0
  for (const parameters of stages<T>(name, options)) inputs += judge(name, await fc.check(property, parameters))
  return inputs
}

/** The stages of a run: first each kept path by itself, then kept inputs and generated inputs together. */
function stages<T> (name: string, { numRuns = 100, endOnFailure = false, seed = SEED }: CheckOptions): fc.Parameters<T>[] {
  const entries = kept(name)
  const inputs = entries.flatMap(entry => 'input' in entry ? [entry.input as T] : [])
  const paths = entries.flatMap(entry => 'path' in entry ? [{ seed: entry.seed, path: entry.path, numRuns: 1, endOnFailure: true }] : [])
  return [...paths, { seed, numRuns: runs(numRuns) + inputs.length, examples: inputs, endOnFailure }]
}

function kept (name: string): Entry[] {
  const file = inTests('regressions', `${name}.json`)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) as Entry[] : []
}

function judge<T> (name: string, details: fc.RunDetails<T>): number {
  if (!details.failed) return details.numRuns
  const { errorInstance: cause, counterexample, counterexamplePath: path, seed, numRuns, numShrinks } = details
  const text = cause instanceof Error ? cause.message : String(cause)
  const entry = isDeepStrictEqual(throughJson(counterexample), counterexample) ? { input: counterexample } : { seed, path }
  const factor = FACTOR === 1 ? '' : `A2A_TEST_RUNS=${FACTOR} `
  throw new Error([
    `the property ${name} fails after ${numRuns} inputs: ${text}`,
    `seed:    ${seed}, path "${path ?? ''}", made smaller ${numShrinks} times`,
    `input:   ${fc.stringify(counterexample)}`,
    `repeat:  A2A_TEST_SEED=${seed} ${factor}npm test -- ${dirname(name)}`,
    `keep:    add this line to the array in test/regressions/${name}.json (test/helpers/seed.ts says how)`,
    `         ${JSON.stringify({ ...entry, why: text.split('\n')[0]?.slice(0, 80) })}`
  ].join('\n'), { cause })
}

function throughJson (value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value))
  } catch {
    return undefined
  }
}

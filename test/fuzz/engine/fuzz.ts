/** The main loop: takes an input that found something new, changes it, checks the promise, and keeps the input if it reaches new code. */
import type { Coverage } from './coverage.js'
import { minimise, signature } from './minimise.js'
import { mutate } from './mutate.js'
import { Random } from './random.js'
import type { Finding, Target } from './target.js'

export interface FuzzOptions {
  readonly seed: number
  /** Inputs in addition to those of the target. */
  readonly corpus: readonly Buffer[]
  /** Null: blind, so that all inputs are equally good. */
  readonly coverage: Coverage | null
  /** Called from time to time; true stops the run. */
  readonly done: (progress: Progress) => boolean
  /** Called with each input before its check. */
  readonly before?: (bytes: Buffer) => void
}

export interface Progress {
  readonly executions: number
  readonly corpus: number
  readonly findings: number
  /** As in `Coverage`; 0 for blind runs. */
  readonly covered: number
  readonly features: number
}

export interface FuzzResult extends Progress {
  readonly found: readonly Finding[]
  /** All inputs that reached something new, in the order of their discovery. */
  readonly kept: readonly Buffer[]
}

/** Number of inputs for one coverage query. The number grows when a query costs more than the checks. */
const SMALLEST_BATCH = 16
const LARGEST_BATCH = 512
/** After this many batches, the engine runs some inputs one by one, to measure how often code runs. */
const ROUNDS = 16
/** Number of different findings that ends a run. */
const ENOUGH = 5
/** Blind runs keep some of the generated inputs, to move away from the seeds. */
const BLIND_KEEPS = 40

export function fuzz (target: Target, options: FuzzOptions): FuzzResult {
  const { coverage, before } = options
  const random = new Random(options.seed)
  const kept: Buffer[] = []
  const found = new Map<string, Finding>()
  let executions = 0
  let batch = SMALLEST_BATCH

  const run = (bytes: Buffer): void => {
    executions++
    before?.(bytes)
    try {
      target.check(bytes)
    } catch (error) {
      const key = signature(error)
      if (!found.has(key)) found.set(key, minimise(target, bytes, error, before))
    }
  }
  const alone = (bytes: Buffer): void => {
    run(bytes)
    if (coverage?.take() === true) kept.push(bytes)
  }
  /** Searches a batch by halves for the inputs that ran new code. */
  const search = (inputs: readonly Buffer[]): void => {
    if (inputs.length === 1) return alone(inputs[0] as Buffer)
    const middle = Math.ceil(inputs.length / 2)
    for (const half of [inputs.slice(0, middle), inputs.slice(middle)]) {
      half.forEach(run)
      if (coverage?.isNew() === true) search(half)
    }
  }
  const progress = (): Progress => ({
    executions,
    corpus: kept.length,
    findings: found.size,
    covered: coverage?.covered ?? 0,
    features: coverage?.features ?? 0
  })
  /** Prefers the newest inputs, because they probably lead to more findings. */
  const choose = (): Buffer =>
    kept[random.chance(2) ? kept.length - 1 - random.below(Math.ceil(kept.length / 4)) : random.below(kept.length)] as Buffer

  coverage?.reset()
  const given = [...target.seeds.map(seed => Buffer.from(seed)), ...options.corpus]
  given.forEach(alone)
  if (coverage === null) kept.push(...given)
  if (kept.length === 0) kept.push(Buffer.alloc(0))
  for (let round = 1; found.size < ENOUGH && !options.done(progress()); round++) {
    const few = coverage !== null && round % ROUNDS === 0
    const inputs = Array.from({ length: few ? SMALLEST_BATCH : batch }, () =>
      mutate(choose(), random, choose(), target.dictionary, target.maxBytes)
    )
    if (few) {
      inputs.forEach(alone)
      continue
    }
    const begin = performance.now()
    inputs.forEach(run)
    if (coverage === null) {
      if (kept.length < BLIND_KEEPS * target.seeds.length) kept.push(random.pick(inputs))
      continue
    }
    const tried = performance.now()
    const isNew = coverage.isNew()
    const asked = performance.now() - tried
    if (isNew) search(inputs)
    batch = Math.max(SMALLEST_BATCH, Math.min(LARGEST_BATCH, Math.ceil(inputs.length * asked / Math.max(0.01, tried - begin))))
  }
  return { ...progress(), found: [...found.values()], kept }
}

/**
 * Compiles the schemas of cards outside the event loop. Cards come from untrusted parties, so a thread with limits of time and heap
 * compiles them. The thread returns only text.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { SchemaToWrite, WrittenSchema } from '#jsonschema/code.js'
import { runSchema } from '#jsonschema/code.js'
import type { KnownSchema } from '#policy/compile/schema-source.js'
import { MAX_PATTERNS_SIZE, Patterns } from '#jsonschema/regexp.js'
import type { ThreadFailure, ThreadLimits } from '#task-thread.js'
import { TaskThread } from '#task-thread.js'

/** `time` is for all schemas of one card. */
const LIMITS: ThreadLimits = { time: 10_000, heap: 256, idle: 5_000 }

/** Compiled schemas, as code, by key. */
export type WrittenSchemas = ReadonlyMap<string, WrittenSchema>

/** The card cannot be used. The message states the reason in readable words. */
class CardTooCostly extends Error {}

/** Runs at most one thread. The thread starts with the first card that needs it, and ends when it has been idle. */
export class CardCompiler {
  private readonly thread: TaskThread<ReadonlyMap<string, SchemaToWrite>, WrittenSchemas | string>

  constructor (changed: Partial<ThreadLimits> = {}) {
    const limits = { ...LIMITS, ...changed }
    this.thread = new TaskThread({
      name: 'card-compiler',
      script: new URL('./compile-thread.js', import.meta.url),
      limits,
      abortsRunning: true,
      errorFor: failure => failure === 'aborted' ? new Error('no longer needed') : new CardTooCostly(problemOf(failure, limits))
    })
  }

  /** Number of threads that were started. */
  get started (): number {
    return this.thread.started
  }

  get running (): boolean {
    return this.thread.running
  }

  /**
   * Compiles schemas in the thread.
   * @throws CardTooCostly when the schemas cannot be compiled within the limits
   * @throws Error when the signal aborts the job
   */
  async write (schemas: ReadonlyMap<string, SchemaToWrite>, signal?: AbortSignal): Promise<WrittenSchemas> {
    if (schemas.size === 0) return new Map()
    const written = await this.thread.run(schemas, signal)
    if (typeof written === 'string') throw new CardTooCostly(written)
    return written
  }

  /** Ends the thread. A later job starts a new thread. */
  async close (): Promise<void> {
    await this.thread.end()
  }
}

function problemOf (failure: ThreadFailure | Error, { time, heap }: ThreadLimits): string {
  if (failure === 'time') return `compiling the schemas of the card takes more than ${time / 1_000} s`
  if (failure === 'heap') return `compiling the schemas of the card takes more than ${heap} MiB of memory`
  return `the schemas of the card cannot be compiled: ${failure instanceof Error ? failure.message : 'the thread ended'}`
}

/** One compiler per process: gateways, agents and commands share it. */
export const cardCompiler = new CardCompiler()

/** Milliseconds of work in one turn of the event loop, before other events are handled. */
const SLICE = 5

/** Makes compiled schemas usable, with a little work per turn of the event loop. */
export async function readySchemas (written: WrittenSchemas): Promise<ReadonlyMap<string, KnownSchema>> {
  const ready = new Map<string, KnownSchema>()
  const all = new Patterns()
  let begin = performance.now()
  for (const [key, writtenSchema] of written) {
    const patterns = new Patterns(MAX_PATTERNS_SIZE)
    // A pattern that several schemas contain is compiled once.
    for (const pattern of writtenSchema.patterns) patterns.share(pattern, all)
    const steps = runSchema(writtenSchema, patterns)
    for (;;) {
      const step = steps.next()
      if (step.done === true) {
        ready.set(key, { result: step.value, values: writtenSchema.values, patterns })
        break
      }
      if (performance.now() - begin < SLICE) continue
      await turn()
      begin = performance.now()
    }
  }
  return ready
}

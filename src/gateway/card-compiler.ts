/**
 * Compiles the schemas of cards outside the event loop. Cards come from untrusted parties, so a thread with limits of time and heap
 * compiles them. The thread returns only text.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { SchemaToWrite, WrittenSchema } from '../jsonschema/code.js'
import { runSchema } from '../jsonschema/code.js'
import type { KnownSchema } from '../policy/compile/schema-source.js'
import { MAX_PATTERNS_SIZE, Patterns } from '../jsonschema/regexp.js'

export interface CompilerLimits {
  /** Time for all schemas of one card, ms. */
  readonly time: number
  /** Heap of the thread, MiB. */
  readonly heap: number
  /** Time after which an idle thread ends, ms. */
  readonly idle: number
}

const COMPILER_LIMITS: CompilerLimits = { time: 10_000, heap: 256, idle: 5_000 }

/** Compiled schemas, as code, by key. */
export type WrittenSchemas = ReadonlyMap<string, WrittenSchema>

/** The card cannot be used. The message states the reason in readable words. */
class CardTooCostly extends Error {}

interface Job {
  readonly schemas: ReadonlyMap<string, SchemaToWrite>
  readonly signal: AbortSignal | undefined
  readonly resolve: (written: WrittenSchemas) => void
  readonly reject: (error: Error) => void
}

/** Runs at most one thread. The thread starts with the first card that needs it, and ends when it has been idle. */
export class CardCompiler {
  /** Number of threads that were started. */
  started = 0
  private readonly limits: CompilerLimits
  private readonly waiting: Job[] = []
  private busy = false
  private worker: Worker | null = null
  private idle: NodeJS.Timeout | null = null

  constructor (limits: Partial<CompilerLimits> = {}) {
    this.limits = { ...COMPILER_LIMITS, ...limits }
  }

  get running (): boolean {
    return this.worker !== null
  }

  /**
   * Compiles schemas in the thread.
   * @throws CardTooCostly when the schemas cannot be compiled within the limits
   * @throws Error when the signal aborts the job
   */
  write (schemas: ReadonlyMap<string, SchemaToWrite>, signal?: AbortSignal): Promise<WrittenSchemas> {
    if (schemas.size === 0) return Promise.resolve(new Map())
    return new Promise((resolve, reject) => {
      this.waiting.push({ schemas, signal, resolve, reject })
      this.next()
    })
  }

  /** Ends the thread. A later job starts a new thread. */
  async close (): Promise<void> {
    await this.end()
  }

  private next (): void {
    if (this.busy) return
    const job = this.waiting.shift()
    if (job === undefined) return this.rest()
    if (job.signal?.aborted === true) {
      job.reject(new Error('no longer needed'))
      return this.next()
    }
    this.busy = true
    this.run(job).then(job.resolve, job.reject).finally(() => {
      this.busy = false
      this.next()
    })
  }

  private run ({ schemas, signal }: Job): Promise<WrittenSchemas> {
    const { time, heap } = this.limits
    const worker = this.thread()
    return new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', stop)
        for (const event of ['message', 'error', 'exit']) worker.removeAllListeners(event)
        worker.on('error', () => {})
      }
      /** Ends the thread, because nothing else can interrupt a running compilation. */
      const fail = (error: Error): void => {
        done()
        this.end().finally(() => { reject(error) })
      }
      const stop = (): void => { fail(new Error('no longer needed')) }
      const late = (): void => { fail(new CardTooCostly(`compiling the schemas of the card takes more than ${time / 1_000} s`)) }
      const timer = setTimeout(late, time)
      signal?.addEventListener('abort', stop)
      worker.removeAllListeners('error')
      worker.once('error', (error: Error & { code?: string }) => {
        const isHeap = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        const why = isHeap
          ? `compiling the schemas of the card takes more than ${heap} MiB of memory`
          : `the schemas of the card cannot be compiled: ${error.message}`
        fail(new CardTooCostly(why))
      })
      worker.once('exit', () => { fail(new CardTooCostly('the schemas of the card cannot be compiled: the thread ended')) })
      worker.once('message', (written: WrittenSchemas | string) => {
        done()
        if (typeof written === 'string') reject(new CardTooCostly(written))
        else resolve(written)
      })
      try {
        worker.postMessage(schemas)
      } catch (error) {
        fail(new CardTooCostly(`the schemas of the card cannot be compiled: ${(error as Error).message}`))
      }
    })
  }

  private thread (): Worker {
    if (this.idle !== null) clearTimeout(this.idle)
    this.idle = null
    if (this.worker === null) {
      this.started++
      this.worker = new Worker(new URL('./compile-thread.js', import.meta.url), {
        name: 'card-compiler',
        env: {},
        execArgv: [],
        // The stack has the size of the main thread's stack: a schema that overflows here would overflow there too.
        resourceLimits: { maxOldGenerationSizeMb: this.limits.heap, maxYoungGenerationSizeMb: 32, stackSizeMb: 1 }
      })
    }
    this.worker.ref()
    return this.worker
  }

  private rest (): void {
    this.worker?.unref()
    if (this.worker !== null) this.idle ??= setTimeout(() => { this.end().catch(() => {}) }, this.limits.idle).unref()
  }

  private async end (): Promise<void> {
    if (this.idle !== null) clearTimeout(this.idle)
    this.idle = null
    const { worker } = this
    this.worker = null
    await worker?.terminate()
  }
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
  for (const [key, one] of written) {
    const patterns = new Patterns(MAX_PATTERNS_SIZE)
    // A pattern that several schemas contain is compiled once.
    for (const pattern of one.patterns) patterns.share(pattern, all)
    const steps = runSchema(one, patterns)
    for (;;) {
      const step = steps.next()
      if (step.done === true) {
        ready.set(key, { result: step.value, values: one.values, patterns })
        break
      }
      if (performance.now() - begin < SLICE) continue
      await turn()
      begin = performance.now()
    }
  }
  return ready
}

/**
 * Runs the tasks of the playground in one thread, one after the other, within limits of time and heap: policies come from the page, and
 * nothing else can interrupt the compilation of a schema. The thread starts with the first task, and ends when it has been idle.
 */
import { Worker } from 'node:worker_threads'
import type { PlaygroundTask } from './tasks.js'

export interface ThreadLimits {
  /** Time for one task, ms. */
  readonly time: number
  /** Heap of the thread, MiB. */
  readonly heap: number
  /** Time after which an idle thread ends, ms. */
  readonly idle: number
  /** Number of tasks that may wait. */
  readonly waiting: number
}

const LIMITS: ThreadLimits = { time: 10_000, heap: 256, idle: 30_000, waiting: 8 }

/** The task was not done, for a reason that the page can show. */
export class TaskRejected extends Error {
  /** 429: too many tasks wait. 422: the task exceeds a limit. */
  readonly status: 422 | 429

  constructor (status: 422 | 429, message: string) {
    super(message)
    this.status = status
  }
}

interface Job {
  readonly task: PlaygroundTask
  readonly signal: AbortSignal
  readonly resolve: (json: string) => void
  readonly reject: (error: Error) => void
}

type Message = { readonly result: string } | { readonly error: string }

export class PlaygroundThread {
  private readonly limits: ThreadLimits
  private readonly waiting: Job[] = []
  private busy = false
  private closed = false
  private worker: Worker | null = null
  private idle: NodeJS.Timeout | null = null

  constructor (limits: Partial<ThreadLimits> = {}) {
    this.limits = { ...LIMITS, ...limits }
  }

  /**
   * Runs a task.
   * @param signal aborts when nobody waits for the result any more
   * @returns the result as JSON
   * @throws TaskRejected when too many tasks wait, or when the task exceeds the limits
   */
  run (task: PlaygroundTask, signal: AbortSignal): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length >= this.limits.waiting) {
        return reject(new TaskRejected(429, 'the playground is busy with other requests; wait a moment'))
      }
      this.waiting.push({ task, signal, resolve, reject })
      this.next()
    })
  }

  close (): void {
    this.closed = true
    for (const { reject } of this.waiting.splice(0)) reject(new TaskRejected(422, 'the gateway is shutting down'))
    this.end().catch(() => {})
  }

  private next (): void {
    if (this.busy || this.closed) return
    const job = this.waiting.shift()
    if (job === undefined) return this.rest()
    if (job.signal.aborted) {
      job.reject(new TaskRejected(422, 'no longer needed'))
      return this.next()
    }
    this.busy = true
    this.start(job).then(job.resolve, job.reject).finally(() => {
      this.busy = false
      this.next()
    })
  }

  private start ({ task }: Job): Promise<string> {
    const { time, heap } = this.limits
    const worker = this.thread()
    return new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer)
        for (const event of ['message', 'error', 'exit']) worker.removeAllListeners(event)
        worker.on('error', () => {})
      }
      const fail = (error: Error): void => {
        done()
        this.end().finally(() => { reject(error) })
      }
      const timer = setTimeout(() => {
        fail(new TaskRejected(422, `the evaluation takes more than ${time / 1_000} s; simplify the schemas of the policy, or replay fewer requests`))
      }, time)
      worker.removeAllListeners('error')
      worker.once('error', (error: Error & { code?: string }) => {
        fail(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new TaskRejected(422, `the evaluation takes more than ${heap} MiB of memory; simplify the policy`) : error)
      })
      worker.once('exit', () => { fail(new TaskRejected(422, 'the playground was closed')) })
      worker.once('message', (message: Message) => {
        done()
        if ('result' in message) resolve(message.result)
        else reject(new Error(message.error))
      })
      try {
        worker.postMessage(task)
      } catch (error) {
        fail(error as Error)
      }
    })
  }

  private thread (): Worker {
    if (this.idle !== null) clearTimeout(this.idle)
    this.idle = null
    this.worker ??= new Worker(new URL('../../sandbox/thread.js', import.meta.url), {
      name: 'playground',
      // A document must not read the environment of the gateway.
      env: {},
      execArgv: [],
      // The stack has the size of the main thread's stack: a schema that overflows here would overflow there too.
      resourceLimits: { maxOldGenerationSizeMb: this.limits.heap, maxYoungGenerationSizeMb: 32, stackSizeMb: 1 }
    })
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

/**
 * Runs tasks in one thread, one after the other, within limits of time and heap: nothing else can interrupt the compilation of a schema.
 * The thread starts with the first task, and ends when it has been idle. Tasks and results survive structured clone.
 */
import { Worker } from 'node:worker_threads'

export interface ThreadLimits {
  /** Time for one task, ms. */
  readonly time: number
  /** Heap of the thread, MiB. */
  readonly heap: number
  /** Time after which an idle thread ends, ms. */
  readonly idle: number
}

/**
 * `time`, `heap`: the task exceeds the limit. `ended`: the thread ended. `aborted`: nobody waits for the result. `closed`: the task waited
 * when no more tasks were to run.
 */
export type ThreadFailure = 'time' | 'heap' | 'ended' | 'aborted' | 'closed'

export interface ThreadOptions {
  /** Name of the thread in diagnostics. */
  readonly name: string
  /** Script that responds to each message with one message. */
  readonly script: URL
  readonly limits: ThreadLimits
  /** True: an aborted signal ends a running task, by ending the thread. False: it only ends a waiting task. */
  readonly abortsRunning: boolean
  /** Creates the error of a task that the thread did not do. An `Error`: the thread failed, or the task cannot be sent. */
  readonly errorFor: (failure: ThreadFailure | Error) => Error
}

interface Job<Task, Result> {
  readonly task: Task
  readonly signal: AbortSignal | undefined
  readonly resolve: (result: Result) => void
  readonly reject: (error: Error) => void
}

export class TaskThread<Task, Result> {
  /** Number of threads that were started. */
  started = 0
  private readonly options: ThreadOptions
  private readonly queue: Job<Task, Result>[] = []
  private busy = false
  private closed = false
  private worker: Worker | null = null
  private idle: NodeJS.Timeout | null = null

  constructor (options: ThreadOptions) {
    this.options = options
  }

  /** Number of tasks that wait. */
  get waiting (): number {
    return this.queue.length
  }

  get running (): boolean {
    return this.worker !== null
  }

  /**
   * Runs a task after those that wait.
   * @throws the error of `errorFor`
   */
  run (task: Task, signal?: AbortSignal): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.closed) return reject(this.options.errorFor('closed'))
      this.queue.push({ task, signal, resolve, reject })
      this.next()
    })
  }

  /** Ends the thread, and a running task with it. A later task starts a new thread. */
  async end (): Promise<void> {
    if (this.idle !== null) clearTimeout(this.idle)
    this.idle = null
    const { worker } = this
    this.worker = null
    await worker?.terminate()
  }

  /** Ends the thread for good, and all tasks that wait. */
  close (): void {
    this.closed = true
    for (const { reject } of this.queue.splice(0)) reject(this.options.errorFor('closed'))
    this.end().catch(() => {})
  }

  private next (): void {
    if (this.busy || this.closed) return
    const job = this.queue.shift()
    if (job === undefined) return this.rest()
    if (job.signal?.aborted === true) {
      job.reject(this.options.errorFor('aborted'))
      return this.next()
    }
    this.busy = true
    this.start(job).then(job.resolve, job.reject).finally(() => {
      this.busy = false
      this.next()
    })
  }

  private start ({ task, signal }: Job<Task, Result>): Promise<Result> {
    const { limits, abortsRunning, errorFor } = this.options
    const worker = this.thread()
    return new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        for (const event of ['message', 'error', 'exit']) worker.removeAllListeners(event)
        worker.on('error', () => {})
      }
      /** Ends the thread, because nothing else can interrupt a running task. */
      const fail = (failure: ThreadFailure | Error): void => {
        done()
        this.end().finally(() => { reject(errorFor(failure)) })
      }
      const abort = (): void => { fail('aborted') }
      const timer = setTimeout(() => { fail('time') }, limits.time)
      if (abortsRunning) signal?.addEventListener('abort', abort)
      worker.removeAllListeners('error')
      worker.once('error', (error: NodeJS.ErrnoException) => { fail(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'heap' : error) })
      worker.once('exit', () => { fail('ended') })
      worker.once('message', (result: Result) => {
        done()
        resolve(result)
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
    if (this.worker === null) {
      const { name, script, limits } = this.options
      this.started++
      this.worker = new Worker(script, {
        name,
        // Untrusted schemas and documents must not read the environment of the gateway.
        env: {},
        execArgv: [],
        // The stack has the size of the main thread's stack: a schema that overflows here would overflow there too.
        resourceLimits: { maxOldGenerationSizeMb: limits.heap, maxYoungGenerationSizeMb: 32, stackSizeMb: 1 }
      })
    }
    this.worker.ref()
    return this.worker
  }

  private rest (): void {
    this.worker?.unref()
    if (this.worker !== null) this.idle ??= setTimeout(() => { this.end().catch(() => {}) }, this.options.limits.idle).unref()
  }
}

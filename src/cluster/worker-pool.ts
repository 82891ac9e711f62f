/** The worker processes: started, and replaced when they end. */
import cluster from 'node:cluster'
import { fileURLToPath } from 'node:url'
import type { Log } from '../telemetry/log.js'
import { WorkerHandle } from './worker-handle.js'
import type { ToPrimary, ToWorker } from './messages.js'

interface WorkerPoolOptions {
  readonly size: number
  readonly log: Log
  readonly env: NodeJS.ProcessEnv
  /** What a worker needs to start, and the number of that configuration. */
  readonly first: () => ToWorker & { readonly kind: 'prepare' }
  readonly onTask: (handle: WorkerHandle, message: ToPrimary & { readonly kind: 'task' }) => void
  /** Its numbers are final. */
  readonly onEnd: (handle: WorkerHandle) => void
}

/** A worker that lived for so long had no fault from the start, ms. */
const SOUND = 10_000
const FIRST_WAIT = 100
const LONGEST_WAIT = 30_000
/** So many in a row, before any has ever served, and the gateway does not start. */
const ATTEMPTS = 5
/** What stops take beyond the drain time, ms. */
const SLACK = 5_000

export class WorkerPool {
  /** All processes that have not ended. */
  readonly all = new Set<WorkerHandle>()
  /** Processes started in the place of others. */
  replaced = 0
  private readonly options: WorkerPoolOptions
  /** Ends in a row of processes that were not sound. */
  private failures = 0
  private closing = false
  private everServed = false
  private readonly timers = new Set<NodeJS.Timeout>()
  private started: { resolve: () => void, reject: (error: Error) => void } | null = null
  private emptied: (() => void) | null = null
  private readonly killAll = (): void => { for (const handle of this.all) handle.kill() }

  constructor (options: WorkerPoolOptions) {
    this.options = options
  }

  get serving (): number {
    return [...this.all].filter(one => one.serving && !one.leaving).length
  }

  /** None serves, and those that were started in a row could not: another try is not likely to help. */
  get hopeless (): boolean {
    return this.serving === 0 && this.failures >= ATTEMPTS
  }

  /**
   * Resolves when the first worker serves.
   * @throws Error in plain words when none can
   */
  async start (): Promise<void> {
    // Each worker accepts from the one socket by itself. Handed out by the primary, connections on their way to a worker that dies would hang
    // (measured: Node 20 never closes them), and a primary that reads a large configuration would keep new ones waiting.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({ exec: fileURLToPath(new URL('main.js', import.meta.url)), args: [], serialization: 'advanced' })
    // However the primary ends, if it still can: its workers do not outlive it.
    process.on('exit', this.killAll)
    const serving = new Promise<void>((resolve, reject) => { this.started = { resolve, reject } })
    for (let i = 0; i < this.options.size; i++) this.fork()
    await serving
  }

  /** To all that were given a configuration, and will use it. */
  broadcast (message: ToWorker): void {
    for (const handle of this.all) handle.send(message)
  }

  /** Lets all drain and waits for their end. */
  async close (drainTimeout: number): Promise<void> {
    this.closing = true
    for (const timer of this.timers) clearTimeout(timer)
    this.broadcast({ kind: 'drain' })
    for (const handle of this.all) handle.leaving = true
    const late = setTimeout(this.killAll, drainTimeout + SLACK)
    if (this.all.size > 0) await new Promise<void>(resolve => { this.emptied = resolve })
    clearTimeout(late)
    process.off('exit', this.killAll)
  }

  private fork (): void {
    const worker = cluster.fork(this.options.env)
    const handle = new WorkerHandle(worker)
    this.all.add(handle)
    worker.on('message', (message: ToPrimary) => { this.onMessage(handle, message) })
    worker.on('error', error => { this.options.log.error({ err: error, of: handle.id }, `worker ${handle.id}: ${error.message}`) })
    worker.on('exit', (code, signal) => { this.ended(handle, signal ?? `exit code ${code}`) })
  }

  private onMessage (handle: WorkerHandle, message: ToPrimary): void {
    handle.onMessage(message)
    switch (message.kind) {
      case 'hello': return this.admit(handle)
      case 'serving': return this.serves(handle)
      case 'task': return this.options.onTask(handle, message)
      case 'farewell':
        handle.metrics = message.metrics
        return
      case 'failed':
        handle.problem = message.problem
        return
      case 'leaving':
        if (handle.leaving) return
        handle.leaving = true
        this.replaceOne(handle)
    }
  }

  /** It starts with the configuration in force when it is ready for one, however often that changes until then. */
  private admit (handle: WorkerHandle): void {
    const { first, log } = this.options
    const wanted = first()
    handle.prepare(wanted).then(problems => {
      if (problems !== null) {
        handle.problem = problems.join('\n')
        return handle.kill()
      }
      if (first().change !== wanted.change) return this.admit(handle)
      handle.admitted = true
      handle.send({ kind: 'commit', change: wanted.change })
    }).catch((error: unknown) => { log.error({ err: error }, 'a worker could not be started') })
  }

  private serves (handle: WorkerHandle): void {
    const { log, size } = this.options
    handle.serving = true
    this.everServed = true
    log.info({ of: handle.id, pid: handle.pid, serving: this.serving, workers: size }, `worker ${handle.id} serves`)
    this.started?.resolve()
  }

  private ended (handle: WorkerHandle, how: string): void {
    const { log, onEnd } = this.options
    const { leaving, problem, id, pid } = handle
    this.all.delete(handle)
    handle.ended()
    onEnd(handle)
    if (this.closing) {
      if (this.all.size === 0) this.emptied?.()
      return
    }
    log.error({ of: id, pid, how, problem, serving: this.serving }, `worker ${id} ended: ${problem ?? how}`)
    if (!leaving) this.replaceOne(handle)
    if (this.everServed || this.all.size > 0) return
    if (problem !== null || this.failures >= ATTEMPTS) this.giveUp(problem ?? `no worker can start; the last one ended with ${how}`)
  }

  private replaceOne ({ startedAt, problem }: WorkerHandle): void {
    if (this.closing || (!this.everServed && problem !== null)) return
    this.failures = performance.now() - startedAt >= SOUND ? 0 : this.failures + 1
    if (!this.everServed && this.failures >= ATTEMPTS) return
    const wait = this.failures === 0 ? 0 : Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** Math.min(this.failures - 1, 20))
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      this.replaced++
      this.fork()
    }, wait)
    this.timers.add(timer)
  }

  private giveUp (problem: string): void {
    this.closing = true
    for (const timer of this.timers) clearTimeout(timer)
    process.off('exit', this.killAll)
    this.started?.reject(new Error(problem))
  }
}

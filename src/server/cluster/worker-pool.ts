/** Starts the worker processes, and replaces workers that end. */
import cluster from 'node:cluster'
import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:cluster'
import type { Log } from '#telemetry/log.js'
import { OperatorError } from '#operator-errors.js'
import { WorkerHandle } from './worker-handle.js'
import type { ToPrimary, ToWorker } from './messages.js'
import type { LimitQuestion } from './limits.js'
import type { TaskQuestion } from './tasks.js'

export interface WorkerPoolOptions {
  readonly size: number
  readonly log: Log
  readonly env: NodeJS.ProcessEnv
  /** The configuration, and its number, that a worker needs to start. */
  readonly first: () => ToWorker & { readonly kind: 'prepare' }
  readonly onTask: (handle: WorkerHandle, message: TaskQuestion) => void
  readonly onLimit: (handle: WorkerHandle, message: LimitQuestion) => void
  /** Called when a request to an agent found no usable card. */
  readonly onWanted: (agent: string) => void
  /** Called when a worker has ended and its metrics are final. */
  readonly onEnd: (handle: WorkerHandle) => void
}

/** Milliseconds after which a worker counts as sound: it had no fault from the start. */
const SOUND = 10_000
const FIRST_WAIT = 100
const LONGEST_WAIT = 30_000
/** Number of failures in a row, before any worker has ever served, after which the gateway does not start. */
const ATTEMPTS = 5
/** Milliseconds that a stop may take beyond the drain time. */
const SLACK = 5_000

export class WorkerPool {
  /** All processes that have not ended. */
  readonly all = new Set<WorkerHandle>()
  /** Processes started in the place of others. */
  replaced = 0
  private readonly options: WorkerPoolOptions
  /** Number of processes in a row that ended before they were sound. */
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
    return [...this.all].filter(workerHandle => workerHandle.serving && !workerHandle.leaving).length
  }

  /** True when no worker serves and the last starts in a row failed, so that another attempt is not likely to help. */
  get hopeless (): boolean {
    return this.serving === 0 && this.failures >= ATTEMPTS
  }

  /**
   * Resolves when the first worker serves.
   * @throws Error with a readable message when no worker can serve
   */
  async start (): Promise<void> {
    // Node's default: the primary passes each connection to the next free worker. With a shared socket, the kernel gives most connections
    // to a few workers (128 over 16: 44, 37, 14, ..., none for six workers). NODE_CLUSTER_SCHED_POLICY=none chooses the shared socket.
    cluster.setupPrimary({ exec: fileURLToPath(new URL('main.js', import.meta.url)), args: [], serialization: 'advanced' })
    // Workers do not outlive the primary, whatever ends it, as long as its exit handler runs.
    process.on('exit', this.killAll)
    const serving = new Promise<void>((resolve, reject) => { this.started = { resolve, reject } })
    for (let i = 0; i < this.options.size; i++) this.fork()
    await serving
  }

  /** Sends a message to all workers. */
  broadcast (message: ToWorker): void {
    for (const handle of this.all) handle.send(message)
  }

  /** Drains all workers and waits until they have ended. */
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
    passOnUnaccepted(worker, () => [...this.all].some(other => other !== handle && other.serving && !other.leaving))
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
      case 'task':
      case 'claim':
      case 'owners':
      case 'push': return this.options.onTask(handle, message)
      case 'limit': return this.options.onLimit(handle, message)
      case 'wanted': return this.options.onWanted(message.agent)
      case 'finalMetrics':
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

  /** Commits the configuration in force once the worker is ready for it. Starts over when the configuration has changed in the meantime. */
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
    handle.servingSince = performance.now()
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
    this.started?.reject(new OperatorError('A2AGW_ERR_WORKER', problem))
  }
}

// Passes connections on that a worker got but never accepted, because the worker has ended or drains.
//
// The primary accepts connections and passes each to the next free worker, which the worker confirms. Node keeps a connection without a
// confirmation for ever when the worker ends: the client gets no response and no end (measured with Node 20 and 24). At most one connection
// per worker is in this state. This module gives Node the confirmation "not accepted", and Node then chooses another worker.
//
// The messages are Node's own, and not documented. With other messages, this module does nothing; test/cluster/spread.test.ts would fail.

/** Milliseconds between two looks at the channel of a process that has ended. */
const CHANNEL_END = 5

interface Passed { readonly seq: number, readonly connection: { close (): void } }

/** @param hasOthers tells whether another worker serves */
function passOnUnaccepted (worker: Worker, hasOthers: () => boolean): void {
  const { process: child } = worker
  const send = child.send.bind(child) as (...args: unknown[]) => boolean
  let last: Passed | null = null
  child.send = (...args: unknown[]): boolean => {
    last = passedBy(args) ?? last
    return send(...args)
  }
  // A worker that drains does not accept the connection. Without another worker, Node would keep it open until the primary ends.
  child.on('internalMessage', (message: { readonly ack?: unknown, readonly accepted?: unknown }) => {
    if (last !== null && message.ack === last.seq && message.accepted === false && !hasOthers()) last.connection.close()
  })
  let disconnected = false
  worker.once('disconnect', () => { disconnected = true })
  const reassignConnection = (): void => {
    // All confirmations have arrived when the end of the channel has.
    if (child.connected) {
      setTimeout(reassignConnection, CHANNEL_END)
      return
    }
    if (last === null) return
    // Node waits for a confirmation before it reports the end of the channel, and would go on to use the worker.
    if (!disconnected) child.emit('disconnect')
    // Node ignores the message when the connection was accepted. Closing it twice does no harm either.
    if (hasOthers()) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: last.seq, accepted: false })
    else last.connection.close()
  }
  worker.once('exit', reassignConnection)
}

function passedBy ([message, connection]: readonly unknown[]): Passed | null {
  if (typeof message !== 'object' || message === null || typeof connection !== 'object' || connection === null) return null
  const { act, seq } = message as { readonly act?: unknown, readonly seq?: unknown }
  return act === 'newconn' && typeof seq === 'number' && 'close' in connection
    ? { seq, connection: connection as Passed['connection'] }
    : null
}

/** One worker process, as the primary sees it. */
import type { Worker } from 'node:cluster'
import type { DecisionFilter } from '#console/filter.js'
import type { MetricsSnapshot } from '#telemetry/metrics/registry.js'
import type { Responses, ToPrimary, ToWorker } from './messages.js'

/** Milliseconds to wait for a response. A worker that needs longer is overloaded. */
const RESPONSE = 2_000
/** Milliseconds to wait for a worker to prepare a configuration, which may have many schemas. */
const PREPARE = 30_000

export class WorkerHandle {
  readonly id: number
  readonly pid: number
  /** True when the worker has got its start configuration. From then on, the worker needs every later configuration. */
  admitted = false
  /** Time at which the listener of the worker opened, ms of `performance.now()`; null before. */
  servingSince: number | null = null
  /** Names of the agents whose card the worker has. */
  readonly carded = new Set<string>()
  /** True when the worker was sent a drain message, or has announced its end. */
  leaving = false
  /** The last known metrics of the worker. */
  metrics: MetricsSnapshot = []
  readonly startedAt = performance.now()
  /** The reason, as the worker reported it, why the worker could not start. */
  problem: string | null = null
  private readonly worker: Worker
  private readonly waiting = new Map<number, (response: Responses[keyof Responses] | null) => void>()
  private preparing: { readonly change: number, readonly done: (problems: readonly string[] | null) => void } | null = null
  private lastId = 0
  private gone = false

  constructor (worker: Worker) {
    this.worker = worker
    this.id = worker.id
    this.pid = worker.process.pid ?? 0
  }

  get serving (): boolean {
    return this.servingSince !== null
  }

  /** Sends a message. Does nothing when the worker is gone: the `exit` event reports that. */
  send (message: ToWorker): void {
    if (!this.gone && this.worker.isConnected()) this.worker.send(message, undefined as never, () => {})
  }

  kill (): void {
    this.worker.process.kill('SIGKILL')
  }

  /** @returns null when the worker does not respond in time, or is gone */
  async ask<Q extends keyof Responses> (question: Q, since = -1, filter: DecisionFilter | null = null): Promise<Responses[Q] | null> {
    if (this.gone || !this.worker.isConnected()) return null
    const id = ++this.lastId
    const response = await within<Responses[keyof Responses] | null>(RESPONSE, null, done => {
      this.waiting.set(id, done)
      this.send({ kind: 'ask', id, question, since, filter })
    })
    this.waiting.delete(id)
    return response as Responses[Q] | null
  }

  /**
   * @returns the problems that prevent the worker from using a configuration; null when there are none, or when the worker is gone: its
   * replacement gets the configuration in force
   */
  prepare (message: ToWorker & { readonly kind: 'prepare' }): Promise<readonly string[] | null> {
    if (this.gone) return Promise.resolve(null)
    return within<readonly string[] | null>(PREPARE, [`worker ${this.id} was not ready within ${PREPARE / 1_000} s`], done => {
      this.preparing = { change: message.change, done }
      this.send(message)
    })
  }

  /** Passes a response of the worker to the caller that waits for it. */
  onMessage (message: ToPrimary): void {
    if (message.kind === 'carded') this.carded.add(message.agent)
    else if (message.kind === 'response') this.waiting.get(message.id)?.(message.response)
    else if (message.kind === 'prepared' && message.change === this.preparing?.change) this.preparing.done(message.problems)
  }

  /** Called when the process of the worker has ended. */
  ended (): void {
    this.gone = true
    this.servingSince = null
    this.admitted = false
    this.preparing?.done(null)
    for (const done of this.waiting.values()) done(null)
  }
}

function within<T> (ms: number, otherwise: T, begin: (done: (value: T) => void) => void): Promise<T> {
  return new Promise(resolve => {
    const timer = setTimeout(() => { resolve(otherwise) }, ms)
    begin(value => {
      clearTimeout(timer)
      resolve(value)
    })
  })
}

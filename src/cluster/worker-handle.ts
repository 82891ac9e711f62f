/** One worker process, as the primary knows it. */
import type { Worker } from 'node:cluster'
import type { MetricsSnapshot } from '../telemetry/metrics/metrics.js'
import type { Responses, ToPrimary, ToWorker } from './messages.js'

/** A worker that does not answer in this time has more to do than it can, ms. */
const RESPONSE = 2_000
/** For a configuration, whose schemas may be many, ms. */
const PREPARE = 30_000

export class WorkerHandle {
  readonly id: number
  readonly pid: number
  /** It was given the configuration to start with, so that it needs to hear of every later one. */
  admitted = false
  /** Its listener is open. */
  serving = false
  /** It was told to end, or said that it will. */
  leaving = false
  /** What it counted, as it last said. */
  metrics: MetricsSnapshot = []
  readonly startedAt = performance.now()
  /** Why it could not start, in its own words. */
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

  /** One that is gone hears nothing; its end is told by itself. */
  send (message: ToWorker): void {
    if (!this.gone && this.worker.isConnected()) this.worker.send(message, undefined as never, () => {})
  }

  kill (): void {
    this.worker.process.kill('SIGKILL')
  }

  /** @returns null where it does not answer in time, or not any more */
  async ask<Q extends keyof Responses> (question: Q, since = -1): Promise<Responses[Q] | null> {
    if (this.gone || !this.worker.isConnected()) return null
    const id = ++this.lastId
    const response = await within<Responses[keyof Responses] | null>(RESPONSE, null, done => {
      this.waiting.set(id, done)
      this.send({ kind: 'ask', id, question, since })
    })
    this.waiting.delete(id)
    return response as Responses[Q] | null
  }

  /** @returns what keeps it from using a configuration; null: nothing, or it is gone, and who takes its place is given the one in force */
  prepare (message: ToWorker & { readonly kind: 'prepare' }): Promise<readonly string[] | null> {
    if (this.gone) return Promise.resolve(null)
    return within<readonly string[] | null>(PREPARE, [`worker ${this.id} was not ready for it in ${PREPARE / 1_000} s`], done => {
      this.preparing = { change: message.change, done }
      this.send(message)
    })
  }

  /** What it says in answer to something. */
  onMessage (message: ToPrimary): void {
    if (message.kind === 'answer') this.waiting.get(message.id)?.(message.response)
    else if (message.kind === 'prepared' && message.change === this.preparing?.change) this.preparing.done(message.problems)
  }

  /** Its process has ended. */
  ended (): void {
    this.gone = true
    this.serving = this.admitted = false
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

/**
 * One policy server: connections, bounds, breaker and remembered answers. Whatever the server does, a question ends within its timeout, and
 * costs bounded memory.
 */
import { createHash } from 'node:crypto'
import type { Dispatcher } from 'undici'
import type { DecisionPointConfig } from '#config/model/model.js'
import type { Headers } from '#config/secrets.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { RecentMap } from '#wire/recent-map.js'
import type { Guarded } from '#guard.js'
import { guarded } from '#guard.js'
import { serviceConnections } from '../bounded-request.js'
import type { TlsFiles } from '../tls.js'
import { Breaker } from './breaker.js'
import type { DecisionFailure, Endpoints, Failed, Responded } from './exchange.js'
import { discover, exchange, failed } from './exchange.js'

/** Reads an answer. @returns a text for an answer that is not valid: a predicate of the server */
export type ReadAnswer<T> = (value: unknown) => T | string

export type Reply<T> = { readonly kind: 'answer', readonly answer: T, readonly cached: boolean } | Failed

export interface Questions<T> {
  /** Access evaluation requests, as JSON texts. */
  readonly bodies: readonly string[]
  readonly read: ReadAnswer<T>
  /** For the header `x-request-id`. */
  readonly requestId: string
  /** The client has gone. */
  readonly signal: AbortSignal
  /** Called before a request. The returned function is called after it. */
  readonly watch?: (url: URL) => (failure: DecisionFailure | null) => void
}

/** Questions that may wait for each one under way. */
const WAITING = 16
/** Bytes of the largest answer that is remembered. */
const MAX_REMEMBERED = 4_096
/** Time for which metadata are used, ms. */
const METADATA_TTL = 300_000

/** An error of a timer ends nothing: the exchange has a timeout of its own. */
const UPSTREAM: Guarded = { place: 'upstream', endAfter: () => {} }

/** Failures that show a server which cannot answer anybody now. */
const DOWN: ReadonlySet<DecisionFailure> = new Set<DecisionFailure>(['timeout', 'unreachable', 'status'])

export class DecisionPoint<T> {
  readonly #config: DecisionPointConfig
  readonly #url: URL
  readonly #headers: Headers
  readonly #dispatcher: Dispatcher
  readonly #gate: Gate
  readonly #breaker: Breaker
  readonly #answers: RecentMap<{ readonly answer: T, readonly until: number }> | null
  readonly #now: () => number
  #endpoints: { readonly found: Endpoints, readonly until: number } | null

  constructor (config: DecisionPointConfig, headers: Headers, { ca, cert, key }: TlsFiles, now: () => number = () => performance.now()) {
    const { concurrency, timeout, cache, tls: { serverName } } = config
    this.#config = config
    this.#headers = headers
    this.#now = now
    this.#dispatcher = serviceConnections(concurrency, timeout, {
      ...(ca === null ? {} : { ca }),
      ...(cert === null || key === null ? {} : { cert, key }),
      ...(serverName === null ? {} : { servername: serverName })
    })
    this.#gate = new Gate(concurrency, concurrency * WAITING)
    this.#breaker = new Breaker(now)
    this.#answers = cache.ttl === 0 ? null : new RecentMap(cache.entries)
    const url = this.#url = new URL(config.url)
    const evaluations = config.batchUrl === null ? null : new URL(config.batchUrl)
    this.#endpoints = isOrigin(url) ? null : { found: { evaluation: url, evaluations }, until: Infinity }
  }

  /** Questions under way, and questions that wait. */
  get load (): { readonly open: number, readonly queued: number } {
    return { open: this.#gate.open, queued: this.#gate.queued }
  }

  /** True while the server is not asked, because it failed several times in a row. */
  get broken (): boolean {
    return this.#breaker.open
  }

  /** The remembered answer to a question; null for none. */
  remembered (body: string): Reply<T> | null {
    return this.#answers === null ? null : this.#find(keyOf(body))
  }

  /** @returns the replies, in order. Never throws */
  async ask (questions: Questions<T>): Promise<readonly Reply<T>[]> {
    const { bodies } = questions
    const replies: (Reply<T> | null)[] = bodies.map(body => this.remembered(body))
    const open = bodies.flatMap((body, i) => replies[i] === null ? [{ body, i }] : [])
    const together = open.length > 1 && (this.#endpoints === null || this.#endpoints.found.evaluations !== null)
    const groups = together ? [open] : open.map(entry => [entry])
    await Promise.all(groups.map(async group => {
      if (group.length === 0) return
      const answers = await this.#asked(group.map(({ body }) => body), questions)
      group.forEach(({ i }, at) => { replies[i] = answers[at] as Reply<T> })
    }))
    return replies as Reply<T>[]
  }

  async close (): Promise<void> {
    await this.#dispatcher.close()
  }

  #find (key: string): Reply<T> | null {
    const entry = this.#answers?.get(key)
    return entry === undefined || entry.until <= this.#now() ? null : { kind: 'answer', answer: entry.answer, cached: true }
  }

  async #asked (bodies: readonly string[], { read, requestId, signal, watch }: Questions<T>): Promise<readonly Reply<T>[]> {
    const all = (reply: Failed): readonly Reply<T>[] => bodies.map(() => reply)
    const { timeout } = this.#config
    if (signal.aborted) return all(failed('cancelled', 'the client has gone'))
    if (!this.#breaker.enter()) return all(failed('open', `${this.#config.url} is not asked: it failed several times in a row`))
    const controller = new AbortController()
    const isCancelled = (): boolean => signal.aborted
    const abort = (): void => { controller.abort() }
    const timer = setTimeout(guarded(UPSTREAM, abort), timeout)
    signal.addEventListener('abort', abort, { once: true })
    let entered = false
    try {
      entered = await this.#gate.enter(controller.signal)
      if (!entered) {
        this.#breaker.left()
        return all(isCancelled()
          ? failed('cancelled', 'the client has gone')
          : failed('busy', `${this.#config.url} has ${this.#config.concurrency} questions under way`))
      }
      const responded = await this.#exchanged(bodies, requestId, controller.signal, watch)
      const reply = responded.kind === 'failed' && controller.signal.aborted
        ? (isCancelled()
            ? failed('cancelled', 'the client has gone')
            : failed('timeout', `${this.#config.url} did not answer within ${timeout} ms`))
        : responded
      return this.#noted(bodies, reply, read)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      if (entered) this.#gate.leave()
    }
  }

  async #exchanged (bodies: readonly string[], requestId: string, signal: AbortSignal, watch: Questions<T>['watch']): Promise<Responded> {
    const { timeout } = this.#config
    const headers = { ...this.#headers, 'x-request-id': requestId }
    const endpoints = await this.#found({ url: this.#url, headers, timeout, signal })
    if ('kind' in endpoints) return endpoints
    const [first = ''] = bodies
    const isBatch = bodies.length > 1
    // Metadata may show that the server has no evaluations endpoint.
    if (isBatch && endpoints.evaluations === null) return this.#oneByOne(bodies, requestId, signal, watch)
    const url = isBatch ? endpoints.evaluations as URL : endpoints.evaluation
    const ended = watch?.(url)
    const response = await exchange(
      this.#dispatcher, { url, headers, timeout, signal, body: isBatch ? `{"evaluations":[${bodies.join(',')}]}` : first }
    )
    ended?.(response.kind === 'failed' ? response.failure : null)
    return response
  }

  async #oneByOne (bodies: readonly string[], requestId: string, signal: AbortSignal, watch: Questions<T>['watch']): Promise<Responded> {
    const values: JsonObject[] = []
    let size = 0
    for (const body of bodies) {
      const response = await this.#exchanged([body], requestId, signal, watch)
      if (response.kind === 'failed') return response
      values.push(response.value)
      size += response.size
    }
    return { kind: 'json', value: { evaluations: values }, size }
  }

  async #found (request: Parameters<typeof discover>[1]): Promise<Endpoints | Failed> {
    const entry = this.#endpoints
    if (entry !== null && entry.until > this.#now()) return entry.found
    const endpointUrls = await discover(this.#dispatcher, request)
    // The server still answers where it answered before.
    if ('kind' in endpointUrls) return entry?.found ?? endpointUrls
    this.#endpoints = { found: endpointUrls, until: this.#now() + METADATA_TTL }
    return endpointUrls
  }

  /** Takes note of a response: for the breaker, and for equal questions. */
  #noted (bodies: readonly string[], responded: Responded, read: ReadAnswer<T>): readonly Reply<T>[] {
    if (responded.kind === 'failed') {
      if (responded.failure === 'cancelled') this.#breaker.left()
      else if (DOWN.has(responded.failure)) this.#breaker.failed()
      else this.#breaker.succeeded()
      return bodies.map(() => responded)
    }
    this.#breaker.succeeded()
    const { url } = this.#config
    const values = bodies.length === 1 ? [responded.value] : responded.value['evaluations']
    if (!Array.isArray(values) || values.length !== bodies.length) {
      const problem = failed('malformed', `${url} answered another number of questions than it was asked`)
      return bodies.map(() => problem)
    }
    return bodies.map((body, i): Reply<T> => {
      const value: unknown = values[i]
      const answer = isObject(value) ? read(value) : 'answered with JSON that is not an object'
      if (typeof answer === 'string') return failed('malformed', `${url} ${answer}`)
      this.#remember(body, answer, responded.size)
      return { kind: 'answer', answer, cached: false }
    })
  }

  #remember (body: string, answer: T, size: number): void {
    if (this.#answers === null || size > MAX_REMEMBERED) return
    const key = keyOf(body)
    this.#answers.get(key)
    this.#answers.set(key, { answer, until: this.#now() + this.#config.cache.ttl })
  }
}

function isOrigin ({ pathname, search }: URL): boolean {
  return pathname === '/' && search === ''
}

function keyOf (body: string): string {
  return createHash('sha256').update(body).digest('base64')
}

/** Bounds the questions under way. Further questions wait in order; a question that is cancelled leaves the queue. */
export class Gate {
  readonly #max: number
  readonly #waiting: number
  readonly #queue = new Set<() => void>()
  #open = 0

  /**
   * @param max questions under way at once
   * @param waiting questions that may wait; further ones do not enter
   */
  constructor (max: number, waiting: number) {
    this.#max = max
    this.#waiting = waiting
  }

  get open (): number {
    return this.#open
  }

  get queued (): number {
    return this.#queue.size
  }

  /** @returns false when too many wait, or when the signal ends the wait. After true, call `leave` once */
  enter (signal: AbortSignal): boolean | Promise<boolean> {
    if (this.#open < this.#max) {
      this.#open++
      return true
    }
    if (this.#queue.size >= this.#waiting) return false
    return new Promise(resolve => {
      const go = (): void => {
        signal.removeEventListener('abort', stop)
        this.#open++
        resolve(true)
      }
      const stop = (): void => {
        this.#queue.delete(go)
        resolve(false)
      }
      this.#queue.add(go)
      signal.addEventListener('abort', stop, { once: true })
    })
  }

  leave (): void {
    this.#open--
    const [next] = this.#queue
    if (next === undefined) return
    this.#queue.delete(next)
    next()
  }
}

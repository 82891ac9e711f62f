/** One request and its answer: all state of it, and the one place where its end is recorded. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller, Rejection } from '../../a2a/errors.js'
import type { Operation } from '../../a2a/operations.js'
import type { Binding, Version } from '../../a2a/versions.js'
import { awaitsEventStream, NO_ID } from '../../pipeline/caller.js'
import { rejectionResponse, rejectionEvent } from '../../pipeline/rejection-response.js'
import { internal, tooManyRequests, tooManyStreams } from '../../pipeline/rejections.js'
import type { AgentState } from '../../pipeline/agent-snapshot.js'
import type { Decisions, Found } from '../../console/decisions.js'
import { withFound } from '../../console/decisions.js'
import type { Audit } from '../../telemetry/audit.js'
import type { Log } from '../../telemetry/log.js'
import type { Metrics, Outcome } from '../../telemetry/metrics/metrics.js'
import type { RequestSpan, Tracing } from '../../telemetry/traces/tracing.js'
import type { Agent } from '../../gateway/agent.js'
import type { StreamOut } from './responses/stream-out.js'
import type { MemoryBudget } from '../../gateway/memory-budget.js'
import type { InFlight } from '../../gateway/in-flight.js'
import type { ConcurrencyLimit } from '../../gateway/concurrency-limit.js'
import { isStreaming } from '../../gateway/concurrency-limit.js'
import type { Overload } from '../../gateway/overload.js'
import type { Tasks } from '../../gateway/tasks.js'
import { schedule } from '../../gateway/event-loop-batch.js'
import type { Forwarding } from '../../upstream/forward.js'

/** What every exchange needs of the running gateway. */
export interface Services {
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly audit: Audit
  readonly log: Log
  /** What is remembered of tasks. */
  readonly tasks: Tasks
  /** Exchanges in flight; `draining` makes answers close their connection. */
  readonly inFlight: InFlight
  /** Whether there is too much to do for new calls. */
  readonly overload: Overload
  readonly heldBytes: MemoryBudget
  /** For the console; null where there is none. */
  readonly decisions: Decisions | null
}

/** Label of requests that reached no operation of a card. */
export type Label = Operation | 'AgentCard' | 'Passthrough' | 'Preflight'

/** So that ids of several workers, and of one process after the other, are told apart in logs that are kept together. */
const PROCESS = randomBytes(4).toString('hex')
let lastId = 0

export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly services: Services
  readonly startedAt: number
  readonly span: RequestSpan
  private readonly number: number
  agent: Agent | null = null
  state: AgentState | null = null
  label: Label = 'Other'
  binding: Binding = 'HTTP+JSON'
  version: Version = '1.0'
  /** Whether the request names its version. */
  statedVersion = false
  /** Raw JSON token of the JSON-RPC id. */
  idToken: () => string = NO_ID
  /** Media type of the request: decides that of a refusal. */
  mediaType: string | null = null
  forwarding: Forwarding | null = null
  /** Neighbours in the list of exchanges in flight, which is `live`'s own business. */
  previousLive: Exchange | null = null
  nextLive: Exchange | null = null
  /** Called before the end is recorded, whatever it is: what is known only then, and what must be let go. */
  atEnd: (() => void) | null = null
  /** Set when an event stream has begun to go out. */
  stream: StreamOut | null = null
  /** Where the call is counted while it is under way. */
  private load: ConcurrencyLimit | null = null
  private streaming = false
  /** Whether the client has ever been slower than the agent. */
  private slow = false
  /** Bytes of bodies that are held for it. */
  private holds = 0
  private outcome: Outcome | null = null
  /** For the console. */
  private rejection: Rejection | null = null
  private found: readonly Found[] | null = null
  private ended = false

  constructor (request: IncomingMessage, response: ServerResponse, services: Services) {
    this.request = request
    this.response = response
    this.services = services
    this.startedAt = performance.now()
    this.number = ++lastId
    this.span = services.tracing.startRequest(request.headers, this.startedAt)
    services.inFlight.add(this)
    response.on('close', () => { this.leave() })
  }

  /** In logs and audit lines, which most requests have none of. */
  get id (): string {
    return `${PROCESS}-${this.number.toString(36)}`
  }

  get agentName (): string {
    return this.agent === null ? 'other' : this.agent.name
  }

  /** First one wins: what happens after an outcome is known is its consequence. */
  settle (outcome: Outcome): void {
    this.outcome ??= outcome
  }

  /** What rules found in the request, or in its answer. */
  saw (phase: Found['phase'], violations: Found['violations'], edited: Found['edited']): void {
    if (this.services.decisions !== null) this.found = withFound(this.found, { phase, violations, edited })
  }

  /** Counts the call among those that its agent has under way. @returns false when it was refused: there are too many, or the client is gone */
  enter (agent: Agent): boolean {
    if (this.ended) return false
    const { concurrency: load, config: { concurrency } } = agent
    this.streaming = isStreaming(this.label)
    if (load.enter(this.streaming, concurrency)) {
      this.load = load
      return true
    }
    const { retryAfter } = this.services.overload
    this.reject(this.streaming ? tooManyStreams(concurrency.streams, retryAfter) : tooManyRequests(concurrency.requests, retryAfter), 'rejected')
    return false
  }

  /** @returns false when the process holds as much as it may, or the exchange is over */
  hold (bytes: number): boolean {
    if (this.ended || !this.services.heldBytes.take(bytes)) return false
    this.holds += bytes
    return true
  }

  /**
   * Answers with a refusal in the caller's binding and version, or breaks the connection when the answer has begun.
   * @param more further headers, names and values
   */
  reject (rejection: Rejection, outcome: Outcome, httpStatus?: number, more: readonly string[] = []): void {
    this.settle(outcome)
    this.rejection ??= rejection
    const { response } = this
    if (!response.destroyed) this.services.metrics.refusal(this.agentName, rejection.rule)
    if (response.headersSent || response.destroyed) return this.breakOff()
    this.respondRejection(rejection, httpStatus, more)
    this.span.set('a2a_gateway.decision', 'reject')
    this.span.set('a2a_gateway.rule', rejection.rule)
    if (outcome === 'rejected') this.tellAgent(rejection)
  }

  /** The agent's answer is refused: another in its place, or the last event of a stream that has begun. Nothing is read of the agent any more. */
  rejectResponse (rejection: Rejection, outcome: Outcome): void {
    this.settle(outcome)
    this.rejection ??= rejection
    this.forwarding?.abort()
    const { response } = this
    if (response.destroyed) return
    this.services.metrics.refusal(this.agentName, rejection.rule)
    this.span.set('a2a_gateway.rule', rejection.rule)
    this.tellAgent(rejection)
    if (!response.headersSent) this.respondRejection(rejection)
    else if (this.stream?.atBoundary === true) response.end(rejectionEvent(rejection, this.caller))
    else this.breakOff()
  }

  /** A fault of the gateway. */
  failed (error: unknown): void {
    this.services.log.error({ err: error, request_id: this.id }, 'a request could not be handled')
    this.forwarding?.abort()
    this.reject(internal, 'gateway_error')
  }

  private get caller (): Caller {
    return { binding: this.binding, version: this.version, id: this.idToken(), eventStream: awaitsEventStream(this.label, this.request.headers.accept), statedVersion: this.statedVersion, mediaType: this.mediaType }
  }

  private tellAgent ({ rule, reason, customReason, message }: Rejection): void {
    this.agent?.rejected({ at: new Date().toISOString(), rule, reason: customReason ?? reason, message })
  }

  private respondRejection (rejection: Rejection, httpStatus?: number, more: readonly string[] = []): void {
    const { response } = this
    const { status, phrase, headers, body } = rejectionResponse(rejection, this.caller, httpStatus, more)
    if (this.request.complete) {
      this.respond(status, headers, body, phrase)
    } else {
      // Ended only when the request has: a client that said `Connection: close` is cut off at the end of the answer.
      this.begin(status, headers, phrase)
      response.write(body)
      readOff(this.request, () => { response.end() })
    }
  }

  /** Ends an answer that has begun so that nobody takes it for whole. A client of HTTP/1.0 may only know the end of the connection. */
  breakOff (): void {
    if (this.request.httpVersion === '1.0') this.request.socket.resetAndDestroy()
    this.response.destroy()
  }

  /** Ends an event stream with a comment that says why; a stream that stands within an event is broken off, so that the cut shows. */
  endStream (why: string): void {
    if (this.stream?.atBoundary === true) this.response.end(`: ${why}\n\n`)
    else this.breakOff()
  }

  /** @param headers flat list of names and values */
  respond (status: number, headers: string[], body: Buffer | null, phrase = ''): void {
    this.begin(status, headers, phrase)
    this.response.end(body !== null && this.request.method !== 'HEAD' ? body : undefined)
  }

  begin (status: number, headers: string[], phrase = ''): void {
    if (this.services.inFlight.draining && !headers.includes('connection')) headers.push('connection', 'close')
    if (phrase === '') this.response.writeHead(status, headers)
    else this.response.writeHead(status, phrase, headers)
  }

  /** @returns false when the client reads too slowly: the agent goes on when it has read what waits for it */
  write (chunk: Buffer): boolean {
    const { response } = this
    if (response.write(chunk)) return true
    if (!this.slow) {
      this.slow = true
      response.on('drain', () => { this.forwarding?.resume() })
    }
    return false
  }

  /** The client's connection is done with this exchange, one way or the other. */
  private leave (): void {
    if (this.ended) return
    this.ended = true
    this.load?.leave(this.streaming)
    if (!this.response.writableFinished) {
      this.settle('client_aborted')
      this.forwarding?.abort()
    }
    const seconds = (performance.now() - this.startedAt) / 1_000
    schedule('record', this, () => { this.record(seconds) })
  }

  private record (seconds: number): void {
    const { response, services } = this
    services.heldBytes.give(this.holds)
    this.atEnd?.()
    this.atEnd = null
    const outcome = this.outcome ?? 'forwarded'
    if (this.stream !== null) services.metrics.streamClosed(this.agentName)
    services.metrics.request(this.agentName, this.label, this.binding, this.version, outcome, seconds)
    this.span.end(outcome, response.statusCode)
    services.inFlight.delete(this)
    const { decisions } = services
    if (decisions !== null && decisions.wants(outcome, this.found)) this.keep(decisions, outcome, seconds)
    const level = outcome === 'forwarded' ? 'debug' : outcome === 'gateway_error' && response.statusCode === 500 ? 'error' : 'info'
    if (!services.log.isLevelEnabled(level)) return
    services.log[level]({
      agent: this.agentName,
      operation: this.label,
      binding: this.binding,
      version: this.version,
      status: response.statusCode,
      outcome,
      duration_ms: Math.round(seconds * 1e6) / 1e3,
      request_id: this.id,
      ...(this.span.traceId === null ? {} : { trace_id: this.span.traceId })
    }, 'request')
  }

  private keep (decisions: Decisions, outcome: Outcome, seconds: number): void {
    decisions.add({
      at: Date.now(),
      agent: this.agentName,
      operation: this.label,
      binding: this.binding,
      version: this.version,
      outcome,
      status: this.response.statusCode,
      seconds,
      requestId: this.id,
      traceId: this.span.traceId,
      port: this.request.socket.remotePort ?? 0,
      refusal: this.rejection,
      found: this.found ?? NOTHING_FOUND
    })
  }
}

const NOTHING_FOUND: readonly Found[] = []

const READ_OFF_BYTES = 16 * 1024 * 1024
const READ_OFF_MS = 5_000

/**
 * Reads and forgets what a refused client still sends. Closing at once would reset the connection, and the client might never see the
 * answer (RFC 9112 §9.6); reading without bounds would let it send for ever.
 */
function readOff (request: IncomingMessage, done: () => void): void {
  let left = READ_OFF_BYTES
  const timer = setTimeout(() => { request.socket.destroy() }, READ_OFF_MS).unref()
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) request.socket.destroy()
  })
  request.once('end', done)
  request.once('close', () => { clearTimeout(timer) })
  request.resume()
}

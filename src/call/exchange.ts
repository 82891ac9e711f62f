/** One request and its response: holds the whole state of the exchange, and records its end in one place. */
import { randomBytes } from 'node:crypto'
import type { Rejection } from '../a2a/errors.js'
import { grpcStatusOf } from '../a2a/grpc/status.js'
import type { Operation } from '../a2a/operations.js'
import type { TaskNames } from '../a2a/task-id.js'
import { NO_NAMES } from '../a2a/task-id.js'
import type { Binding, Version } from '../a2a/versions.js'
import { NO_ID } from '../pipeline/caller.js'
import { valueOf } from '../pipeline/response-head.js'
import { internal, stopped, tooManyRequests, tooManyStreams } from '../pipeline/rejections.js'
import type { AgentState } from '../pipeline/agent-snapshot.js'
import type { OwnerOutcome } from '../policy/access/ownership.js'
import type { Found } from '../console/decisions.js'
import { withFound } from '../console/decisions.js'
import type { ReceivedRequest } from '../console/playground/request-log.js'
import type { Outcome } from '../telemetry/metrics/metrics.js'
import type { RequestSpan } from '../telemetry/traces/tracing.js'
import type { GrpcCodeName } from '../wire/grpc/codes.js'
import type { Agent } from '../gateway/agent.js'
import { withAppHeaders } from './app-headers.js'
import type { ClientRequest, ClientResponse } from './client-streams.js'
import { endedCall, keptRequest } from './console-entries.js'
import type { Cors } from './steps/cors.js'
import { withCors } from './steps/cors.js'
import type { RouteTarget } from './route-target.js'
import type { Step } from './run.js'
import { END } from './run.js'
import type { RequestLimits } from './steps/limits.js'
import type { Kind } from './steps.js'
import type { Transport, Unread, Work } from './work.js'
import { endWithRejection, respondRejection } from './response/rejection-out.js'
import type { StreamOut } from './response/stream-out.js'
import type { Services } from './services.js'
import type { PushReservation } from './steps/push.js'
import type { Claim } from '../policy/request/claims.js'
import type { Asked } from '../pipeline/request.js'
import type { Snapshot } from '../gateway/agent-registry.js'
import type { ConcurrencyLimit } from '../gateway/concurrency-limit.js'
import { isStreaming } from '../gateway/concurrency-limit.js'
import { callEntry, logCall, recordGrpcStatus } from './telemetry/request-telemetry.js'
import type { Outbound } from '../gateway/credentials/agent-credentials.js'
import type { Carrier } from '../identity/authentication.js'
import type { Principal } from '../identity/principal.js'
import type { Identity } from '../gateway/identity/identity.js'
import { schedule } from './event-loop-batch.js'
import type { Forwarding } from '../upstream/forward.js'

/** Kind of the exchange: the operation, or a name for requests that reach no operation of a card. */
export type Label = Operation | 'AgentCard' | 'Directory' | 'Passthrough' | 'Preflight'

/** Random prefix of request ids. It keeps ids of several workers and of successive processes distinct in shared logs. */
const PROCESS = randomBytes(4).toString('hex')

/** A call, as its front has received it. */
export interface Received {
  readonly request: ClientRequest
  readonly response: ClientResponse
  readonly services: Services
  readonly snapshot: Snapshot
  readonly transport: Transport
  readonly target: RouteTarget
}

const NO_STEPS: readonly Step[] = []
const NO_CLAIMS: readonly Claim[] = []

export class Exchange {
  readonly request: ClientRequest
  readonly response: ClientResponse
  readonly services: Services
  /** The configuration that was in force when the request came. */
  readonly snapshot: Snapshot
  /** Carries the request to its agent. */
  readonly transport: Transport
  /** What the target of the request names. */
  readonly target: RouteTarget
  /** The steps of the call, and the index of the next one. Only `run.ts` and `steps.ts` use them. */
  steps: readonly Step[] = NO_STEPS
  position = 0
  kind: Kind = 'operation'
  readonly startedAt: number
  readonly span: RequestSpan
  private readonly number: number
  agent: Agent | null
  state: AgentState | null = null
  label: Label = 'Other'
  /** The identity in force when the request came; null without `identity`. */
  identity: Identity | null = null
  /** The caller; null without `identity`, and for requests that need no caller. */
  principal: Principal | null = null
  /** Source of the credentials that were rejected, or `none`; null while none were. Bounds the log lines of such requests. */
  rejectedSource: string | null = null
  /** `Metadata` that filters of Envoy have written for the call. Null for calls of every listener but that for a mesh. */
  metadata: Buffer | null = null
  /** The carrier of the caller's credentials. */
  carrier: Carrier | null = null
  /** Entry of `access` that decided about the request, or `none`; null without `access`. */
  accessRule: string | null = null
  /** The credentials for the agent; null without `upstream.credentials`, and before the gateway has them. */
  outbound: Outbound | null = null
  /** Name of the method or route of an extension, as a policy declares it; null for other requests. */
  addition: string | null = null
  binding: Binding = 'HTTP+JSON'
  /** Status of the response to a gRPC client; null before there is one, and over HTTP. */
  grpcStatus: GrpcCodeName | null = null
  version: Version = '1.0'
  /** The version that the request asks for. */
  asked: Asked | null = null
  /** What the steps have read and decided, until the request is at the agent. */
  work: Work | null = null
  /** A request that no rule sees, until it is at the agent. */
  unread: Unread | null = null
  /** True when the request names its version. */
  statedVersion = false
  /** Raw JSON token of the JSON-RPC id. */
  idToken: () => string = NO_ID
  /** URIs of the extensions that the client requested, as it wrote them. */
  requested: readonly string[] = []
  /** URIs of the extensions that are active in the request. */
  active: readonly string[] = []
  /** Task and context that the request names. Computed on demand, because most requests have no line. */
  named: () => TaskNames = NO_TASK
  /** Task and context of the first result in the agent's response, if the response was read. */
  private result: TaskNames | null = null
  /** Media type of the request. It decides the media type of a rejection. */
  mediaType: string | null = null
  forwarding: Forwarding | null = null
  /** Cross-origin headers of the response; null for none of the gateway's own. */
  cors: Cors | null = null
  /** Result of `rates` and `budgets`; null without any. */
  limits: RequestLimits | null = null
  /** Neighbours in the list of exchanges in flight. Only `InFlight` uses them. */
  previousLive: Exchange | null = null
  nextLive: Exchange | null = null
  /** Result of the check of owners; null when no task or context was checked. */
  owner: OwnerOutcome | null = null
  /** Push notification configurations that the request counts; null for none. */
  push: PushReservation | null = null
  /** Values that the request was the first to use, and may use if it reaches the agent. */
  claimed: readonly Claim[] = NO_CLAIMS
  /** Called before the end is recorded, whatever the outcome. Handles data that is known only then, and releases resources. */
  atEnd: (() => void) | null = null
  /** Set when the gateway begins to send a stream. gRPC has no text that could follow an event. */
  stream: Pick<StreamOut, 'atBoundary' | 'finish'> | null = null
  /** The limit that counts the call while it is in flight. */
  private load: ConcurrencyLimit | null = null
  private streaming = false
  /** True when the client has ever read more slowly than the agent sent. */
  private slow = false
  /** Bytes of bodies that this exchange holds in the memory budget. */
  private holds = 0
  private outcome: Outcome | null = null
  /** True when the agent responded with an error. */
  private erred = false
  /** A copy of the request, for the playground; null when the gateway keeps none, and before the body has arrived. */
  received: ReceivedRequest | null = null
  /** The rejection, for the console. */
  private rejection: Rejection | null = null
  private found: readonly Found[] | null = null
  private ended = false

  constructor ({ request, response, services, snapshot, transport, target }: Received) {
    this.request = request
    this.response = response
    this.services = services
    this.snapshot = snapshot
    this.transport = transport
    this.target = target
    this.agent = target.agent
    this.startedAt = performance.now()
    this.span = services.tracing.startRequest(request, this.startedAt)
    this.number = services.inFlight.add(this)
    response.on('close', () => { this.leave() })
  }

  /** Name of the operation for telemetry. A closed set: operations, and the methods and routes that policies declare. */
  get operation (): string {
    return this.addition ?? this.label
  }

  /** Id for logs and audit lines. Computed on demand, because most requests have no such line. */
  get id (): string {
    return `${PROCESS}-${this.number.toString(36)}`
  }

  /** Task and context of the call, as known so far. Names in the request take precedence. */
  get task (): TaskNames {
    const named = this.named()
    const { result } = this
    return result === null ? named : { taskId: named.taskId ?? result.taskId, contextId: named.contextId ?? result.contextId }
  }

  /** Keeps task and context of the agent's response. The first result wins: it is the request's own. */
  sawTask ({ taskId, contextId }: TaskNames): void {
    this.result ??= { taskId, contextId }
  }

  /** Counts the check of the owner of a task or context. */
  sawOwner (outcome: OwnerOutcome): void {
    this.owner = outcome
    this.services.metrics.taskOwnerCheck(this.agentName, outcome)
  }

  get agentName (): string {
    return this.agent === null ? 'other' : this.agent.name
  }

  /** Sets the outcome. The first outcome wins: later events are consequences of it. */
  settle (outcome: Outcome): void {
    this.outcome ??= outcome
  }

  /** Notes that the agent responded with an error. The error is forwarded, unless something rejects it. */
  agentErred (): void {
    this.erred = true
  }

  /** Sets the outcome of a call whose response was forwarded to its end. */
  settleForwarded (): void {
    this.settle(this.erred ? 'agent_error' : 'forwarded')
  }

  /** Keeps the violations that rules found in the request or in its response. */
  saw (phase: Found['phase'], violations: Found['violations'], edited: Found['edited']): void {
    if (this.services.decisions !== null) this.found = withFound(this.found, { phase, violations, edited })
  }

  /**
   * Counts the call as in flight for its agent. @returns false when the call was rejected because the limit is reached, or when the client
   * is gone
   */
  enter (agent: Agent): boolean {
    if (this.ended) return false
    const { concurrency: load, config: { concurrency } } = agent
    this.streaming = isStreaming(this.label)
    if (load.enter(this.streaming, concurrency)) {
      this.load = load
      return true
    }
    const { retryAfter } = this.services.overload
    this.reject(
      this.streaming ? tooManyStreams(concurrency.streams, retryAfter) : tooManyRequests(concurrency.requests, retryAfter),
      'rejected'
    )
    return false
  }

  /** @returns false when the memory budget of the process is used up, or when the exchange is over */
  hold (bytes: number): boolean {
    if (this.ended || !this.services.heldBytes.take(bytes, this.holds)) return false
    this.holds += bytes
    return true
  }

  /**
   * Responds with a rejection in the caller's binding and version. When the response has begun, a gRPC call ends with the status of the
   * rejection, and any other response is broken off.
   * @param more further headers, names and values
   * @returns the result of the step that rejects the call
   */
  reject (rejection: Rejection, outcome: Outcome, httpStatus?: number, more: readonly string[] = []): typeof END {
    this.settle(outcome)
    this.rejection ??= rejection
    const { response } = this
    if (!response.destroyed) this.services.metrics.refusal(this.agentName, rejection.rule)
    if (response.headersSent || response.destroyed) {
      this.cut(rejection)
      return END
    }
    respondRejection(this, rejection, httpStatus, more)
    this.span.set('a2a_gateway.decision', 'reject')
    this.span.set('a2a_gateway.rule', rejection.rule)
    if (outcome === 'rejected') this.tellAgent(rejection)
    return END
  }

  /** Frees what the steps hold for the request: its bodies, and what counted for a request that does not reach its agent. */
  release (): void {
    this.work = null
    this.unread = null
    if (this.forwarding !== null) return
    this.push?.unsent()
    if (this.claimed.length === 0) return
    this.services.tasks.release(this.agentName, this.claimed)
    this.claimed = NO_CLAIMS
  }

  /**
   * Rejects the agent's response: sends another response in its place, or a last event when a stream has begun. The gateway reads nothing
   * more from the agent.
   */
  rejectResponse (rejection: Rejection, outcome: Outcome): void {
    this.settle(outcome)
    this.rejection ??= rejection
    this.forwarding?.abort()
    const { response } = this
    if (response.destroyed) return
    this.services.metrics.refusal(this.agentName, rejection.rule)
    this.span.set('a2a_gateway.rule', rejection.rule)
    this.tellAgent(rejection)
    if (!response.headersSent) respondRejection(this, rejection)
    else if (this.stream?.atBoundary === true) endWithRejection(this, rejection)
    else this.cut(rejection)
  }

  /** Ends a response that has begun. */
  private cut (rejection: Rejection): void {
    const { response } = this
    if (response.endWith === undefined || response.destroyed) this.breakOff()
    else {
      const { code, trailers } = grpcStatusOf(rejection)
      recordGrpcStatus(this, code, 'gateway')
      response.endWith(trailers)
    }
  }

  /** Handles a fault of the gateway. */
  failed (error: unknown): void {
    this.services.log.error({ err: error, request_id: this.id }, 'a request could not be handled')
    this.forwarding?.abort()
    this.reject(internal, 'gateway_error')
    this.release()
  }

  private tellAgent ({ rule, reason, customReason, message }: Rejection): void {
    this.agent?.rejected({ at: new Date().toISOString(), rule, reason: customReason ?? reason, message })
  }

  /**
   * Breaks off a response that has begun, so that no client takes it for complete. A client of HTTP/1.0 may recognize only the end of the
   * connection, so that connection is reset.
   */
  breakOff (): void {
    if (this.request.httpVersion === '1.0') this.request.socket.resetAndDestroy()
    this.response.destroy()
  }

  /**
   * Ends a response because the gateway stops. An event stream ends with a comment that states the reason, unless it stands within an
   * event; a gRPC call ends with a status. Any other response is broken off, so that the client notices the cut.
   */
  stop (): void {
    this.settle('gateway_error')
    const { response } = this
    if (response.endWith !== undefined) {
      if (response.headersSent) this.cut(stopped)
      else this.reject(stopped, 'gateway_error')
    } else if (this.stream?.atBoundary === true && !response.destroyed) {
      this.stream.finish()
      response.end(': the gateway is shutting down\n\n')
    } else this.breakOff()
  }

  /** @param headers flat list of names and values */
  respond (status: number, headers: string[], body: Buffer | null, phrase = ''): typeof END {
    this.begin(status, headers, phrase)
    this.response.end(body !== null && this.request.method !== 'HEAD' ? body : undefined)
    return END
  }

  begin (status: number, headers: string[], phrase = ''): void {
    if (this.services.inFlight.draining && this.closesConnection && valueOf(headers, 'connection') === null) headers.push('connection', 'close')
    const left = this.limits?.left
    if (left !== undefined && left !== null) headers.push(...left.headers)
    const all = withAppHeaders(this.response, this.cors?.replaces === true ? withCors(headers, this.cors) : headers)
    if (phrase === '') this.response.writeHead(status, all)
    else this.response.writeHead(status, phrase, all)
  }

  /** A process that stops closes connections of HTTP/1.1 by a header, which has no meaning in HTTP/2 (RFC 9113 §8.2.2). */
  private get closesConnection (): boolean {
    return this.request.httpVersion !== '2.0'
  }

  /** @returns false when the client reads too slowly; the agent's response resumes when the client has read the buffered data */
  write (chunk: Buffer): boolean {
    const { response } = this
    if (response.write(chunk)) return true
    if (!this.slow) {
      this.slow = true
      response.on('drain', () => { this.forwarding?.resume() })
    }
    return false
  }

  /** Called when the response closes, complete or not. */
  private leave (): void {
    if (this.ended) return
    this.ended = true
    this.load?.leave(this.streaming)
    if (this.forwarding === null) this.push?.unsent()
    else this.push?.unknown()
    if (!this.response.writableFinished) {
      // A client may disconnect as soon as it has read an error.
      this.settle(this.erred ? 'agent_error' : 'client_aborted')
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
    services.metrics.request(
      { agent: this.agentName, operation: this.operation, binding: this.binding, version: this.version, outcome, front: this.transport.front },
      seconds,
      this.span
    )
    if (this.span.recording) this.describeResult()
    this.span.end(outcome, response.statusCode)
    services.inFlight.delete(this)
    const { decisions, requests } = services
    if (services.audit.forwarded && this.forwarding !== null && this.label !== 'Preflight') {
      services.audit.record(callEntry(this, outcome, this.active))
    }
    if (decisions !== null && decisions.wants(outcome, this.found)) {
      decisions.add(endedCall(this, outcome, seconds, this.rejection, this.found))
    }
    if (requests !== null && this.received !== null) requests.add(keptRequest(this, this.received, outcome, this.rejection))
    if (this.rejectedSource === null || this.identity === null) logCall(this, outcome, seconds, 0)
    else this.identity.failedRequests.record(this.rejectedSource, omitted => { logCall(this, outcome, seconds, omitted) })
  }

  /** Sets the names that only the response has. The span has those of the request. */
  private describeResult (): void {
    const { result, span } = this
    if (result === null) return
    const named = this.named()
    if (named.taskId === null && result.taskId !== null) span.set('a2a.task.id', result.taskId)
    if (named.contextId === null && result.contextId !== null) span.set('a2a.context.id', result.contextId)
  }
}

const NO_TASK = (): TaskNames => NO_NAMES

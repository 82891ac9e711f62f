/** The data of one call: what its front has received, what its steps have found out, and what its response has shown. */
import { randomBytes } from 'node:crypto'
import type { Rejection } from '#a2a/errors.js'
import type { Operation } from '#a2a/operations.js'
import type { TaskNames } from '#a2a/task-id.js'
import { NO_TASK_NAMES } from '#a2a/task-id.js'
import type { Binding, Version } from '#a2a/versions.js'
import type { ReceivedRequest } from '#console/playground/request-log.js'
import type { Agent } from '#agents/agent.js'
import type { Snapshot } from '#agents/snapshot.js'
import type { ConcurrencyLimit } from '#agents/concurrency-limit.js'
import type { Outbound } from '#agents/credentials/agent-credentials.js'
import type { Identity } from '#agents/identity/identity.js'
import type { Carrier } from '#identity/authentication.js'
import type { Principal } from '#identity/principal.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { NO_ID } from '#pipeline/caller.js'
import type { Delegation } from '#pipeline/access/delegation.js'
import type { RequestedVersion } from '#pipeline/request.js'
import type { ExternalAnswer } from '#telemetry/audit-fields.js'
import type { OwnerOutcome } from '#policy/access/ownership.js'
import type { Guarded } from '#guard.js'
import type { FrontName, Outcome } from '#telemetry/metrics/metrics.js'
import type { RequestSpan } from '#telemetry/traces/tracing.js'
import type { Forwarding } from '#upstream/forward.js'
import type { GrpcCodeName } from '#wire/grpc/codes.js'
import type { ClientRequest, ClientResponse } from './client-streams.js'
import type { Cors } from './cors-headers.js'
import type { RouteTarget } from './route-target.js'
import type { Services } from './services.js'
import type { LiveCall } from '#agents/in-flight.js'
import type { Kind, Step } from './step.js'
import type { RequestLimits } from './limit-headers.js'
import type { PushReservation } from './push-reservation.js'
import type { Transport, UninspectedRequest, Work } from './work.js'
import type { PhaseFindings } from '#console/entry.js'
import type { KeptAnswer } from '#console/policy-answers.js'
import type { ClaimKey } from '#state/store.js'

/** Kind of the exchange: the operation, or a name for requests that reach no operation of a card. */
export type Label = Operation | 'AgentCard' | 'Catalog' | 'Directory' | 'Passthrough' | 'Preflight'

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
  /** Ends the call after an error that nothing expected. */
  readonly endAfterError: (exchange: Exchange) => void
}

const NO_STEPS: readonly Step[] = []
export const NO_CLAIMS: readonly ClaimKey[] = []

export class Exchange implements LiveCall, Guarded {
  readonly request: ClientRequest
  readonly response: ClientResponse
  readonly services: Services
  /** The configuration that was in force when the request came. */
  readonly snapshot: Snapshot
  /** Carries the request to its agent. */
  readonly transport: Transport
  /** What the target of the request names. */
  readonly target: RouteTarget
  /** The steps of the call, and the index of the next one. Only `run.ts` uses them. */
  steps: readonly Step[] = NO_STEPS
  position = 0
  kind: Kind = 'operation'
  readonly startedAt: number
  readonly span: RequestSpan
  readonly #number: number
  readonly #endAfterError: Received['endAfterError']
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
  /** The chain of callers and the decision about it; null without `access.delegation`, and before the decision. */
  delegation: Delegation | null = null
  /** The credentials for the agent; null without `upstream.credentials`, and before the gateway has them. */
  outbound: Outbound | null = null
  /** Name of the method or route of an extension, as a policy declares it; null for other requests. */
  addition: string | null = null
  binding: Binding = 'HTTP+JSON'
  /** Status of the response to a gRPC client; null before there is one, and over HTTP. */
  grpcStatus: GrpcCodeName | null = null
  version: Version = '1.0'
  /** The version that the request asks for. */
  asked: RequestedVersion | null = null
  /** What the steps have read and decided, until the request is at the agent. */
  work: Work | null = null
  /** A request that no rule sees, until it is at the agent. */
  unread: UninspectedRequest | null = null
  /** Raw JSON token of the JSON-RPC id. */
  idToken: () => string = NO_ID
  /** URIs of the extensions that the client requested, as it wrote them. */
  requested: readonly string[] = []
  /** URIs of the extensions that are active in the request. */
  active: readonly string[] = []
  /** Task and context that the request names. Computed on demand, because most requests have no line. */
  named: () => TaskNames = NO_TASK
  /** Task and context of the first result in the agent's response, if the response was read. */
  result: TaskNames | null = null
  forwarding: Forwarding | null = null
  /** Cross-origin headers of the response; null for none of the gateway's own. */
  cors: Cors | null = null
  /** Result of `rates` and `budgets`; null without any. */
  limits: RequestLimits | null = null
  /** Neighbours in the list of exchanges in flight. Only `InFlight` uses them. */
  previousLive: LiveCall | null = null
  nextLive: LiveCall | null = null
  /** The answers of policy servers; null for none. */
  external: readonly ExternalAnswer[] | null = null
  /** The same answers for the console; null for none, and without the console. */
  answers: readonly KeptAnswer[] | null = null
  /** Aborted when the client has disconnected; null while nobody needs to know. */
  gone: AbortSignal | null = null
  /** Result of the check of owners; null when no task or context was checked. */
  owner: OwnerOutcome | null = null
  /** Push notification configurations that the request counts; null for none. */
  push: PushReservation | null = null
  /** Values that the request was the first to use, and may use if it reaches the agent. */
  claimed: readonly ClaimKey[] = NO_CLAIMS
  /** Called before the end is recorded, whatever the outcome. Handles data that is known only then, and releases resources. */
  atEnd: (() => void) | null = null
  /** Set when the gateway begins to send a stream. gRPC has no text that could follow an event. */
  stream: { readonly atBoundary: boolean, finish (): void } | null = null
  /** The limit that counts the call while it is in flight. */
  load: ConcurrencyLimit | null = null
  streaming = false
  /** True when the client has ever read more slowly than the agent sent. */
  slow = false
  /** Bytes of bodies that this exchange holds in the memory budget. */
  held = 0
  /** Those of them that a reader of the body reserves no more, because the front has. */
  prepaid = 0
  outcome: Outcome | null = null
  /** True when the agent responded with an error. */
  agentFailed = false
  /** A copy of the request, for the playground; null when the gateway keeps none, and before the body has arrived. */
  received: ReceivedRequest | null = null
  /** The rejection, for the console. */
  rejection: Rejection | null = null
  found: readonly PhaseFindings[] | null = null
  ended = false

  constructor ({ request, response, services, snapshot, transport, target, endAfterError }: Received) {
    this.request = request
    this.response = response
    this.services = services
    this.snapshot = snapshot
    this.transport = transport
    this.target = target
    this.agent = target.agent
    this.#endAfterError = endAfterError
    this.startedAt = performance.now()
    this.span = services.tracing.startRequest(request, this.startedAt)
    this.#number = services.inFlight.add(this)
  }

  /** Name of the operation for telemetry. A closed set: operations, and the methods and routes that policies declare. */
  get operation (): string {
    return this.addition ?? this.label
  }

  /** Id for logs and audit lines. Computed on demand, because most requests have no such line. */
  get id (): string {
    return `${PROCESS}-${this.#number.toString(36)}`
  }

  /** Task and context of the call, as known so far. Names in the request take precedence. */
  get task (): TaskNames {
    const named = this.named()
    const { result } = this
    return result === null ? named : { taskId: named.taskId ?? result.taskId, contextId: named.contextId ?? result.contextId }
  }

  /** Where an error that nothing expected is counted. */
  get place (): FrontName {
    return this.transport.front
  }

  /** Fields of the log line of such an error. */
  get facts (): Readonly<Record<string, unknown>> {
    return { request_id: this.id }
  }

  endAfter (): void {
    this.#endAfterError(this)
  }

  get agentName (): string {
    return this.agent === null ? 'other' : this.agent.name
  }
}

const NO_TASK = (): TaskNames => NO_TASK_NAMES

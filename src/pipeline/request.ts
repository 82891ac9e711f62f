/**
 * The steps from a request to a decision, in their order. The proxy runs them one by one, because it reads the body in between.
 * `dry-run.ts` runs all of them. Pure: no clock, no I/O.
 */
import type { Call, CallProblem } from '#a2a/message/call.js'
import { authorize } from './access/access.js'
import { rejectedInitiator } from './access/delegation.js'
import { withAdditions } from '#a2a/card/additions.js'
import type { EchoPlan } from './echo.js'
import type { ExtendedCardPlan } from './card/extended-card.js'
import { readCall } from '#a2a/message/call.js'
import { unclearName } from '#a2a/message/named.js'
import type { Payload } from '#a2a/payload.js'
import { JSON_PAYLOAD } from '#a2a/payload.js'
import type { OperationRoute } from '#a2a/route.js'
import type { Version } from '#a2a/versions.js'
import { EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER, requestedVersion, VERSION_HEADER } from '#a2a/versions.js'
import type { Limits } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import type { ResponseContext, ResponseEvaluator } from '#policy/response/evaluator.js'
import type { OwnerFindings } from '#policy/access/ownership.js'
import type { Decision } from '#policy/request/decision.js'
import { decide, rejected } from '#policy/request/evaluate.js'
import { evaluatorOf } from '#policy/response/policy-evaluator.js'
import type { TaskRecord } from '#policy/task/memory.js'
import type { Tracer } from '#policy/trace.js'
import type { HeaderList } from '#wire/header-list.js'
import { readList } from '#wire/header-list.js'
import type { JsonObject } from '#wire/json/object.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import { whole } from '#wire/chunked-buffer.js'
import type { RequestHead } from './request-head.js'
import * as rejections from './rejections.js'
import type { AgentState } from './agent-snapshot.js'
import type { Negotiated } from './upstream-headers.js'
import type { RequestEvaluation } from './request-evaluation.js'

/** The protocol version that a request asks for. */
export interface RequestedVersion {
  /** 1.0 when the version is unknown. The rejection then uses this version. */
  readonly version: Version
  /** True when the client named its version. */
  readonly stated: boolean
  /** A minor version that the gateway does not know, such as `1.1`. */
  readonly minor: string | null
  readonly problem: 'conflict' | 'unknown' | null
}

const EXTENSION_HEADERS = [EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER]

/** @param query with its leading `?`, or '' */
export function readRequestedVersion (head: RequestHead, query: string): RequestedVersion {
  const asked = requestedVersion(head.headers[VERSION_HEADER] as string | undefined, query)
  return 'version' in asked
    ? { version: asked.version, stated: asked.stated, minor: asked.minor ?? null, problem: null }
    : { version: '1.0', stated: false, minor: null, problem: asked.problem }
}

/** The version of a gRPC call: its service decides, and a header must agree. @param version of the service */
export function askedOfService (head: RequestHead, version: Version): RequestedVersion {
  const { stated, minor, problem, version: named } = readRequestedVersion(head, '')
  return { version, stated, minor, problem: problem ?? (stated && named !== version ? 'conflict' : null) }
}

/** Problem of a version that this address does not support. The gateway finds it before it reads the body, and reports it afterwards. */
export function versionProblem (
  route: OperationRoute, asked: RequestedVersion, { unknownMinor }: Pick<AgentState, 'unknownMinor'>
): CallProblem | null {
  if (asked.problem === 'conflict') return route.binding === 'GRPC' ? rejections.serviceVersion : rejections.versionConflict
  if (asked.problem !== null) return rejections.versionUnknown(route.versions)
  if (asked.minor !== null && unknownMinor === 'reject') return rejections.versionUnknown(route.versions)
  // A route of an extension is not an operation of A2A: the client may call it without a version.
  if (route.supported || (route.extensionRoute !== null && !asked.stated)) return null
  return route.binding === 'GRPC'
    ? rejections.serviceNotOffered(route.version, route.versions)
    : rejections.versionNotSpoken(asked.version, asked.stated, route.versions)
}

/** A request for an operation, with its body. */
export interface OperationRequest {
  readonly route: OperationRoute
  /** Result of `versionProblem`. It takes precedence over problems of the body. */
  readonly problem: CallProblem | null
  /** With its leading `?`, or ''. */
  readonly query: string
  /** The decoded body. */
  readonly bytes: Bytes
  /** Problem of the Content-Encoding; `bytes` is then the body as sent. */
  readonly encodingProblem: CallProblem | null
  readonly state: Pick<AgentState, 'backslashNames' | 'policy'>
}

/** Reads the call from the body of a request. */
export function callOf (
  { route, problem, query, bytes, encodingProblem, state }: OperationRequest,
  head: RequestHead,
  limits: Pick<Limits, 'jsonDepth' | 'jsonMembers'>
): Call {
  const { headers } = head
  const call = readCall({
    bytes,
    binding: route.binding,
    version: route.version,
    contentType: headers['content-type'],
    restOperation: route.operation,
    limits: { depth: limits.jsonDepth, members: limits.jsonMembers },
    validator: state.policy[route.version].validator
  })
  if (problem !== null) return { ...call, problem }
  if (encodingProblem !== null) return { ...call, problem: encodingProblem }
  if (call.problem !== null) return call
  if (call.backslashName !== null && state.backslashNames === 'reject') return { ...call, problem: call.backslashName }
  const unclear = unclearName(
    call, route.binding, route.binding !== 'HTTP+JSON' ? null : { path: route.upstreamPath, tenant: route.tenant, query }
  )
  return unclear === null ? call : { ...call, problem: rejections.ambiguous(unclear) }
}

/** A call to evaluate. */
export interface EvaluationInput {
  readonly route: OperationRoute
  readonly call: Call
  readonly head: RequestHead
  /** The authenticated caller; null for none. */
  readonly caller: Principal | null
  /** The initiator of a delegated call, whom the access lists must allow too; undefined for none. */
  readonly initiator?: Principal | null | undefined
  /** Record of the task that the request names. */
  readonly record: TaskRecord | null
  /** To whom the tasks and contexts of the request belong; undefined without `access.tasks`. */
  readonly owners?: OwnerFindings | undefined
  /** Time of the request, in milliseconds since 1970; null when it is not known. */
  readonly now: number | null
  /** As `DecisionRequest.approved`. */
  readonly approved?: ReadonlySet<string> | null
}

/**
 * Evaluates a request: whether its caller may send it (`access`), and then the policies of its version.
 * @param tracer is notified of each rule's decision; null in the proxy
 */
export function evaluateRequest (
  state: AgentState,
  { route, call, head, record, owners, caller, initiator, now, approved = null }: EvaluationInput,
  tracer: Tracer | null = null
): RequestEvaluation {
  const policy = state.policy[route.version]
  const requested = readList(head.rawHeaders, EXTENSION_HEADERS)
  const headerName = headerNameFor(requested, route.version)
  const access = authorize(state.access, policy, { route, call, head, caller })
  if (access !== null && access.rejection !== null) {
    const decision = rejected(policy, { requested: requested.values, caller }, access.rejection, access.violations)
    return { decision, access, initiator: null, policy, requested: requested.values, headerName }
  }
  const ofInitiator = initiator === undefined ? null : authorize(state.access, policy, { route, call, head, caller: initiator })
  const denied = rejectedInitiator(ofInitiator)
  const byInitiator = ofInitiator?.decision ?? null
  if (denied !== null && denied.rejection !== null) {
    const decision = rejected(policy, { requested: requested.values, caller }, denied.rejection, denied.violations)
    return { decision, access, initiator: byInitiator, policy, requested: requested.values, headerName }
  }
  const decided = decide(
    {
      call,
      requested: requested.values,
      headerName,
      pathTenant: decoded(route.tenant),
      extensionRoute: route.extensionRoute,
      headers: head.rawHeaders,
      record,
      owners,
      caller,
      now,
      approved
    },
    policy,
    tracer
  )
  const observed = [...access?.violations ?? [], ...denied?.violations ?? []]
  const decision = observed.length === 0 ? decided : { ...decided, violations: [...observed, ...decided.violations] }
  return { decision, access, initiator: byInitiator, policy, requested: requested.values, headerName }
}

export interface EvaluatorOptions extends Pick<ResponseContext, 'tracer' | 'recall' | 'follows' | 'owned' | 'asks' | 'clock'> {
  /** Id of the task that the request names, as `taskIdOf` reads it. */
  readonly taskId: string | null
  readonly limits: Pick<Limits, 'jsonDepth' | 'jsonMembers'>
}

/** Returns the evaluator of the response to a forwarded request, or null when nothing applies to the response. */
export function evaluatorFor (
  route: OperationRoute,
  call: Call,
  { policy, decision, requested }: RequestEvaluation,
  { taskId, limits, tracer, recall, clock, follows = false, owned = false, asks = null }: EvaluatorOptions
): ResponseEvaluator | null {
  // The response of an extension's route may have any form.
  if (policy.mode === 'off' || (!policy.reads && !follows && !owned && asks === null) || route.extensionRoute !== null) return null
  return evaluatorOf({
    policy,
    decision,
    requested,
    operation: call.operation,
    method: call.operation === 'Other' ? call.method : null,
    binding: route.binding,
    version: route.version,
    id: call.idValue,
    taskId,
    limits: { depth: limits.jsonDepth, members: limits.jsonMembers },
    tracer,
    follows,
    owned,
    asks,
    ...(clock === undefined ? {} : { clock }),
    ...(recall === undefined ? {} : { recall })
  })
}

/** True when the response is an extended card that the gateway rewrites. */
export function rewritesResponse (state: AgentState, call: Call): boolean {
  return call.operation === 'GetExtendedAgentCard' && state.rewrite.signature === 'strip'
}

/**
 * The work on a response that is an extended card.
 * @param publicBase the gateway's public URL with the agent's path, without trailing slash
 * @param select returns the part of a card that the caller sees; null for the whole card
 */
export function extendedCardOf (
  state: AgentState,
  route: OperationRoute,
  limits: Limits,
  publicBase: string,
  select: ExtendedCardPlan['select'] = null
): ExtendedCardPlan {
  const { additions, ...rewrite } = state.rewrite
  const selecting = select === null || additions === undefined ? select : (card: JsonObject) => select(withAdditions(card, additions))
  return {
    // A view of the card has the additions already.
    rewrite: { ...(select === null ? state.rewrite : rewrite), publicBase },
    select: selecting,
    binding: route.binding,
    seen: state.seen,
    size: limits.response,
    json: { depth: limits.jsonDepth, members: limits.jsonMembers }
  }
}

/** The work on the agent's extension header; null leaves the header as it is. */
export function echoOf ({ decision, policy, headerName, requested }: RequestEvaluation): EchoPlan | null {
  if (policy.mode === 'off') return null
  const { outbound, injected, active, forbidden } = decision
  const asked = forbidden === null ? requested : forbidden.without(requested)
  return { headerName, requested: asked, policy, outbound, injected, active, forbidden }
}

/**
 * Returns the version and extension headers of a forwarded request. Null leaves them as the client sent them.
 * @param problem of `versionProblem`
 * @param read true when the gateway must be able to read the response: an extended card, rules that enforce, or audit lines of tasks
 */
export function negotiated (
  route: OperationRoute,
  asked: Pick<RequestedVersion, 'stated' | 'minor'>,
  problem: CallProblem | null,
  evaluation: RequestEvaluation,
  read: boolean
): Negotiated | null {
  if (evaluation.policy.mode === 'off' && !read) return null
  return {
    outbound: evaluation.decision.outbound,
    version: route.version,
    stated: asked.stated,
    // The service of a gRPC call has the version; the header repeats it.
    versionAsSent: problem !== null || asked.minor !== null || (route.binding === 'GRPC' && !asked.stated),
    verbatim: evaluation.decision.verbatim,
    read
  }
}

/**
 * The body to forward: as sent, or the decoded body with the edits.
 * @param bytes the decoded body; default: `sent`, which is not compressed
 * @param payload makes the edits: `payloadOf` of a gRPC request
 * @throws TypeError when the message of a gRPC request has no place for an edit
 */
export function bodyOf<T extends Bytes> (
  { decision }: { readonly decision: Pick<Decision, 'edits'> },
  sent: T,
  bytes: Bytes = sent,
  payload: Payload = JSON_PAYLOAD
): T | Buffer {
  return decision.edits.length === 0 ? sent : payload.edit(whole(bytes), decision.edits)
}

/** The head to forward, without the removed headers. An edited body is not compressed. */
export function forwardedHead ({ decision }: RequestEvaluation, head: RequestHead): RequestHead {
  const rawHeaders = decision.headers ?? head.rawHeaders
  const decoded = decision.edits.length > 0 && head.headers['content-encoding'] !== undefined
  if (decision.headers === null && !decoded) return head
  return { method: head.method, headers: head.headers, rawHeaders: decoded ? withoutHeader(rawHeaders, 'content-encoding') : rawHeaders }
}

function withoutHeader (rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, i) => rawHeaders[i - i % 2]?.toLowerCase() !== name)
}

/** The header spelling that the client used, which the response uses too. Without a client header, the spelling of the version. */
function headerNameFor (requested: HeaderList, version: Version): string {
  const first = requested.seen[0]
  return first === undefined ? spelled(version) : first === EXTENSIONS_HEADER ? 'A2A-Extensions' : 'X-A2A-Extensions'
}

function spelled (version: Version): string {
  return version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions'
}

/** Decodes the tenant. The target guard has already rejected paths that do not decode. */
function decoded (tenant: string | null): string | null {
  return tenant === null ? null : decodeURIComponent(tenant)
}

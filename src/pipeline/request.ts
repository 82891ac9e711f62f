/**
 * The steps from a request to a decision, in their order. The proxy takes them one by one, because it reads the body in between;
 * `judge.ts` takes them all. Pure: no clock, no I/O.
 */
import type { Call, CallProblem } from '../a2a/message/call.js'
import { readCall } from '../a2a/message/call.js'
import { unclearName } from '../a2a/message/named.js'
import type { Route } from '../a2a/route.js'
import type { Version } from '../a2a/versions.js'
import { EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER, requestedVersion, VERSION_HEADER } from '../a2a/versions.js'
import type { Limits } from '../config/model/model.js'
import type { ResponseContext, ResponseEvaluator } from '../policy/response/evaluator.js'
import type { AgentPolicy } from '../policy/compile/compiled.js'
import type { Decision } from '../policy/request/decision.js'
import { decide } from '../policy/request/evaluate.js'
import { evaluatorOf } from '../policy/response/policy-evaluator.js'
import type { TaskRecord } from '../policy/task/memory.js'
import type { Tracer } from '../policy/trace.js'
import type { HeaderList } from '../wire/header-list.js'
import { readList } from '../wire/header-list.js'
import { editJson } from '../wire/json/edit.js'
import type { Bytes } from '../wire/chunked-buffer.js'
import { whole } from '../wire/chunked-buffer.js'
import type { RequestHead } from './request-head.js'
import * as rejections from './rejections.js'
import type { AgentState } from './agent-snapshot.js'
import type { Negotiated } from './upstream-headers.js'

export type OperationRoute = Extract<Route, { kind: 'operation' }>

/** The protocol version that a request asks for. */
export interface Asked {
  /** 1.0 where it cannot be told: that of the refusal. */
  readonly version: Version
  /** Whether the client named its version. */
  readonly stated: boolean
  readonly problem: 'conflict' | 'unknown' | null
}

/** What was decided, and by what. */
export interface RequestEvaluation {
  readonly decision: Decision
  readonly policy: AgentPolicy
  /** URIs that the client asks for. */
  readonly requested: readonly string[]
  /** The header that the client's echo comes back in. */
  readonly headerName: string
}

const EXTENSION_HEADERS = [EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER]

/** @param query with its leading `?`, or '' */
export function askedVersion (head: RequestHead, query: string): Asked {
  const asked = requestedVersion(head.headers[VERSION_HEADER] as string | undefined, query)
  return 'version' in asked ? { version: asked.version, stated: asked.stated, problem: null } : { version: '1.0', stated: false, problem: asked.problem }
}

/** A version that this address does not speak; found before the body is read, and told after. */
export function versionProblem (route: OperationRoute, asked: Asked): CallProblem | null {
  if (asked.problem !== null) return asked.problem === 'conflict' ? rejections.versionConflict : rejections.versionUnknown(route.versions)
  // A route of an extension is no operation of A2A: it may be called without naming a version.
  return route.supported || (route.extensionRoute !== null && !asked.stated) ? null : rejections.versionNotSpoken(asked.version, asked.stated, route.versions)
}

/**
 * @param problem of `versionProblem`: it comes before what is wrong with the body
 * @param query with its leading `?`, or ''
 */
export function callOf (route: OperationRoute, problem: CallProblem | null, head: RequestHead, query: string, bytes: Bytes, limits: Pick<Limits, 'jsonDepth' | 'jsonMembers'>): Call {
  const { headers } = head
  const encoding = headers['content-encoding']
  const call = readCall({
    bytes,
    binding: route.binding,
    version: route.version,
    contentType: headers['content-type'],
    restOperation: route.operation,
    limits: { depth: limits.jsonDepth, members: limits.jsonMembers }
  })
  if (problem !== null) return { ...call, problem }
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return { ...call, problem: rejections.contentEncoding }
  if (call.problem !== null) return call
  const unclear = unclearName(call, route.binding === 'JSONRPC' ? null : { path: route.upstreamPath, tenant: route.tenant, query })
  return unclear === null ? call : { ...call, problem: rejections.ambiguous(unclear) }
}

/**
 * @param record what is remembered of the task that the request names
 * @param tracer is told each rule's verdict; null in the proxy
 */
export function ruleOn (state: AgentState, route: OperationRoute, call: Call, head: RequestHead, record: TaskRecord | null = null, tracer: Tracer | null = null): RequestEvaluation {
  const policy = state.policy[route.version]
  const requested = readList(head.rawHeaders, EXTENSION_HEADERS)
  const decision = decide({ call, requested: requested.values, headerName: spelled(route.version), pathTenant: decoded(route.tenant), extensionRoute: route.extensionRoute, headers: head.rawHeaders, record }, policy, tracer)
  return { decision, policy, requested: requested.values, headerName: headerNameFor(requested, route.version) }
}

/**
 * How the answer to a forwarded request is judged, or null where nothing says anything of it.
 * @param taskId of the task that the request names, as `taskIdOf` reads it
 * @param tracer is told each rule's verdict; null in the proxy
 * @param recall of `AnswerContext`
 */
export function evaluatorFor (route: OperationRoute, call: Call, { policy, decision, requested }: RequestEvaluation, taskId: string | null, limits: Pick<Limits, 'jsonDepth' | 'jsonMembers'>, tracer: Tracer | null = null, recall?: ResponseContext['recall']): ResponseEvaluator | null {
  // A route of an extension answers with what that likes.
  if (policy.mode === 'off' || !policy.reads || route.extensionRoute !== null) return null
  return evaluatorOf({
    policy,
    decision,
    requested,
    operation: call.operation,
    binding: route.binding,
    version: route.version,
    id: call.idValue,
    taskId,
    limits: { depth: limits.jsonDepth, members: limits.jsonMembers },
    tracer,
    ...(recall === undefined ? {} : { recall })
  })
}

/** Whether the gateway reads and rewrites the answer: an extended card names addresses. */
export function readsResponse (state: AgentState, call: Call): boolean {
  return call.operation === 'GetExtendedAgentCard' && state.rewrite.signature === 'strip'
}

/**
 * What the headers of a forwarded request say of versions and extensions; null leaves them as the client sent them.
 * @param problem of `versionProblem`
 * @param read whether the gateway must be able to read the answer: of `readsAnswer`, or because a review enforces
 */
export function negotiated (route: OperationRoute, asked: Pick<Asked, 'stated'>, problem: CallProblem | null, evaluation: RequestEvaluation, read: boolean): Negotiated | null {
  if (evaluation.policy.mode === 'off' && !read) return null
  return { outbound: evaluation.decision.outbound, version: route.version, stated: asked.stated, versionAsSent: problem !== null, verbatim: evaluation.decision.verbatim, read }
}

/** The body to forward: the very same bytes where nothing is changed. */
export function bodyOf<T extends Bytes> ({ decision }: { readonly decision: Pick<Decision, 'edits'> }, bytes: T): T | Buffer {
  return decision.edits.length === 0 ? bytes : editJson(whole(bytes), decision.edits)
}

/** The head to forward, without the headers that were taken out. */
export function forwardedHead ({ decision }: RequestEvaluation, head: RequestHead): RequestHead {
  return decision.headers === null ? head : { method: head.method, headers: head.headers, rawHeaders: decision.headers }
}

/** The spelling the client used, which its echo comes back in; that of its version where it asked for nothing. */
function headerNameFor (requested: HeaderList, version: Version): string {
  const first = requested.seen[0]
  return first === undefined ? spelled(version) : first === EXTENSIONS_HEADER ? 'A2A-Extensions' : 'X-A2A-Extensions'
}

function spelled (version: Version): string {
  return version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions'
}

/** The target guard has refused paths that do not decode. */
function decoded (tenant: string | null): string | null {
  return tenant === null ? null : decodeURIComponent(tenant)
}

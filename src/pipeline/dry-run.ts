/**
 * Takes a whole request and returns everything that the gateway would make of it before it connects to the agent. The offline tools run the
 * steps through this module.
 */
import type { Call } from '../a2a/message/call.js'
import type { Caller, Rejection } from '../a2a/errors.js'
import type { Route } from '../a2a/route.js'
import { taskIdOf } from '../a2a/task-id.js'
import type { AgentConfig, Limits } from '../config/model/model.js'
import type { NamedId } from '../a2a/request-ids.js'
import type { OwnerFindings } from '../policy/access/ownership.js'
import type { Principal } from '../identity/principal.js'
import { PASSTHROUGH, UNKNOWN } from '../policy/access/target.js'
import type { Claim, Claimed } from '../policy/request/claims.js'
import { settleClaims } from '../policy/request/claims.js'
import type { TaskRecord } from '../policy/task/memory.js'
import type { Tracer } from '../policy/trace.js'
import { TrustedProxies } from '../wire/forwarded.js'
import { checkTarget, joinPath } from '../wire/target.js'
import { awaitsEventStream, mediaTypeOf, NO_ID } from './caller.js'
import { decodeSync } from './content-encoding.js'
import type { AccessOutcome } from './access/access.js'
import { admissionOf, admit, admitUnread } from './access/access.js'
import { guard, isPassthrough, isPreflight, MAX_GET_BODY } from './guard.js'
import type { RequestHead } from './request-head.js'
import { headOf } from './request-head.js'
import * as rejections from './rejections.js'
import type { AgentState } from './agent-snapshot.js'
import type { Asked, OperationRoute, RequestEvaluation } from './request.js'
import {
  askedVersion,
  bodyOf,
  callOf,
  forwardedHead,
  echoOf,
  extendedCardOf,
  negotiated,
  evaluatorFor,
  rewritesResponse,
  ruleOn,
  versionProblem
} from './request.js'
import { namedIds, ownershipPlanOf } from './access/ownership.js'
import type { ResponsePlan } from './response/driver.js'
import type { Negotiated } from './upstream-headers.js'
import { upstreamHeaders } from './upstream-headers.js'

export interface PlainRequest {
  readonly method: string
  /** Below the agent's path, undecoded: '' or beginning with `/`. */
  readonly path: string
  /** With its leading `?`, or ''. */
  readonly query: string
  /** Flat list: name, value, name, value. */
  readonly rawHeaders: readonly string[]
  /** Null: no body. */
  readonly body: Buffer | null
  /** Time of the exchange, in milliseconds since 1970. */
  readonly now?: number
  /** The authenticated caller. Default: none. */
  readonly caller?: Principal | null
}

/** The request that goes to the agent. */
export interface Forwarded {
  readonly method: string
  /** Path and query at the agent. */
  readonly target: string
  /** Flat list: name, value, name, value; names in lower case. */
  readonly headers: readonly string[]
  readonly body: Buffer | null
}

export interface DryRun {
  /** Kind of the request. The gateway forwards `passthrough` and `preflight` without inspection, and responds to `card` itself. */
  readonly kind: 'operation' | 'card' | 'preflight' | 'passthrough' | 'refused'
  /** Route of the address, as far as the gateway looked it up. */
  readonly route: Route | null
  /** Caller for `writeRejection`. */
  readonly caller: Caller
  /** Call of an operation whose body is available. */
  readonly call: Call | null
  readonly evaluation: RequestEvaluation | null
  /** Decision of the access lists; null without lists, and when they have not decided. */
  readonly access: AccessOutcome | null
  /** Null: not rejected. */
  readonly rejection: Rejection | null
  readonly forwarded: Forwarded | null
  /** The work on the response; null unless an operation is forwarded. For one response. */
  readonly plan: ResponsePlan | null
}

const EMPTY = Buffer.alloc(0)
const NOBODY = new TrustedProxies([])

/** Returns the remembered record of a task; null for none. */
export type Recall = (taskId: string) => TaskRecord | null

/** The state that earlier requests of a dry run left. */
export type TaskOwner = 'caller' | 'other' | 'unknown'

export interface DryRunMemory {
  readonly recall: Recall
  /**
   * Claims the values of an accepted request.
   * @param now time of the request, in milliseconds since 1970, or null
   * @returns the outcome of each claim, in order
   */
  readonly claim: (claims: readonly Claim[], now: number | null) => readonly Claimed[]
  /** To whom tasks and contexts belong (`access.tasks`). Default: the caller. */
  readonly owner?: TaskOwner
}

const NOTHING: DryRunMemory = { recall: () => null, claim: claims => claims.map(() => 'new') }

export interface DryRunAgent {
  readonly config: AgentConfig
  readonly state: AgentState
  /** `server.publicUrl`. Without it, the URLs of an extended card follow the Host of the request. */
  readonly publicUrl?: string | null
}

/**
 * Evaluates one request.
 * @param tracer is notified of each rule's decision, for the request and for the response that `evaluator` evaluates
 */
export function dryRunRequest (
  agent: DryRunAgent,
  request: PlainRequest,
  limits: Limits,
  tracer: Tracer | null = null,
  memory: DryRunMemory = NOTHING
): DryRun {
  const { config, state } = agent
  const { method, path, query } = request
  const head = headOf(method, request.rawHeaders)
  const asked = askedVersion(head, query)
  const target = checkTarget(joinPath('', path) + query)
  const unrouted: DryRun = {
    kind: 'refused',
    route: null,
    caller: callerOf(null, null, asked, head),
    call: null,
    evaluation: null,
    access: null,
    rejection: null,
    forwarded: null,
    plan: null
  }
  if (target !== null) return { ...unrouted, rejection: rejections.badTarget(target) }
  const route = state.router.match(method, path, asked.version)
  const found: DryRun = { ...unrouted, route, caller: callerOf(route, null, asked, head) }
  const guarded = guard(head)
  if (guarded !== null) return { ...found, rejection: guarded }
  const principal = request.caller ?? null
  if (isPassthrough(config, state.router, path)) {
    const access = isPreflight(head) ? null : admitUnread(state.access, principal, PASSTHROUGH)
    if (access !== null && access.rejection !== null) return { ...unrouted, access, rejection: access.rejection }
    return { ...unrouted, kind: 'passthrough', access, forwarded: forwardedOf(config, request, head, joinPath(basePath(config), path), null) }
  }
  if (route === null) return { ...found, rejection: rejections.unknownRoute }
  if (route.kind === 'card') return { ...found, kind: 'card' }
  if (route.kind === 'preflight') {
    const access = isPreflight(head) ? null : admitUnread(state.access, principal, UNKNOWN)
    if (access !== null && access.rejection !== null) return { ...found, access, rejection: access.rejection }
    return { ...found, kind: 'preflight', access, forwarded: forwardedOf(config, { ...request, body: null }, head, route.upstreamPath, null) }
  }
  if (route.kind === 'ambiguous') return { ...found, rejection: rejections.ambiguousPath }
  if (route.kind === 'verb') return { ...found, rejection: rejections.wrongVerb(route.allow) }
  const admitted = admit(state.access, admissionOf(route, principal))
  if (admitted !== null && admitted.rejection !== null) return { ...found, access: admitted, rejection: admitted.rejection }
  const unread = bodyProblem(request, limits)
  if (unread !== null) return { ...found, rejection: unread }

  const body = method === 'GET' ? EMPTY : (request.body ?? EMPTY)
  const problem = versionProblem(route, asked, state)
  const decoded = decodeSync(head.headers['content-encoding'], body, limits.body)
  if ('rejection' in decoded) return { ...found, rejection: decoded.rejection }
  const { content } = decoded
  const call = callOf({ route, problem, query, bytes: content, encodingProblem: decoded.problem }, head, limits)
  const taskId = state.policy[route.version].remembers ? taskIdOf(call, route.binding === 'HTTP+JSON' ? route.upstreamPath : null) : null
  const record = taskId === null ? null : memory.recall(taskId)
  const { ownership } = state.policy[route.version]
  const owners = ownership === null ? undefined : ownersOf(namedIds(ownership, route, call, query), memory.owner ?? 'caller')
  const input = { route, call, head, record, owners, caller: principal, now: request.now ?? null }
  const evaluation = claimed(ruleOn(state, input, tracer), request, memory)
  const { access, decision: { rejection } } = evaluation
  const caller = callerOf(route, call, asked, head)
  if (rejection !== null) return { kind: 'refused', route, caller, call, evaluation, access, rejection, forwarded: null, plan: null }
  const publicUrl = agent.publicUrl ?? `http://${head.headers.host ?? 'localhost'}`
  const card = rewritesResponse(state, call) ? extendedCardOf(state, route, limits, publicUrl + config.path) : null
  const clock = (): number | null => request.now ?? null
  const plannedOwners = ownershipPlanOf(ownership, call, owners)
  const evaluator =
    card === null ? evaluatorFor(route, call, evaluation, { taskId, limits, tracer, clock, owned: plannedOwners !== null }) : null
  const forwarded = forwardedOf(
    config,
    { ...request, body: bodyOf(evaluation, body, content) },
    forwardedHead(evaluation, head),
    route.upstreamPath,
    negotiated(route, asked, problem, evaluation, card !== null || evaluator?.enforces === true)
  )
  const plan = {
    echo: echoOf(evaluation),
    card,
    evaluation: evaluator === null ? null : { evaluator, limits, ownership: plannedOwners },
    anyPage: route.extensionRoute !== null
  }
  return { kind: 'operation', route, caller, call, evaluation, access, rejection: null, forwarded, plan }
}

/** The caller of a dry run, who is nobody in particular. */
const SOMEBODY = { owner: 'caller', shared: false }

function ownersOf (ids: readonly NamedId[], owner: TaskOwner): OwnerFindings {
  return { caller: SOMEBODY, ids, owners: ids.map(() => owner === 'unknown' ? null : owner) }
}

function claimed (evaluation: RequestEvaluation, { now }: Pick<PlainRequest, 'now'>, memory: DryRunMemory): RequestEvaluation {
  const { claims } = evaluation.decision
  if (claims.length === 0) return evaluation
  return { ...evaluation, decision: settleClaims(evaluation.decision, memory.claim(claims, now ?? null)) }
}

function callerOf (route: Route | null, call: Call | null, asked: Asked, head: RequestHead): Caller {
  const placed = route !== null && 'binding' in route ? route : null
  const operation = call?.operation ?? (route as OperationRoute | null)?.operation ?? 'Other'
  return {
    binding: placed?.binding ?? 'HTTP+JSON',
    version: placed?.version ?? asked.version,
    id: (call?.id ?? NO_ID)(),
    eventStream: awaitsEventStream(operation, head.headers.accept),
    statedVersion: asked.stated,
    mediaType: mediaTypeOf(head.headers['content-type'])
  }
}

/** Checks the body. A GET request with the body `null` has no content, and is forwarded unchanged. */
function bodyProblem ({ method, body }: PlainRequest, limits: Limits): Rejection | null {
  if (body === null || body.length === 0) return null
  if (method === 'GET') {
    return body.length <= MAX_GET_BODY && body.toString('latin1').trim() === 'null' ? null : rejections.unexpectedBody('GET')
  }
  return body.length > limits.body ? rejections.tooLarge(limits.body) : null
}

function forwardedOf (config: AgentConfig, request: PlainRequest, head: RequestHead, path: string, what: Negotiated | null): Forwarded {
  return {
    method: request.method,
    target: path + request.query,
    headers: upstreamHeaders(head, { peer: undefined, config: config.upstream, trusted: NOBODY, trace: null, negotiated: what }),
    body: request.body === null || request.body.length === 0 ? null : request.body
  }
}

function basePath (config: AgentConfig): string {
  return new URL(config.upstream.url).pathname.replace(/\/$/, '')
}

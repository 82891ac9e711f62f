/** The steps of a dry run from the address of an operation to its decision, the same for HTTP and gRPC. */
import type { Call, CallProblem } from '#a2a/message/call.js'
import type { Caller, Rejection } from '#a2a/errors.js'
import type { Payload } from '#a2a/payload.js'
import { payloadOf } from '#a2a/payload.js'
import type { NamedId } from '#a2a/request-ids.js'
import type { OperationRoute, Route } from '#a2a/route.js'
import { taskIdOf } from '#a2a/task-id.js'
import type { Binding } from '#a2a/versions.js'
import type { AgentConfig, Limits } from '#config/model/model.js'
import type { OwnerFindings } from '#policy/access/ownership.js'
import { settleClaims } from '#policy/request/claims.js'
import type { Tracer } from '#policy/trace.js'
import { TrustedProxies } from '#wire/forwarded.js'
import type { Chain } from '#identity/chain.js'
import { admissionOf, admit } from './access/access.js'
import type { Delegation } from './access/delegation.js'
import type { DryDelegation } from './dry-run-delegation.js'
import { dryRunDelegation } from './dry-run-delegation.js'
import { namedIds, ownershipPlanOf } from './access/ownership.js'
import { awaitsEventStream, mediaTypeOf, NO_ID } from './caller.js'
import { decodeSync } from './content-encoding.js'
import type { Answer } from './external/answer.js'
import type { Asking, Settled } from './external/settle.js'
import type { ExternalPlan } from './external/plan.js'
import type { AcceptedRequest, AnsweredRequest, AnswerOptions } from './external/request.js'
import { answeredRequest, asksOf } from './external/request.js'
import { responseQuestionsOf } from './external/response.js'
import { grpcUpstreamHeaders } from './grpc/upstream-headers.js'
import { MAX_GET_BODY } from './guard.js'
import * as rejections from './rejections.js'
import type { RequestedVersion } from './request.js'
import {
  bodyOf, callOf, echoOf, evaluatorFor, extendedCardOf, forwardedHead, negotiated, rewritesResponse, evaluateRequest
} from './request.js'
import type { RequestHead } from './request-head.js'
import type { Negotiated } from './upstream-headers.js'
import { upstreamHeaders } from './upstream-headers.js'
import type { Principal } from '#identity/principal.js'
import type { Claimed } from '#policy/request/claims.js'
import type { AccessOutcome } from './access/access.js'
import type { AgentState } from './agent-snapshot.js'
import type { ResponsePlan } from './response/driver.js'
import type { TaskRecord } from '#policy/task/memory.js'
import type { Claim } from '#policy/request/decision.js'
import type { RequestEvaluation } from './request-evaluation.js'

/** Returns the remembered record of a task; null for none. */
export type Recall = (taskId: string) => TaskRecord | null

export interface PlainRequest {
  readonly method: string
  /** Below the agent's path, undecoded: '' or beginning with `/`. */
  readonly path: string
  /** With its leading `?`, or ''. */
  readonly query: string
  /** Flat list: name, value, name, value. */
  readonly rawHeaders: readonly string[]
  /** True for a gRPC call. The body is then its one message, without prefix, and the path is `/service/method`. */
  readonly grpc?: boolean
  /** Null: no body. */
  readonly body: Buffer | null
  /** Time of the exchange, in milliseconds since 1970. */
  readonly now?: number
  /** The authenticated caller. Default: none. */
  readonly caller?: Principal | null
  /** The chain of callers behind the request. Default: none. */
  readonly chain?: Chain | null
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
  /** Decision about the chain of callers; null without `access.delegation`, and when it has not been made. */
  readonly delegation: Delegation | null
  /** Decision of the access lists; null without lists, and when they have not decided. */
  readonly access: AccessOutcome | null
  /** Null: not rejected. */
  readonly rejection: Rejection | null
  readonly forwarded: Forwarded | null
  /** The work on the response; null unless an operation is forwarded. For one response. */
  readonly plan: ResponsePlan | null
  /** The questions for policy servers about the request, and what became of them. */
  readonly external: readonly DryAsk[]
  /** The recorded answers, for the response. */
  readonly answers?: DryRunMemory['answers']
}

/** One question; `settled` is null where no answer is recorded. */
export interface DryAsk { readonly asking: Asking, readonly settled: Settled | null }

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
  /** Returns the recorded answer to a question; null for none: the question then has no effect. */
  readonly answers?: (asking: Asking) => Answer | null
}

export interface DryRunAgent extends DryDelegation {
  readonly state: AgentState
  /** `server.publicUrl`. Without it, the URLs of an extended card follow the Host of the request. */
  readonly publicUrl?: string | null
}

const NO_BYTES = Buffer.alloc(0)
const NOBODY = new TrustedProxies([])

/** A request whose address is that of an operation. */
export interface Addressed {
  readonly head: RequestHead
  readonly asked: RequestedVersion
  readonly route: OperationRoute
  /** Problem of the version. It takes precedence over problems of the body. */
  readonly problem: CallProblem | null
}

export interface DryRunOptions {
  readonly limits: Limits
  readonly tracer: Tracer | null
  readonly memory: DryRunMemory
}

/** A dry run before any decision. */
export function undecided (route: Route | null, caller: Caller): DryRun {
  return {
    kind: 'refused',
    route,
    caller,
    call: null,
    evaluation: null,
    delegation: null,
    access: null,
    rejection: null,
    forwarded: null,
    plan: null,
    external: []
  }
}

export function dryRunOperation (
  agent: DryRunAgent,
  request: PlainRequest,
  { head, asked, route, problem }: Addressed,
  { limits, tracer, memory }: DryRunOptions
): DryRun {
  const { config, state } = agent
  const principal = request.caller ?? null
  const dryRun = undecided(route, callerOf(route, null, asked, head))
  const admitted = admit(state.access, admissionOf(route, principal))
  if (admitted !== null && admitted.rejection !== null) return { ...dryRun, access: admitted, rejection: admitted.rejection }
  const delegation = dryRunDelegation(agent, request, head, initiator => admit(state.access, admissionOf(route, initiator)))
  const rejected = delegation?.rejection ?? null
  if (rejected !== null) return { ...dryRun, access: admitted, delegation, rejection: rejected }
  const unread = bodyProblem(request, limits)
  if (unread !== null) return { ...dryRun, delegation, rejection: unread }

  const body = request.method === 'GET' ? NO_BYTES : (request.body ?? NO_BYTES)
  const decoded = decodeSync(head.headers['content-encoding'], body, limits.body)
  if ('rejection' in decoded) return { ...dryRun, delegation, rejection: decoded.rejection }
  const { content } = decoded
  const call = callOf({ route, problem, query: request.query, bytes: content, encodingProblem: decoded.problem, state }, head, limits)
  const taskId = state.policy[route.version].remembers ? taskIdOf(call, route.binding === 'HTTP+JSON' ? route.upstreamPath : null) : null
  const record = taskId === null ? null : memory.recall(taskId)
  const { ownership } = state.policy[route.version]
  const owners = ownership === null ? undefined : ownersOf(namedIds(ownership, route, call, request.query), memory.owner ?? 'caller')
  const input = { route, call, head, record, owners, caller: principal, initiator: delegation?.authorize, now: request.now ?? null }
  const ruled = evaluateRequest(state, input, tracer)
  const external = state.external === null
    ? null
    : askedInDryRun(state.external, { agent: config.name, route, call, head, caller: principal, evaluation: ruled }, memory, {
      bytes: content,
      evaluateAgain: bytes => {
        const call = callOf({ route, problem, query: request.query, bytes, encodingProblem: null, state }, head, limits)
        return { call, evaluation: evaluateRequest(state, { ...input, call }, null) }
      }
    })
  const evaluation = claimed(external?.evaluation ?? ruled, request, memory)
  const accepted = external?.changed?.call ?? call
  const { access, decision: { rejection } } = evaluation
  const caller = callerOf(route, call, asked, head)
  const answers = memory.answers === undefined ? {} : { answers: memory.answers }
  const decided = { route, caller, call: accepted, evaluation, delegation, access, external: external?.asks ?? [], ...answers }
  if (rejection !== null) return { ...decided, kind: 'refused', rejection, forwarded: null, plan: null }
  const base = accepted.explicit ?? external?.changed?.bytes
  const edited = editedBody(evaluation, base ?? body, base ?? content, payloadOf(route.binding, route.version, call.operation, 'request'))
  if (edited === null) return { ...decided, kind: 'refused', rejection: rejections.internal, forwarded: null, plan: null }
  const publicUrl = agent.publicUrl ?? `http://${head.headers.host ?? 'localhost'}`
  const card = rewritesResponse(state, call) ? extendedCardOf(state, route, limits, publicUrl + config.path) : null
  const clock = (): number | null => request.now ?? null
  const plannedOwners = ownershipPlanOf(ownership, call, owners)
  const questions = card !== null
    ? null
    : responseQuestionsOf(
      state.external,
      { agent: config.name, route, call: accepted, head, caller: principal, evaluation },
      external?.redactions ?? [],
      { depth: limits.jsonDepth, members: limits.jsonMembers }
    )
  const evaluator =
    card === null
      ? evaluatorFor(route, accepted, evaluation, {
        taskId, limits, tracer, clock, owned: plannedOwners !== null, asks: questions?.mode ?? null
      })
      : null
  const forwarded = forwardedOf(
    config,
    { ...request, body: edited },
    forwardedHead(evaluation, head),
    request.grpc === true ? request.path : route.upstreamPath,
    negotiated(route, asked, problem, evaluation, card !== null || evaluator?.enforces === true)
  )
  const plan = {
    echo: echoOf(evaluation),
    card,
    evaluation: evaluator === null ? null : { evaluator, limits, ownership: plannedOwners, external: questions },
    anyPage: route.extensionRoute !== null
  }
  return { ...decided, kind: 'operation', rejection: null, forwarded, plan }
}

/** A request after the recorded answers. */
interface AskedInDryRun extends AnsweredRequest { readonly asks: readonly DryAsk[] }

function askedInDryRun (plan: ExternalPlan, request: AcceptedRequest, { answers }: DryRunMemory, options: AnswerOptions): AskedInDryRun {
  const asks = asksOf(plan, request)
  const answered = asks.flatMap(asking => {
    const answer = answers?.(asking) ?? null
    return answer === null ? [] : [{ asking, answer }]
  })
  const result = answeredRequest(request, answered, options)
  return { ...result, asks: asks.map(asking => ({ asking, settled: result.settled.find(entry => entry.asking === asking) ?? null })) }
}

/** @returns null when the message of a gRPC call has no place for an edit */
function editedBody (evaluation: RequestEvaluation, sent: Buffer, content: Buffer, payload: Payload): Buffer | null {
  try {
    return bodyOf(evaluation, sent, content, payload)
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
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

/** The properties of the caller that decide the form of a rejection. @param binding when there is no route */
export function callerOf (
  route: Route | null,
  call: Call | null,
  asked: RequestedVersion,
  head: RequestHead,
  binding: Binding = 'HTTP+JSON'
): Caller {
  const placed = route !== null && 'binding' in route ? route : null
  const operation = call?.operation ?? (route as OperationRoute | null)?.operation ?? 'Other'
  return {
    binding: placed?.binding ?? binding,
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

export function forwardedOf (
  config: AgentConfig,
  request: PlainRequest,
  head: RequestHead,
  path: string,
  negotiated: Negotiated | null
): Forwarded {
  const options = { peer: undefined, config: config.upstream, trusted: NOBODY, trace: null, negotiated }
  return {
    method: request.method,
    target: path + request.query,
    headers: request.grpc === true ? [...grpcUpstreamHeaders(head, options), 'te', 'trailers'] : upstreamHeaders(head, options),
    body: request.body === null || request.body.length === 0 ? null : request.body
  }
}

/** Forwards a request to its agent: a request that the rules accepted, or one that no rule sees. */
import type { Call, CallProblem } from '../a2a/message/call.js'
import { payloadOf } from '../a2a/payload.js'
import { tenantOf } from '../a2a/task-id.js'
import type { Limits } from '../config/model/model.js'
import type { Agent } from '../gateway/agent.js'
import type { Identity } from '../gateway/identity/identity.js'
import type { AgentState } from '../pipeline/agent-snapshot.js'
import * as rejections from '../pipeline/rejections.js'
import type { Asked, OperationRoute, RequestEvaluation } from '../pipeline/request.js'
import { bodyOf, echoOf, evaluatorFor, extendedCardOf, forwardedHead, negotiated, rewritesResponse } from '../pipeline/request.js'
import type { RequestHead } from '../pipeline/request-head.js'
import type { ResponseDriver, ResponsePlan } from '../pipeline/response/driver.js'
import type { Negotiated } from '../pipeline/upstream-headers.js'
import type { AgentLimits } from '../policy/limits/charge.js'
import { ownershipPlanOf } from '../pipeline/access/ownership.js'
import type { OwnerFindings } from '../policy/access/ownership.js'
import type { TaskKey } from '../state/store.js'
import type { Forwarding } from '../upstream/forward.js'
import type { Bytes } from '../wire/chunked-buffer.js'
import type { TrustedProxies } from '../wire/forwarded.js'
import type { FrontName } from '../telemetry/metrics/metrics.js'
import type { Remember } from './exchange-driver.js'
import { publicOriginOf } from './client-address.js'
import { withOutbound } from './credentials/outbound.js'
import type { Exchange } from './exchange.js'
import type { ShownCard } from './extended-card.js'
import { shownCard } from './extended-card.js'

export interface HandlerOptions {
  readonly limits: Limits
  readonly trusted: TrustedProxies
  /** Null: nobody needs to authenticate. */
  readonly identity: Identity | null
  /** Null without `rates` and `budgets`. */
  readonly rates: ReadonlyMap<string, AgentLimits> | null
}

/** The request for the agent, and the plan for its response. */
export interface Outgoing {
  readonly read: Read
  /** With the headers of the policies, without those that they remove. */
  readonly head: RequestHead
  readonly negotiated: Negotiated | null
  /** As sent, or with the edits of the policies. */
  readonly body: Bytes
  readonly plan: ResponsePlan
  readonly remember: Remember
  readonly owners: ResponseDriver['owners']
}

/** Dispatches the calls of one front to agents. */
export interface Front {
  /** The label of telemetry. */
  readonly name: FrontName
  /** Sends a request that the rules accepted. */
  send (exchange: Exchange, outgoing: Outgoing, options: HandlerOptions): Forwarding
  /** Sends a request that no rule sees. */
  pass (exchange: Exchange, unread: Unread, options: HandlerOptions): Forwarding
}

export interface Unread {
  readonly agent: Agent
  /** Path and query at the agent. */
  readonly target: string
  /** Null where the request still arrives. */
  readonly body: Bytes | null
}

/** A request whose body has arrived. */
export interface Arrived {
  readonly agent: Agent
  readonly state: AgentState
  readonly route: OperationRoute
  readonly problem: CallProblem | null
  readonly asked: Asked
  readonly query: string
  /** The body as sent. */
  readonly sent: Bytes
  /** The decoded body. */
  readonly bytes: Bytes
  readonly encodingProblem: CallProblem | null
}

/** A request with all data that a decision needs, except the stored state of its task. */
export interface Read {
  readonly arrived: Arrived
  readonly call: Call
  /** The task that the request names; null when no task state is kept. */
  readonly task: TaskKey | null
  /** To whom the tasks and contexts of the request belong; undefined without `access.tasks`. */
  readonly owners: OwnerFindings | undefined
  /** Seconds that reading took. */
  readonly seconds: number
}

const WHOLE: ShownCard = { select: null }

/**
 * @returns false when the request is not forwarded: the agent has no capacity, the Host is unusable, there are no credentials for the
 * agent, or the gateway itself responds. A promise, which never rejects, while the gateway gets the credentials
 */
export function dispatch (
  exchange: Exchange,
  read: Read,
  evaluation: RequestEvaluation,
  options: HandlerOptions
): boolean | Promise<boolean> {
  const { agent } = read.arrived
  if (agent.credentials === null) return send(exchange, read, evaluation, options)
  const body = agent.credentials.needsBody ? editedBody(read.arrived, read.call, evaluation) : undefined
  const call = { agent, trusted: options.trusted, body: () => body ?? null }
  return withOutbound(exchange, call, () => send(exchange, read, evaluation, options, body))
}

/** The body to forward. @throws TypeError when the message of a gRPC call has no place for an edit */
function editedBody ({ route, sent, bytes }: Arrived, { operation }: Call, evaluation: RequestEvaluation): Bytes {
  return bodyOf(evaluation, sent, bytes, payloadOf(route.binding, route.version, operation, 'request'))
}

/** @param edited the body to forward, if it is known */
function send (exchange: Exchange, read: Read, evaluation: RequestEvaluation, options: HandlerOptions, edited?: Bytes): boolean {
  const { arrived, call, task, owners } = read
  const { agent, state, route } = arrived
  const publicBase = rewritesResponse(state, call) ? publicBaseOf(exchange, agent, options) : null
  if (publicBase === undefined) {
    exchange.reject(rejections.badHost, 'rejected')
    return false
  }
  const shown = publicBase === null || state.views.length === 0 ? WHOLE : shownCard(exchange, arrived, publicBase)
  if (shown === null || !exchange.enter(agent)) return false
  const { policy } = evaluation
  const { limits } = options
  const body = edited ?? editedBody(arrived, call, evaluation)
  const card = publicBase === null ? null : extendedCardOf(state, route, limits, publicBase, shown.select)
  const tenant = policy.remembers ? tenantOf(call, route.tenant) : null
  const keyOf = (taskId: string): TaskKey => ({ agent: agent.name, tenant, taskId })
  const { tasks, audit: { forwarded: follows } } = exchange.services
  exchange.active = evaluation.decision.active
  const ownership = ownershipPlanOf(policy.ownership, call, owners)
  const evaluator =
    card === null
      ? evaluatorFor(route, call, evaluation, {
        taskId: task?.taskId ?? null,
        limits,
        tracer: null,
        clock: Date.now,
        follows,
        owned: ownership !== null,
        recall: taskId => tasks.now(keyOf(taskId))
      })
      : null
  // The response must be readable: it tells what became of a push notification configuration.
  const reads = exchange.push !== null || card !== null || (evaluator !== null && (follows || evaluator.enforces))
  const plan = {
    echo: echoOf(evaluation),
    card,
    evaluation: evaluator === null ? null : { evaluator, limits, ownership },
    anyPage: route.extensionRoute !== null
  }
  exchange.forwarding = exchange.front.send(exchange, {
    read,
    head: forwardedHead(evaluation, exchange.request),
    negotiated: negotiated(route, arrived.asked, arrived.problem, evaluation, reads),
    body,
    plan,
    remember: (taskId, fields) => tasks.write(keyOf(taskId), fields),
    owners: (names, owner, claim) => tasks.owners(agent.name, names, claim ? owner : null)
  }, options)
  return true
}

/** @returns the agent's URL at the gateway, or undefined when the client's host cannot be part of a URL */
function publicBaseOf ({ request }: Exchange, { publicBase, config }: Agent, { trusted }: HandlerOptions): string | undefined {
  if (publicBase !== null) return publicBase
  const origin = publicOriginOf(request, trusted)
  return origin === null ? undefined : origin.url + config.path
}

/** Forwards without inspection: no negotiation, no rules. */
export function passOn (exchange: Exchange, unread: Unread, options: HandlerOptions): void {
  const { agent, body } = unread
  withOutbound(exchange, { agent, trusted: options.trusted, body: () => body }, () => {
    // Rejected, because the agent has no capacity.
    if (!exchange.enter(agent)) return false
    exchange.forwarding = exchange.front.pass(exchange, unread, options)
    return true
  })
}

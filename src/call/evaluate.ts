/** Takes a call from its route to the decision, whichever front it arrived by, and dispatches or rejects it. */
import type { Call, CallProblem } from '../a2a/message/call.js'
import { namesOf, taskIdOf, tenantOf } from '../a2a/task-id.js'
import { accessOf, admissionOf, admit, admitUnread } from '../pipeline/access/access.js'
import { isPreflight } from '../pipeline/guard.js'
import * as rejections from '../pipeline/rejections.js'
import type { OperationRoute, RequestEvaluation } from '../pipeline/request.js'
import { callOf, ruleOn } from '../pipeline/request.js'
import { UNKNOWN, UNREAD } from '../policy/access/target.js'
import { additionName } from '../policy/request/methods.js'
import { settleClaims } from '../policy/request/claims.js'
import type { Claimed } from '../policy/request/claims.js'
import type { TaskRecord } from '../policy/task/memory.js'
import type { TaskKey } from '../state/store.js'
import type { Bytes } from '../wire/chunked-buffer.js'
import type { Agent } from '../gateway/agent.js'
import type { Arrived, HandlerOptions, Read } from './dispatch.js'
import { dispatch } from './dispatch.js'
import type { Exchange } from './exchange.js'
import { passes, recordAccess } from './telemetry/access-telemetry.js'
import { recordDecision } from './telemetry/request-telemetry.js'
import { receivedOf } from './received.js'
import { limitEarly, limitLate } from './limits/limits.js'
import { ownersOf } from './tasks/owners.js'
import { checkPushConfigs } from './tasks/push.js'

/** A request for an operation, before its body is read. */
export type Arriving = Omit<Arrived, 'sent' | 'bytes' | 'encodingProblem'>

/**
 * Takes the steps from a route to the body: what the head alone decides.
 * @param read reads the body, then calls `evaluate`
 */
export function arrive (
  exchange: Exchange,
  arriving: Arriving,
  options: HandlerOptions,
  read: (exchange: Exchange, arriving: Arriving, options: HandlerOptions) => void
): void {
  const { agent, state, route, asked } = arriving
  if (route.operation !== null) exchange.label = route.operation
  if (route.extensionRoute !== null) exchange.addition = additionName(state.policy[route.version], null, route.extensionRoute)
  if (shed(exchange)) return
  if (state.access !== null && !passes(exchange, admit(state.access, admissionOf(route, exchange.principal)))) return
  if (asked.minor !== null) agent.sawMinor(asked.minor)
  if (options.rates === null) return read(exchange, arriving, options)
  limitEarly(exchange, agent, options, () => { read(exchange, arriving, options) })
}

/** Applies what needs no card to a call to an agent without one: shedding, access lists and rates. */
export function admitWithoutCard (exchange: Exchange, agent: Agent, options: HandlerOptions, then: () => void): void {
  if (shed(exchange) || !permitted(exchange, agent)) return
  limitEarly(exchange, agent, options, then)
}

/** Applies the access lists to a request to an agent without a card. */
function permitted (exchange: Exchange, { config }: Agent): boolean {
  const access = accessOf(config)
  const { request, principal: caller } = exchange
  if (access === null || isPreflight(request)) return true
  return passes(exchange, config.card.onUnavailable === 'reject' ? admit(access, { caller, target: UNREAD, tenant: null }) : admitUnread(access, caller, UNKNOWN))
}

/** Copies by name: with `...` here and for `Read`, calls of 400 B cost a fifth more CPU. */
export function arrivedOf (
  { agent, state, route, problem, asked, query }: Arriving,
  sent: Bytes,
  bytes: Bytes,
  encodingProblem: CallProblem | null
): Arrived {
  return { agent, state, route, problem, asked, query, sent, bytes, encodingProblem }
}

/**
 * Rejects the call when the process is overloaded. Runs before the body is read, so that a rejection costs little. A JSON-RPC caller gets
 * the id `null`. @returns true when the call was rejected
 */
export function shed (exchange: Exchange): boolean {
  const { overload } = exchange.services
  if (!overload.shedding) return false
  exchange.reject(rejections.overloaded(overload.retryAfter), 'rejected')
  return true
}

/** Body size in bytes from which the id is copied at once, so that the parsed body need not stay in memory until the response is over. */
const LARGE = 16_384

function always<T> (value: T): () => T {
  return () => value
}

export function evaluate (exchange: Exchange, arrived: Arrived, options: HandlerOptions): void {
  const startedAt = performance.now()
  const { agent, state, route } = arrived
  if (exchange.services.requests !== null) exchange.received = receivedOf(exchange, arrived)
  const call = callOf(arrived, exchange.request, options.limits)
  exchange.idToken = arrived.bytes.length < LARGE ? call.id : always(call.id())
  exchange.label = call.operation
  if (call.operation === 'Other') exchange.addition = additionName(state.policy[route.version], call.method, null)
  const path = route.binding === 'HTTP+JSON' ? route.upstreamPath : null
  exchange.named = arrived.bytes.length < LARGE ? () => namesOf(call, path) : always(namesOf(call, path))
  const task = state.policy[route.version].remembers ? taskOf(agent, route, call) : null
  const seconds = (performance.now() - startedAt) / 1_000
  const record = task === null ? null : exchange.services.tasks.read(task)
  const owners = ownersOf(exchange, arrived, call)
  if (!(record instanceof Promise) && !(owners instanceof Promise)) {
    return decide(exchange, { arrived, call, task, owners, seconds }, record, options)
  }
  Promise.all([record, owners]).then(([record, owners]) => {
    // The client may have disconnected.
    if (!exchange.response.destroyed) decide(exchange, { arrived, call, task, owners, seconds }, record, options)
  }).catch((error: unknown) => { exchange.failed(error) })
}

function taskOf (agent: Agent, route: OperationRoute, call: Call): TaskKey | null {
  const taskId = taskIdOf(call, route.binding === 'HTTP+JSON' ? route.upstreamPath : null)
  return taskId === null ? null : { agent: agent.name, tenant: tenantOf(call, route.tenant), taskId }
}

function decide (exchange: Exchange, read: Read, record: TaskRecord | null, options: HandlerOptions): void {
  const { arrived: { agent, state, route }, call, owners } = read
  const startedAt = performance.now()
  const { principal: caller } = exchange
  const evaluation = ruleOn(state, { route, call, head: exchange.request, record, owners, caller, now: Date.now() })
  exchange.services.metrics.decision(agent.name, read.seconds + (performance.now() - startedAt) / 1_000, exchange.span)
  if (evaluation.access !== null) recordAccess(exchange, evaluation.access)
  if (evaluation.policy.push === null) return limited(exchange, read, evaluation, options)
  checkPushConfigs(exchange, read, evaluation, evaluation => { limited(exchange, read, evaluation, options) })
}

function limited (exchange: Exchange, read: Read, evaluation: RequestEvaluation, options: HandlerOptions): void {
  if (options.rates === null || evaluation.decision.rejection !== null) return decided(exchange, read, evaluation, options)
  limitLate(exchange, read, evaluation, options, () => { decided(exchange, read, evaluation, options) })
}

function decided (exchange: Exchange, read: Read, evaluation: RequestEvaluation, options: HandlerOptions): void {
  const { call } = read
  if (evaluation.decision.claims.length > 0) return claim(exchange, read, evaluation, options)
  recordDecision(exchange, call, evaluation.requested, evaluation.decision)
  if (evaluation.decision.rejection !== null) return exchange.reject(evaluation.decision.rejection, 'rejected')
  dispatch(exchange, read, evaluation, options)
}

/** Claims the values of a request that may be accepted once, then dispatches the request or rejects it. */
function claim (exchange: Exchange, read: Read, evaluation: RequestEvaluation, options: HandlerOptions): void {
  const { arrived: { agent }, call } = read
  const { tasks } = exchange.services
  const { claims } = evaluation.decision
  const settle = (claimed: readonly Claimed[]): void => {
    const decision = settleClaims(evaluation.decision, claimed)
    const proceed = (): boolean | Promise<boolean> => {
      // The client may have disconnected.
      if (exchange.response.destroyed) return false
      recordDecision(exchange, call, evaluation.requested, decision)
      if (decision.rejection === null) return dispatch(exchange, read, { ...evaluation, decision }, options)
      exchange.reject(decision.rejection, 'rejected')
      return false
    }
    const release = (forwarded: boolean): void => {
      if (!forwarded) tasks.release(agent.name, claims.filter((_, i) => claimed[i] === 'new'))
    }
    const forwarded = proceed()
    if (forwarded instanceof Promise) forwarded.then(release, (error: unknown) => { exchange.failed(error) })
    else release(forwarded)
  }
  const claimed = tasks.claim(agent.name, claims)
  if (!(claimed instanceof Promise)) return settle(claimed)
  claimed.then(settle).catch((error: unknown) => { exchange.failed(error) })
}

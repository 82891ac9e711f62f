/**
 * Requests that wait for a person (`pause`). The gateway keeps such a request as a task of its own, serves this task, and sends the request
 * to the agent as it was, when a message on the task has the evidence that the rule names.
 */
import { randomUUID } from 'node:crypto'
import type { Rejection } from '#a2a/errors.js'
import { carriesMessage } from '#a2a/operations.js'
import { tenantOf } from '#a2a/task-id.js'
import type { PausedTask } from '#pipeline/paused-task.js'
import { pausedResponse, taskStateIn } from '#pipeline/paused-task.js'
import * as rejections from '#pipeline/rejections.js'
import type { OwnerFindings } from '#policy/access/ownership.js'
import type { Claimed } from '#policy/request/claims.js'
import type { Pause } from '#policy/request/pause.js'
import { questionOf } from '#policy/request/pause.js'
import type { Paused, PausedState } from '#policy/task/paused.js'
import { bodyIn, endedRecord, formOf, MAX_PAUSED, pausedIn, pausedRecord } from '#policy/task/paused.js'
import type { TaskRecord } from '#policy/task/memory.js'
import { resumeKey } from '#state/record-key.js'
import type { OwnedName, Owners, TaskKey } from '#state/store.js'
import { whole } from '#wire/chunked-buffer.js'
import { editJson } from '#wire/json/edit.js'
import { holdClaims, reserveMemory, spendClaims } from '../capacity.js'
import type { Exchange } from '../exchange.js'
import { noteTask, settle } from '../outcome.js'
import { callerOf, countRejection, reject, respondMessage } from '../reply.js'
import { after, always, runBefore } from '../run.js'
import type { Result, Step } from '../step.js'
import { pauseEntry } from '../telemetry/request-telemetry.js'
import type { Work } from '../work.js'

/** A proxy of a mesh has the body of the request already, and expects the response of the agent. */
const FRONTS: ReadonlySet<string> = new Set(['http', 'grpc'])

export function canPause ({ transport: { front } }: Exchange): boolean {
  return FRONTS.has(front)
}

/** Names the task that the response will have, for everything that is recorded before. */
export function nameTask (exchange: Exchange): void {
  const { record, resumed } = exchange.work as Work
  if (pausedIn(record) !== null) return
  noteTask(exchange, { taskId: resumed?.task.taskId ?? randomUUID(), contextId: exchange.named().contextId ?? randomUUID() })
}

/** Keeps the request, and responds with a task that waits. A message without the evidence gets the same task again. */
export function pause (exchange: Exchange, { rules }: Pause, rejection: Rejection): Result | Promise<Result> {
  const { record, resumed, task } = exchange.work as Work
  const waiting = pausedIn(record)
  if (waiting !== null && waiting.state !== 'waiting') return reject(exchange, rejections.pauseEnded, 'rejected')
  if (waiting !== null && task !== null) return respondWithPausedTask(exchange, task, waiting, rejection, rejection.message)
  return keep(exchange, resumed === null ? rules : [...resumed.approved, ...rules], rejection)
}

/** @param rules that the request breaks, also those that a person has agreed to */
function keep (exchange: Exchange, rules: readonly string[], rejection: Rejection): Result | Promise<Result> {
  const { agent, route, parsed, bytes, owners } = exchange.work as Work
  const body = parsed.explicit ?? whole(bytes)
  if (body.length > MAX_PAUSED) return reject(exchange, tooLarge(rejection), 'rejected')
  const { taskId, contextId } = exchange.result as { readonly taskId: string, readonly contextId: string }
  const paused: Paused = { state: 'waiting', rules, form: formOf(route.binding, route.version), contextId, at: new Date().toISOString() }
  const key = keyOf(exchange, taskId)
  const record = pausedRecord(paused, taskStateIn({ state: 'waiting', question: questionIn(exchange, rules) }), body)
  const respond = (exchange: Exchange, isStored: unknown): Result => {
    if (isStored === false) return reject(exchange, rejections.pauseUnavailable, 'rejected')
    exchange.services.metrics.add('paused_requests_total', exchange.agentName, 'paused')
    return respondWithPausedTask(exchange, key, paused, rejection, null)
  }
  const write = (exchange: Exchange): Result | Promise<Result> => after(exchange, exchange.services.tasks.write(key, record), respond)
  // `loadOwners` has waited for them. Without `access.tasks`, there are none.
  const findings = owners as OwnerFindings | undefined
  if (findings === undefined) return write(exchange)
  const names: OwnedName[] = [{ kind: 'task', id: taskId }, { kind: 'context', id: contextId }]
  return after(exchange, exchange.services.tasks.owners(agent.name, names, findings.caller.owner), (exchange, owners: Owners) =>
    owners === 'unavailable' ? reject(exchange, rejections.pauseUnavailable, 'rejected') : write(exchange))
}

/** Responds with the task that waits, in the place of the rejection. */
function respondWithPausedTask (exchange: Exchange, task: TaskKey, paused: Paused, rejection: Rejection, problem: string | null): Result {
  settle(exchange, 'rejected')
  countRejection(exchange, rejection)
  exchange.span.set('a2a_gateway.decision', 'pause')
  exchange.span.set('a2a_gateway.rule', rejection.rule)
  return respondTask(exchange, task, paused, problem)
}

function tooLarge (rejection: Rejection): Rejection {
  return { ...rejection, message: `${rejection.message} The request could wait for a person if it had at most ${MAX_PAUSED} bytes.` }
}

/** The key of the task. An agent sees no difference between tenants that the request does not name. */
function keyOf ({ work }: Exchange, taskId: string): TaskKey {
  const { agent, route, parsed } = work as Work
  return { agent: agent.name, tenant: tenantOf(parsed, route.tenant), taskId }
}

/**
 * Lets a request go on that has waited: replaces the message on its task by the request, and reads and evaluates the request anew. Ends the
 * task when the message declines.
 * @param steps that read and evaluate a request
 */
export function resume (exchange: Exchange, steps: readonly Step[]): Result | Promise<Result> {
  const { record, resumed, task, evaluation: { decision }, parsed, route } = exchange.work as Work
  const paused = resumed === null ? pausedIn(record) : null
  if (paused === null || record === null || task === null || !carriesMessage(parsed.operation)) return
  // A rule rejects the message, or the evidence is missing.
  if (decision.rejection !== null && (decision.pause === null || decision.evidence !== 'declined')) return
  if (paused.state !== 'waiting') return reject(exchange, rejections.pauseEnded, 'rejected')
  if (paused.form !== formOf(route.binding, route.version)) return reject(exchange, rejections.pauseForm(paused.form), 'rejected')
  if (decision.evidence === 'none') return
  return decision.evidence === 'declined'
    ? claimed(exchange, task, exchange => finish(exchange, task, paused, 'rejected'))
    : claimed(exchange, task, exchange => takeBack(exchange, bodyIn(record), paused, task) ?? runBefore(exchange, steps))
}

/** Of any number of messages and cancellations, one ends the wait. If the agent does not get the request, the request waits again. */
function claimed (exchange: Exchange, task: TaskKey, then: (exchange: Exchange) => Result | Promise<Result>): Result | Promise<Result> {
  const { claim, outcome } = exchange.services.tasks.claimOnce(exchange.agentName, resumeKey(task))
  return always(exchange, outcome, (exchange, claimed: Claimed) => {
    if (claimed === 'seen') return reject(exchange, rejections.pauseEnded, 'rejected')
    if (claimed === 'unavailable') return reject(exchange, rejections.pauseUnavailable, 'rejected')
    holdClaims(exchange, [claim])
    return then(exchange)
  })
}

/** Puts the request in the place of the message on its task. */
function takeBack (exchange: Exchange, body: Buffer, { rules }: Paused, task: TaskKey): Result {
  const work = exchange.work as Work
  if (!reserveMemory(exchange, body.length)) return reject(exchange, rejections.noMemory(exchange.services.overload.retryAfter), 'rejected')
  exchange.services.audit.record(pauseEntry(exchange, 'resumed', rules))
  exchange.services.metrics.add('paused_requests_total', exchange.agentName, 'resumed')
  const { method } = work.parsed
  // The client awaits a response to this call, and the message may ask for a stream.
  const envelope = [
    { path: ['id'], value: Buffer.from(exchange.idToken()) },
    { path: ['method'], value: Buffer.from(JSON.stringify(method)) }
  ]
  const own = work.route.binding === 'JSONRPC' ? editJson(body, envelope) : body
  work.bytes = own
  work.changed = own
  work.encodingProblem = null
  work.record = null
  work.resumed = { task, approved: new Set(rules) }
}

/** Serves the task of a request that waits, for all operations that carry no message. */
export function servePaused (exchange: Exchange): Result | Promise<Result> {
  const { record, resumed, task, parsed: { operation } } = exchange.work as Work
  const paused = resumed === null ? pausedIn(record) : null
  if (paused === null || task === null || carriesMessage(operation)) return
  if (
    operation === 'GetTask' ||
    (operation === 'SubscribeToTask' && paused.state === 'waiting')
  ) return respondTask(exchange, task, paused, null)
  if (operation !== 'CancelTask') return reject(exchange, rejections.pausedTask, 'rejected')
  return paused.state === 'waiting'
    ? claimed(exchange, task, exchange => finish(exchange, task, paused, 'canceled'))
    : reject(exchange, rejections.pauseEnded, 'rejected')
}

/** Ends the wait without the agent. */
function finish (exchange: Exchange, key: TaskKey, paused: Paused, state: 'rejected' | 'canceled'): Result | Promise<Result> {
  const { services: { audit, metrics, tasks }, agentName } = exchange
  const outcome = state === 'rejected' ? 'declined' : 'canceled'
  const at = new Date().toISOString()
  return after(exchange, tasks.write(key, ended(state, at)), (exchange, isStored) => {
    if (isStored === false) return reject(exchange, rejections.pauseUnavailable, 'rejected')
    spendClaims(exchange)
    audit.record(pauseEntry(exchange, outcome, paused.rules))
    metrics.add('paused_requests_total', agentName, outcome)
    if (state === 'rejected') settle(exchange, 'rejected')
    return respondTask(exchange, key, { ...paused, state, at }, null)
  })
}

/** The agent gets the request: its task is over. */
export function endPaused ({ services: { tasks } }: Exchange, { resumed }: Work): void {
  if (resumed !== null) tasks.write(resumed.task, ended('resumed', new Date().toISOString()))
}

function ended (state: Exclude<PausedState, 'waiting'>, at: string): TaskRecord {
  return endedRecord(state, taskStateIn({ state, question: null }), at)
}

function questionIn ({ work }: Exchange, rules: readonly string[]): PausedTask['question'] {
  const { state, route } = work as Work
  const question = questionOf(state.policy[route.version].pauses, rules)
  return question === null ? null : { pause: question.pause, uri: question.policy.uri }
}

/** @param problem of the message on the task; null for none */
function respondTask (exchange: Exchange, { taskId }: TaskKey, paused: Paused, problem: string | null): Result {
  const { state, rules, contextId, at } = paused
  const question = questionIn(exchange, rules)
  const task: PausedTask = { id: taskId, contextId, state, at, rule: rules[0] ?? '', question, problem }
  const { headers, body } = pausedResponse(task, (exchange.work as Work).parsed.operation, callerOf(exchange))
  const { requested, headerName } = (exchange.work as Work).evaluation
  if (question?.pause.metadata !== undefined && requested.includes(question.uri)) headers.push(headerName.toLowerCase(), question.uri)
  return respondMessage(exchange, headers, body)
}

/** From an admitted request to the decision of the rules. */
import { namesOf, taskIdOf, tenantOf } from '#a2a/task-id.js'
import { admissionOf, admit } from '#pipeline/access/access.js'
import * as rejections from '#pipeline/rejections.js'
import { callOf, evaluateRequest } from '#pipeline/request.js'
import type { OwnerFindings } from '#policy/access/ownership.js'
import { additionName } from '#policy/request/methods.js'
import type { TaskRecord } from '#policy/task/memory.js'
import type { TaskKey } from '#state/store.js'
import { describeId, describeOperation } from '../description.js'
import type { Exchange } from '../exchange.js'
import { receivedOf } from '../received.js'
import type { Result } from '../step.js'
import { after } from '../run.js'
import { END } from '../step.js'
import { applyAccess, recordAccess } from '../telemetry/access-telemetry.js'
import { countDelegation } from '../telemetry/delegation-telemetry.js'
import { recordDecision } from '../telemetry/request-telemetry.js'
import type { Work } from '../work.js'
import { canPause, nameTask, pause } from './pause.js'
import { reject } from '../reply.js'
import { withHeaders } from '#pipeline/external/request.js'
import { namedIds } from '#pipeline/access/ownership.js'
import { MAX_IDS, taskCallerOf } from '#policy/access/ownership.js'
import { whenReady } from '#wire/when-ready.js'

/**
 * Rejects the call when the process is overloaded. Runs before the body is read, so that a rejection costs little. A JSON-RPC caller gets
 * the id `null`.
 */
export function shedLoad (exchange: Exchange): Result {
  const { overload } = exchange.services
  if (overload.shedding) return reject(exchange, rejections.overloaded(overload.retryAfter), 'rejected')
}

/** Applies the access lists, as far as the head decides. */
export function checkAccess (exchange: Exchange): Result {
  const { agent, state: { access }, route } = exchange.work as Work
  if (access !== null && !applyAccess(exchange, admit(access, admissionOf(route, exchange.principal)))) return END
  const minor = exchange.asked?.minor ?? null
  if (minor !== null) agent.sawMinor(minor)
}

/** Body size in bytes from which the id is copied at once, so that the parsed body need not stay in memory until the response is over. */
const LARGE = 16_384

function always<T> (value: T): () => T {
  return () => value
}

/** Reads the call in the body: its operation, id, task and message. */
export function parseCall (exchange: Exchange): Result {
  const work = exchange.work as Work
  const startedAt = performance.now()
  const { state, route } = work
  if (exchange.services.requests !== null) exchange.received = receivedOf(exchange, work)
  const parsed = callOf(work, exchange.request, exchange.snapshot.limits)
  work.parsed = parsed
  const isLarge = work.bytes.length >= LARGE
  describeId(exchange, isLarge ? always(parsed.id()) : parsed.id)
  const { operation, method } = parsed
  const addition = operation === 'Other' ? additionName(state.policy[route.version], method, null) : exchange.addition
  describeOperation(exchange, operation, addition)
  const path = route.binding === 'HTTP+JSON' ? route.upstreamPath : null
  exchange.named = isLarge ? always(namesOf(parsed, path)) : () => namesOf(parsed, path)
  work.seconds = (performance.now() - startedAt) / 1_000
}

/** Loads the state of the task that the request names. The look-up of the owners begins at the same time. */
export function loadTask (exchange: Exchange): Result | Promise<Result> {
  const work = exchange.work as Work
  const { remembers, pauses } = work.state.policy[work.route.version]
  work.task = remembers || pauses !== null ? taskOf(work) : null
  work.owners = ownersOf(exchange, work)
  return work.task === null ? undefined : after(exchange, exchange.services.tasks.read(work.task), keepRecord)
}

function taskOf ({ agent, route, parsed }: Work): TaskKey | null {
  const taskId = taskIdOf(parsed, route.binding === 'HTTP+JSON' ? route.upstreamPath : null)
  return taskId === null ? null : { agent: agent.name, tenant: tenantOf(parsed, route.tenant), taskId }
}

function keepRecord ({ work }: Exchange, record: TaskRecord | null): undefined {
  (work as Work).record = record
}

/** Loads the owners of the tasks and contexts that the request names (`access.tasks`). */
export function loadOwners (exchange: Exchange): Result | Promise<Result> {
  const { owners } = exchange.work as Work
  return owners === undefined ? undefined : after(exchange, owners, keepOwners)
}

function keepOwners ({ work }: Exchange, owners: OwnerFindings): undefined {
  (work as Work).owners = owners
}

/** Applies the rules of the policies. */
export function evaluate (exchange: Exchange): Result {
  const work = exchange.work as Work
  const startedAt = performance.now()
  const { agent, state, route, parsed, record, resumed } = work
  const evaluation = evaluateRequest(state, {
    route,
    call: parsed,
    head: exchange.request,
    record,
    owners: work.owners as OwnerFindings | undefined,
    caller: exchange.principal,
    initiator: exchange.delegation?.authorize,
    now: Date.now(),
    approved: resumed?.approved ?? null
  })
  work.evaluation =
    resumed === null ? evaluation : { ...evaluation, decision: withHeaders(evaluation.decision, exchange.request, [], true) }
  exchange.services.metrics.observe(
    'decision_duration_seconds', work.seconds + (performance.now() - startedAt) / 1_000, exchange.span, agent.name
  )
  if (evaluation.access !== null) recordAccess(exchange, evaluation.access)
  if (evaluation.initiator === 'deny') countDelegation(exchange, 'initiator')
}

/** Records the decision, and rejects the call if the decision rejects it. The call of a rule with `pause` waits for a person. */
export function recordOutcome (exchange: Exchange): Result | Promise<Result> {
  const { parsed, evaluation: { requested, decision } } = exchange.work as Work
  const isPaused = decision.rejection !== null && decision.pause !== null && canPause(exchange)
  if (isPaused) nameTask(exchange)
  recordDecision(exchange, parsed, requested, decision, isPaused)
  if (decision.rejection === null) return
  return isPaused ? pause(exchange, decision.pause, decision.rejection) : reject(exchange, decision.rejection, 'rejected')
}

// Looks up to whom the tasks and contexts of a request belong (`access.tasks`).

/** @returns undefined without `access.tasks`; a promise, which never rejects, when the store needs time */
function ownersOf (
  exchange: Exchange,
  { agent, state, route, query, parsed }: Work
): OwnerFindings | undefined | Promise<OwnerFindings> {
  const { ownership } = state.policy[route.version]
  if (ownership === null) return undefined
  const caller = taskCallerOf(ownership, exchange.principal)
  const ids = namedIds(ownership, route, parsed, query)
  // Nothing is looked up for callers who may use everything, and for requests that are rejected in any case.
  if (caller.shared || ids.length > MAX_IDS) return { caller, ids, owners: ids.map(() => null) }
  // Without a name, this shows whether the store is available at all.
  const owners = exchange.services.tasks.owners(agent.name, ids, null)
  return whenReady(owners, owners => ({ caller, ids, owners }))
}

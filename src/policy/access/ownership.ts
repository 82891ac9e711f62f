/**
 * `access.tasks`: a task belongs to the caller who created it (A2A 1.0 §13.1). The front looks the owners up, because the engine never
 * waits; the checks here are pure. A task of somebody else and a task that does not exist get the same response.
 */
import { createHash } from 'node:crypto'
import type { Rejection } from '#a2a/errors.js'
import type { Call } from '#a2a/message/call.js'
import { carriesMessage } from '#a2a/operations.js'
import type { NamedId } from '#a2a/request-ids.js'
import { needsTask } from '#a2a/request-ids.js'
import type { TaskOwnershipConfig } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import type { Violation } from '../violation.js'
import { addViolation, callViolation, GATEWAY, rejectionOf, violation } from '../violation.js'
import type { CallerCondition, CallerMatcher } from './caller.js'
import { compileCaller } from './caller.js'

export interface CompiledOwnership {
  readonly owner: TaskOwnershipConfig['owner']
  /** True when contexts have owners too. */
  readonly contexts: boolean
  readonly list: TaskOwnershipConfig['list']
  readonly onUnknown: TaskOwnershipConfig['onUnknown']
  readonly isShared: CallerCondition
}

/** The caller as an owner of tasks. */
export interface TaskCaller {
  /** Owner in the store: a digest, or `NOBODY`. */
  readonly owner: string
  /** True for callers who may use the tasks of everybody. */
  readonly shared: boolean
}

/** `shared`: the caller may use all tasks, so nothing was looked up. */
export type OwnerOutcome = 'match' | 'mismatch' | 'unknown' | 'unavailable' | 'shared'

/** Owners that a front has looked up before the decision. */
export interface OwnerFindings {
  readonly caller: TaskCaller
  /** Names in the request that need an owner. */
  readonly ids: readonly NamedId[]
  /** Owner of each id, in order; null for none that is known. `unavailable` when the store cannot tell. */
  readonly owners: readonly (string | null)[] | 'unavailable'
}

/** Owner of what requests without a caller create. Matches nobody, not even another such request. */
const NOBODY = '-'

/** Characters of a digest: 132 bits of SHA-256. */
const DIGEST = 22

/** Maximum number of tasks and contexts in one request. Each is a digest and a look-up. */
export const MAX_IDS = 100

export const OWNER_RULE = 'task-owner'

/** @throws {Error} from `matcher`, for a schema that does not compile */
export function compileOwnership (config: TaskOwnershipConfig | null, matcher: CallerMatcher): CompiledOwnership | null {
  if (config === null) return null
  const { owner, contexts, list, onUnknown, shared } = config
  return { owner, contexts: contexts === 'own', list, onUnknown, isShared: shared === null ? () => false : compileCaller(shared, matcher) }
}

/** @param caller null for a request without a caller */
export function taskCallerOf ({ owner, isShared }: CompiledOwnership, caller: Principal | null): TaskCaller {
  return { owner: caller === null ? NOBODY : digestOf(caller, owner), shared: isShared(caller) }
}

/** A caller without a client owns tasks by its subject, which no client can equal. */
function digestOf ({ source, subject, client }: Principal, owner: CompiledOwnership['owner']): string {
  const text = owner === 'client' ? client === null ? [source, null, subject] : [source, client] : [source, subject]
  return createHash('sha256').update(JSON.stringify(text)).digest('base64url').slice(0, DIGEST)
}

/** The ids that need an owner. */
export function checkedIds ({ contexts }: CompiledOwnership, ids: readonly NamedId[]): readonly NamedId[] {
  return contexts ? ids : ids.filter(({ kind }) => kind === 'task')
}

/** @param owner in the store; null for none */
export function outcomeOf ({ owner: mine, shared }: TaskCaller, owner: string | null): 'match' | 'mismatch' | 'unknown' | 'shared' {
  if (shared) return 'shared'
  if (owner === null) return 'unknown'
  return owner === mine && mine !== NOBODY ? 'match' : 'mismatch'
}

export interface OwnershipCheck {
  /** Null: no task or context was checked. */
  readonly outcome: OwnerOutcome | null
  /** Hides all other violations: a caller without access learns nothing about the request's rules. */
  readonly violations: readonly Violation[]
  readonly rejection: Rejection | null
}

/**
 * Checks one request.
 * @param findings undefined: nobody has looked the owners up, and nothing counts as known
 * @param forwarded true when a method that is no operation of A2A is forwarded: an extension adds it, or the configuration allows it
 */
export function checkOwnership (
  ownership: CompiledOwnership,
  call: Call,
  findings: OwnerFindings | undefined,
  forwarded: boolean
): OwnershipCheck {
  if (findings?.caller.shared === true) return { outcome: findings.ids.length > 0 ? 'shared' : null, violations: [], rejection: null }
  const problem = unreadable(call, forwarded)
  if (problem !== null) return rejected(null, [problem])
  const { operation } = call
  if (operation === 'ListTasks' && ownership.list === 'reject') return rejected(null, [listRejected])
  const { caller, ids, owners } = findings ?? NOTHING_KNOWN
  if (ids.length > MAX_IDS) return rejected(null, [tooMany(ids[MAX_IDS] as NamedId)])
  const mayBeUnknown = ownership.onUnknown === 'allow'
  if (needsTask(operation) && !ids.some(({ kind }) => kind === 'task')) return rejected('unknown', [notFound(call.request?.path ?? '')])
  if (owners === 'unavailable') {
    if (mayBeUnknown || !(ids.length > 0 || operation === 'ListTasks' || carriesMessage(operation))) {
      return { outcome: ids.length > 0 ? 'unavailable' : null, violations: [], rejection: null }
    }
    return { outcome: 'unavailable', violations: [unavailable], rejection: UNAVAILABLE }
  }
  const violations: Violation[] = []
  let worst: OwnerOutcome | null = null
  for (const [i, { path }] of ids.entries()) {
    const outcome = outcomeOf(caller, owners[i] ?? null)
    if (worst === null || ORDER.indexOf(outcome) > ORDER.indexOf(worst)) worst = outcome
    if (outcome === 'mismatch' || (outcome === 'unknown' && !mayBeUnknown)) addViolation(violations, notFound(path))
  }
  return violations.length === 0 ? { outcome: worst, violations, rejection: null } : rejected(worst, violations)
}

/** Without a look-up, every task is unknown. */
const NOTHING_KNOWN: OwnerFindings = { caller: { owner: NOBODY, shared: false }, ids: [], owners: 'unavailable' }

/** From harmless to severe. */
const ORDER: readonly OwnerOutcome[] = ['match', 'unknown', 'mismatch']

function rejected (outcome: OwnerOutcome | null, violations: readonly Violation[]): OwnershipCheck {
  return { outcome, violations, rejection: rejectionOf(violations) }
}

/**
 * A request that the gateway cannot read could name any task, whatever the mode of the agent. A method of the other version is such a
 * request, with a problem of its own (`readCall`): the agent may know the method.
 */
function unreadable ({ problem, view }: Call, forwarded: boolean): Violation | null {
  if (problem?.rule === 'unknown-method' && forwarded) return null
  if (problem !== null) return callViolation('enforce', problem)
  const [first] = view?.problems ?? []
  return first === undefined ? null : gatewayViolation('INVALID_PARAMS', 'ambiguous-fields', first.path, first.message)
}

/** The message names neither the id nor the reason: they would be different for a task that exists. */
function notFound (path: string): Violation {
  return { ...gatewayViolation('TASK_NOT_FOUND', OWNER_RULE, path, 'Task not found.'), isStandalone: true }
}

const listRejected: Violation = {
  ...gatewayViolation('UNSUPPORTED_OPERATION', OWNER_RULE, '', 'This agent does not list tasks for its callers; get tasks by their ids.'),
  isStandalone: true
}

function tooMany ({ path }: NamedId): Violation {
  return gatewayViolation('INVALID_PARAMS', OWNER_RULE, path, `is one too many: a request names at most ${MAX_IDS} tasks and contexts`)
}

const UNAVAILABLE_MESSAGE = 'The gateway cannot look up to whom tasks belong; try again later.'

/** While the store is unavailable. In a response: its owner cannot be recorded or looked up. */
export const unavailable: Violation = { ...gatewayViolation('STATE_UNAVAILABLE', OWNER_RULE, '', UNAVAILABLE_MESSAGE), isStandalone: true }

/** Rejection while the store is unavailable: of every request that needs it, so that it says nothing about a task. */
export const UNAVAILABLE: Rejection = {
  reason: 'STATE_UNAVAILABLE',
  message: UNAVAILABLE_MESSAGE,
  rule: `${GATEWAY}/${OWNER_RULE}`,
  retryAfter: 1
}

function gatewayViolation (reason: Violation['reason'], rule: string, path: string, message: string): Violation {
  return violation({ mode: 'enforce', reason, extension: GATEWAY, rule, path, message })
}

/** Violation of a response that puts the caller into a task or context of somebody else. */
export function foreignResponse (path: string): Violation {
  return gatewayViolation('INVALID_AGENT_RESPONSE', OWNER_RULE, path, 'does not belong to the caller')
}

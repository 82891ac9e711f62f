/**
 * Checks how a task moves through the states of an extension, its substates, over requests and responses.
 *
 * A repeated substate is not a transition, because updates repeat it and reads show it again. It breaks no `transitions`, and `maxVisits`
 * does not count it. Data that breaks an enforced rule is not remembered: if it is sent again, it is rejected again.
 */
import type { Mode, TaskStateConfig } from '#config/model/model.js'
import type { CompiledPolicy, CompiledTaskState } from '../compile/compiled.js'
import { isInexact, NOT_EXACT, spendBudget } from '#jsonschema/evaluation.js'
import { jsonDigest } from '#jsonschema/digest.js'
import { isLess, isNumber } from '../selectors/numbers.js'
import type { Side } from '../reasons.js'
import { reasonOn, sideModes } from '../reasons.js'
import { compileBothSides, selectOn } from '../selectors/response.js'
import type { SelectContext, Selected } from '../selectors/selection.js'
import type { Subject } from '../selectors/subject.js'
import type { TaskMemory } from './memory.js'
import { FIELDS } from './memory.js'
import type { StateMemory } from './keyed-memory.js'
import { KeyedMemory } from './keyed-memory.js'
import type { Violation } from '../violation.js'
import { addViolation, violation } from '../violation.js'

/** Name of the rule under which all violations of `state` are recorded. */
const STATE = 'state'

/** @param responses mode of the agent */
export function compileTaskState (config: TaskStateConfig, mode: Mode, responses: Mode, context: SelectContext): CompiledTaskState {
  const modes = sideModes(mode, responses)
  const act = config.onViolation === 'reject'
  return {
    from: compileBothSides(config.from, context),
    key: config.key === undefined ? null : compileBothSides(config.key, context),
    taskStates: sets(config.taskStates ?? {}, substate => substate),
    transitions: config.transitions === undefined ? null : sets(config.transitions, stored),
    monotonic: config.monotonic === undefined ? null : compileBothSides(config.monotonic, context),
    maxVisits: new Map(Object.entries(config.maxVisits ?? {})),
    mode: { request: softened(modes.request, act), response: softened(modes.response, act) },
    onUnknown: config.onUnknown ?? 'allow',
    errorClass: config.error?.class ?? 'invalid',
    message: config.error?.message ?? null,
    reason: config.error?.reason ?? null
  }
}

function softened (mode: Mode, act: boolean): Mode {
  return mode === 'enforce' && !act ? 'observe' : mode
}

function sets (lists: Readonly<Record<string, readonly string[]>>, keyOf: (substate: string) => string): Map<string, ReadonlySet<string>> {
  return new Map(Object.entries(lists).map(([substate, list]) => [keyOf(substate), new Set(list)]))
}

/** Evaluates one request or result, and remembers the resulting state. */
export function checkTaskState (policy: CompiledPolicy, subject: Subject, side: Side, memory: TaskMemory, violations: Violation[]): void {
  const { state } = policy
  if (state === null) return
  const check = new Check(policy, state, side, memory, violations)
  if (check.mode === 'off') return
  const substates = selectOn(state.from, subject, side)
  const numbers = state.monotonic === null ? NONE : selectOn(state.monotonic, subject, side)
  const taskState = side === 'response' ? subject.taskState : null
  if (state.key !== null) return check.keyed(selectOn(state.key, subject, side), substates, numbers, taskState)
  for (const substate of substates) check.substate(substate, taskState)
  if (state.monotonic !== null) check.monotonic(numbers)
}

const NONE: readonly Selected[] = []

/** Steps of a substate, and of a number that is compared with the greatest. */
const SUBSTATE = 5
const NUMBER = 2

class Check {
  private readonly policy: CompiledPolicy
  private readonly state: CompiledTaskState
  readonly mode: Mode
  private readonly side: Side
  private readonly task: TaskMemory
  private readonly violations: Violation[]
  /** The memory of the task, or of one key. */
  private memory: StateMemory
  /** Scope of the fields: the policy; empty in the memory of a key. */
  private scope: string

  constructor (policy: CompiledPolicy, state: CompiledTaskState, side: Side, memory: TaskMemory, violations: Violation[]) {
    this.policy = policy
    this.state = state
    this.mode = side === 'request' ? state.mode.request : state.mode.response
    this.side = side
    this.task = memory
    this.memory = memory
    this.violations = violations
    this.scope = policy.name
  }

  /** Checks each key by itself. */
  keyed (keys: readonly Selected[], substates: readonly Selected[], numbers: readonly Selected[], taskState: string | null): void {
    for (const values of [substates, numbers]) {
      const [first] = values
      if (first === undefined || values.length === keys.length) continue
      return this.fault(
        first.path, `cannot be evaluated: there are ${keys.length} keys for ${values.length} values; send one key with each`
      )
    }
    const memory = new KeyedMemory(this.task, this.policy.name)
    const sent = new Map<unknown, { readonly of: StateMemory, readonly list: Selected[] }>()
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as Selected
      const of = this.memoryOf(key, memory)
      if (of === null) continue
      this.memory = of
      const [substate, number] = [substates[i], numbers[i]]
      if (substate !== undefined) this.substate(substate, taskState)
      if (number !== undefined) sent.set(key.value, { of, list: [...sent.get(key.value)?.list ?? [], number] })
    }
    for (const { of, list } of sent.values()) {
      this.memory = of
      this.monotonic(list)
    }
  }

  /** @returns null for a value that is no key, and for a key too many: both are violations */
  private memoryOf ({ value, path, ambiguous }: Selected, memory: KeyedMemory): StateMemory | null {
    spendBudget(SUBSTATE)
    this.scope = ''
    if (ambiguous !== null) return this.noKey(path, `cannot be evaluated: ${ambiguous}`)
    if (isInexact(value)) return this.noKey(path, NOT_EXACT)
    if (typeof value !== 'string' && typeof value !== 'number') return this.noKey(path, 'must be a string or a number')
    return memory.of(value) ?? this.noKey(path, 'is one too many: the gateway does not follow more keys in one task; start a new task')
  }

  private noKey (path: string, message: string): null {
    this.fault(path, message)
    return null
  }

  substate (match: Selected, taskState: string | null): void {
    spendBudget(SUBSTATE)
    const { memory } = this
    if (match.ambiguous !== null) return this.fault(match.path, `cannot be evaluated: ${match.ambiguous}`)
    if (typeof match.value !== 'string') return this.fault(match.path, 'must be a string')
    const { value, path } = match
    const now = stored(value)
    const field = FIELDS.substate(this.scope)
    const before = memory.get(field) ?? (memory.knows(this.policy.name) ? '' : null)
    let holds = this.pair(path, value, taskState)
    if (now !== before) {
      holds = this.transition(path, value, before) && holds
      holds = this.visit(path, value, holds) && holds
    }
    if (holds || this.mode !== 'enforce') memory.set(field, now)
  }

  private pair (path: string, substate: string, taskState: string | null): boolean {
    const allowed = this.state.taskStates.get(substate)
    if (allowed === undefined || taskState === null || allowed.has(taskState)) return true
    return this.broken(path, `is not allowed in the state that the task has; it is allowed in ${listed(allowed)}`)
  }

  private transition (path: string, substate: string, before: string | null): boolean {
    const { transitions, onUnknown } = this.state
    if (transitions === null) return true
    if (before === null) {
      return onUnknown === 'allow' || this.broken(path, 'cannot be evaluated: the state of this task is unknown; start a new task')
    }
    const next = transitions.get(before)
    if (next === undefined || next.has(substate)) return true
    // The task may have changed on another connection. A substate that is behind the state there is checked against the state that is known
    // here.
    const other = this.memory.elsewhere(FIELDS.substate(this.scope))
    if (other !== null && (other === stored(substate) || transitions.get(other)?.has(substate) !== false)) return true
    const first = before === ''
    if (next.size === 0) return this.broken(path, first ? 'must not have a state yet' : 'must not change: the task is in its last state')
    return this.broken(
      path,
      first ? `must begin with ${listed(next)}` : `must not follow the current state of the task; allowed are ${listed(next)}`
    )
  }

  private visit (path: string, substate: string, holds: boolean): boolean {
    const { mode, memory } = this
    const max = this.state.maxVisits.get(substate)
    if (max === undefined) return true
    const field = FIELDS.visits(this.scope, substate)
    const visits = Number(memory.get(field) ?? 0) + 1
    const within = visits <= max || this.broken(path, `is entered too often: at most ${max} ${max === 1 ? 'time' : 'times'} in one task`)
    if (mode !== 'enforce' || (within && holds)) memory.set(field, String(visits))
    return within
  }

  /**
   * Checks the greatest number of one request or result, because a task shows all its artifacts again. The previous greatest number may be
   * sent again, because a read shows the last one.
   */
  monotonic (selected: readonly Selected[]): void {
    const { memory } = this
    let greatest: { readonly path: string, readonly text: string } | null = null
    for (const match of selected) {
      spendBudget(NUMBER)
      const text = typeof match.value === 'number' ? String(match.value) : match.value
      if (match.ambiguous !== null) this.fault(match.path, `cannot be evaluated: ${match.ambiguous}`)
      else if (isInexact(match.value)) this.fault(match.path, NOT_EXACT)
      else if (!isNumber(text)) this.fault(match.path, 'must be a number, or a numeric string')
      else if (greatest === null || isLess(greatest.text, text)) greatest = { path: match.path, text }
    }
    if (greatest === null) return
    const field = FIELDS.monotonic(this.scope)
    const before = memory.get(field)
    if (before === null && !memory.knows(this.policy.name) && this.state.onUnknown === 'reject') {
      this.broken(
        greatest.path, 'cannot be evaluated: the state of this task is unknown; start a new task'
      )
    } else if (
      before !== null &&
      isLess(greatest.text, before)
    ) {
      this.broken(
        greatest.path, 'must not be less than the previous number of the task; send increasing numbers'
      )
    } else return memory.set(field, greatest.text)
    // When the policy only observes, the greatest number stays: each number below it did not grow.
    if (this.mode !== 'enforce' && before === null) memory.set(field, greatest.text)
  }

  /** Records that a rule of the policy is broken, with the policy's own message if it has one. */
  private broken (path: string, message: string): false {
    const { state } = this
    this.add(path, state.message ?? message, state.reason, state.message !== null)
    return false
  }

  /** Records that the data cannot be evaluated. The policy's message for a broken rule would be misleading. */
  private fault (path: string, message: string): void {
    this.add(path, message, null, false)
  }

  private add (path: string, message: string, reason: string | null, isStandalone: boolean): void {
    const { name, uri } = this.policy
    addViolation(this.violations, violation({
      mode: this.mode,
      reason: reasonOn(this.side, this.state.errorClass),
      extension: name,
      uri,
      rule: STATE,
      path,
      message,
      customReason: reason,
      isStandalone
    }))
  }
}

/** Maximum characters of a substate that is stored unchanged. */
const KEPT = 128

/** The stored form of a substate: a digest for long ones. */
function stored (substate: string): string {
  return substate.length <= KEPT && !substate.startsWith('#') ? substate : `#${jsonDigest(substate)}`
}

/** Maximum number of names in a message. The lists come from the configuration, but may still be long. */
const MAX_LISTED_NAMES = 20

function listed (names: ReadonlySet<string>): string {
  const shown = [...names].slice(0, MAX_LISTED_NAMES).map(name => JSON.stringify(name))
  const more = names.size - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

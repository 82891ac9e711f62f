/** Compiles `when` and `unless` of a rule to one function over a request or over one result of a response. */
import { carriesMessage } from '#a2a/operations.js'
import type { CallerConfig, ConditionConfig, OnUnknown } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import { spendBudget } from '#jsonschema/evaluation.js'
import { callerShape, compileCaller } from '../access/caller.js'
import type { Matcher, SelectContext } from '../selectors/selection.js'
import type { RequestSubject, Subject } from '../selectors/subject.js'

export type Condition<S extends Subject = RequestSubject> = (subject: S) => boolean

/** @returns null for no condition */
export function compileCondition (
  when: ConditionConfig | undefined,
  unless: ConditionConfig | undefined,
  context: SelectContext,
  onUnknown: OnUnknown = 'allow'
): Condition<Subject> | null {
  if (when === undefined && unless === undefined) return null
  const condition = compileBoth(when, unless, context)
  if (when?.taskState === undefined && unless?.taskState === undefined) return condition
  // A restarted gateway knows no task. For an unknown state the rule does not apply, so that a healthy call does not fail, unless the
  // policy sets `onUnknown: reject`.
  return subject => (subject.taskState !== null || hasNoTask(subject) || onUnknown === 'reject') && condition(subject)
}

function compileBoth (when: ConditionConfig | undefined, unless: ConditionConfig | undefined, context: SelectContext): Condition<Subject> {
  const applies = when === undefined ? null : compileOne(when, context)
  const excepted = unless === undefined ? null : compileOne(unless, context)
  // When a condition is undecidable, the rule applies.
  return subject => (applies === null || applies(subject) !== false) && (excepted === null || excepted(subject) !== true)
}

function compileOne (condition: ConditionConfig, context: SelectContext): (subject: Subject) => boolean | null {
  const matches: Matcher | null = condition.match === undefined ? null : context.matcher(condition.match)
  const states = condition.taskState === undefined ? null : new Set<string>(condition.taskState)
  const active = condition.active ?? null
  const matched = condition.requestMatched === undefined ? null : `${context.policy}/${condition.requestMatched}`
  const caller = condition.caller === undefined ? null : callerCondition(condition.caller, context)
  return subject => {
    spendBudget(1 + (condition.listed === undefined ? 0 : context.uris.length * subject.listed.length / 100))
    const called = caller === null ? true : caller(subject.caller)
    if (called === false) return false
    if (condition.taskId !== undefined && condition.taskId !== subject.taskId) return false
    if (condition.contextId !== undefined && condition.contextId !== subject.contextId) return false
    if (condition.listed !== undefined && condition.listed !== context.uris.some(uri => subject.listed.includes(uri))) return false
    if (active !== null && !context.activeAs(active).some(uri => subject.active.includes(uri))) return false
    if (matched !== null && !subject.matched.has(matched)) return false
    if (states !== null) {
      if (subject.taskState === null) return hasNoTask(subject) ? false : null
      if (!states.has(subject.taskState)) return false
    }
    const isMatch = matches === null ? true : matches(subject.shape)
    return isMatch === false ? false : called === null ? null : isMatch
  }
}

/**
 * Compiles a condition on the caller whose `match` has the budget of the policy.
 * @returns a function whose result is null when the condition is undecidable
 */
export function callerCondition (
  { match, ...others }: CallerConfig,
  { matcher }: SelectContext
): (caller: Principal | null) => boolean | null {
  const holds = compileCaller(others, () => () => true)
  if (match === undefined) return holds
  const matches = matcher(match)
  return caller => caller !== null && holds(caller) ? matches(callerShape(caller)) : false
}

/** True when a message names no task: the message then certainly belongs to no existing task. */
function hasNoTask ({ operation, taskId }: Subject): boolean {
  return taskId === 'absent' && carriesMessage(operation)
}

/** `when` and `unless` of a rule, compiled to one function over a request. */
import type { ConditionConfig } from '../config/model.js'
import type { Matcher, SelectContext } from './select-kit.js'
import type { Subject } from './subject.js'

export type Condition = (subject: Subject) => boolean

/** @returns null for no condition */
export function compileCondition (when: ConditionConfig | undefined, unless: ConditionConfig | undefined, context: SelectContext): Condition | null {
  if (when === undefined && unless === undefined) return null
  const applies = when === undefined ? null : compileOne(when, context)
  const excepted = unless === undefined ? null : compileOne(unless, context)
  // Where nobody can tell, the rule applies.
  return subject => (applies === null || applies(subject) !== false) && (excepted === null || excepted(subject) !== true)
}

function compileOne (condition: ConditionConfig, context: SelectContext): (subject: Subject) => boolean | null {
  const matches: Matcher | null = condition.match === undefined ? null : context.matcher(condition.match)
  return subject => {
    const { message } = subject
    if (condition.taskId !== undefined && condition.taskId !== (message?.taskId ?? 'absent')) return false
    if (condition.contextId !== undefined && condition.contextId !== (message?.contextId ?? 'absent')) return false
    if (condition.listed !== undefined && condition.listed !== context.uris.some(uri => message?.listed.includes(uri) === true)) return false
    return matches === null ? true : matches(subject.normalised)
  }
}

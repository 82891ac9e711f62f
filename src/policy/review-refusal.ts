/** What is wrong with an answer as such, and the refusal that takes its place. */
import type { FieldProblem } from '../a2a/fields.js'
import type { Refusal } from '../a2a/errors.js'
import type { Mode } from '../config/model.js'
import { BODY } from './select-answer.js'
import type { Violation } from './violation.js'
import { GATEWAY, note, refusalOf, violation } from './violation.js'

/** Notes that an answer is none, or that clients might read it differently. */
export function noteFault (rule: 'answer-json' | 'answer-envelope' | 'answer-fields' | 'answer-steps', mode: Mode, { path, message }: FieldProblem, violations: Violation[]): void {
  note(violations, violation(mode, 'INVALID_AGENT_RESPONSE', GATEWAY, rule, path === '' ? BODY : path, message))
}

/** @returns null where nothing is enforced */
export function answerRefusal (violations: readonly Violation[]): Refusal | null {
  const refusal = refusalOf(violations)
  if (refusal === null) return null
  const what = refusal.rule.startsWith(`${GATEWAY}/`) ? 'cannot be read reliably' : `breaks the rule "${refusal.rule}"`
  // The client cannot mend it, whatever class of error the policy names.
  return { ...refusal, reason: 'INVALID_AGENT_RESPONSE', message: `The agent's answer ${what}: ${refusal.message}` }
}

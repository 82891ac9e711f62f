/** Records faults of a response itself, and builds the rejection that replaces the response. */
import type { FieldProblem } from '#a2a/fields.js'
import type { Rejection } from '#a2a/errors.js'
import type { Mode } from '#config/model/model.js'
import { BODY } from '../selectors/response.js'
import type { Violation } from '../violation.js'
import { GATEWAY, addViolation, rejectionOf, violation } from '../violation.js'

/**
 * Records that the bytes are not a valid response, that clients might read the response differently, or that it differs from A2A in a way
 * that changes nothing for rules: `answer-unwrapped`, `answer-unknown` and `answer-backslash-name`, which are never enforced.
 */
export function noteFault (
  rule: 'answer-json' | 'answer-protobuf' | 'answer-envelope' | 'answer-fields' | 'answer-steps' | 'answer-unwrapped' | 'answer-unknown' |
    'answer-backslash-name',
  mode: Mode,
  { path, message }: FieldProblem,
  violations: Violation[]
): void {
  addViolation(
    violations,
    violation({ mode, reason: 'INVALID_AGENT_RESPONSE', extension: GATEWAY, rule, path: path === '' ? BODY : path, message })
  )
}

/** @returns null when nothing is enforced */
export function responseRejection (violations: readonly Violation[]): Rejection | null {
  const rejection = rejectionOf(violations)
  if (rejection === null) return null
  const what = rejection.rule.startsWith(`${GATEWAY}/`) ? 'cannot be read reliably' : `violates the rule "${rejection.rule}"`
  // The client cannot fix the response, whatever class of error the policy names.
  return { ...rejection, reason: 'INVALID_AGENT_RESPONSE', message: `The agent's response ${what}: ${rejection.message}` }
}

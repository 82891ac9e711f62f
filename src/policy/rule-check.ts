/** Shared by rules for requests and for responses: checks one value, and writes the violation. */
import { quoted, visible } from '../a2a/fields.js'
import type { ErrorClass, Mode } from '../config/model/model.js'
import type { CompiledPolicy } from './compile/compiled.js'
import { step } from '../jsonschema/evaluation.js'
import type { Side } from './reasons.js'
import { reasonOn } from './reasons.js'
import type { CompiledSource } from './compile/schema-source.js'
import type { Selected } from './selectors/kit.js'
import type { Violation } from './violation.js'
import { isFull, addViolation, violation } from './violation.js'

export interface CheckedRule {
  readonly id: string
  readonly side: Side
  readonly schema: CompiledSource | null
  readonly errorClass: ErrorClass
  readonly undeclaredClass: ErrorClass
  readonly message: string | null
  readonly reason: string | null
}

/**
 * Checks one value.
 * @param mode of the recorded violations: the mode of the rule, or `observe` when the rule only observes
 * @returns true when the value holds
 */
export function checkOne (policy: CompiledPolicy, rule: CheckedRule, mode: Mode, one: Selected, violations: Violation[]): boolean {
  step(CHECK)
  if (one.ambiguous !== null) return fault(policy, rule, mode, 'invalid', one.path, `cannot be judged: ${one.ambiguous}`, violations)
  if (rule.schema === null) return true
  const found = rule.schema.find(one.captures)
  if (found === null) {
    return fault(policy, rule, mode, rule.undeclaredClass, one.typePath ?? one.path, `names a schema that the agent's card does not declare; ${declared(rule.schema.names)}`, violations)
  }
  const { entry, name } = found
  if (!entry.usable) {
    return fault(policy, rule, mode, 'unsupportedContent', one.path, `cannot be accepted: ${labelOf(name)} is unusable (${visible(entry.pointer, POINTER)}: ${entry.message}); the agent's card must be mended first`, violations, 'SCHEMA_UNUSABLE')
  }
  const problems = entry.schema.validate(one.value)
  if (problems === null) return true
  const label = labelOf(name)
  for (const problem of problems) {
    if (isFull(violations, mode)) break
    broken(policy, rule, mode, `${one.path}${problem.path}`, `${problem.message} (${label})`, violations)
  }
  return false
}

function labelOf (name: string | null): string {
  return name === null ? 'its schema' : `the schema ${quoted(name, NAME)} of the agent's card`
}

/** Steps of a value, without the cost of its schema. */
const CHECK = 1

/** Limits for a message: characters of a schema's name, characters of its pointer, and number of names of a card. */
const NAME = 64
const POINTER = 200
const NAMES = 20

/** Lists the names of the card for the caller. The names are untrusted text, so they are shortened. */
function declared (names: readonly string[]): string {
  if (names.length === 0) return 'the card declares none'
  const more = names.length > NAMES ? ` and ${names.length - NAMES} more` : ''
  return `the card declares ${names.slice(0, NAMES).map(name => visible(name, NAME)).join(', ')}${more}`
}

/** Records that the rule is broken, with the policy's own message and reason if it has them. */
export function broken (policy: CompiledPolicy, rule: CheckedRule, mode: Mode, path: string, message: string, violations: Violation[]): void {
  addViolation(violations, violation(mode, reasonOn(rule.side, rule.errorClass), policy.name, rule.id, path, rule.message ?? message, policy.uri, rule.reason, rule.message !== null))
}

/** Records that the rule cannot be applied. The policy's message for a broken rule would be misleading. */
export function fault (policy: CompiledPolicy, rule: CheckedRule, mode: Mode, errorClass: ErrorClass, path: string, message: string, violations: Violation[], reason: string | null = null): false {
  addViolation(violations, violation(mode, reasonOn(rule.side, errorClass), policy.name, rule.id, path, message, policy.uri, reason))
  return false
}

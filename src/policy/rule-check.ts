/** Shared by rules for requests and for responses: checks one value, and writes the violation. */
import { quoted, visible } from '#a2a/fields.js'
import type { ErrorClass, Mode } from '#config/model/model.js'
import type { CompiledPolicy } from './compile/compiled.js'
import { isValidUnread } from '#jsonschema/bytes/data-validator.js'
import { spendBudget } from '#jsonschema/evaluation.js'
import type { Side } from './reasons.js'
import type { CompiledFreshness, CountProblem } from './freshness.js'
import { freshnessProblem } from './freshness.js'
import { reasonOn } from './reasons.js'
import type { CompiledSource } from './compile/schema-source.js'
import type { Selected, Selector } from './selectors/selection.js'
import type { Subject } from './selectors/subject.js'
import type { Violation } from './violation.js'
import { addViolation, isFull, violation } from './violation.js'

export interface CheckedRule {
  readonly id: string
  readonly side: Side
  readonly schema: CompiledSource | null
  readonly freshness: CompiledFreshness | null
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
export function checkOne (policy: CompiledPolicy, rule: CheckedRule, mode: Mode, match: Selected, violations: Violation[]): boolean {
  spendBudget(CHECK)
  if (match.ambiguous !== null) {
    return addFault(
      { policy, rule, mode, errorClass: 'invalid', path: match.path, message: `cannot be evaluated: ${match.ambiguous}` },
      violations
    )
  }
  return matchesSchema(policy, rule, mode, match, violations) && isFresh(policy, rule, mode, match, violations)
}

function isFresh (policy: CompiledPolicy, rule: CheckedRule, mode: Mode, match: Selected, violations: Violation[]): boolean {
  const problem = rule.freshness === null ? null : freshnessProblem(rule.freshness, match)
  if (problem !== null) broken({ policy, rule, mode, ...problem }, violations)
  return problem === null
}

function matchesSchema (policy: CompiledPolicy, rule: CheckedRule, mode: Mode, match: Selected, violations: Violation[]): boolean {
  if (rule.schema === null) return true
  const dataViolations = rule.schema.find(match.captures)
  if (dataViolations === null && rule.schema.isSeen?.(match.captures) === true) {
    const message = "names a schema of the agent's extended card, which the gateway has not loaded (card.extended); the data is not validated"
    addFault({ policy, rule, mode: 'observe', errorClass: rule.undeclaredClass, path: match.typePath ?? match.path, message }, violations)
    return true
  }
  if (dataViolations === null) {
    const message = `names a schema that the agent's card does not declare; ${declared(rule.schema.names)}`
    return addFault({ policy, rule, mode, errorClass: rule.undeclaredClass, path: match.typePath ?? match.path, message }, violations)
  }
  const { entry, name } = dataViolations
  if (!entry.usable) {
    const message = `cannot be accepted: ${labelOf(name)} is unusable (${visible(entry.pointer, POINTER)}: ${entry.message}); the ` +
      'agent\'s card must be fixed first'
    return addFault(
      { policy, rule, mode, errorClass: 'unsupportedContent', customReason: 'SCHEMA_UNUSABLE', path: match.path, message },
      violations
    )
  }
  if (match.unread !== undefined && entry.program !== null && isValidUnread(match.unread, entry.program)) return true
  const problems = entry.schema.validate(match.value)
  if (problems === null) return true
  const label = labelOf(name)
  for (const problem of problems) {
    if (isFull(violations, mode)) break
    broken({ policy, rule, mode, path: `${match.path}${problem.path}`, message: `${problem.message} (${label})` }, violations)
  }
  return false
}

function labelOf (name: string | null): string {
  return name === null ? 'the schema of the rule' : `the schema ${quoted(name, NAME)} of the agent's card`
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

interface RuleProblem extends CountProblem {
  readonly policy: CompiledPolicy
  readonly rule: CheckedRule
  /** Mode of the violation: the mode of the rule, or `observe` when the rule only observes. */
  readonly mode: Mode
}

/** Records that the rule is broken, with the policy's own message and reason if it has them. */
export function broken ({ policy, rule, mode, path, message }: RuleProblem, violations: Violation[]): void {
  addViolation(violations, violation({
    mode,
    reason: reasonOn(rule.side, rule.errorClass),
    extension: policy.name,
    uri: policy.uri,
    rule: rule.id,
    path,
    message: rule.message ?? message,
    customReason: rule.reason,
    isStandalone: rule.message !== null
  }))
}

interface RuleFault extends RuleProblem { readonly errorClass: ErrorClass, readonly customReason?: string }

/** Records that the rule cannot be applied. The policy's message for a broken rule would be misleading. */
export function addFault ({ policy, rule, mode, errorClass, customReason, path, message }: RuleFault, violations: Violation[]): false {
  const reason = reasonOn(rule.side, errorClass)
  addViolation(
    violations,
    violation({ mode, reason, extension: policy.name, uri: policy.uri, rule: rule.id, path, message, customReason: customReason ?? null })
  )
  return false
}

interface CountedRule<S extends Subject> {
  readonly id: string
  readonly min: number
  readonly max: number
  readonly select: Pick<Selector<S>, 'missing'>
}

/**
 * Checks the number of selected values.
 * @param place path for a rule that does not know where its values belong
 * @param supplied number of values that the platform adds
 * @returns null when the number is right
 */
export function countProblem<S extends Subject> (
  rule: CountedRule<S>,
  subject: S,
  selected: readonly Selected[],
  place: string,
  supplied = 0
): CountProblem | null {
  const count = selected.length
  if (count + supplied >= rule.min && count <= rule.max) return null
  if (count > rule.max) {
    return {
      path: selected[rule.max]?.path ?? place,
      message: rule.max === 0 ? 'is not allowed here' : `is one too many: at most ${rule.max} allowed`
    }
  }
  if (rule.select.missing !== null && rule.min === 1) return { path: rule.select.missing(subject), message: 'is required' }
  return { path: place, message: `must contain at least ${rule.min} of the values that rule "${rule.id}" selects` }
}

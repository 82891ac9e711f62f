/** Runs one policy's request rules over a request. No extension has code of its own. */
import type { Reason } from '../a2a/errors.js'
import { quoted, visible } from '../a2a/fields.js'
import { carriesMessage } from '../a2a/operations.js'
import type { ErrorClass } from '../config/model.js'
import type { CompiledPolicy, CompiledRule } from './compiled.js'
import type { Edits } from './edits.js'
import { conflict } from './edits.js'
import { isMeant as supplies } from './inject.js'
import type { Selected } from './select-kit.js'
import type { RequestSubject } from './subject.js'
import type { Tracer } from './trace.js'
import type { Violation } from './violation.js'
import { isFull, note, violation } from './violation.js'

const REASON_OF_CLASS: Readonly<Record<ErrorClass, Reason>> = {
  invalid: 'EXTENSION_DATA_INVALID',
  unsupportedContent: 'CONTENT_TYPE_NOT_SUPPORTED',
  conflict: 'EXTENSION_CONFLICT',
  extensionRequired: 'EXTENSION_SUPPORT_REQUIRED',
  forbidden: 'EXTENSION_NOT_ALLOWED'
}

/**
 * @param active whether the extension is
 * @param edits null where no policy can change the request
 */
export function runRules (policy: CompiledPolicy, subject: RequestSubject, active: boolean, violations: Violation[], edits: Edits | null, tracer: Tracer | null): void {
  for (const rule of policy.rules) {
    const strips = rule.strips !== null && edits !== null
    if (!isMeant(rule, subject)) {
      tracer?.skipped(policy, rule, 'operation')
    } else if (!strips && isFull(violations, rule.mode)) {
      tracer?.skipped(policy, rule, 'bound')
    } else if (rule.condition !== null && !rule.condition(subject)) {
      tracer?.skipped(policy, rule, 'condition')
    } else {
      const before = violations.length
      const selected = rule.select.select(subject)
      if (strips) stripBroken(policy, rule, subject, selected, violations, edits)
      else if (checkCount(policy, rule, subject, selected, active && edits !== null && edits.verbatim === null, violations)) checkValues(policy, rule, selected, violations)
      tracer?.judged(policy, rule, selected.length, violations.slice(before))
    }
  }
}

function checkValues (policy: CompiledPolicy, rule: CompiledRule, selected: readonly Selected[], violations: Violation[]): void {
  for (const one of selected) {
    if (isFull(violations, rule.mode)) return
    checkOne(policy, rule, one, violations)
  }
}

/** A method that no table knows may carry a message too; a rule that names no operations looks at that. */
function isMeant ({ on, select }: CompiledRule, { call, message }: RequestSubject): boolean {
  if (message === null && select.needsMessage) return false
  if (on === null) return carriesMessage(call.operation) || message !== null
  return on.has('all') || on.has(call.operation)
}

/**
 * @param injects whether the platform adds what it supplies to this request
 * @returns false when the count is wrong: the values are then not looked at
 */
function checkCount (policy: CompiledPolicy, rule: CompiledRule, subject: RequestSubject, selected: readonly Selected[], injects: boolean, violations: Violation[]): boolean {
  const count = selected.length
  const supplied = rule.supply.length > 0 && count === 0 && injects && rule.supply.some(one => supplies(one, subject)) ? 1 : 0
  if (count + supplied >= rule.min && count <= rule.max) return true
  if (count > rule.max) {
    const expected = rule.max === 0 ? 'is not allowed here' : `is one too many: at most ${rule.max} allowed`
    add(policy, rule, rule.errorClass, selected[rule.max]?.path ?? placeOf(subject), expected, violations)
  } else if (rule.select.missing !== null && rule.min === 1) {
    add(policy, rule, rule.errorClass, rule.select.missing(subject), 'is required', violations)
  } else {
    add(policy, rule, rule.errorClass, placeOf(subject), `must hold at least ${rule.min} of what rule "${rule.id}" selects`, violations)
  }
  return false
}

function placeOf ({ call, message }: RequestSubject): string {
  return message?.path ?? call.request?.path ?? ''
}

/** `verdict: strip`: the surplus goes, and every value that does not hold. However many they are: only the notes of them are bounded. */
function stripBroken (policy: CompiledPolicy, rule: CompiledRule, subject: RequestSubject, selected: readonly Selected[], violations: Violation[], edits: Edits): void {
  if (selected.length > rule.max) checkCount(policy, rule, subject, selected, false, violations)
  const by = { policy, rule: rule.id }
  for (let i = 0; i < selected.length; i++) {
    const one = selected[i] as Selected
    if (i < rule.max && checkOne(policy, rule, one, violations)) continue
    if (policy.mode !== 'enforce') continue
    if (edits.verbatim !== null) conflict(edits.verbatim, by, one.path, violations)
    else if (rule.strips === 'headers') edits.removeLine(one.at[0] as number, by)
    else edits.remove(one.at, by)
  }
}

/** @returns whether the value holds */
function checkOne (policy: CompiledPolicy, rule: CompiledRule, one: Selected, violations: Violation[]): boolean {
  if (one.ambiguous !== null) return fault(policy, rule, 'invalid', one.path, `cannot be judged: ${one.ambiguous}`, violations)
  if (rule.schema === null) return true
  const found = rule.schema.find(one.captures)
  if (found === null) {
    return fault(policy, rule, rule.undeclaredClass, one.typePath ?? one.path, `names a schema that the agent's card does not declare; ${declared(rule.schema.names)}`, violations)
  }
  const { entry, name } = found
  const label = name === null ? 'its schema' : `the schema ${quoted(name, NAME)} of the agent's card`
  if (!entry.usable) {
    return fault(policy, rule, 'unsupportedContent', one.path, `cannot be accepted: ${label} is unusable (${visible(entry.pointer, POINTER)}: ${entry.message}); the agent's card must be mended first`, violations, 'SCHEMA_UNUSABLE')
  }
  const problems = entry.schema.validate(one.value)
  if (problems === null) return true
  for (const problem of problems) {
    if (isFull(violations, rule.mode)) break
    add(policy, rule, rule.errorClass, `${one.path}${problem.path}`, `${problem.message} (${label})`, violations)
  }
  return false
}

/** Characters of a schema's name and pointer, and names of a card, that a message shows. */
const NAME = 64
const POINTER = 200
const NAMES = 20

/** Names of the card are for the caller to read; they are a stranger's text all the same. */
function declared (names: readonly string[]): string {
  if (names.length === 0) return 'the card declares none'
  const more = names.length > NAMES ? ` and ${names.length - NAMES} more` : ''
  return `the card declares ${names.slice(0, NAMES).map(name => visible(name, NAME)).join(', ')}${more}`
}

/** The rule is broken: the policy's own words and reason, where it has some. */
function add (policy: CompiledPolicy, rule: CompiledRule, errorClass: ErrorClass, path: string, message: string, violations: Violation[]): void {
  note(violations, violation(rule.mode, REASON_OF_CLASS[errorClass], policy.name, rule.id, path, rule.message ?? message, policy.uri, rule.reason, rule.message !== null))
}

/** The rule cannot be applied: its words for a broken rule would mislead. */
function fault (policy: CompiledPolicy, rule: CompiledRule, errorClass: ErrorClass, path: string, message: string, violations: Violation[], reason: string | null = null): false {
  note(violations, violation(rule.mode, REASON_OF_CLASS[errorClass], policy.name, rule.id, path, message, policy.uri, reason))
  return false
}

/** Runs one policy's request rules over a request. No extension has code of its own. */
import { carriesMessage } from '../a2a/operations.js'
import type { Mode } from '../config/model/model.js'
import type { CompiledPolicy, CompiledRule } from './compile/compiled.js'
import type { Edits } from './request/edits.js'
import { conflict } from './request/edits.js'
import { unevaluated } from '../jsonschema/evaluation.js'
import { isMeant as supplies } from './request/inject.js'
import { broken, checkOne, fault } from './rule-check.js'
import type { Selected } from './selectors/kit.js'
import type { RequestSubject } from './selectors/subject.js'
import type { Tracer } from './trace.js'
import type { Violation } from './violation.js'
import { isFull } from './violation.js'

/**
 * Runs the rules of one policy.
 * @param active true if the extension is active
 * @param edits null when no policy can change the request
 * @param matched receives `policy/rule` of the rules that responses refer to, and that found something and accepted it; null when responses
 *   refer to none
 */
export function runRules (policy: CompiledPolicy, subject: RequestSubject, active: boolean, violations: Violation[], edits: Edits | null, matched: Set<string> | null, tracer: Tracer | null): void {
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
      const selected = selectedBy(policy, rule, subject, strips ? policy.mode : rule.mode, violations)
      const holds = selected !== null && (strips
        ? stripBroken(policy, rule, subject, selected, violations, edits)
        : checkCount(policy, rule, subject, selected, active && edits !== null && edits.verbatim === null, violations) && checkValues(policy, rule, selected, violations))
      if (rule.noted && holds && selected.length > 0) matched?.add(`${policy.name}/${rule.id}`)
      tracer?.evaluated(policy, rule, selected?.length ?? 0, violations.slice(before))
    }
  }
}

/** @returns null when the selection takes too many steps. This breaks the rule: the data that a strip rule must remove would stay */
function selectedBy (policy: CompiledPolicy, rule: CompiledRule, subject: RequestSubject, mode: Mode, violations: Violation[]): readonly Selected[] | null {
  try {
    return rule.select.select(subject)
  } catch (error) {
    const problem = unevaluated(error)
    if (problem === null) throw error
    fault(policy, rule, mode, 'invalid', placeOf(subject), problem, violations)
    return null
  }
}

/** @returns true when all values hold; false also when the list of violations is full and the rest was not checked */
function checkValues (policy: CompiledPolicy, rule: CompiledRule, selected: readonly Selected[], violations: Violation[]): boolean {
  let holds = true
  for (const one of selected) {
    if (isFull(violations, rule.mode)) return false
    holds = checkOne(policy, rule, rule.mode, one, violations) && holds
  }
  return holds
}

/**
 * True when a rule applies to a request. A method that no table knows may carry a message too, and a rule without operations evaluates that
 * message.
 */
function isMeant ({ on, select }: CompiledRule, { call, message }: RequestSubject): boolean {
  if (message === null && select.needsMessage) return false
  if (on === null) return carriesMessage(call.operation) || message !== null
  return on.has('all') || on.has(call.operation)
}

/**
 * Checks the number of selected values.
 * @param injects true if the platform adds its data to this request
 * @returns false when the count is wrong: the values are then not checked
 */
function checkCount (policy: CompiledPolicy, rule: CompiledRule, subject: RequestSubject, selected: readonly Selected[], injects: boolean, violations: Violation[]): boolean {
  const count = selected.length
  const supplied = rule.supply.length > 0 && count === 0 && injects && rule.supply.some(one => supplies(one, subject)) ? 1 : 0
  if (count + supplied >= rule.min && count <= rule.max) return true
  if (count > rule.max) {
    const expected = rule.max === 0 ? 'is not allowed here' : `is one too many: at most ${rule.max} allowed`
    broken(policy, rule, rule.mode, selected[rule.max]?.path ?? placeOf(subject), expected, violations)
  } else if (rule.select.missing !== null && rule.min === 1) {
    broken(policy, rule, rule.mode, rule.select.missing(subject), 'is required', violations)
  } else {
    broken(policy, rule, rule.mode, placeOf(subject), `must hold at least ${rule.min} of what rule "${rule.id}" selects`, violations)
  }
  return false
}

function placeOf ({ call, message }: RequestSubject): string {
  return message?.path ?? call.request?.path ?? ''
}

/**
 * `verdict: strip`: removes the surplus values and every value that does not hold. Only the number of recorded violations is limited, not
 * the number of removals.
 * @returns true when all values hold
 */
function stripBroken (policy: CompiledPolicy, rule: CompiledRule, subject: RequestSubject, selected: readonly Selected[], violations: Violation[], edits: Edits): boolean {
  if (selected.length > rule.max) checkCount(policy, rule, subject, selected, false, violations)
  const by = { policy, rule: rule.id }
  let holds = true
  for (let i = 0; i < selected.length; i++) {
    const one = selected[i] as Selected
    if (i < rule.max && checkOne(policy, rule, rule.mode, one, violations)) continue
    holds = false
    if (policy.mode !== 'enforce') continue
    if (edits.verbatim !== null) conflict(edits.verbatim, by, one.path, violations)
    else if (rule.strips === 'headers') edits.removeLine(one.at[0] as number, by)
    else edits.remove(one.at, by)
  }
  return holds
}

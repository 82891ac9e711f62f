/** Runs one policy's request rules over a request. No extension has code of its own. */
import { carriesMessage } from '#a2a/operations.js'
import type { Mode } from '#config/model/model.js'
import type { CompiledPolicy, CompiledRule, PolicyActivity } from './compile/compiled.js'
import type { AskedRule } from './asked-rule.js'
import { askedRule } from './asked-rule.js'
import { claimValues } from './request/claims.js'
import type { Edits } from './request/edits.js'
import { conflict } from './request/edits.js'
import { pauseName } from './request/pause.js'
import { unevaluated } from '#jsonschema/evaluation.js'
import { supplies } from './request/inject.js'
import { broken, checkOne, countProblem, addFault } from './rule-check.js'
import type { Selected } from './selectors/selection.js'
import type { RequestSubject } from './selectors/subject.js'
import type { Tracer } from './trace.js'
import type { Violation } from './violation.js'
import { isFull } from './violation.js'
import type { Claim } from './request/decision.js'
import type { CountProblem } from './freshness.js'

/** Findings for one request. */
export interface RequestFindings {
  readonly violations: Violation[]
  /** Null when no policy can change the request. */
  readonly edits: Edits | null
  /**
   * Receives `policy/rule` of the rules that responses refer to, and that found something and accepted it. Null when responses refer to
   * none.
   */
  readonly matched: Set<string> | null
  /** Receives the values of rules with `unique`. Null when no rule has it. */
  readonly claims: Map<string, Claim> | null
  /** Receives the rules with `external` that found values. Null when no rule has it. */
  readonly asked: AskedRule[] | null
  /** `policy/rule` of the rules that a person has agreed to break; null for none. */
  readonly approved: ReadonlySet<string> | null
  /** Receives the paths of the values that rules select. Null when nobody asks for them. */
  readonly looked: string[] | null
}

/** Runs the rules of one policy. */
export function runRules (
  { policy, active }: PolicyActivity,
  subject: RequestSubject,
  { violations, edits, matched, claims, asked, looked, approved }: RequestFindings,
  tracer: Tracer | null
): void {
  const injects = active && edits !== null && edits.verbatim === null
  for (const rule of policy.rules) {
    const strips = rule.strips !== null && edits !== null
    if (!isMeant(rule, subject)) {
      tracer?.skipped(policy, rule, 'operation')
    } else if (!strips && isFull(violations, rule.mode)) {
      tracer?.skipped(policy, rule, 'bound')
    } else if ((rule.condition !== null && !rule.condition(subject)) || approved?.has(pauseName(policy.name, rule.id)) === true) {
      tracer?.skipped(policy, rule, 'condition')
    } else {
      const before = violations.length
      const selected = selectedBy(policy, rule, subject, strips ? policy.mode : rule.mode, violations)
      const holds =
        selected !== null &&
        (strips
          ? stripBroken(policy, rule, subject, selected, { violations, edits })
          : checkCount(
            policy,
            rule,
            violations,
            countProblem(rule, subject, selected, placeOf(subject), injects ? suppliedTo(rule, subject, selected) : 0)
          ) && checkValues(policy, rule, selected, { violations, claims }))
      if (rule.external !== null && asked !== null && holds && selected.length > 0) {
        asked.push(askedRule(policy, rule, rule.external, selected))
      }
      if (looked !== null && selected !== null) for (const { path } of selected) looked.push(path)
      if (rule.noted && holds && selected.length > 0) matched?.add(`${policy.name}/${rule.id}`)
      tracer?.evaluated(policy, rule, selected?.length ?? 0, violations.slice(before))
    }
  }
}

/** @returns null when the selection takes too many steps. This breaks the rule: the data that a strip rule must remove would stay */
function selectedBy (
  policy: CompiledPolicy,
  rule: CompiledRule,
  subject: RequestSubject,
  mode: Mode,
  violations: Violation[]
): readonly Selected[] | null {
  try {
    return rule.select.select(subject)
  } catch (error) {
    const problem = unevaluated(error)
    if (problem === null) throw error
    addFault({ policy, rule, mode, errorClass: 'invalid', path: placeOf(subject), message: problem }, violations)
    return null
  }
}

/** @returns true when all values hold; false also when the list of violations is full and the rest was not checked */
function checkValues (
  policy: CompiledPolicy,
  rule: CompiledRule,
  selected: readonly Selected[],
  { violations, claims }: Pick<RequestFindings, 'violations' | 'claims'>
): boolean {
  let holds = true
  for (const match of selected) {
    if (isFull(violations, rule.mode)) return false
    holds = checkOne(policy, rule, rule.mode, match, violations) && holds
  }
  // Values of a request that breaks the rule otherwise are not claimed.
  return holds && rule.unique !== null && claims !== null ? claimValues(policy, rule, selected, violations, claims) : holds
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

/** Number of values that the platform adds for a rule that selects none. */
function suppliedTo (rule: CompiledRule, subject: RequestSubject, selected: readonly Selected[]): number {
  return selected.length === 0 && rule.supply.some(injection => supplies(injection, subject)) ? 1 : 0
}

/** @returns false when the count is wrong: the values are then not checked */
function checkCount (policy: CompiledPolicy, rule: CompiledRule, violations: Violation[], problem: CountProblem | null): boolean {
  if (problem !== null) broken({ policy, rule, mode: rule.mode, ...problem }, violations)
  return problem === null
}

function placeOf ({ call, message }: RequestSubject): string {
  return message?.path ?? call.request?.path ?? ''
}

/**
 * `verdict: strip`: removes the surplus values and every value that does not hold. Only the number of recorded violations is limited, not
 * the number of removals.
 * @returns true when all values hold
 */
function stripBroken (
  policy: CompiledPolicy,
  rule: CompiledRule,
  subject: RequestSubject,
  selected: readonly Selected[],
  { violations, edits }: { readonly violations: Violation[]; readonly edits: Edits }
): boolean {
  if (selected.length > rule.max) checkCount(policy, rule, violations, countProblem(rule, subject, selected, placeOf(subject)))
  const by = { policy, rule: rule.id }
  let holds = true
  for (let i = 0; i < selected.length; i++) {
    const match = selected[i] as Selected
    if (i < rule.max && checkOne(policy, rule, rule.mode, match, violations)) continue
    holds = false
    if (policy.mode !== 'enforce') continue
    if (edits.verbatim !== null) conflict(edits.verbatim, by, match.path, violations)
    else if (rule.strips === 'headers') edits.removeLine(match.at[0] as number, by)
    else edits.remove(match.at, by)
  }
  return holds
}

/** Runs one policy's response rules over one result of a response. No extension has code of its own. */
import type { Mode } from '#config/model/model.js'
import type { CompiledResponseRule, CompiledResponses } from '../compile/compiled.js'
import { unevaluated } from '#jsonschema/evaluation.js'
import { addAdvisory } from './advisory.js'
import type { AskedRule } from '../asked-rule.js'
import { askedRule } from '../asked-rule.js'
import type { ResultSubject } from './result-subject.js'
import { MethodResultSubject } from './result-subject.js'
import type { ResponseEdits } from './edits.js'
import type { Work } from './scope.js'
import { broken, checkOne, countProblem, addFault } from '../rule-check.js'
import { BODY, isMeantBy } from '../selectors/response.js'
import type { Selected } from '../selectors/selection.js'
import type { Tracer } from '../trace.js'
import type { Violation } from '../violation.js'
import { isFull } from '../violation.js'
import { isFor } from './scope.js'

/** Findings for one response, or for one event. */
export interface Findings {
  readonly violations: Violation[]
  /** Null when nothing can be removed any more: after the last event. */
  readonly edits: ResponseEdits | null
  readonly annotations: Set<string>
  /** Receives the rules with `external` that found values. */
  readonly asked: AskedRule[]
}

/**
 * Position of a result, which selects rules. `within`: rules without `event: last`. `last`: all rules. `afterwards`: only rules with
 * `event: last`.
 */
export type ResultPosition = 'within' | 'last' | 'afterwards'

export function runResponseRules (
  work: Work,
  subject: ResultSubject,
  position: ResultPosition,
  findings: Findings,
  tracer: Tracer | null
): void {
  const {
    state: { policy },
    responses
  } = work
  const ofMethod = subject instanceof MethodResultSubject
  for (const rule of responses.rules) {
    if (rule.ofMethod !== ofMethod) continue
    if ((rule.event === 'last') !== (position === 'afterwards') && !(position === 'last' && rule.event === 'last')) continue
    const why = whySkipped(rule, work, subject, findings.violations)
    if (why !== null) {
      tracer?.responseRule?.(policy, rule, subject.result, { skipped: why })
      continue
    }
    const before = findings.violations.length
    const selected = selectedBy(work, rule, subject, findings)
    const isBroken = selected === null ? !isChunk(rule, subject, false) : evaluate(work, rule, subject, selected, findings)
    if (rule.external !== null && selected !== null && !isBroken && selected.length > 0 && position !== 'afterwards') {
      findings.asked.push(askedRule(policy, rule, rule.external, selected))
    }
    if (isBroken && rule.verdict === 'annotate' && responses.acts) findings.annotations.add(`${policy.name}/${rule.id}`)
    tracer?.responseRule?.(policy, rule, subject.result, { selected: selected?.length ?? 0, found: findings.violations.slice(before) })
  }
}

/** @returns null when the selection takes too many steps. This breaks the rule: the data that a strip rule must remove would stay */
function selectedBy (
  { state: { policy }, responses }: Work,
  rule: CompiledResponseRule,
  subject: ResultSubject,
  { violations }: Findings
): readonly Selected[] | null {
  try {
    return rule.select.select(subject)
  } catch (error) {
    const problem = unevaluated(error)
    if (problem === null) throw error
    const mode = rule.verdict === 'strip' && responses.acts ? 'enforce' : modeFor(rule, subject, false)
    addFault({ policy, rule, mode, errorClass: 'invalid', path: placeOf(subject), message: problem }, violations)
    return null
  }
}

function whySkipped (
  rule: CompiledResponseRule,
  { responses, method }: Work,
  subject: ResultSubject,
  violations: readonly Violation[]
): 'operation' | 'event' | 'condition' | 'bound' | null {
  if (!isFor(rule, subject.operation, method)) return 'operation'
  if (rule.event !== null && !isMeantBy(rule.event, subject)) return 'event'
  if (rule.condition !== null && !rule.condition(subject)) return 'condition'
  return !acts(rule, responses, subject) && isFull(violations, modeFor(rule, subject, false)) ? 'bound' : null
}

/** True for rules that remove data or notify the caller. They act even when the list of violations is full. */
function acts (rule: CompiledResponseRule, responses: CompiledResponses, subject: ResultSubject): boolean {
  return responses.acts && (rule.verdict === 'strip' || rule.verdict === 'annotate') && !isChunk(rule, subject, false)
}

/**
 * True for something that is appended to an artifact and may be only a part of the whole, so that it cannot break a rule for the whole.
 * @param fragment whether it may be, unless the rule says so itself
 */
function isChunk (rule: CompiledResponseRule, { result }: ResultSubject, fragment: boolean): boolean {
  return (rule.chunked ?? fragment) && result.kind === 'artifactUpdate' && result.append
}

function modeFor (rule: CompiledResponseRule, subject: ResultSubject, fragment: boolean): Mode {
  return isChunk(rule, subject, fragment) ? 'observe' : rule.mode
}

/** @returns true when the rule is broken, also for the whole of which the result may be a part */
function evaluate (
  { state: { policy }, responses }: Work,
  rule: CompiledResponseRule,
  subject: ResultSubject,
  selected: readonly Selected[],
  findings: Findings
): boolean {
  const { violations, edits } = findings
  const goesOn = acts(rule, responses, subject)
  const strips = goesOn && rule.verdict === 'strip'
  const problem = rule.holds(subject) ? countProblem(rule, subject, selected, placeOf(subject)) : null
  let isBroken = false
  if (problem !== null) {
    // Other updates may hold the values that are missing here. Values that are too many here are too many for the whole.
    const fragment = selected.length < rule.min || selected[rule.max]?.fragment === true
    broken({ policy, rule, mode: modeFor(rule, subject, fragment), ...problem }, violations)
    isBroken = !isChunk(rule, subject, fragment)
    if (!strips) return isBroken
  }
  for (let i = 0; i < selected.length; i++) {
    const match = selected[i] as Selected
    const mode = modeFor(rule, subject, match.fragment)
    if (!goesOn && isFull(violations, mode)) {
      if (mode === rule.mode) return isBroken
      // A fragment: the values after it may be whole.
      continue
    }
    if ((i < rule.max && checkOne(policy, rule, mode, match, violations)) || isChunk(rule, subject, match.fragment)) continue
    isBroken = true
    if (!strips) continue
    if (edits !== null && match.at.length > 0) edits.remove(match.at, policy, rule.id)
    else addAdvisory(violations, policy, rule.id, match.path, 'should be removed, but stays: it is the result itself, or was sent already')
  }
  return isBroken
}

function placeOf ({ result }: ResultSubject): string {
  return result.path === '' ? BODY : result.path
}

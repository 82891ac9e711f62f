/** Runs one policy's response rules over one result of a response. No extension has code of its own. */
import type { Mode } from '../../config/model/model.js'
import type { CompiledResponses, CompiledResponseRule } from '../compile/compiled.js'
import { unevaluated } from '../../jsonschema/evaluation.js'
import type { ResultSubject } from './result-subject.js'
import { MethodResultSubject } from './result-subject.js'
import type { ResponseEdits } from './edits.js'
import type { Work } from './scope.js'
import { broken, checkOne, countProblem, fault } from '../rule-check.js'
import { BODY, isMeantBy } from '../selectors/response.js'
import type { Selected } from '../selectors/kit.js'
import type { Tracer } from '../trace.js'
import type { Violation } from '../violation.js'
import { isFull, addViolation, violation } from '../violation.js'

/** Findings for one response, or for one event. */
export interface Findings {
  readonly violations: Violation[]
  /** Null when nothing can be removed any more: after the last event. */
  readonly edits: ResponseEdits | null
  readonly annotations: Set<string>
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
    const holds = selected !== null && evaluate(work, rule, subject, selected, findings)
    if (!holds && rule.verdict === 'annotate' && matters(rule, responses, subject)) findings.annotations.add(`${policy.name}/${rule.id}`)
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
    const mode = rule.verdict === 'strip' && responses.acts ? 'enforce' : modeFor(rule, subject)
    fault({ policy, rule, mode, errorClass: 'invalid', path: placeOf(subject), message: problem }, violations)
    return null
  }
}

/** True when a rule applies to responses of this operation at all. */
export function isFor ({ on }: CompiledResponseRule, operation: ResultSubject['operation'], method: string | null): boolean {
  return on === null || on.has(operation) || (method !== null && on.has(method))
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
  return !matters(rule, responses, subject) && isFull(violations, modeFor(rule, subject)) ? 'bound' : null
}

/** True for rules that remove data or notify the caller. They act even when the list of violations is full. */
function matters (rule: CompiledResponseRule, responses: CompiledResponses, subject: ResultSubject): boolean {
  return responses.acts && (rule.verdict === 'strip' || rule.verdict === 'annotate') && !isChunk(rule, subject)
}

/** True for data that is appended to an artifact. It may be only a fragment, so it cannot break a rule for the whole. */
function isChunk (rule: CompiledResponseRule, { result }: ResultSubject): boolean {
  return rule.chunked && result.kind === 'artifactUpdate' && result.append
}

function modeFor (rule: CompiledResponseRule, subject: ResultSubject): Mode {
  return isChunk(rule, subject) ? 'observe' : rule.mode
}

/** @returns true when the rule holds */
function evaluate (
  { state: { policy }, responses }: Work,
  rule: CompiledResponseRule,
  subject: ResultSubject,
  selected: readonly Selected[],
  findings: Findings
): boolean {
  const { violations, edits } = findings
  const mode = modeFor(rule, subject)
  const goesOn = matters(rule, responses, subject)
  const strips = goesOn && rule.verdict === 'strip'
  const problem = rule.holds(subject) ? countProblem(rule, subject, selected, placeOf(subject)) : null
  if (problem !== null) broken({ policy, rule, mode, ...problem }, violations)
  if (problem !== null && !strips) return false
  let holds = problem === null
  for (let i = 0; i < selected.length; i++) {
    const one = selected[i] as Selected
    if (!goesOn && isFull(violations, mode)) return holds
    if (i < rule.max && checkOne(policy, rule, mode, one, violations)) continue
    holds = false
    if (!strips) continue
    if (edits !== null && one.at.length > 0) edits.remove(one.at, policy, rule.id)
    else {
      addViolation(
        violations,
        violation({
          mode: 'observe',
          reason: 'INVALID_AGENT_RESPONSE',
          extension: policy.name,
          uri: policy.uri,
          rule: rule.id,
          path: one.path,
          message: 'should be removed, but stays: it is the result itself, or was sent already'
        })
      )
    }
  }
  return holds
}

function placeOf ({ result }: ResultSubject): string {
  return result.path === '' ? BODY : result.path
}

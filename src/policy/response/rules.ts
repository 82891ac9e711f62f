/** Runs one policy's response rules over one result of a response. No extension has code of its own. */
import type { Mode } from '../../config/model/model.js'
import type { CompiledResponses, CompiledPolicy, CompiledResponseRule } from '../compile/compiled.js'
import { unevaluated } from '../../jsonschema/evaluation.js'
import type { ResultSubject } from './result-subject.js'
import type { ResponseEdits } from './edits.js'
import { broken, checkOne, fault } from '../rule-check.js'
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

export function runResponseRules (policy: CompiledPolicy, responses: CompiledResponses, subject: ResultSubject, position: ResultPosition, findings: Findings, tracer: Tracer | null): void {
  for (const rule of responses.rules) {
    if ((rule.event === 'last') !== (position === 'afterwards') && !(position === 'last' && rule.event === 'last')) continue
    const why = whySkipped(rule, responses, subject, findings.violations)
    if (why !== null) {
      tracer?.responseRule?.(policy, rule, subject.result, { skipped: why })
      continue
    }
    const before = findings.violations.length
    const selected = selectedBy(policy, responses, rule, subject, findings)
    const holds = selected !== null && evaluate(policy, responses, rule, subject, selected, findings)
    if (!holds && rule.verdict === 'annotate' && matters(rule, responses, subject)) findings.annotations.add(`${policy.name}/${rule.id}`)
    tracer?.responseRule?.(policy, rule, subject.result, { selected: selected?.length ?? 0, found: findings.violations.slice(before) })
  }
}

/** @returns null when the selection takes too many steps. This breaks the rule: the data that a strip rule must remove would stay */
function selectedBy (policy: CompiledPolicy, responses: CompiledResponses, rule: CompiledResponseRule, subject: ResultSubject, { violations }: Findings): readonly Selected[] | null {
  try {
    return rule.select.select(subject)
  } catch (error) {
    const problem = unevaluated(error)
    if (problem === null) throw error
    fault(policy, rule, rule.verdict === 'strip' && responses.acts ? 'enforce' : modeFor(rule, subject), 'invalid', subject.result.path === '' ? BODY : subject.result.path, problem, violations)
    return null
  }
}

/** True when a rule applies to responses of this operation at all. */
export function isFor ({ on }: CompiledResponseRule, operation: ResultSubject['operation']): boolean {
  return on === null || on.has(operation)
}

function whySkipped (rule: CompiledResponseRule, responses: CompiledResponses, subject: ResultSubject, violations: readonly Violation[]): 'operation' | 'event' | 'condition' | 'bound' | null {
  if (!isFor(rule, subject.operation)) return 'operation'
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
function evaluate (policy: CompiledPolicy, responses: CompiledResponses, rule: CompiledResponseRule, subject: ResultSubject, selected: readonly Selected[], findings: Findings): boolean {
  const { violations, edits } = findings
  const mode = modeFor(rule, subject)
  const goesOn = matters(rule, responses, subject)
  const strips = goesOn && rule.verdict === 'strip'
  const counted = !rule.holds(subject) || checkCount(policy, rule, mode, subject, selected, violations)
  if (!counted && !strips) return false
  let holds = counted
  for (let i = 0; i < selected.length; i++) {
    const one = selected[i] as Selected
    if (!goesOn && isFull(violations, mode)) return holds
    if (i < rule.max && checkOne(policy, rule, mode, one, violations)) continue
    holds = false
    if (!strips) continue
    if (edits !== null && one.at.length > 0) edits.remove(one.at, policy, rule.id)
    else addViolation(violations, violation('observe', 'INVALID_AGENT_RESPONSE', policy.name, rule.id, one.path, 'was to be removed and stays: it is the result itself, or was sent already', policy.uri))
  }
  return holds
}

function checkCount (policy: CompiledPolicy, rule: CompiledResponseRule, mode: Mode, subject: ResultSubject, selected: readonly Selected[], violations: Violation[]): boolean {
  const count = selected.length
  if (count >= rule.min && count <= rule.max) return true
  const place = subject.result.path === '' ? BODY : subject.result.path
  if (count > rule.max) {
    broken(policy, rule, mode, selected[rule.max]?.path ?? place, rule.max === 0 ? 'is not allowed here' : `is one too many: at most ${rule.max} allowed`, violations)
  } else if (rule.select.missing !== null && rule.min === 1) {
    broken(policy, rule, mode, rule.select.missing(subject), 'is required', violations)
  } else {
    broken(policy, rule, mode, place, `must hold at least ${rule.min} of what rule "${rule.id}" selects`, violations)
  }
  return false
}

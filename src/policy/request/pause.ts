/** `pause`: a request that a person must agree to. The rules say so; the front keeps the request and the task that waits. */
import { carriesMessage } from '#a2a/operations.js'
import type { AgentPolicy, CompiledPause, CompiledPolicy, CompiledRule, PausingRule } from '../compile/compiled.js'
import { broken, checkOne, countProblem } from '../rule-check.js'
import type { RequestSubject } from '../selectors/subject.js'
import type { TaskRecord } from '../task/memory.js'
import { pausedIn } from '../task/paused.js'
import type { Violation } from '../violation.js'

/** The request waits for a person, instead of being rejected. */
export interface Pause {
  /** `policy/rule` of all rules that the request breaks. */
  readonly rules: readonly string[]
  readonly question: CompiledPause
  /** URI of the extension that asks. */
  readonly uri: string
}

/** Result of the search for evidence. `declined`: the person does not agree. */
export type Evidence = 'none' | 'given' | 'declined'

export function pauseName (policy: string, rule: string): string {
  return `${policy}/${rule}`
}

/** @returns null when a rule without `pause` rejects the request too, and for a request that cannot wait */
export function pauseOf ({ call }: RequestSubject, { pauses }: AgentPolicy, violations: readonly Violation[]): Pause | null {
  if (pauses === null || !carriesMessage(call.operation)) return null
  const names = new Set<string>()
  for (const { mode, extension, rule } of violations) if (mode === 'enforce') names.add(pauseName(extension, rule))
  const rules = [...names]
  const first = questionOf(pauses, rules)
  return first === null || !rules.every(name => pauses.has(name)) ? null : { rules, question: first.pause, uri: first.policy.uri }
}

/** The rule that asks for several. @returns null when a reload has removed all of them */
export function questionOf (pauses: AgentPolicy['pauses'], rules: readonly string[]): PausingRule | null {
  for (const name of rules) {
    const pause = pauses?.get(name)
    if (pause !== undefined) return pause
  }
  return null
}

/**
 * Looks for the evidence that the request of a waiting task needs, in another message on this task. Evidence of every rule must be there.
 * @param violations receives what is missing
 */
export function findEvidence (
  subject: RequestSubject,
  { pauses }: AgentPolicy,
  record: TaskRecord | null,
  violations: Violation[]
): Evidence {
  const paused = pauses === null || !carriesMessage(subject.call.operation) ? null : pausedIn(record)
  if (pauses === null || paused === null || paused.state !== 'waiting') return 'none'
  let declined = false
  for (const name of paused.rules) {
    const pause = pauses.get(name)
    if (pause !== undefined) declined = hasDeclined(pause, subject, violations) || declined
  }
  return declined ? 'declined' : 'given'
}

/** @returns true when a value of the evidence declines: nothing else matters then */
function hasDeclined (
  { policy, rule, pause: { evidence, caller, declined } }: PausingRule,
  subject: RequestSubject,
  violations: Violation[]
): boolean {
  const { message } = subject
  const path = message?.path ?? ''
  if (caller !== null && caller(subject.caller) !== true) {
    broken(
      { policy, rule: asked(rule), mode: rule.mode, path, message: 'must come from a caller who may agree to the request' }, violations
    )
    return false
  }
  return evidence !== null && declines(policy, evidence, subject, { path, declined }, violations)
}

function declines (
  policy: CompiledPolicy,
  evidence: CompiledRule,
  subject: RequestSubject,
  { path, declined }: { readonly path: string, readonly declined: CompiledPause['declined'] },
  violations: Violation[]
): boolean {
  const selected = evidence.select.select(subject)
  if (declined !== null && selected.some(({ ambiguous, value }) => ambiguous === null && declined(value) === true)) return true
  const problem = countProblem(evidence, subject, selected, path)
  if (problem !== null) broken({ policy, rule: evidence, mode: evidence.mode, ...problem }, violations)
  else for (const match of selected) checkOne(policy, evidence, evidence.mode, match, violations)
  return false
}

/** The rule without its own message, which is about the request that waits. */
function asked (rule: CompiledRule): CompiledRule {
  return { ...rule, message: null }
}

/** What `decide` and the review of an answer tell whoever wants to see its steps: `explain`. The proxy wants nothing and pays nothing. */
import type { ResultView } from '../a2a/message/result.js'
import type { CompiledPolicy, CompiledResponseRule, CompiledRule, PolicyActivity } from './compile/compiled.js'
import type { Violation } from './violation.js'

export interface Tracer {
  /**
   * One extension of the card that a policy speaks of, before its rules.
   * @param evaluated whether its rules look at the request; they follow then
   */
  readonly policy: (state: PolicyActivity, evaluated: boolean) => void
  /**
   * A rule that did not look at the request: not meant for its operation or for requests without a message; its `when` or `unless`;
   * so much was found already that no more is noted.
   */
  readonly skipped: (policy: CompiledPolicy, rule: CompiledRule, why: 'operation' | 'condition' | 'bound') => void
  /** @param selected number of values it looked at */
  readonly evaluated: (policy: CompiledPolicy, rule: CompiledRule, selected: number, found: readonly Violation[]) => void
  /**
   * The same of an answer, once for each result; for those who show answers.
   * @param evidence path of the first thing in the result that is the extension's, or null
   */
  readonly responsePolicy?: (policy: CompiledPolicy, result: ResultView, evidence: string | null, evaluated: boolean) => void
  readonly responseRule?: (policy: CompiledPolicy, rule: CompiledResponseRule, result: ResultView, outcome: ResponseOutcome) => void
}

/** `event`: the rule is for another result of the answer. */
export type ResponseOutcome =
  | { readonly skipped: 'operation' | 'event' | 'condition' | 'bound' }
  | { readonly selected: number, readonly found: readonly Violation[] }

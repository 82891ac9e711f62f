/**
 * Reports the steps of `decide` and of the response evaluator to a caller that shows them: `explain`. The proxy passes no tracer and has no
 * cost.
 */
import type { ResultView } from '#a2a/message/result.js'
import type { CompiledPolicy, CompiledResponseRule, CompiledRule, PolicyActivity } from './compile/compiled.js'
import type { Violation } from './violation.js'

export interface Tracer {
  /**
   * Reports one extension of the card that a policy applies to, before its rules.
   * @param evaluated true if its rules evaluate the request; the reports of the rules follow
   */
  readonly policy: (state: PolicyActivity, evaluated: boolean) => void
  /**
   * Reports a rule that did not evaluate the request. `operation`: the rule does not apply to the operation, or to requests without a
   * message. `condition`: its `when` or `unless`. `bound`: the list of violations is full.
   */
  readonly skipped: (policy: CompiledPolicy, rule: CompiledRule, why: 'operation' | 'condition' | 'bound') => void
  /** @param selected number of values that the rule evaluated */
  readonly evaluated: (policy: CompiledPolicy, rule: CompiledRule, selected: number, violations: readonly Violation[]) => void
  /**
   * Reports the same for a response, once for each result, to callers that show responses.
   * @param evidence path of the first data in the result that belongs to the extension, or null
   */
  readonly responsePolicy?: (policy: CompiledPolicy, result: ResultView, evidence: string | null, evaluated: boolean) => void
  readonly responseRule?: (policy: CompiledPolicy, rule: CompiledResponseRule, result: ResultView, outcome: ResponseOutcome) => void
}

/** `event`: the rule applies to another result of the response. */
export type ResponseOutcome =
  | { readonly skipped: 'operation' | 'event' | 'condition' | 'bound' }
  | { readonly selected: number, readonly found: readonly Violation[] }

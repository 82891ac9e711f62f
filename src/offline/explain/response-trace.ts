/** Collects the steps of a response evaluation into one entry per result. */
import type { ResultView } from '../../a2a/message/result.js'
import type { PolicyConfig, ResolvedPolicy } from '../../config/model/model.js'
import type { CompiledPolicy, CompiledResponseRule } from '../../policy/compile/compiled.js'
import type { ResponseOutcome } from '../../policy/trace.js'
import type { Violation } from '../../policy/violation.js'
import type { ResultTrace } from './response-explanation.js'
import { PolicyTraces } from './policy-trace.js'

interface SeenPolicy {
  readonly evidence: string | null
  readonly evaluated: boolean
  readonly rules: Map<CompiledResponseRule, ResponseOutcome>
}

interface SeenResult { readonly event: number | null, readonly policies: Map<CompiledPolicy, SeenPolicy> }

type PolicyOfResult = ResultTrace['policies'][number]
type RuleOfResult = PolicyOfResult['rules'][number]

/** The steps of the evaluation of a request and its response. */
export class ExchangeTraces extends PolicyTraces {
  private readonly results = new Map<ResultView, SeenResult>()
  private event: number | null = null

  /** Sets the event that the following steps belong to. */
  readonly at = (event: number | null): void => {
    this.event = event
  }

  readonly responsePolicy = (policy: CompiledPolicy, result: ResultView, evidence: string | null, evaluated: boolean): void => {
    let seen = this.results.get(result)
    if (seen === undefined) this.results.set(result, seen = { event: this.event, policies: new Map() })
    seen.policies.set(policy, { evidence, evaluated, rules: new Map() })
  }

  readonly responseRule = (policy: CompiledPolicy, rule: CompiledResponseRule, result: ResultView, outcome: ResponseOutcome): void => {
    this.results.get(result)?.policies.get(policy)?.rules.set(rule, outcome)
  }

  responses (policies: readonly ResolvedPolicy[]): ResultTrace[] {
    return [...this.results].map(([{ kind, path }, { event, policies: seen }]) => ({
      event,
      kind,
      path,
      policies: [...seen].map(([compiled, one]) =>
        ofResult(compiled, one, policies.find(({ name }) => name === compiled.name)?.policy ?? {})
      )
    }))
  }

  /** Returns the violations that response rules found. */
  ruled (): ReadonlySet<Violation> {
    const outcomes = [...this.results.values()].flatMap(({ policies }) =>
      [...policies.values()].flatMap(({ rules }) => [...rules.values()])
    )
    return new Set(outcomes.flatMap(outcome => 'found' in outcome ? outcome.found : []))
  }
}

function ofResult (
  { name, uri, responses }: CompiledPolicy,
  { evidence, evaluated, rules }: SeenPolicy,
  policy: PolicyConfig
): PolicyOfResult {
  const acts = responses?.acts === true
  return {
    name,
    uri,
    evidence,
    why: evaluated ? null : 'the extension is not active',
    rules: evaluated ? [...rules].map(([one, outcome]) => ofRule(one, outcome, acts, policy)) : []
  }
}

function ofRule (
  { id, verdict: decision }: CompiledResponseRule,
  outcome: ResponseOutcome,
  acts: boolean,
  policy: PolicyConfig
): RuleOfResult {
  if ('skipped' in outcome) {
    return { id, verdict: 'not applicable', why: whySkipped(outcome.skipped, id, policy), values: 0, violations: [], becomes: 'nothing' }
  }
  const { selected, found } = outcome
  const enforced = found.some(one => one.mode === 'enforce')
  const becomes = found.length === 0 || !acts || decision === 'warn' ? 'nothing' : decision === 'reject' && !enforced ? 'nothing' : decision
  return {
    id,
    verdict: found.length === 0 ? 'passed' : becomes === 'nothing' ? 'observed' : 'broken',
    why: null,
    values: selected,
    violations: found.map(({ path, message }) => ({ path, message })),
    becomes
  }
}

function whySkipped (skipped: Extract<ResponseOutcome, { skipped: unknown }>['skipped'], id: string, policy: PolicyConfig): string {
  if (skipped === 'operation') return 'not for this operation'
  if (skipped === 'event') return 'not for this result'
  if (skipped === 'bound') return 'the maximum of violations is already reached'
  const rule = policy.response?.find(one => one.id === id)
  if (rule?.unless === undefined) return 'its "when" does not match'
  return rule.when === undefined ? 'its "unless" matches' : 'its "when" does not match, or its "unless" does'
}

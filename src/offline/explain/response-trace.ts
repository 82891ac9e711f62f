/** Collects the steps of a response evaluation into one entry per result. */
import type { ResultView } from '#a2a/message/result.js'
import type { PolicyConfig, ResolvedPolicy, ResponseRuleConfig } from '#config/model/model.js'
import type { CompiledPolicy, CompiledResponseRule } from '#policy/compile/compiled.js'
import type { ResponseOutcome } from '#policy/trace.js'
import type { Violation } from '#policy/violation.js'
import type { Principal } from '#identity/principal.js'
import { PolicyTraces, whyNotMet } from './policy-trace.js'
import type { ResultTrace } from './explanation.js'

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
    let seenResult = this.results.get(result)
    if (seenResult === undefined) this.results.set(result, seenResult = { event: this.event, policies: new Map() })
    seenResult.policies.set(policy, { evidence, evaluated, rules: new Map() })
  }

  readonly responseRule = (policy: CompiledPolicy, rule: CompiledResponseRule, result: ResultView, outcome: ResponseOutcome): void => {
    this.results.get(result)?.policies.get(policy)?.rules.set(rule, outcome)
  }

  responses (policies: readonly ResolvedPolicy[]): ResultTrace[] {
    return [...this.results].map(([{ kind, path }, { event, policies: records }]) => ({
      event,
      kind,
      path,
      policies: [...records].map(([compiled, seenPolicy]) =>
        ofResult(compiled, seenPolicy, policies.find(({ name }) => name === compiled.name)?.policy ?? {}, this.caller)
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
  policy: PolicyConfig,
  caller: Principal | null
): PolicyOfResult {
  const acts = responses?.acts === true
  return {
    name,
    uri,
    evidence,
    why: evaluated ? null : 'the extension is not active',
    rules: evaluated ? [...rules].map(([responseRule, outcome]) => ofRule(responseRule, outcome, { acts, policy, caller })) : []
  }
}

function ofRule (
  { id, verdict: decision }: CompiledResponseRule,
  outcome: ResponseOutcome,
  { acts, policy, caller }: { readonly acts: boolean; readonly policy: PolicyConfig; readonly caller: Principal | null }
): RuleOfResult {
  if ('skipped' in outcome) {
    return {
      id,
      verdict: 'not applicable',
      why: whySkipped(outcome.skipped, policy.response?.find(responseRule => responseRule.id === id), caller),
      values: 0,
      violations: [],
      becomes: 'nothing'
    }
  }
  const { selected, found: violations } = outcome
  const enforced = violations.some(violation => violation.mode === 'enforce')
  const becomes = violations.length === 0 || !acts || decision === 'warn' ? 'nothing' : decision === 'reject' && !enforced ? 'nothing' : decision
  return {
    id,
    verdict: violations.length === 0 ? 'passed' : becomes === 'nothing' ? 'observed' : 'broken',
    why: null,
    values: selected,
    violations: violations.map(({ path, message }) => ({ path, message })),
    becomes
  }
}

function whySkipped (
  skipped: Extract<ResponseOutcome, { skipped: unknown }>['skipped'],
  rule: ResponseRuleConfig | undefined,
  caller: Principal | null
): string {
  if (skipped === 'operation') return 'not for this operation'
  if (skipped === 'event') return 'not for this result'
  return skipped === 'bound' ? 'the maximum of violations is already reached' : whyNotMet(rule ?? {}, caller)
}

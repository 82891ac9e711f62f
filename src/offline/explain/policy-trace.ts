/** Collects the steps of a request evaluation into one entry per policy of the agent. */
import type { AgentConfig, PolicyConfig, ResolvedPolicy, RuleConfig } from '#config/model/model.js'
import type { AgentPolicy, CompiledPolicy, CompiledRule, PolicyActivity } from '#policy/compile/compiled.js'
import type { Principal } from '#identity/principal.js'
import { INACTIVE } from '#policy/request/activation.js'
import { CALLERS } from '#policy/request/callers.js'
import type { Decision } from '#policy/request/decision.js'
import { modeOf } from '#policy/compile/identity.js'
import { INJECT } from '#policy/request/inject.js'
import type { Tracer } from '#policy/trace.js'
import type { Violation } from '#policy/violation.js'
import { whyNot } from '../caller.js'
import type { CheckTrace, PolicyTrace, RuleTrace } from './explanation.js'

interface PolicyEntry {
  readonly state: PolicyActivity
  readonly evaluated: boolean
}

type Outcome =
  | { readonly skipped: 'operation' | 'condition' | 'bound' }
  | { readonly values: number, readonly found: readonly Violation[] }

export class PolicyTraces implements Tracer {
  protected readonly caller: Principal | null
  private readonly seen = new Map<CompiledPolicy, PolicyEntry>()
  private readonly outcomes = new Map<CompiledRule, Outcome>()

  /** @param caller of the request */
  constructor (caller: Principal | null) {
    this.caller = caller
  }

  readonly policy = (state: PolicyActivity, evaluated: boolean): void => {
    this.seen.set(state.policy, { state, evaluated })
  }

  readonly skipped = (_policy: CompiledPolicy, rule: CompiledRule, why: 'operation' | 'condition' | 'bound'): void => {
    this.outcomes.set(rule, { skipped: why })
  }

  readonly evaluated = (_policy: CompiledPolicy, rule: CompiledRule, values: number, violations: readonly Violation[]): void => {
    this.outcomes.set(rule, { values, found: violations })
  }

  /**
   * Returns the traces in the order of the agent's list. A policy for several extensions of the card has one entry per extension.
   * @param edited `policy/rule` of each change to the request
   */
  policies (agent: AgentConfig, compiled: AgentPolicy, edited: readonly string[]): PolicyTrace[] {
    return agent.policies.flatMap(resolvedPolicy => {
      const instances = compiled.policies.filter(policy => policy.name === resolvedPolicy.name)
      return instances.length === 0
        ? [this.withoutRules(agent, resolvedPolicy, compiled, edited)]
        : instances.map(policy => this.instance(policy, resolvedPolicy, edited))
    })
  }

  /** Returns every violation that no policy's rule found. */
  checks (decision: Decision): CheckTrace[] {
    const ruled = new Set([...this.outcomes.values()].flatMap(outcome => ('found' in outcome ? outcome.found : [])))
    return decision.violations
      .filter(violation => !ruled.has(violation))
      .map(violation => ({
        rule: `${violation.extension}/${violation.rule}`,
        verdict: violation.mode === 'enforce' ? 'broken' : 'observed',
        reason: violation.customReason ?? violation.reason,
        path: violation.path,
        message: violation.message
      }))
  }

  private withoutRules (
    agent: Pick<AgentConfig, 'mode'>,
    { name, policy, layers, from }: ResolvedPolicy,
    compiled: AgentPolicy,
    edited: readonly string[]
  ): PolicyTrace {
    const mode = modeOf(agent.mode, policy)
    const uris =
      policy.uri === undefined
        ? []
        : [policy.uri, ...(policy.aliases ?? []).filter(alias => alias.relation === 'same').map(alias => alias.uri)]
    const declared = uris.some(uri => compiled.declared.includes(uri))
    const why =
      agent.mode === 'off'
        ? "the agent's mode is off"
        : mode === 'off'
          ? 'its mode is off'
          : declared
            ? 'it checks nothing in a request'
            : 'the card declares no such extension'
    return {
      name,
      uri: policy.uri ?? policy.uriPattern ?? null,
      mode,
      layers,
      from,
      active: false,
      evidence: null,
      forbidden: mode === 'off' ? null : this.forbidden(policy),
      why,
      edits: edited.includes(`${name}/${CALLERS}`) ? [CALLERS] : [],
      rules: idle(policy, why)
    }
  }

  private instance (compiled: CompiledPolicy, { name, policy, layers, from }: ResolvedPolicy, edited: readonly string[]): PolicyTrace {
    const policyEntry = this.seen.get(compiled)
    const why = policyEntry === undefined ? 'the request could not be read' : policyEntry.evaluated ? null : 'the extension is not active'
    const rules = why === null ? compiled.rules.map(rule => this.rule(rule, policy)) : idle(policy, why)
    return {
      name,
      uri: compiled.uri,
      mode: compiled.mode,
      layers,
      from,
      active: policyEntry?.state.active === true,
      evidence: policyEntry?.state.evidence ?? null,
      forbidden: this.forbidden(policy),
      why,
      edits: this.edits(compiled, edited),
      rules
    }
  }

  private forbidden ({ activation }: PolicyConfig): string | null {
    return activation?.callers === undefined ? null : whyNot(activation.callers, this.caller)
  }

  /**
   * Returns the edits of one extension. Several extensions of one policy share the policy's name, so edits that this extension cannot have
   * made are excluded.
   */
  private edits (compiled: CompiledPolicy, edited: readonly string[]): string[] {
    const state = this.seen.get(compiled)?.state
    const broken = compiled.rules.filter(rule => {
      const outcome = this.outcomes.get(rule)
      return rule.strips !== null && outcome !== undefined && 'found' in outcome
    })
    const able = [
      CALLERS,
      ...(state?.active === false && state.evidence !== null ? [INACTIVE] : []),
      ...broken.map(rule => rule.id),
      ...(state?.active === true && compiled.inject.length > 0 ? [INJECT] : [])
    ]
    return able.filter(id => edited.includes(`${compiled.name}/${id}`))
  }

  private rule (rule: CompiledRule, policy: PolicyConfig): RuleTrace {
    const outcome = this.outcomes.get(rule) ?? { skipped: 'bound' as const }
    if ('skipped' in outcome) {
      return notApplicable(
        rule.id, whySkipped(outcome.skipped, policy.request?.find(entry => entry.id === rule.id), this.caller)
      )
    }
    const violations = outcome.found.map(({ path, message }) => ({ path, message }))
    const decision = violations.length === 0 ? 'passed' : rule.mode === 'enforce' ? 'broken' : 'observed'
    return { id: rule.id, verdict: decision, why: null, values: outcome.values, violations }
  }
}

function idle (policy: PolicyConfig, why: string): RuleTrace[] {
  return (policy.request ?? []).map(rule => notApplicable(rule.id, why))
}

function notApplicable (id: string, why: string): RuleTrace {
  return { id, verdict: 'not applicable', why, values: 0, violations: [] }
}

function whySkipped (skipped: 'operation' | 'condition' | 'bound', rule: Conditions | undefined, caller: Principal | null): string {
  if (skipped === 'operation') return 'not for this operation'
  return skipped === 'bound' ? 'the maximum of violations is already reached' : whyNotMet(rule ?? {}, caller)
}

type Conditions = Pick<RuleConfig, 'when' | 'unless'>

/** Why the conditions of a rule do not hold, as far as one of them alone shows it. */
export function whyNotMet ({ when, unless }: Conditions, caller: Principal | null): string {
  const why = when?.caller === undefined ? null : whyNot(when.caller, caller)
  if (why !== null) return `its "when" does not match: ${why}`
  if (unless === undefined) return 'its "when" does not match'
  return when === undefined ? 'its "unless" matches' : 'its "when" does not match, or its "unless" does'
}

/** Finds the rule of a violation in the policies of an agent: its line in the file, and the result of a violation in enforce mode. */
import type { AgentConfig, Config, Mode, PolicyConfig, ResolvedPolicy } from '#config/model/model.js'
import { modeOf } from '#policy/compile/identity.js'
import { positionsOf } from './policy-lines.js'

export type Phase = 'request' | 'response'

/** Result of a violation once the rule is enforced. `strip`: the gateway removes the data. `warn`, `annotate`: the gateway forwards it. */
export type Effect = 'reject' | 'strip' | 'warn' | 'annotate'

export interface RulePlace {
  /** Name of the policy; null for an extension without a policy, and for the gateway's own checks. */
  readonly policy: string | null
  /** Key of the line on the page of the policy; null when the policy has no such line. */
  readonly key: string | null
  /** `file:line`; null when the position is not known. */
  readonly at: string | null
  readonly mode: Mode
  readonly effect: Effect
  /** Settings that have to change before a violation has that effect, as `key: value`. Empty: it has. */
  readonly needs: readonly string[]
}

/** A rule that a policy lists. */
export interface ListedRule { readonly policy: string, readonly rule: string, readonly phase: Phase }

export interface RuleIndex {
  readonly listed: readonly ListedRule[]
  /** @param extension name of the policy, URI of an extension without a policy, or `gateway` */
  placeOf (extension: string, rule: string, phase: Phase): RulePlace
}

/** Keys of the policy for rules that have no entry in a list. */
const BUILT_IN: Readonly<Record<string, string>> = {
  required: 'activation.required',
  requires: 'activation.requires',
  callers: 'activation.callers',
  inject: 'inject',
  'not-injected': 'inject',
  method: 'methods',
  'method-params': 'methods',
  route: 'routes',
  'route-body': 'routes'
}

const indexes = new WeakMap<AgentConfig, RuleIndex>()

/** @returns null for an agent that is not in the configuration */
export function ruleIndexOf (config: Config, name: string): RuleIndex | null {
  const agent = config.agents.find(agent => agent.name === name)
  if (agent === undefined) return null
  let index = indexes.get(agent)
  if (index === undefined) indexes.set(agent, index = indexOf(config, agent))
  return index
}

function indexOf (config: Config, agent: AgentConfig): RuleIndex {
  const positions = positionsOf(config, config.agents.indexOf(agent))
  const policies = new Map(agent.policies.map(policy => [policy.name, policy]))
  return {
    listed: agent.policies.flatMap(listedOf),
    placeOf: (extension, rule, phase) => {
      const policy = policies.get(extension)?.policy ?? null
      const mode = policy === null ? agent.mode : modeOf(agent.mode, policy)
      const needs = mode === 'enforce' ? [] : ['mode: enforce']
      if (phase === 'response' && agent.responses !== 'enforce') needs.push('responses: enforce')
      if (policy === null) return { policy: null, key: null, at: null, mode, effect: 'reject', needs }
      const { key, effect } = ruleOf(policy, rule, phase)
      const lines = positions.get(extension) ?? NO_LINES
      const line = key === null ? null : lineOf(lines, key)
      return { policy: extension, key: line, at: line === null ? null : lines.get(line) ?? null, mode, effect, needs }
    }
  }
}

function listedOf ({ name, policy }: ResolvedPolicy): ListedRule[] {
  const { request = [], response = [], correlate = [] } = policy
  return [
    ...request.map(({ id }): ListedRule => ({ policy: name, rule: id, phase: 'request' })),
    ...response.map(({ id }): ListedRule => ({ policy: name, rule: id, phase: 'response' })),
    ...correlate.map(({ id, check }): ListedRule => ({ policy: name, rule: id, phase: check.on }))
  ]
}

function ruleOf (policy: PolicyConfig, rule: string, phase: Phase): { readonly key: string | null, readonly effect: Effect } {
  const request = policy.request?.find(requestRule => requestRule.id === rule)
  if (phase === 'request' && request !== undefined) return { key: `request.${rule}`, effect: request.verdict ?? 'reject' }
  const response = policy.response?.find(responseRule => responseRule.id === rule)
  if (phase === 'response' && response !== undefined) return { key: `response.${rule}`, effect: response.verdict ?? 'warn' }
  const correlation = policy.correlate?.find(correlation => correlation.id === rule)
  if (correlation !== undefined) return { key: `correlate.${rule}`, effect: correlation.verdict ?? 'reject' }
  if (rule === 'inactive') {
    return { key: `inactive.${phase}`, effect: phase === 'request' && policy.inactive?.request === 'reject' ? 'reject' : 'strip' }
  }
  if (rule === 'redact') return { key: 'redact', effect: 'strip' }
  if (rule === 'state') return { key: 'state', effect: policy.state?.onViolation ?? 'warn' }
  return { key: Object.hasOwn(BUILT_IN, rule) ? BUILT_IN[rule] ?? null : null, effect: 'reject' }
}

const NO_LINES: ReadonlyMap<string, string | null> = new Map()

/** Returns the key of a line: the key itself, or the first one below it. */
function lineOf (lines: ReadonlyMap<string, string | null>, key: string): string | null {
  return lines.has(key) ? key : [...lines.keys()].find(candidate => candidate.startsWith(`${key}.`)) ?? null
}

/** Describes the policies in force for one agent and one version, for `/agents`: names and modes, nothing of requests or responses. */
import type { AgentPolicy, CompiledPolicy } from '#policy/compile/compiled.js'

export function describePolicy (policy: AgentPolicy): object {
  return {
    declared: policy.declared,
    required: policy.required.map(one => one.uri),
    injected: policy.injected,
    checked: policy.policies.map(one => describeOne(one, policy)),
    remembersTasks: policy.remembers,
    unusableSchemas: policy.unusable
  }
}

/**
 * Describes one policy. `responses` is the effective mode: `enforce` only if both the policy's mode and the agent's `responses` are
 * `enforce`.
 */
function describeOne (
  { name, uri, mode, rules, responses: responseRules, state, correlations }: CompiledPolicy,
  { responses, echoes }: AgentPolicy
): object {
  return {
    policy: name,
    uri,
    mode,
    rules: rules.map(rule => rule.id),
    responses: responses === 'enforce' && responseRules?.acts !== true ? 'observe' : responses,
    responseRules: responseRules?.rules.map(({ id, verdict }) => ({ id, verdict })) ?? [],
    state: state === null ? null : { request: state.mode.request, response: state.mode.response, onUnknown: state.onUnknown },
    correlate: correlations.map(one => ({
      id: one.id,
      remembers: one.remember.on,
      checks: one.check.on,
      mode: one.mode,
      onUnknown: one.onUnknown
    })),
    observe: {
      spanAttributes: responseRules?.attributes.map(one => one.name) ?? [],
      metrics: responseRules?.metrics.map(one => one.name) ?? []
    },
    inactiveResponse: responseRules?.strips === true ? 'strip' : 'forward',
    redacts: responseRules?.redact.length ?? 0,
    echo: echoes.get(uri) ?? 'passthrough'
  }
}

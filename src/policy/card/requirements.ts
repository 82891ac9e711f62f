/** The requirements of policies that the served card must show: `activation.required: always` and `never`. */
import type { CardRequirement } from '#a2a/card/additions.js'
import type { AgentConfig } from '#config/model/model.js'
import { claimedUris, identitiesOf, modeOf } from '../compile/identity.js'

/**
 * Lists the requirements of an agent's policies. A card that is served unchanged shows none. A policy that only observes requires nothing
 * of clients.
 */
export function requirementsOf (agent: AgentConfig): CardRequirement[] {
  if (agent.card.signature === 'verbatim') return []
  const claimed = claimedUris(agent.policies.map(({ policy }) => policy))
  return agent.policies.flatMap(({ name, policy }): CardRequirement[] => {
    const demand = policy.activation?.required ?? 'card'
    const mode = modeOf(agent.mode, policy)
    if (demand === 'card' || demand === 'observe' || mode === 'off' || (demand === 'always' && mode !== 'enforce')) return []
    const always = demand === 'always'
    return [{
      required: always,
      // `always` requires the extension itself, which the other extensions of a policy satisfy.
      appliesTo: declared =>
        identitiesOf(policy, declared, claimed).flatMap(({ extension, also }) =>
          extension === null ? [] : always ? [extension.uri] : [extension.uri, ...also.map(cardExtension => cardExtension.uri)]
        ),
      advertised: always ? policy.uri ?? null : null,
      by: `policy "${name}": activation.required`
    }]
  })
}

/** Content of the file of `init`: the agents, the policies in force for each, and a proposed policy for each extension without one. */
import type { AgentCard, CardExtension } from '#a2a/card/card.js'
import type { PolicyConfig } from '#config/model/model.js'
import { DEFAULT_POLICIES } from '#config/schema/schema.js'
import { policyFor } from '#policy/card/lint.js'
import { guessesFromCard } from './card-guesses.js'
import { asName, extensionName, slug, uniqueName } from './extension-name.js'
import type { Proposal } from './proposal.js'
import type { Traffic } from './traffic.js'

/** An agent to write a configuration for. */
export interface Source {
  /** The agent's card. When the cards of the two versions differ, the one with more extensions. */
  readonly card: AgentCard
  /** Source of the card. */
  readonly origin: string
  readonly upstream: string
  /** URL of the card. Null when the gateway finds the card below the upstream URL. */
  readonly cardUrl: string | null
  /** Absolute path of the card's file, which the configuration names. */
  readonly cardFile?: string | null
  /** True when the card is made from recorded calls: no card was recorded. */
  readonly recorded?: boolean
}

/** A policy of the catalogue, and the extensions of the card that it is for. */
export interface KnownPolicy {
  readonly name: string
  readonly policy: PolicyConfig | undefined
  readonly declared: readonly CardExtension[]
}

export interface PlannedAgent extends Source {
  readonly name: string
  /** Path of the agent at the gateway; null for the only agent. */
  readonly path: string | null
  readonly known: readonly KnownPolicy[]
  /** Proposals for the extensions that the card declares. */
  readonly proposed: readonly { readonly extension: CardExtension, readonly proposal: Proposal }[]
}

export interface Plan {
  readonly agents: readonly PlannedAgent[]
  /** In the order of the cards, each extension once. */
  readonly proposals: readonly Proposal[]
  /** URIs that recorded requests name and no card declares. */
  readonly undeclared: readonly string[]
  readonly catalogue: Readonly<Record<string, PolicyConfig>>
}

export function planOf (sources: readonly Source[], traffic: Traffic | null, catalogue: Plan['catalogue']): Plan {
  const names = new Set<string>()
  const policyNames = new Set(Object.keys(catalogue))
  const proposals = new Map<string, Proposal>()
  const proposalFor = (extension: CardExtension, card: AgentCard): Proposal => {
    const proposal = proposals.get(extension.uri) ?? propose(extension, card)
    proposals.set(extension.uri, proposal)
    return proposal
  }
  const propose = (extension: CardExtension, card: AgentCard): Proposal => {
    const { uri } = extension
    const name = extensionName(uri, policyNames)
    return { uri, name, ...(traffic?.guessesFor(uri) ?? guessesFromCard(extension, card, { name, catalogue })) }
  }
  const agents = sources.map((source): PlannedAgent => {
    const name = uniqueName(asName(slug(source.card.name), 'agent'), names)
    const extensions = source.card.extensions.map(extension => ({ extension, policy: policyFor(extension, catalogue)?.[0] ?? null }))
    return {
      ...source,
      name,
      path: sources.length === 1 ? null : `/${name}`,
      known: knownOf(extensions, catalogue),
      proposed: extensions
        .filter(({ policy }) => policy === null)
        .map(({ extension }) => ({ extension, proposal: proposalFor(extension, source.card) }))
    }
  })
  const declared = new Set(sources.flatMap(({ card }) => card.extensions.map(({ uri }) => uri)))
  return {
    agents,
    proposals: [...proposals.values()],
    undeclared: [...traffic?.uris.keys() ?? []].filter(uri => !declared.has(uri)),
    catalogue
  }
}

/** The policies of the catalogue for the card, and those that these require. Without any policy, those that are in force by default. */
function knownOf (
  matches: readonly { readonly extension: CardExtension, readonly policy: string | null }[],
  catalogue: Plan['catalogue']
): KnownPolicy[] {
  const declared = new Map<string, CardExtension[]>(matches.length > 0 ? [] : DEFAULT_POLICIES.map(name => [name, []]))
  for (const { extension, policy } of matches) if (policy !== null) declared.set(policy, [...declared.get(policy) ?? [], extension])
  for (const [name] of declared) {
    for (const required of catalogue[name]?.activation?.requires ?? []) if (!declared.has(required)) declared.set(required, [])
  }
  return [...declared].map(([name, extensions]) => ({ name, policy: catalogue[name], declared: extensions }))
}

/** `check --live`: compares the security schemes of an agent's cards with the sources of `identity`. */
import type { CardFinding } from '#a2a/card/lint.js'
import { quoted } from '#a2a/fields.js'
import type { CardSecurity } from '#a2a/card/security.js'
import { readSecurity } from '#a2a/card/security.js'
import type { AgentConfig } from '#config/model/model.js'
import { schemeText } from '#identity/requirement.js'
import type { CallerSource } from '#identity/schemes.js'
import { covers } from '#identity/schemes.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { proposedSources } from './init/proposed-identity.js'

/** Maximum number of names in one sentence, and of characters of one name. */
const NAMES = 10
const SHOWN = 100

/** @param sources null without `identity` */
export function securityFindings (
  { loaded, security }: AgentState,
  agent: AgentConfig,
  sources: readonly CallerSource[] | null
): CardFinding[] {
  const { byVersion } = loaded
  const cards = [...new Set([byVersion['1.0'].card.raw, byVersion['0.3'].card.raw])].map(readSecurity)
  if (sources === null) return withoutIdentity(cards)
  const proposal = proposalOf(proposedSources(cards, scheme => !sources.some(source => covers(source, scheme))))
  const skills = [...new Set(cards.flatMap(card => card.skills))]
  const byCard = agent.access.require === 'card'
  return [
    ...security.warnings.map(message => ({ message, hint: proposal ?? 'compare the card with identity.sources, or write access.require' })),
    ...(byCard && security.requirement?.anonymous === true
      ? [{ message: 'access.require: card: the card accepts callers without credentials', hint: 'write access.require as a list if that is not intended' }]
      : []),
    ...(byCard && cards.some(({ scopes }) => scopes)
      ? [{ message: 'access.require: card: the card requires scopes, which this key does not enforce', hint: 'name the scopes in access.allow' }]
      : []),
    ...(skills.length === 0
      ? []
      : [{
          message: `the skills ${listed(skills.map(id => quoted(id, SHOWN)))} have separate security requirements, which are not enforced: a request names no skill`,
          hint: 'give skills with other callers a separate agent'
        }])
  ]
}

function withoutIdentity (cards: readonly CardSecurity[]): CardFinding[] {
  const schemes = [...new Set(cards.flatMap(card => [...card.schemes].map(([name, scheme]) => schemeText(name, scheme))))]
  const proposal = proposalOf(proposedSources(cards))
  if (schemes.length === 0 || proposal === null) return []
  return [{ message: `the gateway does not verify the credentials of the card's security schemes: ${listed(schemes)}`, hint: proposal }]
}

function proposalOf (sources: ReturnType<typeof proposedSources>): string | null {
  if (sources.length === 0) return null
  return `to verify callers here, adapt: identity: {sources: {${sources.map(({ name, yaml }) => `${name}: ${yaml}`).join(', ')}}}`
}

function listed (names: readonly string[]): string {
  return names.length > NAMES ? `${names.slice(0, NAMES).join(', ')} and ${names.length - NAMES} more` : names.join(', ')
}

/** Requirements of an agent for its callers, and the security schemes of its served card. */
import type { OfferedSecurity } from '#a2a/card/offered-security.js'
import { readSecurity } from '#a2a/card/security.js'
import type { AgentConfig } from '#config/model/model.js'
import { ANONYMOUS, requirementOf, requirementOfCards, uncoveredSchemes } from '#identity/requirement.js'
import type { CallerSource, Requirement } from '#identity/schemes.js'
import { offeredFor } from '#identity/schemes.js'
import type { JsonObject } from '#wire/json/object.js'

export interface AgentSecurity {
  /** Null without `identity`. */
  readonly requirement: Requirement | null
  /** The alternatives of the cards that no caller can meet, one sentence each. Only with `access.require: card`. */
  readonly unmet: readonly string[]
  /** Null: the served card keeps the schemes of the agent. */
  readonly offered: OfferedSecurity | null
  readonly warnings: readonly string[]
}

const NONE: AgentSecurity = { requirement: null, unmet: [], offered: null, warnings: [] }

/** The requirement that does not depend on a card. Null without `identity`, and with `access.require: card`. */
export function fixedRequirement ({ access }: AgentConfig, sources: readonly CallerSource[] | null): Requirement | null {
  return sources === null || access.require === 'card' ? null : requirementOf(access.require, sources, access.audience)
}

/**
 * @param raws the public cards of the two versions, which may be one
 * @param sources null without `identity`
 */
export function securityOf (raws: readonly JsonObject[], agent: AgentConfig, sources: readonly CallerSource[] | null): AgentSecurity {
  if (sources === null) return NONE
  const { access, card } = agent
  const cards = [...new Set(raws)].map(readSecurity)
  const ofCards = access.require === 'card' ? requirementOfCards(cards, sources, access.audience) : null
  const requirement = ofCards ?? requirementOf(access.require === 'card' ? [] : access.require, sources, access.audience)
  const unmet = ofCards?.unmet ?? []
  const isMeetable = requirement.alternatives.length > 0 || requirement.anonymous
  const offers = card.signature !== 'verbatim' && card.security !== 'agent'
  const uncovered = uncoveredSchemes(cards, sources)
  return {
    requirement,
    unmet,
    offered: offers && isMeetable ? { ...offeredFor(requirement, sources), form: card.securityForm } : null,
    warnings: [
      ...unmet.map(problem => `access.require: card: ${problem}`),
      ...(isMeetable ? [] : ['the agent accepts no caller: no caller can satisfy an alternative of access.require']),
      // Their alternatives are named above.
      ...(ofCards === null && uncovered.length > 0
        ? [`no source of identity covers the security schemes ${uncovered.slice(0, MAX_LISTED_SCHEMES).join(', ')} of the card`]
        : [])
    ]
  }
}

/** Maximum number of schemes in a warning. */
const MAX_LISTED_SCHEMES = 10

/** For `/agents`. */
export function describeAccess ({ access }: AgentConfig, requirement: Requirement | null, security: AgentSecurity | null): object {
  const accepted = requirement === null ? null : [...requirement.alternatives, ...(requirement.anonymous ? [[ANONYMOUS]] : [])]
  return {
    ...access,
    // Entries can be thousands.
    allow: access.allow?.map(({ id }) => id) ?? null,
    deny: access.deny.map(({ id }) => id),
    accepted,
    unmet: security?.unmet ?? []
  }
}

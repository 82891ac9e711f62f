/** Finds what a configuration switches off although the card declares it: required extensions, and the validation of its schemas. */
import type { AgentCard, CardExtension } from '#a2a/card/card.js'
import type { CardFinding } from '#a2a/card/lint.js'
import { MAX_QUOTED_CHARS } from '#a2a/card/lint.js'
import { quoted } from '#a2a/fields.js'
import type { AgentConfig, Mode, ResolvedPolicy } from '#config/model/model.js'
import { isCatalogued } from '#config/model/model.js'
import { claimedUris, identitiesOf, modeOf, requirementMode } from '../compile/identity.js'

/** What the gateway does with a request that does not name the extension. */
const EFFECT: Readonly<Record<Exclude<Mode, 'enforce'>, string>> = {
  observe: 'the gateway records and forwards requests without it',
  off: 'the gateway forwards requests without it, and records nothing'
}

/** The value of `activation.required` that declares the mode intended. */
const INTENDED: Readonly<Record<Exclude<Mode, 'enforce'>, 'observe' | 'never'>> = { observe: 'observe', off: 'never' }

/** URIs that one sentence lists. */
const LISTED = 10

/**
 * Returns one finding per policy, and one for the agent's own `mode`, that lowers a requirement of the cards, and one per default policy
 * that the agent's list leaves out although a card declares its extension. `activation.required: observe` and `never` declare a lowered
 * requirement intended; an item such as `{object-schemas: {mode: off}}` does so for a policy.
 * @param cards of the agent as the gateway enforces them, each version once
 */
export function loweredRequirements (agent: AgentConfig, cards: readonly AgentCard[]): CardFinding[] {
  const findings = cards.flatMap(card => {
    const declared = new Map(card.extensions.map(extension => [extension.uri, extension]))
    return [...loweredByPolicies(agent, declared), ...leftOut(agent, declared)]
  })
  const byAgent = [...new Set(cards.flatMap(card => loweredByAgent(agent, card.extensions)))]
  return [...(byAgent.length === 0 || agent.mode === 'enforce' ? [] : [agentFinding(agent.mode, byAgent)]), ...once(findings)]
}

/**
 * Returns the settings of an agent that would lower what the card declares. `check` names them when it has not read the card.
 * @param optional policies whose modes are left out: cards declare their extensions, and hardly any card requires them
 */
export function loweringModes (agent: AgentConfig, optional: readonly string[] = []): string[] {
  return [
    ...(agent.mode === 'enforce' ? [] : [`mode: ${agent.mode}`]),
    ...agent.policies.flatMap(resolved => {
      const mode = loweringMode(agent, resolved)
      return mode === null || optional.includes(resolved.name) ? [] : [`mode: ${mode} of policy ${resolved.name}`]
    }),
    ...agent.leftOut.map(({ name }) => `extensions without ${name}`)
  ]
}

/** @returns the policy's own mode, if that mode lowers the card's requirement and nothing declares it intended; else null */
function loweringMode (agent: AgentConfig, { policy, from }: ResolvedPolicy): Exclude<Mode, 'enforce'> | null {
  const required = policy.activation?.required ?? 'card'
  if (agent.mode === 'off' || policy.mode === undefined || (required === 'card' && isCatalogued(from.mode))) return null
  const mode = modeOf(agent.mode, policy)
  return mode === 'enforce' || required === 'never' || (required === 'observe' && mode === 'observe') ? null : mode
}

function loweredByPolicies (agent: AgentConfig, declared: ReadonlyMap<string, CardExtension>): CardFinding[] {
  const claimed = claimedUris(agent.policies.map(({ policy }) => policy))
  return agent.policies.flatMap(resolved => {
    const mode = loweringMode(agent, resolved)
    if (mode === null) return []
    const uris = identitiesOf(resolved.policy, declared, claimed)
      .flatMap(({ same, also }) => [...same, ...also.map(({ uri }) => uri)])
      .filter(uri => declared.get(uri)?.required === true && !isEnforced(agent, uri, declared))
    if (uris.length === 0) return []
    const keep = mode === 'observe' ? 'remove this mode and write verdict: warn in the rules' : 'remove this mode'
    return [{
      message: `the card requires ${listed(uris)}; because of mode: ${mode} of the policy ${quoted(resolved.name, MAX_QUOTED_CHARS)}, ` +
        `${EFFECT[mode]}`,
      hint: `to keep the requirement, ${keep}; if you intend it, write activation.required: ${INTENDED[mode]} in the policy`
    }]
  })
}

/** True if a policy enforces the requirement of the extension. Several policies may be for one extension: the strictest mode wins. */
function isEnforced (agent: AgentConfig, uri: string, declared: ReadonlyMap<string, CardExtension>): boolean {
  return policiesFor(agent, uri, declared).some(resolved =>
    requirementMode(agent.mode, resolved) === 'enforce' && resolved.policy.activation?.required !== 'never'
  )
}

function policiesFor (agent: AgentConfig, uri: string, declared: ReadonlyMap<string, CardExtension>): ResolvedPolicy[] {
  const claimed = claimedUris(agent.policies.map(({ policy }) => policy))
  return agent.policies.filter(({ policy }) =>
    identitiesOf(policy, declared, claimed).some(({ same, also }) => same.includes(uri) || also.some(other => other.uri === uri))
  )
}

/** Required extensions that the agent's own mode lowers: those without a policy, and those whose policies take over the agent's mode. */
function loweredByAgent (agent: AgentConfig, extensions: readonly CardExtension[]): string[] {
  const declared = new Map(extensions.map(extension => [extension.uri, extension]))
  const required = extensions.filter(extension => extension.required).map(({ uri }) => uri)
  return required.filter(uri => policiesFor(agent, uri, declared).every(resolved => {
    const { mode, activation: { required: demand = 'card' } = {} } = resolved.policy
    const intended = demand === 'never' || (demand === 'observe' && agent.mode === 'observe')
    return !intended && (agent.mode === 'off' || mode === undefined || (demand === 'card' && isCatalogued(resolved.from.mode)))
  }))
}

function agentFinding (mode: Exclude<Mode, 'enforce'>, uris: readonly string[]): CardFinding {
  return {
    message: `the card requires ${listed(uris)}; because of mode: ${mode} of the agent, ${EFFECT[mode]}`,
    hint: 'to keep the requirement, remove this mode; if you intend it, write activation.required: ' +
      `${INTENDED[mode]} in a policy for the extension`
  }
}

function leftOut (agent: AgentConfig, declared: ReadonlyMap<string, CardExtension>): CardFinding[] {
  if (agent.mode === 'off') return []
  return agent.leftOut.flatMap(({ name, policy }) => {
    const uris = identitiesOf(policy, declared).flatMap(({ extension }) => extension?.uri ?? [])
    if (uris.every(uri => policiesFor(agent, uri, declared).length > 0)) return []
    return [{
      message: `the card declares ${listed(uris)}; because extensions of the agent leaves out ${quoted(name, MAX_QUOTED_CHARS)}, the ` +
        'gateway does not validate its data',
      hint: `add ${name} to extensions, which replaces the default list; if you intend it, add {${name}: {mode: off, activation: ` +
        '{required: never}}}'
    }]
  })
}

function listed (uris: readonly string[]): string {
  const more = uris.length > LISTED ? ` and ${uris.length - LISTED} more` : ''
  return uris.slice(0, LISTED).map(uri => quoted(uri, MAX_QUOTED_CHARS)).join(', ') + more
}

function once (findings: readonly CardFinding[]): CardFinding[] {
  return [...new Map(findings.map(finding => [finding.message, finding])).values()]
}

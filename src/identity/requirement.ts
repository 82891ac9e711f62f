/** Requirements of an agent for its callers (`access.require`). */
import type { CardSecurity, SecurityScheme } from '#a2a/card/security.js'
import { quoted } from '#a2a/fields.js'
import type { Authentication, Carriers } from './authentication.js'
import type { Principal } from './principal.js'
import type { CallerSource, Requirement } from './schemes.js'
import { covers } from './schemes.js'

/** In the configuration, and in metrics, the source of requests without credentials. */
export const ANONYMOUS = 'anonymous'

/**
 * The requirement of a list in the configuration. Null: any one of the sources.
 * @param audiences of the agent or the admin listener
 */
export function requirementOf (
  require: readonly (readonly string[])[] | null,
  sources: readonly CallerSource[],
  audiences: Requirement['audiences'] = null
): Requirement {
  return {
    alternatives: require === null ? sources.map(({ name }) => [name]) : require.filter(names => !names.includes(ANONYMOUS)),
    anonymous: require?.some(names => names.length === 1 && names[0] === ANONYMOUS) ?? false,
    certificates: certificatesOf(sources),
    audiences
  }
}

function certificatesOf (sources: readonly CallerSource[]): ReadonlySet<string> {
  return new Set(sources.filter(({ kind }) => kind === 'certificate').map(({ name }) => name))
}

export type Fit =
  /** `sources`: those of the alternative that is met, in its order, then the others. */
  | { readonly kind: 'met', readonly sources: readonly string[] }
  /** Sources that are missing, one list for each alternative. */
  | { readonly kind: 'incomplete', readonly missing: readonly (readonly string[])[] }
  /** No alternative has the sources together. */
  | { readonly kind: 'unfit' }

const UNFIT: Fit = { kind: 'unfit' }

/** Compares a requirement with the sources that verified a request, at least one. All but certificates must belong to the alternative. */
export function fitOf ({ alternatives, certificates }: Requirement, verified: readonly string[]): Fit {
  const missing: (readonly string[])[] = []
  for (const alternative of alternatives) {
    if (!verified.every(name => alternative.includes(name) || certificates.has(name))) continue
    const rest = alternative.filter(name => !verified.includes(name))
    if (rest.length === 0) return { kind: 'met', sources: [...alternative, ...verified.filter(name => !alternative.includes(name))] }
    if (rest.length < alternative.length) missing.push(rest)
  }
  return missing.length === 0 ? UNFIT : { kind: 'incomplete', missing }
}

export function required (
  authentication: Authentication,
  requirement: Requirement,
  authenticator: { carriersOf (alternatives: readonly (readonly string[])[]): Carriers }
): Authentication {
  if (authentication.kind !== 'caller' || isMetAlone(requirement, authentication.principal)) return authentication
  const { principal: { source, sources }, carrier } = authentication
  const fit = fitOf(requirement, sources)
  if (fit.kind === 'met') return authentication
  return fit.kind === 'incomplete'
    ? { kind: 'incomplete', source, missing: authenticator.carriersOf(fit.missing) }
    : { kind: 'failed', problem: 'source', source, carrier }
}

/** True when the one source of a caller is an alternative: `fitOf` without its lists, for most requests. */
function isMetAlone ({ alternatives }: Requirement, { source, sources }: Principal): boolean {
  if (sources.length !== 1) return false
  for (const alternative of alternatives) if (alternative.length === 1 && alternative[0] === source) return true
  return false
}

/** Several credentials of one request: one caller, whom the first source of the alternative names. */
export function combined (results: readonly Authentication[], requirement: Requirement): Authentication {
  const callers: (Authentication & { readonly kind: 'caller' })[] = []
  for (const result of results) {
    if (result.kind !== 'caller') return result
    callers.push(result)
  }
  const verified = callers.map(({ principal }) => principal.source)
  const fit = fitOf(requirement, verified)
  if (fit.kind === 'unfit') return { kind: 'several', carriers: callers.map(({ carrier }) => carrier) }
  const sources = fit.kind === 'met' ? fit.sources : verified
  const primary = callers.find(({ principal }) => principal.source === sources[0]) ?? callers[0]
  return primary === undefined ? { kind: 'missing' } : { ...primary, principal: Object.freeze({ ...primary.principal, sources }) }
}

export interface CardRequirement extends Requirement {
  /** One sentence for each alternative of the card that no caller can meet. */
  readonly unmet: readonly string[]
}

/** Maximum number of alternatives that the sources make of those of a card. */
const MAX_ALTERNATIVES = 256
/** Maximum number of characters of a card's text that a sentence shows. */
const MAX_QUOTED_CHARS = 100

/**
 * The requirement of the cards of an agent, `access.require: card`. The cards of the two versions count together: the client chooses the
 * version, so an alternative must be in both.
 */
export function requirementOfCards (
  cards: readonly CardSecurity[],
  sources: readonly CallerSource[],
  audiences: Requirement['audiences'] = null
): CardRequirement {
  const each = cards.map(card => requirementOfCard(card, sources))
  const [first, ...others] = each
  const certificates = certificatesOf(sources)
  if (first === undefined) return { alternatives: [], anonymous: false, certificates, audiences, unmet: [] }
  const common = first.alternatives.filter(shared => others.every(other => other.alternatives.some(two => keyOf(shared) === keyOf(two))))
  const differ = each.some(({ alternatives }) => alternatives.length !== common.length)
  return {
    alternatives: common,
    anonymous: each.every(({ anonymous }) => anonymous),
    certificates,
    audiences,
    unmet: [...new Set([
      ...each.flatMap(({ unmet }) => unmet), ...(differ ? ['the cards of the two versions require different credentials'] : [])
    ])]
  }
}

function requirementOfCard (card: CardSecurity, sources: readonly CallerSource[]): Omit<CardRequirement, 'certificates' | 'audiences'> {
  const { schemes, alternatives, problems } = card
  if (alternatives === null) return { alternatives: [], anonymous: false, unmet: ['the card has no security requirement'] }
  const covering = new Map([...schemes].map(([name, scheme]) => [name, sourcesFor(scheme, sources)]))
  const sourcesByScheme = new Map<string, readonly string[]>()
  const unmet = [...problems]
  for (const names of alternatives) {
    const uncovered = names.filter(name => (covering.get(name) ?? []).length === 0)
    if (uncovered.length > 0) {
      unmet.push(`no source of identity covers ${uncovered.map(name => schemeText(name, schemes.get(name))).join(' and ')}`)
      continue
    }
    const choices = names.length === 0 ? [] : choicesOf(names.map(name => covering.get(name) ?? []))
    if (names.length > 0 && choices.length === 0) {
      unmet.push(`no request can have the credentials of ${names.map(name => quoted(name, MAX_QUOTED_CHARS)).join(' and ')} together`)
    }
    for (const choice of choices) if (sourcesByScheme.size < MAX_ALTERNATIVES) sourcesByScheme.set(keyOf(choice), choice)
  }
  return { alternatives: [...sourcesByScheme.values()], anonymous: alternatives.some(names => names.length === 0), unmet }
}

function keyOf (names: readonly string[]): string {
  return [...names].sort().join(' ')
}

function sourcesFor (scheme: SecurityScheme | null, sources: readonly CallerSource[]): CallerSource[] {
  return scheme === null ? [] : sources.filter(source => covers(source, scheme))
}

/**
 * The sets of sources that satisfy several schemes together. One place of a request has one credential, so one source satisfies all schemes
 * of a place.
 * @param covering the sources that cover each scheme; all of one scheme have the same place
 */
function choicesOf (covering: readonly (readonly CallerSource[])[]): (readonly string[])[] {
  const places = new Map<string, readonly CallerSource[]>()
  for (const sources of covering) {
    const [first] = sources
    if (first === undefined) return []
    const others = places.get(placeOf(first))
    places.set(placeOf(first), others === undefined ? sources : others.filter(source => sources.includes(source)))
  }
  let choices: (readonly string[])[] = [[]]
  for (const sources of places.values()) {
    choices = choices.flatMap(names => sources.map(({ name }) => [...names, name])).slice(0, MAX_ALTERNATIVES)
  }
  return choices
}

function placeOf ({ scheme }: CallerSource): string {
  return scheme.kind === 'apiKey' ? `${scheme.in} ${scheme.name}` : scheme.kind
}

/** A scheme of a card in words, such as `"bearer" (http bearer)`. */
export function schemeText (name: string, scheme: SecurityScheme | null | undefined): string {
  const text = (word: string): string => `${quoted(name, MAX_QUOTED_CHARS)} (${word})`
  if (scheme === undefined) return text('which the card does not define')
  if (scheme === null) return text('which cannot be read')
  if (scheme.kind === 'apiKey') return text(`apiKey in ${scheme.in} ${quoted(scheme.name, MAX_QUOTED_CHARS)}`)
  if (scheme.kind === 'http') return text(`http ${quoted(scheme.scheme, MAX_QUOTED_CHARS)}`)
  return text(scheme.kind)
}

/** Schemes of the cards that no source covers, in words. */
export function uncoveredSchemes (cards: readonly CardSecurity[], sources: readonly CallerSource[]): string[] {
  const unmet = cards.flatMap(({ schemes }) => [...schemes].filter(([, scheme]) => sourcesFor(scheme, sources).length === 0))
  return [...new Set(unmet.map(([name, scheme]) => schemeText(name, scheme)))]
}

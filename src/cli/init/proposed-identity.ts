/** Proposes sources of `identity` for the security schemes of a card. Nothing in a card is trusted: a person checks each value. */
import type { CardSecurity, SecurityScheme } from '#a2a/card/security.js'
import { parseUrl } from '#wire/url.js'

export interface ProposedSource {
  readonly name: string
  /** The source as a YAML flow mapping. */
  readonly yaml: string
}

/** Stands for an issuer and an audience that the card does not name. */
const ISSUER = 'https://idp.example.com/'
const AUDIENCE = 'https://agents.example.com/'
/** Largest number of sources. A card may have more schemes. */
const MAX_SOURCES = 10
const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/

/** @param only names of schemes; default: all of the cards */
export function proposedSources (cards: readonly CardSecurity[], only: (scheme: SecurityScheme) => boolean = () => true): ProposedSource[] {
  const proposed = new Map<string, ProposedSource>()
  const names = new Set<string>()
  const schemes = cards.flatMap(card => [...card.schemes])
  const hasIssuer = schemes.some(([, scheme]) => scheme !== null && issuerOf(scheme) !== null)
  for (const [name, scheme] of schemes) {
    if (scheme === null || !only(scheme) || proposed.size >= MAX_SOURCES) continue
    // An http scheme beside OpenID Connect is for the same tokens.
    if (hasIssuer && scheme.kind === 'http' && scheme.scheme === 'bearer') continue
    const key = JSON.stringify(scheme.kind === 'openIdConnect' || scheme.kind === 'oauth2' ? issuerOf(scheme) : scheme)
    if (proposed.has(key)) continue
    const unique = uniqueName(name, names)
    const yaml = yamlOf(unique, scheme)
    if (yaml !== null) proposed.set(key, { name: unique, yaml })
  }
  return [...proposed.values()]
}

function yamlOf (name: string, scheme: SecurityScheme): string | null {
  const keys = `keys: {file: secrets/${name}.yaml}`
  switch (scheme.kind) {
    case 'apiKey': {
      if (!HEADER.test(scheme.name) || scheme.name.toLowerCase() === 'authorization') return null
      const more = scheme.in === 'query' ? ', allowQuery: true' : ''
      return `{apiKey: {${scheme.in}: ${scalar(scheme.name)}${more}, ${keys}}}`
    }
    case 'http':
      if (scheme.scheme === 'basic') return `{basic: {${keys}}}`
      return scheme.scheme === 'bearer' ? tokens(ISSUER) : null
    case 'oauth2':
    case 'openIdConnect':
      return tokens(issuerOf(scheme) ?? ISSUER)
    case 'mutualTLS':
      return '{certificate: {from: tls}}'
  }
}

function tokens (issuer: string): string {
  return `{jwt: {issuer: ${scalar(issuer)}, audience: [${scalar(AUDIENCE)}], keys: discover}}`
}

const WELL_KNOWN = /\/\.well-known\/(?:openid-configuration|oauth-authorization-server)/

/** The issuer that a scheme suggests. A token endpoint only suggests the host. */
function issuerOf (scheme: SecurityScheme): string | null {
  const named = scheme.kind === 'openIdConnect' ? scheme.url : scheme.kind === 'oauth2' ? scheme.metadataUrl : null
  if (named !== null) return usable(named.replace(WELL_KNOWN, ''))
  const endpoint = scheme.kind === 'oauth2' && scheme.tokenUrl !== null ? parseUrl(scheme.tokenUrl) : null
  return endpoint === null ? null : usable(`${endpoint.origin}/`)
}

function usable (text: string): string | null {
  const url = parseUrl(text)
  if (url === null) return null
  const { protocol, href, search, hash, username } = url
  return protocol === 'https:' && search === '' && hash === '' && username === ''
    ? (href.endsWith('/') && !text.endsWith('/') ? href.slice(0, -1) : href)
    : null
}

function uniqueName (text: string, taken: Set<string>): string {
  const slug = text.slice(0, 200).toLowerCase().replace(/[^a-z0-9]+/g, '-').slice(0, 50).replace(/^-+|-+$/g, '')
  // YAML reads some words, and most texts with a digit first, as another type.
  const base = slug === '' || slug === 'anonymous' ? 'callers' : /^(?:\d.*|null|true|false)$/.test(slug) ? `scheme-${slug}` : slug
  let name = base
  for (let number = 2; taken.has(name); number++) name = `${base}-${number}`
  taken.add(name)
  return name
}

/** A string in YAML. The loader replaces variables, so `$` is doubled. */
function scalar (text: string): string {
  return /^[a-z][\w-]*$/i.test(text) && !/^(?:null|true|false|yes|no|on|off)$/i.test(text)
    ? text
    : JSON.stringify(text.replaceAll('$', '$$$$')).replaceAll(
      /[^\x20-\x7e]/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
    )
}

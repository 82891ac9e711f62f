/** The sources of the configuration as security schemes: those that the gateway offers to clients, and those of an agent that it covers. */
import type { OfferedScheme, OfferedSecurity } from '#a2a/card/offered-security.js'
import type { SecurityScheme } from '#a2a/card/security.js'
import type { IdentityConfig, SourceConfig } from '#config/model/model.js'
import { hasToken } from './principal.js'
import type { SourceKind } from './principal.js'

export interface Requirement {
  /** Names of sources. One alternative must be met: all of its sources verify the request. Empty: no credentials are accepted. */
  readonly alternatives: readonly (readonly string[])[]
  /** True when a request without credentials is accepted. */
  readonly anonymous: boolean
  /** Sources of certificates: a client does not choose its certificate for each request, so it may come with any credentials. */
  readonly certificates: ReadonlySet<string>
  /**
   * Audiences of the agent (`access.audience`) or of the admin listener (`server.adminAccess.audience`), of which an access token must name
   * one; null: all of its source.
   */
  readonly audiences: readonly string[] | null
}

/** A source as far as cards are concerned. Serializable, and the same while the public side of the source is. */
export interface CallerSource {
  readonly name: string
  readonly kind: SourceKind
  readonly scheme: OfferedScheme
  /** Discovery document of the issuer, for clients of OpenID Connect. Null where the configuration does not say that there is one. */
  readonly discovery: string | null
  /** Issuer of access tokens. */
  readonly issuer: string | null
}

export function callerSources (identity: IdentityConfig): CallerSource[] {
  return Object.entries(identity.sources).map(([name, config]) => ({ name, ...partsOf(config) }))
}

function partsOf ({ apiKey, basic, jwt, envoyJwt }: SourceConfig): Omit<CallerSource, 'name'> {
  const none = { discovery: null, issuer: null }
  if (jwt !== undefined) {
    const { issuer, header, keys } = jwt
    // A card has no scheme for a token in a header of its own, but clients send API keys so.
    if (header !== null) return { kind: 'jwt', scheme: { kind: 'apiKey', in: 'header', name: header }, discovery: null, issuer }
    const discovered = keys.url === null && keys.file === null
    return {
      kind: 'jwt',
      scheme: { kind: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      discovery: discovered ? discoveryOf(issuer) : null,
      issuer
    }
  }
  if (envoyJwt !== undefined) {
    const { issuer, header } = envoyJwt
    const scheme: OfferedScheme = header === null
      ? { kind: 'http', scheme: 'bearer', bearerFormat: 'JWT' }
      : { kind: 'apiKey', in: 'header', name: header }
    return { kind: 'envoyJwt', scheme, discovery: null, issuer }
  }
  if (apiKey !== undefined) {
    const { header, cookie, query } = apiKey
    if (header !== null) return { kind: 'apiKey', scheme: { kind: 'apiKey', in: 'header', name: header }, ...none }
    return {
      kind: 'apiKey',
      scheme: cookie !== null ? { kind: 'apiKey', in: 'cookie', name: cookie } : { kind: 'apiKey', in: 'query', name: query ?? '' },
      ...none
    }
  }
  if (basic !== undefined) return { kind: 'basic', scheme: { kind: 'http', scheme: 'basic' }, ...none }
  return { kind: 'certificate', scheme: { kind: 'mutualTLS' }, ...none }
}

function discoveryOf (issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

/** Places of the metadata of an issuer: RFC 8414 §3.1, its usual variant for issuers with a path, and OpenID Connect. */
function metadataOf (issuer: string): string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const document = '/.well-known/oauth-authorization-server'
  return [origin + document + path, origin + path + document, discoveryOf(issuer)]
}

/** True when credentials that satisfy the scheme are credentials of the source. */
export function covers (source: CallerSource, scheme: SecurityScheme): boolean {
  const { scheme: own, issuer } = source
  switch (scheme.kind) {
    case 'apiKey':
      return own.kind === 'apiKey' &&
        own.in === scheme.in &&
        (own.in === 'header' ? own.name === scheme.name.toLowerCase() : own.name === scheme.name)
    case 'http':
      return own.kind === 'http' && own.scheme === scheme.scheme
    case 'oauth2':
      // To a resource server, every flow ends in a bearer token. Only the metadata URL names the issuer.
      return hasToken(source) &&
        own.kind === 'http' &&
        (scheme.metadataUrl === null || metadataOf(issuer ?? '').includes(scheme.metadataUrl))
    case 'openIdConnect':
      return hasToken(source) && own.kind === 'http' && issuer !== null && discoveryOf(issuer) === scheme.url
    case 'mutualTLS':
      return own.kind === 'mutualTLS'
  }
}

/**
 * The schemes and alternatives for the card of an agent. A source of tokens is an http scheme first, and OpenID Connect as a further
 * alternative: the Go client attaches nothing to a card that offers only OpenID Connect (a2a-go v2.3.1, a2aclient/auth.go).
 */
export function offeredFor ({ alternatives, anonymous }: Requirement, sources: readonly CallerSource[]): OfferedSecurity {
  const used = sources.filter(({ name }) => alternatives.some(alternative => alternative.includes(name)))
  const discovered = new Map<string, string>()
  const names = new Set(sources.map(({ name }) => name))
  for (const { name, discovery } of used) if (discovery !== null) discovered.set(name, uniqueName(`${name}-oidc`, names))
  const further = alternatives
    .filter(alternative => alternative.some(name => discovered.has(name)))
    .map(alternative => alternative.map(name => discovered.get(name) ?? name))
  return {
    schemes: [
      ...used.map(({ name, scheme }) => [name, scheme] as const),
      ...used.flatMap(({ name, discovery }) => discovery === null
        ? []
        : [[discovered.get(name) ?? name, { kind: 'openIdConnect', url: discovery }] as const])
    ],
    alternatives: used.length === 0 ? [] : [...alternatives, ...further, ...(anonymous ? [[]] : [])]
  }
}

function uniqueName (wanted: string, taken: Set<string>): string {
  let name = wanted
  for (let number = 2; taken.has(name); number++) name = `${wanted}-${number}`
  taken.add(name)
  return name
}

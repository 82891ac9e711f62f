/**
 * Security schemes and requirements of a card, in the shapes of both generations: 0.3 tags a scheme with `type` (spec 0.3.0 §5.5.3), 1.0
 * wraps it in a key (proto 1.0.1 `SecurityScheme`). Agents of the Python SDK write both shapes into one object.
 */
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '#wire/json/object.js'
import { isObject, own } from '#wire/json/object.js'

export type SecurityScheme =
  | { readonly kind: 'apiKey', readonly in: 'header' | 'cookie' | 'query', readonly name: string }
  /** `scheme` is in lower case. */
  | { readonly kind: 'http', readonly scheme: string }
  /** URL of the metadata of RFC 8414, and of the first token endpoint that a flow names. */
  | { readonly kind: 'oauth2', readonly metadataUrl: string | null, readonly tokenUrl: string | null }
  | { readonly kind: 'openIdConnect', readonly url: string }
  | { readonly kind: 'mutualTLS' }

/** Names of schemes that a caller must satisfy together. Empty: a caller needs no credentials. */
export type SecurityAlternative = readonly string[]

export interface CardSecurity {
  /** By name. Null for a scheme that cannot be read. */
  readonly schemes: ReadonlyMap<string, SecurityScheme | null>
  /** The requirement: one alternative must be met. Null when the card has none. */
  readonly alternatives: readonly SecurityAlternative[] | null
  /** One sentence for each part of the requirement that cannot be used. */
  readonly problems: readonly string[]
  /** True when an alternative names scopes. */
  readonly scopes: boolean
  /** Ids of skills with a requirement of their own. */
  readonly skills: readonly string[]
}

/** Keys of a card, and of a skill, with schemes and requirements, in all spellings. `authentication`: cards before 0.2.1. */
export const SCHEME_KEYS: readonly string[] = ['securitySchemes', 'security_schemes', 'authentication']
export const REQUIREMENT_KEYS: readonly string[] = ['securityRequirements', 'security_requirements', 'security']

/** Maximum number of schemes and of alternatives. Further ones cannot be used. */
const MAX_SCHEMES = 64
/** Maximum number of schemes in one alternative. */
const MANY_SCHEMES = 10

export function readSecurity (raw: JsonObject): CardSecurity {
  const schemes = new Map<string, SecurityScheme | null>()
  for (const key of SCHEME_KEYS.slice(0, 2)) {
    const written = own(raw, key)
    if (!isObject(written)) continue
    for (const [name, value] of Object.entries(written).slice(0, MAX_SCHEMES)) {
      const read = readScheme(value)
      // Clients read one of the two spellings.
      schemes.set(name, schemes.has(name) && !isDeepStrictEqual(schemes.get(name), read) ? null : read)
    }
  }
  const problems: string[] = []
  const lists = REQUIREMENT_KEYS.filter(key => isPresent(own(raw, key))).map(key => readList(key, own(raw, key), problems))
  const [first = null, ...others] = lists
  // A card of both generations says the same twice. Where the texts differ, only what both allow counts.
  const alternatives = first?.filter(({ names }) => others.every(list => list.some(other => isSame(names, other.names)))) ?? null
  if (alternatives !== null && lists.some(list => list.length !== alternatives.length)) {
    problems.push(`${REQUIREMENT_KEYS.filter(key => isPresent(own(raw, key))).join(' and ')} of the card differ`)
  }
  return {
    schemes,
    alternatives: alternatives?.map(({ names }) => names) ?? null,
    problems,
    scopes: alternatives?.some(({ scopes }) => scopes) ?? false,
    skills: skillsOf(raw)
  }
}

function isPresent (value: unknown): boolean {
  return value !== undefined && value !== null
}

function isSame (securityAlternative: SecurityAlternative, other: SecurityAlternative): boolean {
  return securityAlternative.length === other.length && securityAlternative.every(name => other.includes(name))
}

/** 1.0 wrapper keys. ProtoJSON readers accept snake_case too. */
const WRAPPERS: readonly (readonly [key: string, kind: SecurityScheme['kind']])[] = [
  ['apiKeySecurityScheme', 'apiKey'], ['api_key_security_scheme', 'apiKey'],
  ['httpAuthSecurityScheme', 'http'], ['http_auth_security_scheme', 'http'],
  ['oauth2SecurityScheme', 'oauth2'], ['oauth2_security_scheme', 'oauth2'],
  ['openIdConnectSecurityScheme', 'openIdConnect'], ['open_id_connect_security_scheme', 'openIdConnect'],
  ['mtlsSecurityScheme', 'mutualTLS'], ['mtls_security_scheme', 'mutualTLS']
]

/** @returns null for a scheme that cannot be read, and for one whose two shapes differ */
function readScheme (value: unknown): SecurityScheme | null {
  if (!isObject(value)) return null
  const shapes = WRAPPERS.filter(([key]) => isObject(own(value, key))).map(([key, kind]) => contentOf(kind, own(value, key) as JsonObject))
  const { type } = value
  if (isPresent(type)) shapes.push(contentOf(type, value))
  const [first = null, ...others] = shapes
  return others.every(other => isSameScheme(first, other)) ? first : null
}

/** The flows of OAuth differ between the generations: 1.0 has one, 0.3 any number. */
function isSameScheme (securityScheme: SecurityScheme | null, other: SecurityScheme | null): boolean {
  return (securityScheme?.kind === 'oauth2' && other?.kind === 'oauth2') || isDeepStrictEqual(securityScheme, other)
}

function contentOf (kind: unknown, object: JsonObject): SecurityScheme | null {
  switch (kind) {
    case 'apiKey': {
      const place = textOf(object, 'location', 'in')?.toLowerCase()
      const name = textOf(object, 'name')
      return name === null || (place !== 'header' && place !== 'cookie' && place !== 'query') ? null : { kind, in: place, name }
    }
    case 'http': {
      const scheme = textOf(object, 'scheme')
      return scheme === null ? null : { kind, scheme: scheme.toLowerCase() }
    }
    case 'oauth2':
      return { kind, metadataUrl: textOf(object, 'oauth2MetadataUrl', 'oauth2_metadata_url'), tokenUrl: tokenUrlOf(object['flows']) }
    case 'openIdConnect': {
      const url = textOf(object, 'openIdConnectUrl', 'open_id_connect_url')
      return url === null ? null : { kind, url }
    }
    case 'mutualTLS':
      return { kind }
    default:
      return null
  }
}

function textOf (object: JsonObject, ...keys: readonly string[]): string | null {
  const value = keys.map(key => own(object, key)).find(isPresent)
  return typeof value === 'string' && value !== '' ? value : null
}

function tokenUrlOf (flows: unknown): string | null {
  if (!isObject(flows)) return null
  const urls = Object.values(flows).map(flow => (isObject(flow)
    ? textOf(flow, 'tokenUrl', 'token_url', 'authorizationUrl', 'authorization_url')
    : null))
  return urls.find(url => url !== null) ?? null
}

interface ReadAlternative { readonly names: SecurityAlternative, readonly scopes: boolean }

function readList (key: string, value: unknown, problems: string[]): ReadAlternative[] {
  if (!Array.isArray(value)) {
    problems.push(`${key} of the card is not an array`)
    return []
  }
  if (value.length > MAX_SCHEMES) problems.push(`${key} of the card has more than ${MAX_SCHEMES} alternatives`)
  return value.slice(0, MAX_SCHEMES).flatMap((entry: unknown, index) => {
    const read = readAlternative(entry)
    if (read === null) problems.push(`${key}[${index}] of the card cannot be read`)
    return read === null ? [] : [read]
  })
}

/** 0.3: `{name: [scopes]}`. 1.0: `{schemes: {name: {list: [scopes]}}}`; a scheme of 0.3 may have the name `schemes`. */
function readAlternative (entry: unknown): ReadAlternative | null {
  if (!isObject(entry)) return null
  const wrapped = own(entry, 'schemes')
  const named = isObject(wrapped) ? wrapped : entry
  const scopes = Object.values(named).map(value => (isObject(wrapped) && isObject(value) ? own(value, 'list') ?? [] : value))
  if (scopes.length > MANY_SCHEMES || !scopes.every(list => Array.isArray(list))) return null
  return { names: Object.keys(named), scopes: scopes.some(list => (list as unknown[]).length > 0) }
}

function skillsOf ({ skills }: JsonObject): string[] {
  if (!Array.isArray(skills)) return []
  return skills
    .filter((skill: unknown) => isObject(skill))
    .filter(skill => REQUIREMENT_KEYS.some(key => isPresent(own(skill, key))))
    .map(({ id }) => (typeof id === 'string' ? id : ''))
}

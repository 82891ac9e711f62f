/** Writes the security schemes of the gateway into a card, in place of those of the agent. */
import { V03_LISTS, V1_LISTS } from './interfaces.js'
import type { SecurityAlternative } from './security.js'
import { REQUIREMENT_KEYS, SCHEME_KEYS } from './security.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'

/** A scheme that the gateway offers. */
export type OfferedScheme =
  | { readonly kind: 'apiKey', readonly in: 'header' | 'cookie' | 'query', readonly name: string }
  | { readonly kind: 'http', readonly scheme: string, readonly bearerFormat?: string }
  | { readonly kind: 'openIdConnect', readonly url: string }
  | { readonly kind: 'mutualTLS' }

export interface OfferedSecurity {
  readonly schemes: readonly (readonly [name: string, scheme: OfferedScheme])[]
  readonly alternatives: readonly SecurityAlternative[]
  /**
   * Form of the scopes in requirements of 1.0: `list` is `{"list": []}` (A2A 1.0.1), `plain` is `[]`. The Go SDK 2.3.1 reads and
   * writes only `plain`; JavaScript 1.3.0 and Python 1.3.0 read both (measured). Absent or null: as the card does, otherwise `plain`.
   */
  readonly form?: 'list' | 'plain' | null
}

const REPLACED: ReadonlySet<string> = new Set([...SCHEME_KEYS, ...REQUIREMENT_KEYS])

/**
 * Returns the card with the offered schemes, in the shapes of the generations that the card has. A card of both has both shapes in one
 * object, as the Python SDK writes them. Requirements of skills go: they name schemes of the agent.
 */
export function withSecurity (raw: JsonObject, { schemes, alternatives, form = null }: OfferedSecurity): JsonObject {
  const members = Object.entries(raw)
    .filter(([key]) => !REPLACED.has(key))
    .map(([key, value]): [string, unknown] => [key, key === 'skills' && Array.isArray(value) ? value.map(withoutRequirement) : value])
  const card = Object.fromEntries(members)
  if (schemes.length === 0) return card
  const is1 = V1_LISTS.some(key => Array.isArray(raw[key]))
  const is03 = !is1 || typeof raw['url'] === 'string' || V03_LISTS.some(key => Array.isArray(raw[key]))
  card['securitySchemes'] = Object.fromEntries(schemes.map(([name, scheme]) => [
    name, { ...(is03 ? tagged(scheme) : {}), ...(is1 ? wrapped(scheme) : {}) }
  ]))
  if (is1) {
    const isList = form === null ? writesList(raw) : form === 'list'
    const scopes = (): unknown => isList ? { list: [] } : []
    card['securityRequirements'] = alternatives.map(names => ({ schemes: Object.fromEntries(names.map(name => [name, scopes()])) }))
  }
  if (is03) card['security'] = alternatives.map(names => Object.fromEntries(names.map(name => [name, []])))
  return card
}

/** True when {@link withSecurity} changes the meaning of a card. */
export function hasSecurity (raw: JsonObject): boolean {
  const { skills } = raw
  return [raw, ...(Array.isArray(skills) ? skills : [])].some(part => isObject(part) && Object.keys(part).some(key => REPLACED.has(key)))
}

/** True when scopes in the requirements of the card are in lists, and in no other form. */
function writesList (raw: JsonObject): boolean {
  const entries = REQUIREMENT_KEYS.flatMap((key): unknown[] => (Array.isArray(raw[key]) ? raw[key] : []))
  const scopes = entries.flatMap(entry => (isObject(entry) && isObject(entry['schemes']) ? Object.values(entry['schemes']) : []))
  return scopes.length > 0 && scopes.every(isObject)
}

function withoutRequirement (skill: unknown): unknown {
  if (!isObject(skill) || !REQUIREMENT_KEYS.some(key => key in skill)) return skill
  return Object.fromEntries(Object.entries(skill).filter(([key]) => !REQUIREMENT_KEYS.includes(key)))
}

/** The shape of 0.3. */
function tagged (scheme: OfferedScheme): JsonObject {
  const { kind, ...rest } = scheme
  return { type: kind, ...('url' in rest ? { openIdConnectUrl: rest.url } : rest) }
}

/** The shape of 1.0. */
function wrapped (scheme: OfferedScheme): JsonObject {
  switch (scheme.kind) {
    case 'apiKey':
      return { apiKeySecurityScheme: { location: scheme.in, name: scheme.name } }
    case 'http': {
      const { kind: _, ...rest } = scheme
      return { httpAuthSecurityScheme: rest }
    }
    case 'openIdConnect':
      return { openIdConnectSecurityScheme: { openIdConnectUrl: scheme.url } }
    case 'mutualTLS':
      return { mtlsSecurityScheme: {} }
  }
}

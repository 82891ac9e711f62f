/** The card for callers that may not see the whole card. */
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { TRANSPORT_KEYS, V03_LISTS, V1_LISTS } from './interfaces.js'
import { isRequired, skillsIn } from './view.js'

/** Members that a client needs to call the agent: name, versions, interfaces and security. */
const KEPT: ReadonlySet<string> = new Set([
  'name', 'version', 'url', 'protocolVersion', 'protocol_version', ...TRANSPORT_KEYS, ...V1_LISTS, ...V03_LISTS,
  'security', 'securityRequirements', 'security_requirements', 'securitySchemes', 'security_schemes',
  'supportsAuthenticatedExtendedCard', 'supports_authenticated_extended_card'
])

/** Lists that a card must have: typed clients reject a card without them. Their content stays hidden. */
const EMPTIED: readonly string[] = ['defaultInputModes', 'default_input_modes', 'defaultOutputModes', 'default_output_modes']

/** Returns what callers without credentials get: the value of `card.public`, or its default. */
export function publicCard <P extends string> (card: { readonly public: P | null, readonly headers: object }): P | 'none' | 'full' {
  return card.public ?? (Object.keys(card.headers).length > 0 ? 'none' : 'full')
}

/**
 * Returns the part of a card that a client needs to call the agent. Of the extensions, the URIs that clients must request remain.
 * @param raw the card with the additions of the configuration
 * @param skills ids of the skills that remain
 */
export function minimalCard (raw: JsonObject, skills: readonly string[] = []): JsonObject {
  const members: [string, unknown][] = Object.entries(raw).filter(([key]) => KEPT.has(key))
  if ('description' in raw) members.push(['description', ''])
  if ('skills' in raw) members.push(['skills', skillsIn(raw['skills'], id => skills.includes(id))])
  for (const key of EMPTIED) if (key in raw) members.push([key, []])
  const { capabilities } = raw
  if (isObject(capabilities)) members.push(['capabilities', minimalCapabilities(capabilities)])
  const root = requiredOf(raw['extensions'])
  if (root.length > 0) members.push(['extensions', root])
  return Object.fromEntries(members)
}

function minimalCapabilities (capabilities: JsonObject): JsonObject {
  const flags = Object.entries(capabilities).filter(([, value]) => typeof value === 'boolean')
  const required = requiredOf(capabilities['extensions'])
  return Object.fromEntries(required.length === 0 ? flags : [...flags, ['extensions', required]])
}

function requiredOf (list: unknown): object[] {
  if (!Array.isArray(list)) return []
  return list
    .filter((entry: unknown) => isObject(entry))
    .filter(isRequired)
    .map(({ uri }) => ({ uri, required: true }))
}

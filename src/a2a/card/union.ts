/** Joins an agent's card and its authenticated extended card, so that the gateway enforces what either declares. */
import { isDeepStrictEqual } from 'node:util'
import { shorten, TRANSPORT_KEYS, V03_LISTS, V1_LISTS } from './interfaces.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'

/** Members that only the public card decides: clients reach interfaces through it alone. */
const PUBLIC_ONLY: ReadonlySet<string> = new Set([
  'url', 'protocolVersion', 'protocol_version', 'signatures', ...TRANSPORT_KEYS, ...V1_LISTS, ...V03_LISTS
])

const MODES: readonly string[] = ['defaultInputModes', 'default_input_modes', 'defaultOutputModes', 'default_output_modes']

/**
 * Returns the public card with the extensions, schemas, modes and skills of the extended card. An extension is required if either card
 * requires it. Where both cards have params, a schema or a skill of one name, the extended card wins.
 */
export function unionCard (raw: JsonObject, extended: JsonObject): JsonObject {
  const others = Object.entries(extended).filter(([key]) => !PUBLIC_ONLY.has(key) && !Object.hasOwn(raw, key))
  const union: Record<string, unknown> = { ...raw, ...Object.fromEntries(others) }
  const capabilities = isObject(raw['capabilities']) ? raw['capabilities'] : {}
  const more = isObject(extended['capabilities']) ? extended['capabilities'] : {}
  const extensions = joinExtensions(capabilities['extensions'], more['extensions'])
  union['capabilities'] = extensions === null ? capabilities : { ...capabilities, extensions }
  const atRoot = joinExtensions(raw['extensions'], extended['extensions'])
  if (atRoot !== null) union['extensions'] = atRoot
  if (isObject(raw['schemas']) && isObject(extended['schemas'])) union['schemas'] = { ...raw['schemas'], ...extended['schemas'] }
  for (const key of MODES) {
    if (Array.isArray(raw[key]) && Array.isArray(extended[key])) union[key] = [...new Set<unknown>([...raw[key], ...extended[key]])]
  }
  if (Array.isArray(raw['skills']) && Array.isArray(extended['skills'])) union['skills'] = joinSkills(raw['skills'], extended['skills'])
  return union
}

/** Lists the schemas that the two cards define differently, one sentence each. */
export function schemasThatDiffer (raw: JsonObject, extended: JsonObject): string[] {
  const [own, other] = [raw['schemas'], extended['schemas']]
  if (!isObject(own) || !isObject(other)) return []
  return Object.keys(other)
    .filter(name => Object.hasOwn(own, name) && !isDeepStrictEqual(own[name], other[name]))
    .map(name => `the extended card has another schema "${shorten(name)}" than the card; the gateway applies that of the extended card`)
}

/** @returns null when neither card has a list */
function joinExtensions (own: unknown, more: unknown): unknown[] | null {
  if (!Array.isArray(own) && !Array.isArray(more)) return null
  const joined: unknown[] = Array.isArray(own) ? [...own] : []
  for (const entry of Array.isArray(more) ? more as unknown[] : []) {
    const at = isObject(entry) ? joined.findIndex(extension => isObject(extension) && extension['uri'] === entry['uri']) : -1
    if (at < 0) joined.push(entry)
    else joined[at] = joinEntry(joined[at] as JsonObject, entry as JsonObject)
  }
  return joined
}

function joinEntry (own: JsonObject, more: JsonObject): JsonObject {
  const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== false
  const params = isObject(own['params']) && isObject(more['params'])
    ? joinParams(own['params'], more['params'])
    : more['params'] ?? own['params']
  return {
    ...own,
    ...more,
    required: isSet(own['required']) ? own['required'] : more['required'] ?? false,
    ...(params === undefined ? {} : { params })
  }
}

function joinParams (own: JsonObject, more: JsonObject): JsonObject {
  const schemas = isObject(own['schemas']) && isObject(more['schemas']) ? { schemas: { ...own['schemas'], ...more['schemas'] } } : {}
  return { ...own, ...more, ...schemas }
}

function joinSkills (own: readonly unknown[], more: readonly unknown[]): unknown[] {
  const ids = new Set<unknown>(more.flatMap(skill => isObject(skill) && skill['id'] !== undefined ? [skill['id']] : []))
  return [...own.filter(skill => !isObject(skill) || !ids.has(skill['id'])), ...more]
}

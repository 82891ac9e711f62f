/** The part of a card that some callers see: `card.views`. */
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { isDefinedMember } from './lint.js'

export interface CardSelection {
  readonly skill: (id: string) => boolean
  readonly extension: (uri: string) => boolean
  /** True for a root key that A2A does not define and the view keeps: extensions put keys there. */
  readonly rootKey: (key: string) => boolean
}

/**
 * Returns the card with the selected skills and extensions. Required extensions stay: a client must know them.
 * @param raw the card with the additions of the configuration
 */
export function selectFromCard (raw: JsonObject, { skill, extension, rootKey }: CardSelection): JsonObject {
  const extensionsIn = (list: unknown): unknown => Array.isArray(list)
    ? list.filter((entry: unknown) => isObject(entry) &&
      (isRequired(entry) || (typeof entry['uri'] === 'string' && extension(entry['uri']))))
    : list
  const entries = Object.entries(raw).flatMap(([key, value]): [string, unknown][] => {
    if (key === 'skills') return [[key, skillsIn(value, skill)]]
    if (key === 'extensions') return [[key, extensionsIn(value)]]
    if (
      key === 'capabilities' &&
      isObject(value) &&
      'extensions' in value
    ) return [[key, { ...value, extensions: extensionsIn(value['extensions']) }]]
    return isDefinedMember(key) || rootKey(key) ? [[key, value]] : []
  })
  return Object.fromEntries(entries)
}

/** Returns the skills with these ids. A skill without an id is not selected by any. */
export function skillsIn (list: unknown, shows: (id: string) => boolean): unknown {
  return Array.isArray(list)
    ? list.filter((skill: unknown) => isObject(skill) && typeof skill['id'] === 'string' && shows(skill['id']))
    : []
}

/** True for an entry that clients must request. Every value of `required` but false counts as true. */
export function isRequired ({ required }: JsonObject): boolean {
  return required !== undefined && required !== null && required !== false
}

/** Returns the card with the flag of an extended card, in the generation of the card. */
export function withExtendedCard (raw: JsonObject): JsonObject {
  const capabilities = isObject(raw['capabilities']) ? raw['capabilities'] : {}
  const isOld = typeof raw['url'] === 'string'
  const isNew = Array.isArray(raw['supportedInterfaces']) || Array.isArray(raw['supported_interfaces'])
  return {
    ...raw,
    ...(isNew ? { capabilities: { ...capabilities, extendedAgentCard: true } } : {}),
    ...(isOld ? { supportsAuthenticatedExtendedCard: true } : {})
  }
}

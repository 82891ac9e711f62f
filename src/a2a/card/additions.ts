/** Adds the platform's extensions, schemas and requirements to an agent's card. The agent itself does not know them. */
import type { CardExtension } from './extensions.js'
import { readExtensions } from './extensions.js'
import { shorten } from './interfaces.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'

/** An `AgentExtension` of the protocol. */
export interface AdvertisedExtension {
  readonly uri: string
  readonly description?: string
  readonly required?: boolean
  readonly params?: Readonly<Record<string, unknown>>
}

/** A requirement of a policy that differs from what a card may declare. */
export interface CardRequirement {
  readonly required: boolean
  /** Returns the URIs of the extensions that the requirement applies to, of those that the card declares. */
  readonly appliesTo: (declared: ReadonlyMap<string, CardExtension>) => readonly string[]
  /** URI to declare when the requirement applies to no extension of the card; null for none. */
  readonly advertised: string | null
  /** The key of the configuration that requires the change, for people. */
  readonly by: string
}

export interface CardAdditions {
  readonly advertise: readonly AdvertisedExtension[]
  /** Added to the root key `schemas` of the card. */
  readonly schemas: Readonly<Record<string, unknown>>
  /** Applied after `advertise`. Default: none. */
  readonly requirements?: readonly CardRequirement[]
}

/** A difference between an agent's card and the served card, besides URLs and interfaces. */
export interface CardChange {
  readonly part: 'extension' | 'schema' | 'signatures' | 'security' | 'text'
  /** URI of the extension, name of the schema, member of the card, or JSON Pointer of the text. */
  readonly name: string
  /** `required` and `optional`: the value of `required` has changed. `merged`: other keys of the extension have changed. */
  readonly change: 'added' | 'merged' | 'required' | 'optional' | 'replaced' | 'removed'
  /** The key of the configuration that causes the change. */
  readonly by: string
}

/** A card with additions. `card` is the same object when there are none. */
export interface AmendedCard { readonly card: JsonObject, readonly changes: readonly CardChange[] }

/**
 * Adds to a card, public or extended. An extension that the card already declares is merged: the added keys win, and the extension is
 * required when either side requires it. When two schemas have the same name, the added schema wins. Requirements of policies win over
 * both.
 */
export function amendCard (raw: JsonObject, { advertise, schemas, requirements = [] }: CardAdditions): AmendedCard {
  const changes: CardChange[] = []
  let card = raw
  if (advertise.length > 0) {
    const capabilities = isObject(raw['capabilities']) ? raw['capabilities'] : {}
    card = { ...card, capabilities: { ...capabilities, extensions: withExtensions(capabilities['extensions'], advertise, changes) } }
  }
  if (Object.keys(schemas).length > 0) {
    const own = isObject(raw['schemas']) ? raw['schemas'] : {}
    card = { ...card, schemas: { ...own, ...schemas } }
    for (const name of Object.keys(schemas)) {
      changes.push({ part: 'schema', name, change: Object.hasOwn(own, name) ? 'replaced' : 'added', by: 'card.schemas' })
    }
  }
  for (const requirement of requirements) card = withRequirement(card, requirement, changes)
  return { card, changes }
}

/** Returns the card with the additions of `amendCard`. */
export function withAdditions (raw: JsonObject, additions: CardAdditions): JsonObject {
  return amendCard(raw, additions).card
}

function withRequirement (card: JsonObject, { required, appliesTo, advertised, by }: CardRequirement, changes: CardChange[]): JsonObject {
  const capabilities = isObject(card['capabilities']) ? card['capabilities'] : {}
  const read = readExtensions(card, capabilities, [])
  if (typeof read === 'string') return card
  const declared = new Map(read.map(extension => [extension.uri, extension]))
  const uris = appliesTo(declared)
  if (uris.length === 0) {
    if (advertised === null) return card
    const entries: unknown[] = Array.isArray(capabilities['extensions']) ? capabilities['extensions'] : []
    changes.push({ part: 'extension', name: advertised, change: 'added', by })
    return { ...card, capabilities: { ...capabilities, extensions: [...entries, { uri: advertised, required }] } }
  }
  const differing = uris.filter(uri => declared.get(uri)?.required !== required)
  if (differing.length === 0) return card
  for (const name of differing) changes.push({ part: 'extension', name, change: required ? 'required' : 'optional', by })
  const set = (list: unknown): unknown =>
    Array.isArray(list)
      ? list.map((entry: unknown) => isObject(entry) && differing.includes(entry['uri'] as string) ? { ...entry, required } : entry)
      : list
  return {
    ...card,
    ...(isObject(card['capabilities']) ? { capabilities: { ...capabilities, extensions: set(capabilities['extensions']) } } : {}),
    // Some cards declare extensions at the root.
    ...(Array.isArray(card['extensions']) ? { extensions: set(card['extensions']) } : {})
  }
}

/** Lists the parts of the card that the additions replace, one sentence each. */
export function replacedByAdditions (raw: JsonObject, { schemas }: CardAdditions): string[] {
  const own = raw['schemas']
  const names = Object.keys(schemas)
  if (own === undefined || own === null || names.length === 0) return []
  if (!isObject(own)) return ['the card\'s "schemas" is not an object; it is replaced by card.schemas of the configuration']
  return names
    .filter(name => Object.hasOwn(own, name))
    .map(name => `the card's own schema "${shorten(name)}" is replaced by that of card.schemas in the configuration`)
}

function withExtensions (list: unknown, added: readonly AdvertisedExtension[], changes: CardChange[]): unknown[] {
  const entries: unknown[] = Array.isArray(list) ? [...list] : []
  for (const extension of added) {
    const at = entries.findIndex(entry => isObject(entry) && entry['uri'] === extension.uri)
    if (at < 0) entries.push(extension)
    else entries[at] = merged(entries[at] as JsonObject, extension)
    changes.push({ part: 'extension', name: extension.uri, change: at < 0 ? 'added' : 'merged', by: 'card.advertise' })
  }
  return entries
}

/** Merges an added extension into the card's own entry. Card readers treat any value of `required` except false as true. */
function merged (entry: JsonObject, added: AdvertisedExtension): JsonObject {
  const own = entry['required']
  const { required, ...rest } = added
  const isRequired = own === undefined || own === null || own === false ? required : own
  return { ...entry, ...rest, ...(isRequired === undefined ? {} : { required: isRequired }) }
}

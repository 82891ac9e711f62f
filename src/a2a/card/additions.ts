/** Adds the platform's extensions and schemas to an agent's card. The agent itself does not know them. */
import { shorten } from './interfaces.js'
import type { JsonObject } from '../../wire/json/object.js'
import { isObject } from '../../wire/json/object.js'

/** An `AgentExtension` of the protocol. */
export interface AdvertisedExtension {
  readonly uri: string
  readonly description?: string
  readonly required?: boolean
  readonly params?: Readonly<Record<string, unknown>>
}

export interface CardAdditions {
  readonly advertise: readonly AdvertisedExtension[]
  /** Added to the root key `schemas` of the card. */
  readonly schemas: Readonly<Record<string, unknown>>
}

/**
 * Returns the card, public or extended, with the additions; the same object when there are none. An extension that the card already
 * declares is merged: the added keys win, and the extension is required when either side requires it. When two schemas have the same name,
 * the added schema wins.
 */
export function withAdditions (raw: JsonObject, { advertise, schemas }: CardAdditions): JsonObject {
  let card = raw
  if (advertise.length > 0) {
    const capabilities = isObject(raw['capabilities']) ? raw['capabilities'] : {}
    card = { ...card, capabilities: { ...capabilities, extensions: withExtensions(capabilities['extensions'], advertise) } }
  }
  if (Object.keys(schemas).length > 0) card = { ...card, schemas: { ...(isObject(raw['schemas']) ? raw['schemas'] : {}), ...schemas } }
  return card
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

function withExtensions (list: unknown, added: readonly AdvertisedExtension[]): unknown[] {
  const entries: unknown[] = Array.isArray(list) ? [...list] : []
  for (const extension of added) {
    const at = entries.findIndex(entry => isObject(entry) && entry['uri'] === extension.uri)
    if (at < 0) entries.push(extension)
    else entries[at] = merged(entries[at] as JsonObject, extension)
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

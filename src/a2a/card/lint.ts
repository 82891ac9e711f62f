/** Finds oddities of a usable card. The findings are for people who fix cards, not for requests. */
import type { AgentCard } from './card.js'
import { OFFICIAL_PREFIX, uriVersion } from './extensions.js'
import { quoted, visible } from '../fields.js'
import type { Version } from '../versions.js'
import type { MediaType } from '#wire/media-type.js'
import { looseMediaType, mediaTypeText, parseMediaType } from '#wire/media-type.js'
import { modesOf } from './modes.js'

/** One sentence, and a hint for the fix. Texts of the card inside are clipped and escaped. */
export interface CardFinding { readonly message: string, readonly hint: string }

/** Maximum number of characters of a card's text that a sentence shows. */
export const MAX_QUOTED_CHARS = 200

/**
 * Members of AgentCard in 0.2.6, 0.3.0 and 1.0.1, and the root `extensions` of 0.3, §4.6.1. The card reader itself warns of root
 * `extensions`.
 */
const FIELDS: readonly string[] = [
  'additionalInterfaces', 'authentication', 'capabilities', 'defaultInputModes', 'defaultOutputModes', 'description', 'documentationUrl',
  'extensions', 'iconUrl', 'name',
  'preferredTransport', 'protocolVersion', 'provider', 'security', 'securityRequirements', 'securitySchemes', 'signatures', 'skills',
  'supportedInterfaces',
  'supportsAuthenticatedExtendedCard', 'url', 'version'
]

const KNOWN: ReadonlySet<string> = new Set([
  ...FIELDS,
  ...FIELDS.map(field => field.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`))
])

/** Returns the keys at the card's root that a typed parser drops, because no version of AgentCard has them. */
export function unknownRootKeys (card: AgentCard): string[] {
  return Object.keys(card.raw).filter(key => !isDefinedMember(key))
}

/** True for a key that some version of A2A defines at the root of AgentCard. */
export function isDefinedMember (key: string): boolean {
  return KNOWN.has(key)
}

/** Reports interfaces that the served card omits, and extension URIs that the agent may not use. */
export function lintCard (card: AgentCard): CardFinding[] {
  return [
    ...card.uncarried.map(({ binding, version, url, why }) => ({
      message: 'the interface ' +
        `${visible(`${binding} ${version} ${url}`.replace(/ {2,}/g, ' ').trim(), MAX_QUOTED_CHARS)} is not served: ${why}`,
      hint: 'the gateway removes it from the served card'
    })),
    ...card.extensions.filter(({ uri }) => uri.toLowerCase().startsWith(OFFICIAL_PREFIX)).map(({ uri, pointer }) => ({
      message: `${pointer} declares ${quoted(uri, MAX_QUOTED_CHARS)}: that prefix is reserved for extensions of the A2A project`,
      hint: 'use your own URI for your extension'
    })),
    ...card.extensions.filter(({ uri }) => uriVersion(uri) === null).map(({ uri, pointer }) => ({
      message: `${pointer} declares ${quoted(uri, MAX_QUOTED_CHARS)}: the URI names no version`,
      hint: 'a breaking change needs a new URI; end it with a version, such as /v1'
    })),
    ...typedWithoutText(card),
    ...modesOf(card.raw).flatMap(({ path, text }) => unquoted(path, text)).slice(0, MAX_MODE_FINDINGS)
  ]
}

/** Maximum findings about modes. A card may have any number. */
const MAX_MODE_FINDINGS = 100

/** Reports lists of modes that name a schema, but no plain text for clients that do not know the schema. */
function typedWithoutText (card: AgentCard): CardFinding[] {
  const lists = new Map<string, MediaType[]>()
  for (const { list, text } of modesOf(card.raw)) {
    const type = parseMediaType(text) ?? looseMediaType(text)
    if (type !== null) lists.set(list, [...lists.get(list) ?? [], type])
  }
  return [...lists]
    .filter(([, types]) => types.some(type => type.parameters.has('schema')) && !types.some(type => type.essence === 'text/plain'))
    .slice(0, MAX_MODE_FINDINGS)
    .map(([list]) => ({
      message: `${list} names a schema, but not text/plain: clients that do not know the schema cannot use the agent`,
      hint: 'add text/plain, if the agent also understands text'
    }))
}

/** Reports a mode that is a media type only with quotes. */
function unquoted (path: string, text: string): CardFinding[] {
  const type = parseMediaType(text) === null ? looseMediaType(text) : null
  return type === null
    ? []
    : [{
        message: `${path} ${quoted(text, MAX_QUOTED_CHARS)} is not a well-formed media type: the gateway accepts this text only as the ` +
          'card writes it',
        hint: `write ${visible(mediaTypeText(type), MAX_QUOTED_CHARS)}`
      }]
}

/** Reports differences between the extensions of the cards for the two versions. */
export function lintTwins (cards: Readonly<Record<Version, AgentCard>>): CardFinding[] {
  const [old, recent] = [cards['0.3'], cards['1.0']]
  if (old.raw === recent.raw) return []
  const hint = 'the card of its version applies to each client'
  const only = (agentCard: AgentCard, other: AgentCard, version: Version): CardFinding[] => agentCard.extensions
    .filter(({ uri }) => !other.extensions.some(earlier => earlier.uri === uri))
    .map(({ uri }) => ({ message: `only the card for ${version} declares ${quoted(uri, MAX_QUOTED_CHARS)}`, hint }))
  const differing = recent.extensions.flatMap(({ uri, required }) => {
    const earlier = old.extensions.find(extension => extension.uri === uri)
    return earlier === undefined || earlier.required === required
      ? []
      : [{ message: `only the card for ${required ? '1.0' : '0.3'} requires ${quoted(uri, MAX_QUOTED_CHARS)}`, hint }]
  })
  return [...only(old, recent, '0.3'), ...only(recent, old, '1.0'), ...differing]
}

/**
 * AI Catalog 0.9 (https://ai-catalog.io/, Agent-Card/ai-catalog): the document that lists agents and other artifacts. Reads documents of
 * others with bounds, and builds the document that the gateway publishes.
 */
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'

export const CATALOG_TYPE = 'application/ai-catalog+json'
export const AGENT_CARD_TYPE = 'application/a2a-agent-card+json'
export const CATALOG_PATH = '/.well-known/ai-catalog.json'

/** Version that the gateway writes. Readers accept every minor version of the same major version. */
const SPEC_VERSION = '1.0'
/** The release candidate v0.9.0 of 1.0 has the version 0.9 in its announcement, and 1.0 in its examples. */
const READABLE = /^(?:0\.9|1\.\d{1,4})$/

/** Longest identifier, URL and tag of an entry that the gateway reads, in UTF-16 code units. */
const LONG = 2_048

/** The publisher of a catalog, and of its entries. */
export interface CatalogPublisher {
  /** Domain name: the publisher is `did:web:DOMAIN`, and its identifiers begin with `urn:air:DOMAIN:`. */
  readonly domain: string
  readonly name: string
}

/** One agent of a catalog that the gateway publishes. */
export interface PublishedAgent {
  /** Name in the configuration. */
  readonly name: string
  /** Identifier that another publisher has given the agent; null: the gateway gives one. */
  readonly identifier: string | null
  /** URL of the served card. */
  readonly url: string
  readonly tags: readonly string[]
}

/** Returns the identity of a publisher. */
export function publisherId ({ domain }: CatalogPublisher): string {
  return `did:web:${domain}`
}

/**
 * Builds a catalog without its signature. Names, descriptions and versions are left out, because the cards have them (§ Catalog Entry).
 * @param documentationUrl null for none
 */
export function catalogOf (
  publisher: CatalogPublisher,
  documentationUrl: string | null,
  agents: readonly PublishedAgent[]
): JsonObject {
  const host = { displayName: publisher.name, identifier: publisherId(publisher) }
  return {
    specVersion: SPEC_VERSION,
    host: documentationUrl === null ? host : { ...host, documentationUrl },
    entries: agents.map(({ name, identifier, url, tags }) => ({
      identifier: identifier ?? `urn:air:${publisher.domain}:agent:${name}`,
      type: AGENT_CARD_TYPE,
      url,
      ...(tags.length === 0 ? {} : { tags }),
      // Listing an agent of somebody else makes nobody its publisher (§ Catalog Projection).
      ...(identifier === null ? { publisher: { identifier: publisherId(publisher), displayName: publisher.name } } : {})
    }))
  }
}

/** One entry of a catalog of somebody else. Everything in it is a claim. */
export interface CatalogEntry {
  readonly identifier: string
  readonly type: string
  /** Absolute or relative URL of the artifact; null for an artifact in the catalog itself. */
  readonly url: string | null
  /** The artifact in the catalog itself; undefined without one. */
  readonly data: unknown
  readonly tags: readonly string[]
  /** Identifier of the publisher; null without one. */
  readonly publisher: string | null
  readonly version: string | null
  /** `ALGORITHM:HEX` of the artifact; null without one. */
  readonly digest: string | null
}

export interface ReadCatalog {
  readonly entries: readonly CatalogEntry[]
  /** Entries that are not well-formed, with the reason. */
  readonly faults: readonly { readonly index: number, readonly problem: string }[]
}

/**
 * Reads a parsed document.
 * @returns one sentence without text of the document when it is no catalog that the gateway can read
 */
export function readCatalog (value: unknown): ReadCatalog | { readonly problem: string } {
  if (!isObject(value)) return { problem: 'is not a JSON object' }
  const { specVersion, entries: list } = value
  if (typeof specVersion !== 'string') return { problem: 'has no specVersion: it is not an AI Catalog' }
  if (!READABLE.test(specVersion)) return { problem: 'has a specVersion that the gateway does not read; it reads 0.9 and 1.x' }
  if (!Array.isArray(list)) return { problem: 'has no list of entries' }
  const entries: CatalogEntry[] = []
  const faults: { index: number, problem: string }[] = []
  const keys = new Set<string>()
  list.forEach((item: unknown, index) => {
    const entry = readEntry(item)
    if ('problem' in entry) return faults.push({ index, problem: entry.problem })
    const key = JSON.stringify([entry.identifier, entry.version])
    if (keys.has(key)) return faults.push({ index, problem: 'has the identifier and version of an earlier entry' })
    keys.add(key)
    return entries.push(entry)
  })
  return { entries, faults }
}

function readEntry (item: unknown): CatalogEntry | { readonly problem: string } {
  if (!isObject(item)) return { problem: 'is not an object' }
  // Drafts before 0.9 named the member `mediaType`.
  const { identifier, type = item['mediaType'], url, data, tags, publisher, version, digest } = item
  if (!isText(identifier)) return { problem: `has no identifier of at most ${LONG} characters` }
  if (!isText(type)) return { problem: 'has no type' }
  const hasUrl = url !== undefined
  if (hasUrl === Object.hasOwn(item, 'data')) return { problem: 'needs exactly one of url and data' }
  if (hasUrl && !isText(url)) return { problem: `has a url that is not a text of at most ${LONG} characters` }
  if (digest !== undefined && !isText(digest)) return { problem: 'has a digest that is not a text' }
  const by = isObject(publisher) ? publisher['identifier'] : null
  return {
    identifier,
    type,
    url: hasUrl ? url as string : null,
    data,
    tags: Array.isArray(tags) ? tags.filter(isText) : [],
    publisher: isText(by) ? by : null,
    version: isText(version) ? version : null,
    digest: digest ?? null
  }
}

function isText (value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LONG
}

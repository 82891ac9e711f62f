/**
 * The AI Catalog of the agents (`server.catalog`), and the DID document of its publisher. Lies outside of the paths of agents, and needs no
 * caller: it lists the agents whose cards callers without credentials may see.
 */
import { CATALOG_PATH, CATALOG_TYPE, catalogOf, publisherId } from '#a2a/catalog/catalog.js'
import type { PublishedAgent } from '#a2a/catalog/catalog.js'
import type { ServedCard } from '#a2a/card/served-card.js'
import type { CatalogConfig } from '#config/model/model.js'
import type { Agent } from '#agents/agent.js'
import type { Snapshot } from '#agents/snapshot.js'
import { CATALOG_ALGORITHM, didDocument, signCatalog } from '#identity/catalog-signature.js'
import type { SigningKey } from '#identity/signing-key.js'
import { hostName } from '#pipeline/agents.js'
import { badHost } from '#pipeline/rejections.js'
import { matchesEtag } from '#wire/etag.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { parseJson } from '#wire/json/parse-json.js'
import { textDigest, PlacedText } from '#wire/placed-text.js'
import type { ClientRequest } from '../client-streams.js'
import { publicOriginOf } from '../client-address.js'
import { nameRequest } from '../description.js'
import type { Exchange } from '../exchange.js'
import { reject, respond } from '../reply.js'
import { cardForStrangers } from '../serve-card.js'
import { asksForWellKnown } from './jwks.js'

const DID_PATH = '/.well-known/did.json'
/** Tags of an entry: those of the skills, without duplicates. */
const MAX_TAGS = 50

interface Listing {
  readonly config: CatalogConfig
  readonly signing: SigningKey | null
  readonly cards: readonly ServedCard[]
  readonly text: PlacedText
}

export class PublishedCatalog {
  /** By host name: agents may belong to one host. `''` is every other host. */
  readonly #listings = new Map<string, Listing>()
  readonly #tags = new WeakMap<ServedCard, readonly string[]>()
  /** Stands for scheme and host of the gateway while a catalog is rendered. No card can contain it. */
  readonly #placeholder = `http://${crypto.randomUUID()}.invalid`

  /** Responds to a request for the catalog or the DID document. @returns false for any other request */
  serve (exchange: Exchange): boolean {
    const { request, snapshot } = exchange
    if (snapshot.catalog === null) return false
    if (asksForWellKnown(request, snapshot, CATALOG_PATH)) {
      this.#serveCatalog(exchange, snapshot.catalog)
      return true
    }
    if (!asksForWellKnown(request, snapshot, DID_PATH)) return false
    const keys = snapshot.agents.all.flatMap(agent => agent.cardKeys.published).filter(({ alg }) => alg === CATALOG_ALGORITHM)
    if (keys.length === 0) return false
    const distinct = [...new Map(keys.map(({ alg, use: _, ...key }) => [key.kid, { ...key, alg }])).values()]
    const body = Buffer.from(JSON.stringify(didDocument(publisherId(snapshot.catalog.publisher), distinct)))
    respond(exchange, 200, [
      'content-type', 'application/did+json',
      'content-length', String(body.length),
      'cache-control', 'public, max-age=300',
      'access-control-allow-origin', '*'
    ], body)
    return true
  }

  #serveCatalog (exchange: Exchange, config: CatalogConfig): void {
    const { request, snapshot } = exchange
    nameRequest(exchange, 'Catalog')
    const origin = publicOriginOf(request, snapshot.trusted)
    if (origin === null) {
      reject(exchange, badHost, 'rejected')
      return
    }
    const { bytes, etag } = this.#listing(snapshot, hostName(request.headers.host), config).at(origin.url)
    const refresh = Math.min(...snapshot.agents.all.map(agent => agent.config.card.refresh))
    const headers = [
      'etag', etag,
      'cache-control', `public, max-age=${Number.isFinite(refresh) ? Math.max(1, Math.round(refresh / 1_000)) : 60}`,
      // Clients in pages of other origins read the catalog too; it is public.
      'access-control-allow-origin', '*',
      'access-control-expose-headers', 'ETag',
      'x-content-type-options', 'nosniff',
      ...(origin.proxied ? ['vary', 'X-Forwarded-Host, X-Forwarded-Proto'] : [])
    ]
    if (matchesEtag(request.headers['if-none-match'], etag)) {
      respond(exchange, 304, headers, null)
      return
    }
    headers.push('content-type', CATALOG_TYPE, 'content-length', String(bytes.length))
    respond(exchange, 200, headers, bytes)
  }

  #listing ({ agents }: Snapshot, host: string, config: CatalogConfig): PlacedText {
    const key = agents.all.some(agent => agent.config.host === host) ? host : ''
    const listed: { agent: Agent, card: ServedCard }[] = []
    for (const agent of agents.all) {
      // The host decides between two agents at one path, or one below the other.
      if (agent.state === null || agents.find(host, agent.config.path)?.agent !== agent) continue
      const card = cardForStrangers(agent, agent.state)?.['1.0']
      if (card !== undefined) listed.push({ agent, card })
    }
    const signing = signingKeyOf(agents.all)
    const listing = this.#listings.get(key)
    const same = listing?.cards.length === listed.length && listing.cards.every((card, i) => card === listed[i]?.card)
    if (same && listing.config === config && listing.signing === signing) return listing.text
    const entries = listed.map(({ agent, card }): PublishedAgent => ({
      name: agent.name,
      identifier: agent.config.origin?.published ?? null,
      url: `${agent.publicBase ?? this.#placeholder + agent.config.path}/.well-known/agent-card.json`,
      tags: this.#tagsOf(card)
    }))
    const text = this.#textOf(catalogOf(config.publisher, config.documentationUrl, entries), config, signing)
    this.#listings.set(key, { config, signing, cards: listed.map(({ card }) => card), text })
    return text
  }

  #textOf (catalog: JsonObject, config: CatalogConfig, key: SigningKey | null): PlacedText {
    const unsigned = JSON.stringify(catalog)
    if (key === null) {
      return new PlacedText(unsigned.split(this.#placeholder).map(piece => Buffer.from(piece)))
    }
    const signed = JSON.stringify(signCatalog(catalog, key, publisherId(config.publisher), new Date().toISOString()))
    // Each process signs for itself: the content identifies the catalog, not the bytes.
    const digest = textDigest([Buffer.from(unsigned), Buffer.from(key.jwk.kid)])
    return new PlacedText([Buffer.from(signed)], { digest, weak: true })
  }

  #tagsOf (card: ServedCard): readonly string[] {
    const cachedTags = this.#tags.get(card)
    if (cachedTags !== undefined) return cachedTags
    const { skills } = parseJson(card.at('http://gateway.invalid').bytes) as JsonObject
    const all = Array.isArray(skills) ? skills.filter(isObject).flatMap(skill => Array.isArray(skill['tags']) ? skill['tags'] : []) : []
    const texts = all.filter((tag: unknown): tag is string => typeof tag === 'string' &&
      tag !== '' &&
      tag.length <= 200 &&
      !/\p{Surrogate}/u.test(tag))
    const tags = [...new Set(texts)].slice(0, MAX_TAGS)
    this.#tags.set(card, tags)
    return tags
  }
}

/** The key that signs the catalog; null for none. A signature covers the addresses, so they must not depend on the request. */
function signingKeyOf (agents: readonly Agent[]): SigningKey | null {
  if (agents.some(agent => agent.publicBase === null)) return null
  return agents.map(agent => agent.cardKeys.signing).find(key => key?.jwk.alg === CATALOG_ALGORITHM) ?? null
}

/** True for a request that {@link PublishedCatalog.serve} responds to. */
export function asksForCatalog (request: ClientRequest, snapshot: Snapshot): boolean {
  return snapshot.catalog !== null && (asksForWellKnown(request, snapshot, CATALOG_PATH) || asksForWellKnown(request, snapshot, DID_PATH))
}

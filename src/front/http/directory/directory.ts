/**
 * The directory of agents (`server.console.public`): one page for developers of clients. The page repeats the cards
 * that the gateway serves to callers without credentials, and nothing else.
 */
import { CATALOG_PATH, CATALOG_TYPE } from '#a2a/catalog/catalog.js'
import { parseJson } from '#wire/json/parse-json.js'
import { PlacedText } from '#wire/placed-text.js'
import type { ServedCard } from '#a2a/card/served-card.js'
import { VERSIONS } from '#a2a/versions.js'
import type { Agent } from '#agents/agent.js'
import type { Snapshot } from '#agents/snapshot.js'
import { hostName } from '#pipeline/agents.js'
import { badHost } from '#pipeline/rejections.js'
import { matchesEtag } from '#wire/etag.js'
import type { JsonObject } from '#wire/json/object.js'
import { publicOriginOf } from '#call/client-address.js'
import { nameRequest } from '#call/description.js'
import type { Exchange } from '#call/exchange.js'
import type { RouteTarget } from '#call/route-target.js'
import { cardForStrangers } from '#call/serve-card.js'
import { directoryEntryOf } from './entry.js'
import type { Section } from './page.js'
import { PAGE_POLICY, pageOf, sectionOf } from './page.js'
import { reject, respond } from '#call/reply.js'

interface Listing {
  readonly sections: readonly Section[]
  readonly html: PlacedText
}

export class Directory {
  /** Path of the page, as in `server.console.public`. */
  readonly path: string
  /** Kept as long as the served card is in force. */
  private readonly rendered = new WeakMap<ServedCard, Section>()
  /** By host name: agents may belong to one host. `''` is every other host. */
  private readonly listings = new Map<string, Listing>()
  /** Stands for scheme and host of the gateway while a page is rendered. No card can contain it. */
  private readonly placeholder = `http://${crypto.randomUUID()}.invalid`

  constructor (path: string) {
    this.path = path
  }

  /**
   * True when the page responds to a request for its path. False when the path belongs to an agent: its operations, routes and
   * `passthrough` prefixes win.
   */
  serves ({ agent, kind, path, rejection }: RouteTarget): boolean {
    if (rejection !== null) return false
    if (agent === null) return true
    if (kind === 'passthrough') return false
    if (agent.state === null && agent.config.card.onUnavailable === 'forward') return false
    return !VERSIONS.some(version => agent.knownRouter?.match('GET', path, version))
  }

  respond (exchange: Exchange, snapshot: Snapshot): void {
    const { request } = exchange
    nameRequest(exchange, 'Directory')
    const origin = publicOriginOf(request, snapshot.trusted)
    if (origin === null) {
      reject(exchange, badHost, 'rejected')
      return
    }
    const { bytes, etag } = this.listing(snapshot, hostName(request.headers.host)).html.at(origin.url)
    const refresh = Math.min(...snapshot.agents.all.map(({ config }) => config.card.refresh))
    const headers = [
      'etag', etag,
      'cache-control', `public, max-age=${Number.isFinite(refresh) ? Math.max(1, Math.round(refresh / 1_000)) : 60}`,
      ...(origin.proxied ? ['vary', 'X-Forwarded-Host, X-Forwarded-Proto'] : []),
      ...(snapshot.catalog === null ? [] : ['link', `<${origin.url}${CATALOG_PATH}>; rel="ai-catalog"; type="${CATALOG_TYPE}"`]),
      'content-security-policy', PAGE_POLICY,
      'cross-origin-resource-policy', 'same-origin',
      'referrer-policy', 'no-referrer',
      'x-content-type-options', 'nosniff'
    ]
    if (matchesEtag(request.headers['if-none-match'], etag)) {
      respond(exchange, 304, headers, null)
      return
    }
    headers.push('content-type', 'text/html; charset=utf-8', 'content-length', String(bytes.length))
    respond(exchange, 200, headers, bytes)
  }

  private listing ({ agents }: Snapshot, host: string): Listing {
    const key = agents.all.some(({ config }) => config.host === host) ? host : ''
    const sections: Section[] = []
    for (const agent of agents.all) {
      // The host decides between two agents at one path, or one below the other.
      if (agents.find(host, agent.config.path)?.agent !== agent) continue
      const section = this.sectionFor(agent)
      if (section !== null) sections.push(section)
    }
    const cached = this.listings.get(key)
    if (cached?.sections.length === sections.length && cached.sections.every((section, i) => section === sections[i])) return cached
    const listing: Listing = { sections, html: this.placed(pageOf(sections)) }
    this.listings.set(key, listing)
    return listing
  }

  /** @returns null for an agent whose card needs credentials, and for an agent without a card */
  private sectionFor (agent: Agent): Section | null {
    const { state, config, publicBase } = agent
    const shown = state === null ? null : cardForStrangers(agent, state)
    if (shown === null) return null
    const cached = this.rendered.get(shown['1.0'])
    if (cached !== undefined) return cached
    const base = publicBase ?? this.placeholder + config.path
    const cards = [...new Set([shown['1.0'], shown['0.3']])].map(card => parseJson(card.at(base).bytes) as JsonObject)
    const section = sectionOf(directoryEntryOf(cards, `${base}/.well-known/agent-card.json`), config.path)
    this.rendered.set(shown['1.0'], section)
    return section
  }

  private placed (text: string): PlacedText {
    return new PlacedText(text.split(this.placeholder).map(piece => Buffer.from(piece)))
  }
}

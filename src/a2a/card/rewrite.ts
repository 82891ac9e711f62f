import type { CardAdditions, CardChange } from './additions.js'
import { amendCard } from './additions.js'
import { placeInterfaces, TRANSPORT_KEYS, V03_LISTS, V1_LISTS } from './interfaces.js'
import type { CardInterface, PlacedInterface } from './interfaces.js'
import type { GrpcInterface } from '../grpc/card-interface.js'
import type { GrpcScope } from '../grpc/card-map.js'
import { mapGrpc } from '../grpc/card-map.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { mapEach, publicUrlOf } from './map.js'
import type { MappedInterface } from './map.js'
import type { OfferedSecurity } from './offered-security.js'
import { hasSecurity, withSecurity } from './offered-security.js'
import type { PathScope } from './path-scope.js'
import { stripTexts } from './texts.js'

/** The changes to an agent's card that do not depend on the request. */
export interface CardRewrite {
  /** Interfaces at paths outside the scope are not served. */
  readonly scope: PathScope
  /** Null or absent: gRPC interfaces are not served. */
  readonly grpc?: GrpcScope | null
  /** `strip` removes the signatures, because rewriting makes them invalid; `verbatim` serves the card unchanged. */
  readonly signature: 'strip' | 'verbatim'
  /**
   * True for the mapped interfaces that the gateway routes; default all. For extended cards, which may name interfaces that the public card
   * does not have.
   */
  readonly routed?: (mapped: MappedInterface) => boolean
  /** The additions of the platform; not used with `verbatim`. */
  readonly additions?: CardAdditions
  /** The security schemes of the gateway; null or absent for those of the agent. Not used with `verbatim`. */
  readonly security?: OfferedSecurity | null
  /** `strip` removes suspicious texts. Default: all texts stay. Not used with `verbatim`. */
  readonly texts?: 'report' | 'strip'
}

export interface RewriteOptions extends CardRewrite {
  /** The gateway's public URL with the agent's path, without trailing slash. */
  readonly publicBase: string
}

/**
 * Returns the card as the gateway serves it, public or extended, of any generation. URLs of carried interfaces point to the gateway. Other
 * interfaces are removed, because clients would bypass the gateway through them. Additions are applied. Everything else stays unchanged.
 */
export function rewriteCard (agents: JsonObject, options: RewriteOptions): Record<string, unknown> {
  if (options.signature === 'verbatim') return agents
  const { additions, security = null } = options
  const clean = options.texts === 'strip' ? stripTexts(agents).card : agents
  const amended = additions === undefined ? clean : amendCard(clean, additions).card
  const raw = security === null ? amended : withSecurity(amended, security)
  const placed = placeInterfaces(raw)
  const urls = publicUrls(placed, options)
  const has03 = isSet(raw['url'])
  const main = urls.get(slot(null, 0)) ?? promote(placed, urls)
  const names03 = TRANSPORT_KEYS.some((key) => key in raw)

  const entries: [string, unknown][] = []
  for (const [key, value] of Object.entries(raw)) {
    if (key === 'signatures') continue
    if (V1_LISTS.includes(key) && value !== null) {
      const list = rewriteList(key, value, urls)
      // The JavaScript SDK takes a hybrid card with an empty 1.0 list for a 1.0 card. Without the key the SDK reads the 0.3 part.
      if (list !== null || !has03 || main === null) entries.push([key, list ?? []])
    } else if (V03_LISTS.includes(key) && value !== null) {
      if (has03 && main === null) continue
      entries.push([key, rewriteList(key, value, urls) ?? []])
    } else if (has03 && key === 'url') {
      if (main === null) continue
      entries.push([key, main.url])
      if (main.transport !== null && !names03) entries.push(['preferredTransport', main.transport])
    } else if (has03 && TRANSPORT_KEYS.includes(key)) {
      if (main !== null) entries.push([key, main.transport ?? value])
    } else {
      entries.push([key, value])
    }
  }
  return Object.fromEntries(entries)
}

/** Maximum number of changed texts that are listed. A card may have any number. */
const MANY_TEXTS = 50

/** Lists what `rewriteCard` changes in a card, besides URLs and interfaces. */
export function changesOf (agents: JsonObject, { signature, additions, security = null, texts }: CardRewrite): CardChange[] {
  if (signature === 'verbatim') return []
  const changes = additions === undefined ? [] : [...amendCard(agents, additions).changes]
  if (security !== null && (hasSecurity(agents) || security.schemes.length > 0)) {
    const change = !hasSecurity(agents) ? 'added' : security.schemes.length === 0 ? 'removed' : 'replaced'
    changes.push({ part: 'security', name: 'securitySchemes', change, by: 'identity' })
  }
  const stripped = texts === 'strip' ? stripTexts(agents).paths : []
  changes.push(...stripped.slice(0, MANY_TEXTS).map(name => ({ part: 'text', name, change: 'removed', by: 'card.texts' }) as const))
  if (isSigned(agents)) changes.push({ part: 'signatures', name: 'signatures', change: 'removed', by: 'card.signature' })
  return changes
}

/** True when a card has signatures, whether or not they are valid. */
export function isSigned ({ signatures }: JsonObject): boolean {
  return Array.isArray(signatures) ? signatures.length > 0 : signatures !== undefined && signatures !== null
}

/** The content of one place in the served card. `transport` is set when another interface has moved to this place. */
interface Slot { readonly url: string, readonly transport: string | null }

function slot (list: string | null, index: number): string {
  return `${list ?? ''}#${index}`
}

function isSet (value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

/** Returns the public URL of each carried interface, by its place in the card. */
function publicUrls (placed: readonly PlacedInterface[], options: RewriteOptions): Map<string, Slot> {
  const { scope, grpc = null, publicBase } = options
  const places: string[] = []
  const grpcPlaces: string[] = []
  const interfaces: CardInterface[] = []
  const grpcInterfaces: GrpcInterface[] = []
  for (const { list, index, read, grpc } of placed) {
    if (read !== null) {
      places.push(slot(list, index))
      interfaces.push(read)
    } else if (grpc !== null) {
      grpcPlaces.push(slot(list, index))
      grpcInterfaces.push(grpc)
    }
  }
  const urls = new Map<string, Slot>()
  const serve = (place: string | undefined, mapped: MappedInterface | null, url: (mapped: MappedInterface) => string): void => {
    if (place !== undefined && mapped !== null && options.routed?.(mapped) !== false) urls.set(place, { url: url(mapped), transport: null })
  }
  mapEach(interfaces, scope, []).forEach((mapped, i) => { serve(places[i], mapped, entry => publicUrlOf(entry, publicBase)) })
  const address = grpc?.publicAddress ?? null
  if (address !== null) mapGrpc(grpcInterfaces, grpc, []).forEach((mapped, i) => { serve(grpcPlaces[i], mapped, () => address) })
  return urls
}

/**
 * Replaces the main interface of a 0.3 card when the gateway does not carry that interface. The first carried additional interface takes
 * its place.
 */
function promote (placed: readonly PlacedInterface[], urls: ReadonlyMap<string, Slot>): Slot | null {
  for (const { list, index, read } of placed) {
    if (list === null || !V03_LISTS.includes(list)) continue
    const url = urls.get(slot(list, index))
    if (url !== undefined) return { url: url.url, transport: read?.binding ?? 'GRPC' }
  }
  return null
}

/** @returns the carried entries with their public URLs; null when the list had entries and none is left */
function rewriteList (list: string, value: unknown, urls: ReadonlyMap<string, Slot>): unknown[] | null {
  if (!Array.isArray(value)) return null
  const entries: unknown[] = []
  for (let i = 0; i < value.length; i++) {
    const entry: unknown = value[i]
    const url = urls.get(slot(list, i))
    if (url === undefined || !isObject(entry)) continue
    entries.push(Object.fromEntries(Object.entries(entry).map(([key, old]) => [key, key === 'url' ? url.url : old])))
  }
  return entries.length === 0 && value.length > 0 ? null : entries
}

import type { GrpcInterface } from '../grpc/card-interface.js'
import { readGrpcAddress } from '../grpc/card-interface.js'
import { readVersion, unknownMinor } from '../versions.js'
import type { Binding, Version } from '../versions.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { parseUrl } from '#wire/url.js'

/** One interface of a card that the gateway can carry, of a binding with URLs. */
export interface CardInterface {
  readonly binding: Exclude<Binding, 'GRPC'>
  readonly version: Version
  readonly url: URL
  /** The URL as written in the card: parsing would hide dot segments and a missing slash. */
  readonly text: string
  readonly tenant: string | null
  /** A minor version that the gateway does not know, such as `1.1`: the rules of `version` apply. Absent for known versions. */
  readonly unknownMinor?: string
}

/** One interface of a card that the gateway cannot carry. `url` is shortened and free of credentials, suitable for a log. */
export interface UncarriedInterface {
  readonly url: string
  readonly binding: string
  readonly version: string
  readonly why: string
  /** Path of the URL. Null when the gateway cannot carry the named binding, or when there is no valid URL. */
  readonly path: string | null
}

/** An interface with its place in the raw card. `list` is null for the top-level `url` of 0.3. */
export interface PlacedInterface {
  readonly list: string | null
  readonly index: number
  readonly read: CardInterface | null
  readonly grpc: GrpcInterface | null
  readonly uncarried: UncarriedInterface | null
  /** Description of an oddity of the interface, or null. */
  readonly warning: string | null
}

/** Keys of the lists of interfaces in 1.0 and 0.3, in camelCase and in ProtoJSON's snake_case. */
export const V1_LISTS: readonly string[] = ['supportedInterfaces', 'supported_interfaces']
export const V03_LISTS: readonly string[] = ['additionalInterfaces', 'additional_interfaces']
export const TRANSPORT_KEYS: readonly string[] = ['preferredTransport', 'preferred_transport']

const VERSION_KEYS = ['protocolVersion', 'protocol_version']
const V1_BINDING_KEYS = ['protocolBinding', 'protocol_binding', 'transport']
const V03_BINDING_KEYS = ['transport', 'protocolBinding', 'protocol_binding']

// eslint-disable-next-line no-control-regex
const UNSAFE_URL = /[\u0000-\u0020\u007f\\]/
const ABSOLUTE_HTTP = /^https?:\/\/[^/?#]/i

/**
 * Lists all interfaces of a card in its order of preference: the interfaces of 1.0, then the main interface of 0.3, then the other
 * interfaces of 0.3. An entry of `supportedInterfaces` without a version is 1.0, as the official SDKs read it: the list exists since 1.0,
 * and the root's `protocolVersion` is about the root's own interface. Agents of Microsoft's agent-framework have such cards.
 */
export function placeInterfaces (raw: JsonObject): PlacedInterface[] {
  const placed: PlacedInterface[] = []
  const cardVersion = textOf(raw, VERSION_KEYS)
  const main = raw['url']
  const hasMain = main !== undefined && main !== null && main !== ''
  for (const list of V1_LISTS) {
    placeList(placed, list, raw[list], (entry) => [textOf(entry, V1_BINDING_KEYS), textOf(entry, VERSION_KEYS)])
  }
  const legacyVersion = cardVersion ?? '0.3'
  if (hasMain) placed.push(place(null, 0, raw, { binding: textOf(raw, TRANSPORT_KEYS) ?? 'JSONRPC', version: legacyVersion, tenant: null }))
  for (const list of V03_LISTS) {
    placeList(placed, list, raw[list], (entry) => [textOf(entry, V03_BINDING_KEYS), legacyVersion])
  }
  return placed
}

/** Returns the card's own protocol version as written, or null when the card names none. */
export function cardVersionText (raw: JsonObject): string | null {
  return textOf(raw, VERSION_KEYS)
}

/** @param read returns the binding and the version of an entry, null for those that it does not name */
function placeList (
  placed: PlacedInterface[],
  list: string,
  value: unknown,
  read: (entry: JsonObject) => [binding: string | null, version: string | null]
): void {
  if (!Array.isArray(value)) return
  for (let i = 0; i < value.length; i++) {
    const entry: unknown = value[i]
    if (!isObject(entry)) {
      placed.push(reject(list, i, { url: '', binding: '', version: '', why: 'it is not an object', path: null }))
      continue
    }
    const [binding, version] = read(entry)
    const tenant = entry['tenant']
    placed.push(place(list, i, entry, { binding, version, tenant: typeof tenant === 'string' && tenant !== '' ? tenant : null }))
  }
}

interface InterfaceTexts {
  readonly binding: string | null
  /** Null for an entry of a 1.0 list that names no version. */
  readonly version: string | null
  readonly tenant: string | null
}

/** The version of an entry of a 1.0 list that names none. */
const V1 = '1.0'

function place (
  list: string | null,
  index: number,
  entry: JsonObject,
  { binding: bindingText, version: named, tenant }: InterfaceTexts
): PlacedInterface {
  const versionText = named ?? V1
  const text = entry['url']
  const shown = typeof text === 'string' ? shownUrl(text) : ''
  const binding = readBinding(bindingText ?? '')
  const path = binding !== 'GRPC' && typeof text === 'string' ? parseUrl(text)?.pathname ?? null : null
  const no = (why: string, at = path): PlacedInterface =>
    reject(list, index, { url: shown, binding: shorten(bindingText ?? ''), version: shorten(versionText), why, path: at })

  if (bindingText === null) return no('it names no binding')
  if (binding === null) return no(`the gateway does not support the binding "${shorten(bindingText)}"`, null)
  const version = readVersion(versionText)
  if (version === null) return no(`the gateway does not support protocol version "${shorten(versionText)}"`)
  if (typeof text !== 'string' || text === '') return no('it has no URL')
  const minor = unknownMinor(versionText)
  const warnings = [
    ...(binding === bindingText ? [] : [`binding "${shorten(bindingText)}" is read as ${binding}`]),
    ...(named === null ? [`${list} names no protocolVersion for ${binding} ${shown}, which is read as ${V1}`] : []),
    ...(minor === null ? [] : [`${binding} ${shorten(versionText)} ${shown}: the rules of A2A 1.0 apply to this minor version`])
  ]
  const carried = { version, text, tenant, ...(minor === null ? {} : { unknownMinor: minor }) }
  if (UNSAFE_URL.test(text)) return no('its URL contains spaces, control characters or backslashes')
  if (binding === 'GRPC') {
    const { port, problem, odd } = readGrpcAddress(text)
    if (odd) warnings.push(`GRPC ${version} ${shown}: gRPC clients need host:port, and no URL`)
    return placed(list, index, { grpc: { ...carried, port, problem, shown } }, warnings)
  }
  const url = parseUrl(text)
  if (!ABSOLUTE_HTTP.test(text) || url === null) return no('its URL is not an absolute http or https URL')
  return placed(list, index, { read: { ...carried, binding, url } }, warnings)
}

function placed (
  list: string | null,
  index: number,
  { read = null, grpc = null }: { readonly read?: CardInterface | null, readonly grpc?: GrpcInterface | null },
  warnings: readonly string[]
): PlacedInterface {
  return { list, index, read, grpc, uncarried: null, warning: warnings.length === 0 ? null : warnings.join('; ') }
}

/** Names that SDKs and frameworks write for the bindings, besides those of the specification, without case and separators. */
const BINDINGS: ReadonlyMap<string, Binding> = new Map([
  ['JSONRPC', 'JSONRPC'], [
    'JSONRPC2.0', 'JSONRPC'
  ], ['HTTPJSON', 'HTTP+JSON'], ['REST', 'HTTP+JSON'], ['HTTPREST', 'HTTP+JSON'], ['GRPC', 'GRPC']
])

function readBinding (text: string): Binding | null {
  if (text === 'JSONRPC' || text === 'HTTP+JSON' || text === 'GRPC') return text
  return BINDINGS.get(text.trim().toUpperCase().replace(/[-_+/ ]/g, '')) ?? null
}

function reject (list: string | null, index: number, uncarried: UncarriedInterface): PlacedInterface {
  return { list, index, read: null, grpc: null, uncarried, warning: null }
}

/** Returns the first non-empty text under one of the keys. A number (`0.3`; `1.0`, which JSON reads as 1) counts as its text. */
function textOf (entry: JsonObject, keys: readonly string[]): string | null {
  for (const key of keys) {
    const value = entry[key]
    if (typeof value === 'string' && value.trim() !== '') return value
    if (typeof value === 'number') return Number.isInteger(value) ? value.toFixed(1) : String(value)
  }
  return null
}

/** Makes a text of the card suitable for logs: one line, bounded length. */
export function shorten (text: string): string {
  const clean = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '?')
  return clean.length > 200 ? `${clean.slice(0, 200)}…` : clean
}

function shownUrl (text: string): string {
  return shorten(text).replace(/\/\/[^/?#]*@/, '//')
}

/** Guesses from recorded calls: which data comes with which extension, and of what form it is. Reads no value into a text. */
import { readCard } from '#a2a/card/card.js'
import type { AgentCard } from '#a2a/card/card.js'
import { CARD_PATHS } from '#a2a/card/map.js'
import { EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER } from '#a2a/versions.js'
import type { RecordedRequest } from '#offline/recording/recording.js'
import { readList } from '#wire/header-list.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { parseJson } from '#wire/json/parse-json.js'
import { isName, isOperation, isOwnType } from './card-guesses.js'
import { inferSchema } from './infer-schema.js'
import type { Guess, GuessedMethod, Guesses, Place } from './proposal.js'

/** A recorded call of A2A. */
export interface RecordedCall {
  /** `http://host:port`, or null when the recording does not name the host. */
  readonly origin: string | null
  /** Method of JSON-RPC; null for HTTP+JSON. */
  readonly method: string | null
  /** URIs that the request names, in the header or in its message. */
  readonly uris: readonly string[]
  /** The request object: `params` of JSON-RPC, the body of HTTP+JSON. */
  readonly params: unknown
  /** The result that the agent returned, if it is recorded and JSON. */
  readonly result: unknown
}

/** A card in a recording, and the address of its agent. */
export interface RecordedCard { readonly upstream: string, readonly card: AgentCard }

/** URIs that can stand in a header and in the configuration. */
const EXTENSION_URI = /^[\x21-\x2b\x2d-\x7e]{1,2000}$/
/** Data members of a part that are looked at: an object with more is a value of its own. */
const MEMBERS = 8

export function callsOf (requests: readonly RecordedRequest[]): RecordedCall[] {
  return requests.flatMap(request => callOf(request) ?? [])
}

export function cardsOf (requests: readonly RecordedRequest[]): RecordedCard[] {
  return requests.flatMap(({ method, target, headers, response }) => {
    const path = (target ?? '').replace(/[?#].*$/, '')
    const usual = CARD_PATHS.find(cardPath => path.endsWith(cardPath))
    const origin = originOf(headers)
    if (method !== 'GET' || usual === undefined || origin === null || response?.status !== 200) return []
    const read = readCard(jsonOf(response.body))
    return read.ok ? [{ upstream: origin + path.slice(0, -usual.length), card: read.card }] : []
  })
}

function callOf ({ method, target, headers, body, response }: RecordedRequest): RecordedCall | null {
  const value = jsonOf(body)
  if (method !== 'POST' || !isObject(value)) return null
  const rpc = value.jsonrpc !== undefined && typeof value.method === 'string'
  if (!rpc && !/\/message[:/](?:send|stream)$/.test((target ?? '').replace(/[?#].*$/, ''))) return null
  const params = rpc ? value.params : value
  const message = messageOf(params)
  const listed = Array.isArray(message?.extensions) ? message.extensions.filter(extension => typeof extension === 'string') : []
  const requested = readList(headers, [EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER]).values
  const answer = response === null ? undefined : jsonOf(response.body)
  return {
    origin: originOf(headers),
    method: rpc ? value.method as string : null,
    uris: [...new Set([...requested, ...listed])].filter(uri => EXTENSION_URI.test(uri)),
    params,
    result: rpc && isObject(answer) ? answer.result : answer
  }
}

/** Recordings name no scheme beside the host: a name without a port is a public one. */
function originOf (headers: readonly string[]): string | null {
  const at = headers.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'host')
  const host = at < 0 ? '' : headers[at + 1] ?? ''
  if (!/^[A-Za-z0-9.[\]:_-]+$/.test(host)) return null
  return `${/:\d+$/.test(host) || /^(?:localhost|127\.)/.test(host) ? 'http' : 'https'}://${host}`
}

function jsonOf (bytes: Buffer): unknown {
  try {
    return parseJson(bytes)
  } catch {
    return undefined
  }
}

function messageOf (params: unknown): JsonObject | null {
  return isObject(params) && isObject(params.message) ? params.message : null
}

/** One place of data, with the values that calls have there. */
interface ObservedPlace {
  readonly place: Place
  readonly values: unknown[]
  /** Indexes of the calls. */
  readonly calls: Set<number>
}

export class Traffic {
  private readonly calls: readonly RecordedCall[]
  private readonly places = new Map<string, ObservedPlace>()
  /** The URIs of all calls, with the calls that name each. */
  readonly uris = new Map<string, Set<number>>()

  constructor (calls: readonly RecordedCall[]) {
    this.calls = calls
    calls.forEach((call, i) => {
      for (const uri of call.uris) this.uris.set(uri, (this.uris.get(uri) ?? new Set()).add(i))
      const message = messageOf(call.params)
      for (const metadata of [message?.metadata, isObject(call.params) ? call.params.metadata : undefined]) {
        if (isObject(metadata)) for (const [key, value] of Object.entries(metadata)) this.add({ metadata: key }, value, i)
      }
      for (const part of Array.isArray(message?.parts) ? message.parts : []) this.addPart(part, i)
    })
  }

  private addPart (part: unknown, call: number): void {
    if (!isObject(part) || part.data === undefined) return
    const { data, metadata } = part
    const type = part.mediaType ?? (isObject(metadata) ? metadata.mimeType : undefined)
    if (typeof type === 'string' && isOwnType(type)) return this.add({ mediaType: type }, data, call)
    if (!isObject(data) || Object.keys(data).length > MEMBERS) return
    for (const [dataKey, value] of Object.entries(data)) this.add({ dataKey }, value, call)
  }

  private add (place: Place, value: unknown, call: number): void {
    const key = JSON.stringify(place)
    const placeValues = this.places.get(key) ?? { place, values: [], calls: new Set() }
    placeValues.values.push(value)
    placeValues.calls.add(call)
    this.places.set(key, placeValues)
  }

  /**
   * Guesses the data of one extension: members that its URI names, and data that only calls with the extension have.
   * @returns null when the calls show nothing of it
   */
  guessesFor (uri: string): Guesses | null {
    const request = [...this.places.values()].flatMap(place => this.guess(uri, place) ?? [])
    const response = this.responseGuesses(uri)
    const methods = this.methodsOf(uri)
    return request.length + response.length + methods.length === 0 ? null : { request, response, methods }
  }

  private guess (uri: string, { place, values, calls }: ObservedPlace): Guess | null {
    const schema = inferSchema(values)
    const many = `${values.length} recorded ${values.length === 1 ? 'value' : 'values'}`
    const key = 'metadata' in place ? memberOf(place.metadata, uri) : null
    if (key !== null) return { place: { metadata: key }, schema, why: `the form of ${many}` }
    const name = 'metadata' in place ? place.metadata : 'dataKey' in place ? place.dataKey : ''
    if (('metadata' in place || 'dataKey' in place) && (!isName(name) || this.isNamedByAnother(name))) return null
    if (this.onlyWith(calls) !== uri) return null
    return { place, schema, why: `the form of ${many}, which only requests with this extension have` }
  }

  /** A member that begins with the URI of an extension belongs to that extension. */
  private isNamedByAnother (name: string): boolean {
    return [...this.uris.keys()].some(uri => memberOf(name, uri) !== null)
  }

  /** The extension that all these calls name. Null for none and for several. */
  private onlyWith (calls: ReadonlySet<number>): string | null {
    const common = [...this.uris].filter(([, named]) => [...calls].every(call => named.has(call)))
    return common.length === 1 ? common[0]?.[0] ?? null : null
  }

  private methodsOf (uri: string): GuessedMethod[] {
    const methods = new Map<string, { readonly values: unknown[], readonly calls: Set<number> }>()
    this.calls.forEach(({ method, params }, i) => {
      if (method === null || isOperation(method) || !/^[\x21-\x7e]{1,200}$/.test(method) || method.includes('$')) return
      const uses = methods.get(method) ?? { values: [], calls: new Set() }
      if (params !== undefined) uses.values.push(params)
      uses.calls.add(i)
      methods.set(method, uses)
    })
    return [...methods].filter(([, { calls }]) => this.onlyWith(calls) === uri).map(([name, { values, calls }]) => ({
      name,
      params: values.length === 0 ? null : inferSchema(values),
      why: `${calls.size} recorded ${calls.size === 1 ? 'call' : 'calls'}, with this extension only`
    }))
  }

  /** Members of the metadata of results that the URI names. Other members could belong to the agent. */
  private responseGuesses (uri: string): Guess[] {
    const dataByTag = new Map<string, { readonly places: Set<string>, readonly values: unknown[] }>()
    for (const { result } of this.calls) {
      for (const [place, metadata] of metadataIn(result)) {
        for (const [name, value] of Object.entries(metadata)) {
          const key = memberOf(name, uri)
          if (key === null) continue
          const group = dataByTag.get(key) ?? { places: new Set(), values: [] }
          group.places.add(place)
          group.values.push(value)
          dataByTag.set(key, group)
        }
      }
    }
    return [...dataByTag].map(([metadata, { places, values }]) => ({
      place: { metadata },
      places: [...places].toSorted(),
      schema: inferSchema(values),
      why: `the form of ${values.length} recorded ${values.length === 1 ? 'value' : 'values'} in responses`
    }))
  }
}

/** The selector of a member that a URI names: `$uri`, `$uri/...`, or the name itself, which may leave out the scheme. */
function memberOf (name: string, uri: string): string | null {
  if (name === uri) return '$uri'
  if (name.startsWith(`${uri}/`) && !name.includes('*')) return `$uri${name.slice(uri.length)}`
  const bare = uri.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '')
  return bare !== uri && isName(name) && (name === bare || name.startsWith(`${bare}/`)) ? name : null
}

/** The metadata of a result: of A2A 1.0, where members name the kind, and of 0.3, where `kind` does. */
function * metadataIn (result: unknown): Generator<[place: string, metadata: JsonObject]> {
  if (!isObject(result)) return
  const { message, task, kind } = result
  const whole = isObject(task) ? task : result
  const of = (value: unknown): JsonObject | null => isObject(value) && isObject(value.metadata) ? value.metadata : null
  const spoken = isObject(message) ? message : kind === 'message' ? result : null
  const said = of(spoken)
  if (said !== null) yield ['message', said]
  if (spoken !== null) return
  const own = of(whole)
  if (own !== null) yield ['task', own]
  const status = of(isObject(whole.status) ? whole.status.message : null)
  if (status !== null) yield ['status', status]
  for (const artifact of Array.isArray(whole.artifacts) ? whole.artifacts : []) {
    const metadata = of(artifact)
    if (metadata !== null) yield ['artifact', metadata]
  }
}

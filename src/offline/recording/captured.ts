/**
 * Reads requests captured as JSON: an object of the gateway's own format, a HAR file (HAR 1.2, as browsers save it) or one entry of it, a
 * list of requests in either format, a gRPC call, or a bare JSON-RPC envelope.
 */
import { GRPC_SERVICES } from '#a2a/grpc/methods.js'
import type { RecordedResponse } from './recorded-response.js'
import { asReceived, isStream, RecordingError } from './recorded-response.js'
import type { RecordedRequest } from './recorded-request.js'
import { requestOf } from './recorded-request.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'

/** Keys of a JSON-RPC envelope. An object with any of these keys counts as an envelope, even if it is malformed. */
const ENVELOPE = ['jsonrpc', 'method', 'params']

/**
 * Reads the captured requests of a file.
 * @param value the parsed bytes
 * @param bytes content of the file: a bare envelope is sent byte by byte
 * @throws RecordingError
 */
export function readCaptured (value: unknown, bytes: Buffer, file: string): RecordedRequest[] {
  if (isRpc(value)) return [readRpc(value, file)]
  if (Array.isArray(value) && value.length > 0 && value.every(isRpc)) return value.map((call, i) => readRpc(call, `${file}: [${i}]`))
  const entries = isObject(value) && isObject(value.log) ? value.log.entries : undefined
  if (Array.isArray(entries)) return entries.map((entry: unknown, i) => readHarEntry(entry, `${file}: log.entries[${i}]`))
  if (isHarEntry(value)) return [readHarEntry(value, file)]
  if (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every(isHarEntry)
  ) return value.map((entry, i) => readHarEntry(entry, `${file}: [${i}]`))
  if (Array.isArray(value) && value.length > 0 && value.every(isCaptured)) return value.map((raw, i) => readRequest(raw, `${file}: [${i}]`))
  if (isCaptured(value)) return [readRequest(value, file)]
  if (isObject(value) && value.headers !== undefined && value.jsonrpc === undefined) {
    throw new RecordingError(file, 0, 'the captured request names no address', 'give it "url" or "path"')
  }
  const fault = noRequest(value)
  if (fault !== null) throw new RecordingError(file, 0, fault.what, fault.remedy)
  return [{ name: null, line: 1, method: 'POST', target: null, headers: [], body: bytes, response: null }]
}

const REQUEST_KEYS = 'a captured request has "url" or "path", a gRPC call "rpc", a JSON-RPC request "jsonrpc" and "method"'

/** Returns the problem of a value that is no JSON-RPC request. A broken request is none: the gateway explains what is wrong with it. */
function noRequest (value: unknown): { readonly what: string, readonly remedy: string } | null {
  if (Array.isArray(value)) {
    return value.some(entry => isObject(entry) && isEnvelope(entry))
      ? null
      : { what: 'this is a list, but not of requests', remedy: REQUEST_KEYS }
  }
  if (!isObject(value)) return { what: 'this is JSON, but not a request', remedy: REQUEST_KEYS }
  if (value.outcome !== undefined && value.requestId !== undefined) {
    return {
      what: 'this is a decision, which has no data of its request', remedy: 'give the request itself, for example as a curl command'
    }
  }
  if (value.method === undefined && value.error !== undefined && !isObject(value.error)) {
    return {
      what: 'this is an error, but not one of A2A, whose "error" is an object with "code" and "message"',
      remedy: 'give the response that the client got, as "curl -i" prints it, or the request'
    }
  }
  if (value.method === undefined && (value.result !== undefined || value.error !== undefined)) {
    return { what: 'this is a JSON-RPC response, not a request', remedy: 'give the request, and the response with --answer FILE' }
  }
  return isEnvelope(value) ? null : { what: 'this is JSON, but not a request', remedy: REQUEST_KEYS }
}

function isEnvelope (value: JsonObject): boolean {
  return ENVELOPE.some(key => Object.hasOwn(value, key))
}

function isHarEntry (value: unknown): value is JsonObject {
  return isObject(value) && isObject(value.request) && value.request.url !== undefined
}

function isCaptured (value: unknown): value is JsonObject {
  return isObject(value) && value.jsonrpc === undefined && (value.url !== undefined || value.path !== undefined)
}

/** True for a captured gRPC call. */
function isRpc (value: unknown): value is JsonObject {
  return isObject(value) && value.rpc !== undefined
}

/**
 * Reads `{rpc, host, metadata, body | bodyBase64}`. `rpc` is `service/method`, or a method of A2A 1.0 alone. The body is the message as
 * JSON, or as sent, with its prefix.
 */
function readRpc (captured: JsonObject, place: string): RecordedRequest {
  const rpc = textAt(captured, 'rpc', place) ?? ''
  const name = rpc.replace(/^\//, '')
  if (!/^[\w.]+(?:\/\w+)?$/.test(name)) {
    throw new RecordingError(
      place, 0, '"rpc" is not a method of gRPC', 'write it as in "lf.a2a.v1.A2AService/SendMessage" or "SendMessage"'
    )
  }
  const host = textAt(captured, 'host', place)
  return requestOf({
    name: textAt(captured, 'name', place) ?? null,
    line: 0,
    method: 'POST',
    url: `/${name.includes('/') ? name : `${GRPC_SERVICES['1.0']}/${name}`}`,
    headers: [...(host === undefined ? [] : ['host', host]), 'content-type', 'application/grpc', ...headersOf(captured.metadata, place)],
    body: bodyOf(captured, place),
    response: captured.response === undefined ? null : readResponse(captured.response, `${place}: response`)
  }, place)
}

function readRequest (captured: JsonObject, place: string): RecordedRequest {
  const body = bodyOf(captured, place)
  return requestOf({
    name: textAt(captured, 'name', place) ?? null,
    line: 0,
    method: (textAt(captured, 'method', place) ?? (body.length > 0 ? 'POST' : 'GET')).toUpperCase(),
    url: textAt(captured, 'url', place) ?? textAt(captured, 'path', place) ?? '',
    headers: headersOf(captured.headers, place),
    body,
    response: captured.response === undefined ? null : readResponse(captured.response, `${place}: response`)
  }, place)
}

/** Reads `{status, headers, body | bodyBase64}`. Every member except the body has a default. */
function readResponse (response: unknown, place: string): RecordedResponse {
  if (!isObject(response)) {
    throw new RecordingError(place, 0, 'the response is not an object', 'write {"status": 200, "headers": {}, "body": ...}')
  }
  const body = bodyOf(response, place)
  const stated = headersOf(response.headers, place)
  const headers =
    stated.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'content-type') || body.length === 0
      ? stated
      : [...stated, 'content-type', typeof response.body === 'string' && isStream(body) ? 'text/event-stream' : 'application/json']
  return asReceived({ status: statusOf(response.status ?? 200, place), headers, body, notes: [] })
}

function statusOf (status: unknown, place: string): number {
  if (typeof status === 'number' && Number.isInteger(status) && status >= 100 && status <= 599) return status
  throw new RecordingError(place, 0, '"status" is not an HTTP status', 'write it as a number, such as 200')
}

function bodyOf (captured: JsonObject, place: string): Buffer {
  const { body, bodyBase64 } = captured
  if (body !== undefined && bodyBase64 !== undefined) {
    throw new RecordingError(place, 0, 'there is a body and a bodyBase64', 'give one of them')
  }
  if (bodyBase64 !== undefined) return base64(bodyBase64, `${place}: bodyBase64`)
  if (body === undefined || body === null) return Buffer.alloc(0)
  return Buffer.from(typeof body === 'string' ? body : serialised(body, place))
}

function readHarEntry (entry: unknown, place: string): RecordedRequest {
  const request = isObject(entry) ? entry.request : undefined
  if (!isObject(request)) throw new RecordingError(place, 0, 'there is no request', 'save the HAR file again')
  return requestOf({
    name: null,
    line: 0,
    method: (textAt(request, 'method', place) ?? 'GET').toUpperCase(),
    url: textAt(request, 'url', place) ?? '',
    headers: headersOf(request.headers, place),
    body: harBody(request.postData, place),
    response: isObject(entry) && isObject(entry.response) ? readHarResponse(entry.response, `${place}.response`) : null
  }, place)
}

/** Reads the response of a HAR entry. Browsers write status 0 when there was no response. */
function readHarResponse (response: JsonObject, place: string): RecordedResponse | null {
  if (response.status === undefined || response.status === 0) return null
  return asReceived({
    status: statusOf(response.status, place),
    headers: headersOf(response.headers, place),
    body: harBody(response.content, place),
    notes: []
  })
}

/** Decodes a HAR body. `encoding` is not part of HAR 1.2, but some tools write it for bodies that are not text. */
function harBody (data: unknown, place: string): Buffer {
  if (!isObject(data)) return Buffer.alloc(0)
  const text = textAt(data, 'text', place)
  if (text === undefined) {
    if (Array.isArray(data.params) && data.params.length > 0) {
      throw new RecordingError(place, 0, 'the body is kept as form fields, not as text', 'A2A has no forms; capture the request itself')
    }
    return Buffer.alloc(0)
  }
  return data.encoding === 'base64' ? base64(text, `${place}: text`) : Buffer.from(text)
}

/**
 * Reads headers: an object (values may be lists), a list of {name, value}, or a list of pairs. The reader drops HTTP/2's pseudo-headers,
 * except the authority, which becomes a header.
 */
function headersOf (value: unknown, place: string): string[] {
  const pairs: (readonly [unknown, unknown])[] = []
  if (Array.isArray(value)) {
    for (const entry of value as unknown[]) {
      pairs.push(Array.isArray(entry) ? [entry[0], entry[1]] : isObject(entry) ? [entry.name, entry.value] : [undefined, undefined])
    }
  } else if (isObject(value)) {
    for (const [name, content] of Object.entries(value)) {
      for (const each of Array.isArray(content) ? (content as unknown[]) : [content]) pairs.push([name, each])
    }
  } else if (value !== undefined && value !== null) {
    throw new RecordingError(place, 0, 'the headers are neither an object nor a list', 'write {"name": "value"}')
  }
  const headers: string[] = []
  for (const [name, content] of pairs) {
    if (typeof name !== 'string' || (typeof content !== 'string' && typeof content !== 'number')) {
      throw new RecordingError(
        place,
        0,
        'a header is not a name and a text',
        'write {"name": "value"}, {"name": ["value", "value"]} or a list of {"name": ..., "value": ...}'
      )
    }
    if (name.toLowerCase() === ':authority') headers.unshift('Host', String(content))
    else if (!name.startsWith(':')) headers.push(name, String(content).trim())
  }
  return headers
}

function textAt (object: JsonObject, key: string, place: string): string | undefined {
  const value = object[key]
  if (value === undefined || value === null || typeof value === 'string') return value ?? undefined
  throw new RecordingError(place, 0, `"${key}" is not a text`, 'write it in quotes')
}

function base64 (value: unknown, place: string): Buffer {
  const text = typeof value === 'string' ? value.replaceAll(/\s/g, '') : ''
  if (typeof value !== 'string' || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(text) || text.replaceAll('=', '').length % 4 === 1) {
    throw new RecordingError(place, 0, 'this is not base64', 'give the body as "body" if it is text')
  }
  return Buffer.from(text, 'base64')
}

/** Levels of a body. Some versions of Node write out any number of levels, others end with an error after some thousands. */
const MAX_LEVELS = 1_000

function serialised (value: unknown, place: string): string {
  if (isDeeper(value, MAX_LEVELS)) {
    throw new RecordingError(
      place, 0, 'the body is nested too deeply to be written out', 'give it as a string'
    )
  }
  return JSON.stringify(value)
}

function isDeeper (value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some(child => isDeeper(child, levels - 1))
}

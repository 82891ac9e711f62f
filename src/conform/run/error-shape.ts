/** Whether a response is an error in the binding of the caller (spec 1.0.1 §9.5, §10.6 and §11.6; 0.3.0 §8). */
import { isObject, own } from '#wire/json/object.js'
import { valueOf } from '../http1.js'
import type { ErrorShape, Exchange, Transport, Version } from '../model.js'
import { CALL } from '../model.js'
import { jsonOf, printable } from './compare.js'

interface Place { readonly transport: Transport, readonly version: Version }
type Value = Readonly<Record<string, unknown>>

/** @returns the problem, or null. @param id the id that a JSON-RPC error repeats; null: none */
export function errorProblem (shape: ErrorShape, exchange: Exchange, { transport, version }: Place, id: string | null): string[] | null {
  if (exchange.status === 0) return [`no response: ${exchange.problem ?? 'the connection ended'}`]
  const missing = (shape.mentions ?? []).find(text => !mentions(exchange, text))
  if (missing !== undefined) return [`the error does not name ${missing}`, `  through:  ${start(exchange)}`]
  if (transport === 'grpc') return grpcProblem(shape, exchange)
  const type = valueOf(exchange.headers, 'content-type') ?? 'none'
  const value = jsonOf(bodyOf(exchange, type))
  if (!isObject(value)) {
    return [
    `an error of ${transport} is a JSON object; the response has status ${exchange.status} and content type ${type}`,
    `  through:  ${start(exchange)}`
    ]
  }
  return transport === 'jsonrpc' ? jsonrpcProblem(shape, exchange, value, id) : restProblem(shape, exchange, value, version)
}

function mentions ({ body, trailers }: Exchange, text: string): boolean {
  const details = valueOf(trailers, 'grpc-status-details-bin') ?? ''
  const all = `${body.toString('utf8')} ${decodeURIComponent((valueOf(trailers, 'grpc-message') ?? '').replaceAll(/%(?![0-9a-f]{2})/gi, '%25'))} ${Buffer.from(details, 'base64').toString('latin1')}`
  return all.includes(text)
}

/** An error may be the only event of a stream. */
function bodyOf ({ body }: Exchange, type: string): Buffer {
  if (!/^text\/event-stream\b/i.test(type)) return body
  return Buffer.from(/^data: ?(.*)$/m.exec(body.toString('utf8'))?.[1] ?? '')
}

function jsonrpcProblem ({ codes = [], anyId = false }: ErrorShape, exchange: Exchange, value: Value, id: string | null): string[] | null {
  const error = own(value, 'error')
  const code = isObject(error) ? own(error, 'code') : undefined
  if (own(value, 'jsonrpc') !== '2.0' || typeof code !== 'number' || !isObject(error) || typeof own(error, 'message') !== 'string') {
    return ['an error of JSON-RPC has the members jsonrpc and error, with code and message', `  through:  ${start(exchange)}`]
  }
  if (id !== null && !anyId && own(value, 'id') !== id) {
    return [
      'the error does not repeat the id of the request', `  through:  ${start(exchange)}`
    ]
  }
  return codes.length === 0 || codes.includes(code)
    ? null
    : [`the error has the code ${code}, not ${codes.join(' or ')}`, `  through:  ${start(exchange)}`]
}

function restProblem ({ statuses = [] }: ErrorShape, exchange: Exchange, value: Value, version: Version): string[] | null {
  const error = own(value, 'error')
  const isShaped = isObject(error)
    ? typeof own(error, 'message') === 'string' && (version === '0.3' || typeof own(error, 'status') === 'string')
    : version === '0.3' && typeof own(value, 'message') === 'string'
  if (!isShaped) {
    return [
      'an error of HTTP+JSON is an object that has the member error, with code, status and message', `  through:  ${start(exchange)}`
    ]
  }
  if (exchange.status < 400) return [`an error of HTTP+JSON has a status of 400 or above; the response has ${exchange.status}`]
  return statuses.length === 0 || statuses.includes(exchange.status)
    ? null
    : [`the error has the status ${exchange.status}, not ${statuses.join(' or ')}`, `  through:  ${start(exchange)}`]
}

function grpcProblem ({ grpc = [] }: ErrorShape, exchange: Exchange): string[] | null {
  const status = valueOf(exchange.trailers, 'grpc-status')
  if (status === null) {
    return [
    `an error of gRPC has the trailer grpc-status; the response has HTTP status ${exchange.status}`, `  through:  ${start(exchange)}`
    ]
  }
  if (status === '0') return ['the call has the status OK']
  return grpc.length === 0 || grpc.includes(Number(status)) ? null : [`the call has the status ${status}, not ${grpc.join(' or ')}`]
}

function start ({ status, body }: Exchange): string {
  return `status ${status}, ${printable(body.subarray(0, 160))}${body.length > 160 ? '…' : ''}`
}

/** The id in the request of a case: the mark, unless the request is no JSON-RPC. */
export function requestId (body: string | null): string | null {
  return body?.includes(`"id":"${CALL}"`) === true ? CALL : null
}

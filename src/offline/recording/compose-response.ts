/** Converts the response of a test to the response that an agent of one version and binding would send. */
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { Operation } from '#a2a/operations.js'
import type { Variant } from '#a2a/message/wire-spec.js'
import { grpcResponse } from './grpc-response.js'
import type { RecordedResponse } from './recorded-response.js'
import type { ErrorSpec, JsonMap } from '#a2a/message/wire-spec.js'
import type { ResponseSpec } from '../policy-test/test-model.js'
import type { Ids } from '#a2a/message/wire-response.js'
import { wireEvent, wireTask } from '#a2a/message/wire-response.js'
import { defined } from '#a2a/message/wire-message.js'

/** The request that the response belongs to. */
export interface OriginalRequest {
  readonly variant: Variant
  readonly operation: Operation
  /** Raw JSON token of the JSON-RPC id. */
  readonly id: string
  readonly ids: Ids
}

/**
 * Composes a response.
 * @returns the response, or in words why an agent cannot give it
 */
export function composeResponse (spec: ResponseSpec, asked: OriginalRequest): RecordedResponse | string {
  const { variant } = asked
  if (variant.binding === 'GRPC') return composeGrpcResponse(spec, asked)
  const rpc = variant.binding === 'JSONRPC'
  if (spec.error !== undefined) {
    const status = spec.status ?? (rpc ? 200 : HTTP_STATUS[spec.error.code] ?? 400)
    return response(
      spec,
      variant,
      status,
      rpc ? 'application/json' : jsonType(variant),
      rpc ? rpcError(spec.error, asked.id) : JSON.stringify(restError(spec.error, variant, status))
    )
  }
  const shape = shapeProblem(spec, asked.operation)
  if (shape !== null) return shape
  if (spec.events !== undefined) {
    const data = spec.events.map(event =>
      event.error === undefined
        ? enveloped(JSON.stringify(wireEvent(event, variant, asked.ids)), asked)
        : rpc
          ? rpcError(event.error, asked.id)
          : JSON.stringify(restError(event.error, variant, HTTP_STATUS[event.error.code] ?? 400))
    )
    return response(spec, variant, spec.status ?? 200, 'text/event-stream', data.map(text => `data: ${text}\n\n`).join(''))
  }
  const result = resultOf(spec, asked)
  if (typeof result === 'string') return result
  return response(
    spec,
    variant,
    spec.status ?? 200,
    rpc ? 'application/json' : jsonType(variant),
    enveloped(JSON.stringify(result.value), asked)
  )
}

/** Builds the response over gRPC, without `data` of errors. */
function composeGrpcResponse (spec: ResponseSpec, asked: OriginalRequest): RecordedResponse | string {
  const { variant, operation, ids } = asked
  const method = grpcMethodFor(operation, variant.version)
  if (method === null) return `gRPC of A2A ${variant.version} has no ${operation}`
  const metadata = givenHeaders(spec, variant, []).map((text, i) => i % 2 === 0 ? text.toLowerCase() : text)
  if (spec.error !== undefined) return grpcResponse(method, [], metadata, spec.error)
  const shape = shapeProblem(spec, operation)
  if (shape !== null) return shape
  if (spec.events !== undefined) {
    const end = spec.events.findIndex(({ error }) => error !== undefined)
    const events = end === -1 ? spec.events : spec.events.slice(0, end)
    return grpcResponse(method, events.map(event => wireEvent(event, variant, ids)), metadata, spec.events[end]?.error)
  }
  const result = resultOf(spec, asked)
  return typeof result === 'string' ? result : grpcResponse(method, [result.value], metadata)
}

/** Finds content that the operation cannot return. */
function shapeProblem ({ events, result }: ResponseSpec, operation: Operation): string | null {
  const streams = operation === 'SendStreamingMessage' || operation === 'SubscribeToTask'
  if (events !== undefined) return streams || operation === 'Other' ? null : `${operation} returns one result, not events`
  return streams && result === undefined ? `${operation} returns events` : null
}

/** Builds the result. GetTask and CancelTask return the task itself; a send returns an object whose member names the type. */
function resultOf (spec: ResponseSpec, { variant, operation, ids }: OriginalRequest): { readonly value: unknown } | string {
  const { task, message, tasks, result } = spec
  if (tasks !== undefined) {
    if (operation !== 'ListTasks') return `tasks is the response to ListTasks, and this is ${operation}`
    return { value: { tasks: tasks.map(task => wireTask(task, variant, ids)), nextPageToken: '', pageSize: 50, totalSize: tasks.length } }
  }
  if (result !== undefined) return { value: result }
  if (operation === 'ListTasks') return 'ListTasks returns tasks'
  if (operation === 'GetTask' || operation === 'CancelTask') {
    return task === undefined ? `${operation} returns a task` : { value: wireTask(task, variant, ids) }
  }
  if (operation !== 'SendMessage' && operation !== 'Other' && operation !== 'Extension') {
    return `${operation} returns neither messages nor tasks; use result`
  }
  return { value: wireEvent(task === undefined ? defined({ message }) : { task }, variant, ids) }
}

function enveloped (result: string, { variant, id }: OriginalRequest): string {
  return variant.binding === 'JSONRPC' ? `{"jsonrpc":"2.0","id":${id},"result":${result}}` : result
}

function rpcError ({ code, message = 'refused', data }: ErrorSpec, id: string): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(defined({ code, message, data }))}}`
}

/** Builds an error of HTTP+JSON. 1.0: §11.6. The specification 0.3 does not define this, so the shape is that of the JavaScript SDK. */
function restError ({ code, message = 'refused', data }: ErrorSpec, { version }: Variant, status: number): JsonMap {
  return version === '0.3' ? defined({ code, message, data }) : { error: defined({ code: status, message, details: data }) }
}

/** HTTP statuses of A2A's errors, 1.0.1 §5.4; 400 for all others. */
const HTTP_STATUS: Readonly<Record<number, number>> = { '-32001': 404, '-32603': 500, '-32006': 500 }

function jsonType ({ version }: Variant): string {
  return version === '1.0' ? 'application/a2a+json' : 'application/json'
}

function response (spec: ResponseSpec, variant: Variant, status: number, type: string, body: string): RecordedResponse {
  return { status, headers: givenHeaders(spec, variant, [['Content-Type', type]]), body: Buffer.from(body), notes: [] }
}

/** Returns the headers of a response: those of the binding, the extensions, and those of the test. */
function givenHeaders ({ extensions = [], headers = {} }: ResponseSpec, { version }: Variant, own: [string, string][]): string[] {
  if (extensions.length > 0) own.push([version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions', extensions.join(',')])
  const replaced = new Set(Object.keys(headers).map(name => name.toLowerCase()))
  const pairs = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== null)
  return [...own.filter(([name]) => !replaced.has(name.toLowerCase())), ...pairs].flat()
}

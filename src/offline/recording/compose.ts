/** Converts the request of a test to the request that a client of one version and binding would send. */
import type { MappedInterface } from '#a2a/card/map.js'
import { methodOfOperation } from '#a2a/operations.js'
import type { Binding, Version } from '#a2a/versions.js'
import { grpcTarget } from './grpc-target.js'
import { restTarget } from './rest-target.js'
import type { JsonMap, Variant } from '#a2a/message/wire-spec.js'
import type { RequestSpec } from '../policy-test/test-model.js'
import { wireMessage } from '#a2a/message/wire-message.js'
import type { PlainRequest } from '#pipeline/dry-run-operation.js'

/**
 * Composes a request.
 * @param interfaces interfaces of the agent's card
 * @returns the request, or in words why there is none
 */
export function compose (spec: RequestSpec, { version, binding }: Variant, interfaces: readonly MappedInterface[]): PlainRequest | string {
  const address =
    interfaces.find(entry => entry.binding === binding && entry.version === version) ?? interfaces.find(entry => entry.binding === binding)
  if (address === undefined) return `the card has no ${binding} interface${binding === 'GRPC' ? ' that a gRPC listener serves' : ''}`
  const now = spec.at === undefined ? Date.now() : Date.parse(spec.at)
  if (Number.isNaN(now)) return 'at is not a time of RFC 3339'
  const object = requestObject(spec, version, binding)
  const operation = spec.operation ?? 'SendMessage'
  if (binding === 'GRPC') {
    const target = grpcTarget(operation, object ?? {}, version)
    if (typeof target === 'string') return target
    return { method: 'POST', path: target.path, query: '', rawHeaders: metadataOf(spec, version), grpc: true, body: target.message, now }
  }
  if (binding === 'JSONRPC') {
    const method = spec.method ?? methodOfOperation(operation, version)
    return {
      method: 'POST',
      path: address.publicPath,
      query: '',
      rawHeaders: headersOf(spec, version, true),
      body: bytes({ jsonrpc: '2.0', id: 1, method, ...(object === null ? {} : { params: object }) }),
      now
    }
  }
  const target = restTarget(operation, object ?? {}, version)
  if (typeof target === 'string') return target
  const prefix = version === '0.3' && !address.publicPath.endsWith('/v1') ? '/v1' : ''
  return {
    method: target.method,
    path: address.publicPath + prefix + target.path,
    query: target.query,
    rawHeaders: headersOf(spec, version, target.body !== null),
    body: target.body === null ? null : bytes(target.body),
    now
  }
}

function requestObject (spec: RequestSpec, version: Version, binding: Binding): JsonMap | null {
  const { message, metadata, params } = spec
  if (params !== undefined) return params
  if (message === undefined && metadata === undefined) return null
  return {
    ...(message === undefined ? {} : { message: wireMessage(message, version, binding) }),
    ...(metadata === undefined ? {} : { metadata })
  }
}

/** Headers of a gRPC call: clients send names in lower case, and `te: trailers`. */
function metadataOf (spec: RequestSpec, version: Version): string[] {
  const own: [string, string][] = [['host', 'agent.test'], ['content-type', 'application/grpc'], ['te', 'trailers']]
  return withGiven(own, spec, version).map((text, i) => i % 2 === 0 ? text.toLowerCase() : text)
}

function headersOf (spec: RequestSpec, version: Version, body: boolean): string[] {
  const { operation } = spec
  const streams = operation === 'SendStreamingMessage' || operation === 'SubscribeToTask'
  const own: [string, string][] = [['Host', 'agent.test'], ['Accept', streams ? 'text/event-stream' : 'application/json']]
  if (body) own.push(['Content-Type', 'application/json'])
  return withGiven(own, spec, version)
}

/** Adds the headers of the version, and those of the test. */
function withGiven (own: [string, string][], { extensions = [], headers = {} }: RequestSpec, version: Version): string[] {
  if (version === '1.0') own.push(['A2A-Version', '1.0'])
  if (extensions.length > 0) own.push([version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions', extensions.join(',')])
  const replaced = new Set(Object.keys(headers).map(name => name.toLowerCase()))
  const pairs = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== null)
  return [...own.filter(([name]) => !replaced.has(name.toLowerCase())), ...pairs].flat()
}

function bytes (value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

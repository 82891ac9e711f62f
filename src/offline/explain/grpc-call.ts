/** Recognises recorded gRPC calls, finds their agent, and converts them to the form in which the gateway evaluates them. */
import { grpcMethodOf } from '#a2a/grpc/methods.js'
import type { AgentConfig } from '#config/model/model.js'
import { hostName } from '#pipeline/agents.js'
import { decodeSync } from '#pipeline/content-encoding.js'
import { headOf } from '#pipeline/request-head.js'
import { GrpcDeframer } from '#wire/grpc/deframer.js'
import { parseJson } from '#wire/json/parse-json.js'
import { splitTarget } from '#wire/target.js'
import type { Place } from '../place.js'
import { GRPC_TYPE } from '../recording/grpc-response.js'
import { encoded } from '../recording/grpc-target.js'
import type { RecordedRequest } from '../recording/recorded-request.js'
import type { JsonMap } from '#a2a/message/wire-spec.js'
import { CannotExplain } from './cannot-explain.js'
import type { PlainRequest } from '#pipeline/dry-run-operation.js'

/** True for a call of a method of A2A's services, and for any request of Content-Type application/grpc. */
export function isGrpcCall ({ method, target, headers }: Pick<RecordedRequest, 'method' | 'target' | 'headers'>): boolean {
  if (target === null || method !== 'POST') return false
  return grpcMethodOf(splitTarget(target).path) !== null || isGrpcType(headOf(method, headers).headers['content-type'])
}

function isGrpcType (type: string | undefined): boolean {
  return type !== undefined && /^application\/grpc(?:\+proto)?(?:;|$)/.test(type)
}

/**
 * Finds the agent of a call: by the host of the call, the port of the agent's own listener, or because it is the only one.
 * @param wanted name of the agent, or null
 * @returns null when no agent is served at the address
 * @throws CannotExplain
 */
export function grpcPlaceOf (recorded: RecordedRequest, agents: readonly AgentConfig[], wanted: string | null): Place | null {
  const path = recorded.target
  if (wanted !== null) {
    const config = agents.find(agent => agent.name === wanted)
    if (config === undefined) {
      throw new CannotExplain(`there is no agent "${wanted}" (the configuration has ${agents.map(agent => agent.name).join(', ')})`)
    }
    return { config: served(config), foundBy: 'flag', path }
  }
  const carried = agents.filter(({ grpc }) => grpc !== null)
  if (carried.length === 0) throw new CannotExplain(NO_LISTENER)
  const { host } = headOf('POST', recorded.headers).headers
  const port = host === undefined ? null : /:(\d+)$/.exec(host)?.[1] ?? null
  const named = carried.filter(agent => agent.host !== null && agent.host === hostName(host))
  const listening = carried.filter(({ grpc }) => grpc?.listen !== null && String(grpc?.listen.port) === port)
  const [config, second] = named.length > 0 ? named : listening.length > 0 ? listening : carried.filter(agent => agent.host === null)
  if (config === undefined) return null
  if (second !== undefined) {
    throw new CannotExplain(
      `several agents may be called at this address; choose one with --agent: ${carried.map(agent => agent.name).join(', ')}`
    )
  }
  return { config, foundBy: carried.length === 1 && named.length === 0 ? 'only' : 'address', path }
}

const NO_LISTENER = 'the configuration serves no gRPC: a listener needs server.grpc, or grpc of the agent'

function served (config: AgentConfig): AgentConfig {
  if (config.grpc !== null) return config
  throw new CannotExplain(NO_LISTENER)
}

export interface GrpcRequest {
  readonly request: PlainRequest
  readonly notes: readonly string[]
}

/**
 * Builds the call. A body of JSON becomes the message of the method.
 * @param headers as the client sends them; flat list
 * @throws CannotExplain for a body that no client could send as one message
 */
export function grpcRequestOf ({ method, target, body }: RecordedRequest, headers: readonly string[], limit: number): GrpcRequest {
  const path = target ?? ''
  const request = { method, path, query: '', rawHeaders: headers, grpc: true, now: Date.now() }
  const grpcMethod = grpcMethodOf(path)
  // No rule reads the messages of other services; the gateway forwards or rejects them.
  if (grpcMethod === null) return { request: { ...request, body: body.length === 0 ? null : body }, notes: [] }
  const text = body.toString('latin1', 0, 64).trimStart()
  if (body.length > 0 && !text.startsWith('{')) return { request: { ...request, body: messageIn(body, headers, limit) }, notes: [] }
  const message = encoded(grpcMethod.request, body.length === 0 ? {} : parsed(body))
  if (typeof message === 'string') throw new CannotExplain(message)
  return { request: { ...request, body: message }, notes: [NOTE] }
}

const NOTE = 'the message is given as JSON; the gateway gets it as protobuf'

function parsed (body: Buffer): JsonMap {
  try {
    return parseJson(body) as JsonMap
  } catch {
    throw new CannotExplain('the message of the gRPC call is neither JSON nor a message with its prefix of 5 bytes')
  }
}

/** Takes the one message out of a recorded body. */
function messageIn (body: Buffer, headers: readonly string[], limit: number): Buffer {
  const deframer = new GrpcDeframer(limit)
  const messages = deframer.feed(body)
  const fault = deframer.end()
  if (fault !== null) throw new CannotExplain(`the body is not a message of gRPC: ${FAULTS[fault]}; the gateway rejects the call`)
  const [message, second] = messages
  if (message === undefined || second !== undefined) {
    throw new CannotExplain(`the body has ${messages.length} messages, and the request of each method is one; the gateway rejects the call`)
  }
  if (!message.compressed) return message.bytes
  const encoding = headers.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'grpc-encoding')
  const decoded = decodeSync(encoding === -1 ? undefined : headers[encoding + 1], message.bytes, limit)
  if (
    'rejection' in decoded ||
    decoded.problem !== null ||
    encoding === -1
  ) throw new CannotExplain('the message is compressed in a way that the gateway does not read')
  return decoded.content
}

const FAULTS = {
  flag: 'its first byte is neither 0 nor 1',
  too_large: 'its prefix announces more bytes than limits.body',
  incomplete: 'it ends within a message'
}

/** Returns the recorded headers with those of every gRPC call. @param more replaces headers of the same name; flat list */
export function grpcHeaders ({ headers }: RecordedRequest, more: readonly string[]): string[] {
  const replaced = new Set(more.filter((_, i) => i % 2 === 0).map(name => name.toLowerCase()))
  const out: string[] = []
  const push = (name: string, value: string): void => { out.push(name.toLowerCase(), value) }
  for (let i = 0; i < headers.length; i += 2) {
    const name = (headers[i] ?? '').toLowerCase()
    const value = headers[i + 1] ?? ''
    // A recording in JSON names the type of the JSON.
    if (name === 'content-type' && !isGrpcType(value)) continue
    if (name !== 'content-length' && !replaced.has(name)) push(name, value)
  }
  for (let i = 0; i < more.length; i += 2) push(more[i] ?? '', more[i + 1] ?? '')
  const names = new Set(out.filter((_, i) => i % 2 === 0))
  if (!names.has('content-type')) push('content-type', GRPC_TYPE)
  if (!names.has('te')) push('te', 'trailers')
  // Every call has an authority.
  return names.has('host') ? out : ['host', 'localhost', ...out]
}

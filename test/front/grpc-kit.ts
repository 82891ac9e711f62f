/** Agents and gateways for tests of the gRPC front: agents of `node:http2` that do what a test says, frame by frame. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ClientHttp2Stream, Http2Server, IncomingHttpHeaders, OutgoingHttpHeaders, SecureServerOptions, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { createSecureServer, createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { Operation } from '#a2a/operations.js'
import type { Version } from '#a2a/versions.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import type { JsonObject } from '#wire/json/object.js'
import { gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { grpcMessage, RawGrpc } from '../helpers/grpc-raw.js'
import { MESSAGE } from '../helpers/http.js'

const LIMITS = { depth: 100, members: 100_000 }

/** The bytes of a request, with their prefix. */
export function requestOf (value: object, operation: Operation = 'SendMessage', version: Version = '1.0'): Buffer {
  return grpcMessage(writeProtobuf(value as JsonObject, methodOf(operation, version).request))
}

/** The bytes of a response or of one message of it, with their prefix. */
export function responseOf (value: object, operation: Operation = 'SendMessage', version: Version = '1.0'): Buffer {
  return grpcMessage(writeProtobuf(value as JsonObject, methodOf(operation, version).response))
}

export function readResponse (bytes: Buffer, operation: Operation = 'SendMessage', version: Version = '1.0'): JsonObject {
  const read = readProtobuf(bytes, methodOf(operation, version).response, LIMITS)
  if (!read.ok) throw new Error(read.problem.message)
  return read.value
}

function methodOf (operation: Operation, version: Version): NonNullable<ReturnType<typeof grpcMethodFor>> {
  const method = grpcMethodFor(operation, version)
  if (method === null) throw new Error(`${operation} ${version}`)
  return method
}

export const HELLO = requestOf({ message: MESSAGE })
export const REPLY = responseOf({ message: { messageId: 'r1', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] } })
/** One message of a stream. */
export const EVENT = responseOf({ statusUpdate: { taskId: 't1', contextId: 'c1', status: { state: 'TASK_STATE_WORKING' } } }, 'SendStreamingMessage')

export interface AgentCall {
  readonly stream: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
  readonly raw: readonly string[]
  /** The request so far. */
  readonly chunks: Buffer[]
  readonly session: ServerHttp2Session
  /** Code of RST_STREAM, once the stream is over. */
  reset: number | null
}

export interface GrpcAgent {
  /** Of its card. */
  readonly url: string
  readonly port: number
  readonly calls: AgentCall[]
  readonly sessions: Set<ServerHttp2Session>
  readonly server: Http2Server
}

export interface GrpcAgentOptions {
  /** Called when the request is complete; with `early`, at its head. Default: replies. */
  readonly answer?: (call: AgentCall) => void
  readonly early?: boolean
  readonly card?: object
  readonly versions?: readonly Version[]
  readonly maxConcurrentStreams?: number
  readonly tls?: SecureServerOptions
}

/** Sends a whole response. */
export function reply ({ stream }: AgentCall, messages: readonly Buffer[] = [REPLY], trailers: OutgoingHttpHeaders = { 'grpc-status': '0' }, head: OutgoingHttpHeaders = {}): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...head }, { waitForTrailers: true })
  stream.on('wantTrailers', () => { stream.sendTrailers(trailers) })
  for (const message of messages) stream.write(message)
  stream.end()
}

export async function grpcAgent (t: Test, { answer = reply, early = false, card = {}, versions = ['1.0'], maxConcurrentStreams, tls }: GrpcAgentOptions = {}): Promise<GrpcAgent> {
  const settings = maxConcurrentStreams === undefined ? {} : { settings: { maxConcurrentStreams } }
  const server = (tls === undefined ? createHttp2Server(settings) : createSecureServer({ ...settings, ...tls })) as Http2Server
  const calls: AgentCall[] = []
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', session => {
    sessions.add(session)
    session.on('error', () => {})
    session.on('close', () => { sessions.delete(session) })
  })
  server.on('stream', (...[stream, headers, , raw]: readonly [ServerHttp2Stream, IncomingHttpHeaders, number, string[]]) => {
    const call: AgentCall = { stream, headers, raw, chunks: [], session: stream.session as ServerHttp2Session, reset: null }
    calls.push(call)
    stream.on('error', () => {})
    stream.on('close', () => { call.reset = stream.rstCode ?? null })
    if (early) return answer(call)
    stream.on('data', (chunk: Buffer) => { call.chunks.push(chunk) })
    stream.on('end', () => { answer(call) })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const body = JSON.stringify({ ...cardOf(port, versions), ...card })
  const cards = createServer((_request, response) => { response.writeHead(200, { 'content-type': 'application/json' }).end(body) })
  cards.listen(0, '127.0.0.1')
  await once(cards, 'listening')
  t.teardown(() => {
    cards.closeAllConnections()
    cards.close()
    for (const session of sessions) session.destroy()
    server.close()
  })
  return { url: `http://127.0.0.1:${(cards.address() as AddressInfo).port}`, port, calls, sessions, server }
}

function cardOf (port: number, versions: readonly Version[]): object {
  return {
    name: 'raw',
    description: 'raw',
    version: '1',
    protocolVersion: '1.0',
    supportedInterfaces: versions.map(protocolVersion => ({ url: `127.0.0.1:${port}`, protocolBinding: 'GRPC', protocolVersion })),
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: []
  }
}

export interface GrpcGatewayOptions {
  /** Lines below the agent. */
  readonly agent?: readonly string[]
  /** Lines at the root. */
  readonly root?: readonly string[]
  /** Members of `server`, each `key: value`. */
  readonly server?: readonly string[]
  /** Members of `server.grpc`. */
  readonly grpc?: readonly string[]
  /** Members of `agents[0].grpc`. */
  readonly agentGrpc?: readonly string[]
  /** Members of `upstream`. */
  readonly upstream?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly baseDir?: string
}

export interface GrpcGateway extends TestGateway {
  /** Of its first gRPC listener. */
  readonly address: string
  readonly client: RawGrpc
}

export function yamlOf (agent: Pick<GrpcAgent, 'url' | 'port'>, options: GrpcGatewayOptions = {}): string {
  const { agent: lines = [], root = [], server = [], grpc = [], agentGrpc = [`upstream: "grpc://127.0.0.1:${agent.port}"`], upstream = [] } = options
  return [
    `server: {${['listen: "127.0.0.1:0"', 'admin: "127.0.0.1:0"', `grpc: {${['listen: "127.0.0.1:0"', 'publicAddress: "agent.test:443"', ...grpc].join(', ')}}`, ...server].join(', ')}}`,
    'agents:',
    '  - name: agent',
    `    upstream: {${[`url: "${agent.url}"`, ...upstream].join(', ')}}`,
    `    grpc: {${agentGrpc.join(', ')}}`,
    ...lines.map(line => `    ${line}`),
    ...root
  ].join('\n')
}

/** A gateway in front of the agent, with a client of its gRPC listener. */
export async function grpcGateway (t: Test, agent: Pick<GrpcAgent, 'url' | 'port'>, options: GrpcGatewayOptions = {}): Promise<GrpcGateway> {
  const { env = {}, baseDir = process.cwd() } = options
  const gateway = await gatewayFor(t, { yaml: yamlOf(agent, options), env, baseDir })
  const address = gateway.grpc[0] as string
  const client = await RawGrpc.to(address)
  t.teardown(() => { client.close() })
  return { ...gateway, address, client }
}

/** Opens a call that a test drives itself. */
export function openCall ({ session }: RawGrpc, headers: OutgoingHttpHeaders = {}): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST', ':path': '/lf.a2a.v1.A2AService/SendStreamingMessage', te: 'trailers', 'content-type': 'application/grpc', 'a2a-version': '1.0', ...headers
  })
  stream.on('error', () => {})
  return stream
}

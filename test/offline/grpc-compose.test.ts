/** The composed gRPC call of a test equals the call that the official clients send. */
import { createServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { IncomingHttpHeaders, Http2Server, ServerHttp2Session } from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { mapGrpc } from '#a2a/grpc/card-map.js'
import { readCard } from '#a2a/card/card.js'
import { grpcMethodOf } from '#a2a/grpc/methods.js'
import type { Version } from '#a2a/versions.js'
import { compose } from '#offline/recording/compose.js'
import { headOf } from '#pipeline/request-head.js'
import { GrpcDeframer } from '#wire/grpc/deframer.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import { connect } from '../helpers/sdk-clients.js'
import type { ClientKind } from '../helpers/sdk-clients.js'
import { CALLS, URIS, withoutPartMetadata } from './sdk-calls.js'

interface Captured { readonly path: string, readonly headers: IncomingHttpHeaders, readonly chunks: Buffer[] }

const captured: Captured[] = []
const agent: Http2Server = createHttp2Server()
const sessions: ServerHttp2Session[] = []
agent.on('session', session => { sessions.push(session) })
agent.on('stream', (stream, headers) => {
  const call: Captured = { path: headers[':path'] as string, headers, chunks: [] }
  captured.push(call)
  stream.on('error', () => {})
  stream.on('data', (chunk: Buffer) => { call.chunks.push(chunk) })
  stream.on('end', () => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' }, { endStream: true })
  })
})
const portOf = (server: Server): number => (server.address() as AddressInfo).port
const cards = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(cardOf(portOf(agent))))
})

function cardOf (port: number): object {
  const url = `127.0.0.1:${port}`
  return {
    name: 'a',
    description: 'a',
    version: '1',
    protocolVersion: '0.3.0',
    url,
    preferredTransport: 'GRPC',
    supportedInterfaces: ['1.0', '0.3'].map(protocolVersion => ({ url, protocolBinding: 'GRPC', protocolVersion })),
    capabilities: { streaming: true, pushNotifications: true },
    skills: [],
    defaultInputModes: [],
    defaultOutputModes: []
  }
}

/** The message as ProtoJSON, without what clients make up: ids, configuration. */
function essence (path: string, message: Buffer): unknown {
  const method = grpcMethodOf(path)
  if (method === null) throw new Error(path)
  const read = readProtobuf(message, method.request, { depth: 100, members: 1000 })
  if (!read.ok) throw new Error(read.problem.message)
  const { configuration: _, ...value } = read.value
  if (typeof value.message === 'object' && value.message !== null) {
    delete (value.message as Record<string, unknown>).messageId
    if (method.version === '0.3') withoutPartMetadata(value)
  }
  return value
}

t.before(async () => {
  for (const server of [agent, cards]) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
})
t.teardown(() => {
  for (const session of sessions) session.destroy()
  agent.close()
  cards.close()
})

// The client of SDK 0.3.14 cannot write a request without historyLength ("invalid int32: object").
for (const [version, client] of [['1.0', 'v1'], ['0.3', 'v1-as-03']] as readonly [Version, ClientKind][]) {
  t.test(`${version} over gRPC`, async t => {
    const read = readCard(cardOf(portOf(agent)))
    if (!read.ok) throw new Error(read.problem)
    const scope = { publicAddress: 'gw.test:443', upstream: null, own: { host: '127.0.0.1', tls: false } }
    const interfaces = mapGrpc(read.card.grpc, scope, []).filter(one => one !== null)
    const cardUrl = `http://127.0.0.1:${portOf(cards)}/.well-known/agent-card.json`
    const sdk = await connect({ client, cardUrl, transport: 'GRPC', extensions: URIS })
    for (const { name, call, spec, only } of CALLS) {
      if (only !== undefined && only !== version) continue
      captured.length = 0
      const problem = await call(sdk).then(() => null, (error: unknown) => error)
      const [theirs] = captured
      if (theirs === undefined) throw new Error(`the client sent nothing for ${name}: ${String(problem)}`)
      const ours = compose(spec(version), { version, binding: 'GRPC' }, interfaces)
      if (typeof ours === 'string') throw new Error(ours)
      const [message] = new GrpcDeframer(100_000).feed(Buffer.concat(theirs.chunks))
      t.equal(ours.path, theirs.path, `${name}: method`)
      t.same(essence(ours.path, ours.body ?? Buffer.alloc(0)), essence(theirs.path, message?.bytes ?? Buffer.alloc(0)), `${name}: message`)
      const { headers } = headOf(ours.method, ours.rawHeaders)
      for (const header of ['a2a-extensions', 'x-a2a-extensions', 'content-type', 'te']) {
        t.equal(headers[header], theirs.headers[header], `${name}: ${header}`)
      }
    }
  })
}

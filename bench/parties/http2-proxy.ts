/**
 * The bare gRPC proxy: node:http2 on both sides. The proxy forwards bytes and inspects nothing. The code is as fast as node:http2 allows,
 * so that the comparison shows the cost of a gateway beyond forwarding.
 *
 *     node http2-proxy.js HOST:PORT
 */
import { connect, createServer } from 'node:http2'
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { announce } from '../processes.js'

const WINDOW = 1 << 20
const SESSION_WINDOW = 1 << 24
const WITH_TRAILERS = { waitForTrailers: true }
const END_OF_STREAM = 1
const UNAVAILABLE = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '14' }
const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'host'] as const

const agent = process.argv[2] as string
let session: ClientHttp2Session | null = null

function upstream (): ClientHttp2Session {
  if (session === null || session.closed || session.destroyed) {
    const made = connect(`http://${agent}`, { settings: { enablePush: false, initialWindowSize: WINDOW } })
    made.on('connect', () => { made.setLocalWindowSize(SESSION_WINDOW) })
    made.on('error', () => {})
    made.on('goaway', () => { if (session === made) session = null })
    session = made
  }
  return session
}

function forward (client: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  const sent: OutgoingHttpHeaders = { ...headers, ':authority': agent, te: 'trailers' }
  for (const name of HOP_BY_HOP) delete sent[name]
  const call: ClientHttp2Stream = upstream().request(sent)
  let trailers: OutgoingHttpHeaders | null = null
  client.on('data', (chunk: Buffer) => { if (!call.write(chunk)) client.pause() })
  client.on('end', () => { call.end() })
  client.on('drain', () => { call.resume() })
  client.on('error', () => {})
  client.on('aborted', () => { call.close(client.rstCode) })
  client.on('wantTrailers', () => { client.sendTrailers(trailers ?? { 'grpc-status': '14' }) })
  call.on('drain', () => { client.resume() })
  call.on('response', (head, flags) => {
    if (client.destroyed) return
    if ((flags & END_OF_STREAM) !== 0) client.respond(head, { endStream: true })
    else client.respond(head, WITH_TRAILERS)
  })
  call.on('trailers', received => { trailers = received })
  call.on('data', (chunk: Buffer) => { if (!client.write(chunk)) call.pause() })
  call.on('end', () => { if (client.headersSent && !client.writableEnded) client.end() })
  call.on('error', () => {
    if (client.destroyed) return
    if (client.headersSent) client.close(call.rstCode)
    else client.respond(UNAVAILABLE, { endStream: true })
  })
}

const server = createServer({ settings: { initialWindowSize: WINDOW, maxConcurrentStreams: 1_000 } })
server.on('session', made => { made.setLocalWindowSize(SESSION_WINDOW) })
server.on('sessionError', () => {})
server.on('stream', forward)
server.listen(0, '127.0.0.1', () => { announce((server.address() as AddressInfo).port) })

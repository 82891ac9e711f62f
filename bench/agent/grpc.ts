/**
 * The agent behind the parties of the case `grpc`, in a process of its own: two HTTP/2 calls with prepared messages, and as little else as
 * possible, because the agent shares its core with the load generator. Its HTTP/1.1 port has the card and, at /stats, `{calls, bytes}`.
 */
import { createServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { card } from './card.js'
import { EVENT, EVENTS, RESPONSE, SEND, STREAM } from './grpc-calls.js'

const NODES = 7
const HEAD = { ':status': 200, 'content-type': 'application/grpc' }
const TRAILERS = { 'grpc-status': '0' }
const UNKNOWN = { ...HEAD, 'grpc-status': '12' }
const WITH_TRAILERS = { waitForTrailers: true }
const stats = { calls: 0, bytes: 0 }

const grpc = createHttp2Server({ settings: { initialWindowSize: 1 << 20, maxConcurrentStreams: 1_000 } })
grpc.on('session', session => { session.setLocalWindowSize(1 << 24) })
grpc.on('sessionError', () => {})
grpc.on('stream', (stream, headers) => {
  const path = headers[':path']
  stream.on('error', () => {})
  stream.on('data', (chunk: Buffer) => { stats.bytes += chunk.length })
  stream.on('end', () => {
    stats.calls++
    if (path === SEND) respond(stream, RESPONSE)
    else if (path === STREAM) respondWithEvents(stream)
    else stream.respond(UNKNOWN, { endStream: true })
  })
})

function begin (stream: ServerHttp2Stream): boolean {
  if (stream.destroyed) return false
  stream.on('wantTrailers', () => { stream.sendTrailers(TRAILERS) })
  stream.respond(HEAD, WITH_TRAILERS)
  return true
}

function respond (stream: ServerHttp2Stream, frame: Buffer): void {
  if (begin(stream)) stream.end(frame)
}

/** Each event waits for the write of the one before, so that each has a DATA frame of its own, as the events of real agents have. */
function respondWithEvents (stream: ServerHttp2Stream): void {
  if (!begin(stream)) return
  let left = EVENTS
  const next = (): void => {
    if (stream.destroyed) return
    if (--left === 0) stream.end(EVENT)
    else stream.write(EVENT, next)
  }
  next()
}

const http = createServer((request, response) => {
  const body = request.url === '/stats' ? stats : cardWithGrpc()
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(body))
})

const portOf = (server: { address (): unknown }): number => (server.address() as AddressInfo).port

function cardWithGrpc (): object {
  const base = card(`http://127.0.0.1:${portOf(http)}`, 0, NODES) as { supportedInterfaces: object[] }
  const grpcInterface = { url: `127.0.0.1:${portOf(grpc)}`, protocolBinding: 'GRPC', protocolVersion: '1.0' }
  return { ...base, supportedInterfaces: [...base.supportedInterfaces, grpcInterface] }
}

grpc.listen(0, '127.0.0.1', () => {
  http.listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ msg: 'listening', url: `http://127.0.0.1:${portOf(http)}`, grpc: `127.0.0.1:${portOf(grpc)}` }))
  })
})

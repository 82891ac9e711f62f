/** Raw sockets and hand-made agents, for what no client library and no SDK can be made to do. */
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import type { Test } from 'tap'

/** Sends exact bytes and returns everything the peer answers until it closes, or for `timeout` ms. */
export async function rawExchange (url: string, bytes: string | Buffer, timeout = 1_000): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(chunk))
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(bytes)
  await new Promise<void>(resolve => {
    const timer = setTimeout(resolve, timeout)
    socket.once('close', () => { clearTimeout(timer); resolve() })
  })
  socket.destroy()
  return Buffer.concat(chunks).toString('latin1')
}

export interface RawRequest {
  readonly method: string
  readonly url: string
  readonly rawHeaders: readonly string[]
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

export interface FakeAgent {
  readonly url: string
  readonly server: Server
  /** Every request that is not for a card, with its whole body. */
  readonly received: RawRequest[]
  /** Sockets open now. */
  readonly sockets: ReadonlySet<Socket>
}

/** A 1.0 card with both bindings, at paths /rpc and /rest of the agent's own address; `extra` is spread over it. */
export function plainCard (url: string, extra: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name: 'fake',
    description: 'a hand-made agent',
    version: '1',
    supportedInterfaces: [
      { url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      { url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' }
    ],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    ...extra
  }
}

/** Serves the card; everything else, body read, goes to `answer`. Default answer: 200 and a JSON-RPC result. */
export async function fakeAgent (t: Test, options: {
  readonly card?: (url: string) => unknown
  readonly answer?: (request: RawRequest, response: ServerResponse, incoming: IncomingMessage) => void
} = {}): Promise<FakeAgent> {
  const received: RawRequest[] = []
  const sockets = new Set<Socket>()
  let url = ''
  const listener: RequestListener = (incoming, response) => {
    if ((incoming.url ?? '').includes('/.well-known/')) {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify((options.card ?? plainCard)(url)))
      return
    }
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const request = { method: incoming.method ?? '', url: incoming.url ?? '', rawHeaders: incoming.rawHeaders, headers: incoming.headers, body: Buffer.concat(chunks) }
      received.push(request)
      if (options.answer !== undefined) return options.answer(request, response, incoming)
      response.setHeader('content-type', 'application/json')
      response.end('{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}]}}}')
    })
    incoming.on('error', () => {})
  }
  const server = createServer({ keepAliveTimeout: 60_000 }, listener)
  server.on('connection', socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url, server, received, sockets }
}

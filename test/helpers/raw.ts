/** Raw sockets and hand-made agents, for bytes that no client library and no SDK can send. */
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import type { Test } from 'tap'

export interface ExchangeOptions {
  /** Number of expected responses, without interim responses (1xx); default 1. */
  readonly responses?: number
  /**
   * A request that asks to close the connection, sent after the responses. Its response shows that the peer has processed all bytes before
   * it.
   */
  readonly last?: string
  /** Returns when the peer has closed the connection, whatever the peer sent before. Use this for bytes that need not get a response. */
  readonly until?: 'close'
  /** Milliseconds after which the exchange fails. */
  readonly timeout?: number
}

/**
 * Sends exact bytes and returns all bytes that the peer sends. Returns when the expected responses are complete. When the last response has
 * no length or contains `connection: close`, the function waits until the peer has closed the connection, so that the result includes an
 * unexpected additional response. Fails when the peer closes earlier, or sends nothing.
 */
export async function rawExchange (
  url: string,
  bytes: string | Buffer,
  { responses = 1, last, until, timeout = 20_000 }: ExchangeOptions = {}
): Promise<string> {
  const { hostname, port } = new URL(url)
  const request = Buffer.from(bytes as string)
  const socket = connect(Number(port), hostname, () => {
    socket.write(request)
  })
  return await new Promise<string>((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0)
    let end = 0
    let complete = 0
    let closes = until === 'close'
    const read = (closed: boolean): void => {
      while (complete < responses) {
        const response = readResponse(received, end, request, closed)
        if (response === null) return
        end = response.end
        closes ||= response.closes
        if (response.status >= 200 || response.status === 101) complete++
      }
    }
    const finish = (problem: string | null): void => {
      clearTimeout(timer)
      socket.destroy()
      const text = received.toString('latin1')
      if (problem === null) resolve(text)
      else {
        reject(
          new Error(
            `${problem}, ${complete} of ${responses} responses are complete: ${JSON.stringify(text.slice(0, 500))} to ${JSON.stringify(request.toString('latin1', 0, 200))}`
          )
        )
      }
    }
    const timer = setTimeout(() => {
      finish(`after ${timeout} ms`)
    }, timeout)
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      read(false)
      if (complete < responses || closes) return
      if (last === undefined) return finish(null)
      closes = true
      socket.write(last)
    })
    socket.on('error', () => {}) // The event 'close' follows.
    socket.once('close', () => {
      read(true)
      finish(complete === responses || until === 'close' ? null : 'the connection is closed')
    })
  })
}

/** The response at `at`, RFC 9112 section 6.3; null while the response is incomplete. `closed`: no more bytes follow. */
function readResponse (
  bytes: Buffer,
  at: number,
  request: Buffer,
  closed: boolean
): { status: number; end: number; closes: boolean } | null {
  const body = bytes.indexOf('\r\n\r\n', at) + 4
  if (body === 3) return null
  const head = bytes.toString('latin1', at, body)
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? 0)
  if (status === 0) return null
  const closes = /^connection:.*\bclose\b/im.test(head)
  const method = /^[A-Z]*/.exec(request.toString('latin1', 0, 16))?.[0]
  if (status < 200 || status === 204 || status === 304 || method === 'HEAD' || (method === 'CONNECT' && status < 300)) {
    return { status, end: body, closes }
  }
  if (/^transfer-encoding:.*\bchunked\b/im.test(head)) {
    for (let chunk = body; ;) {
      const line = bytes.indexOf('\r\n', chunk)
      if (line === -1) return null
      const size = parseInt(bytes.toString('latin1', chunk, line), 16)
      if (size === 0) {
        // Trailer lines and an empty line.
        const end = bytes.indexOf('\r\n\r\n', line)
        return end === -1 ? null : { status, end: end + 4, closes }
      }
      chunk = line + 2 + size + 2
      if (!(chunk <= bytes.length)) return null
    }
  }
  const length = /^content-length: *(\d+)/im.exec(head)?.[1]
  if (length === undefined) return closed ? { status, end: bytes.length, closes: true } : null
  const end = body + Number(length)
  return end <= bytes.length ? { status, end, closes } : null
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
  /** Open sockets. */
  readonly sockets: ReadonlySet<Socket>
}

/** A 1.0 card with both bindings, at paths /rpc and /rest of the agent's own address; `extra` is spread over the card. */
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

/** Serves the card. Every other request goes to `answer` once its body is read. Default response: 200 and a JSON-RPC result. */
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
      const request = {
        method: incoming.method ?? '',
        url: incoming.url ?? '',
        rawHeaders: incoming.rawHeaders,
        headers: incoming.headers,
        body: Buffer.concat(chunks)
      }
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

/** `rawExchange` returns when the responses are complete, in every framing of RFC 9112, and fails when a response is missing. */
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { listenFor } from './http.js'
import type { ExchangeOptions } from './raw.js'
import { rawExchange } from './raw.js'

const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'
const FIXED = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\na\r\n\r\n10\r\n0123456789abcdef\r\n0\r\nTrailer: z\r\n\r\n'

/** A server that calls `act` on each connection when its first bytes have arrived. */
async function server (t: Test, act: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  return await listenFor(t, createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    socket.once('data', () => { act(socket) })
  }), sockets)
}

t.test('complete responses, in one piece and byte by byte, on a connection that stays open', async t => {
  const cases: Record<string, [sent: string, options?: ExchangeOptions, request?: string]> = {
    'Content-Length': [FIXED],
    chunks: [CHUNKED],
    'no content': ['HTTP/1.1 204 No Content\r\n\r\n'],
    'not modified': ['HTTP/1.1 304 Not Modified\r\ncontent-length: 99\r\n\r\n'],
    'a HEAD': ['HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n', {}, GET.replace('GET', 'HEAD')],
    'a tunnel': ['HTTP/1.1 200 OK\r\n\r\n', {}, 'CONNECT x:1 HTTP/1.1\r\n\r\n'],
    'an upgrade': ['HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\n\r\n'],
    'an interim response first': [`HTTP/1.1 103 Early Hints\r\n\r\n${FIXED}`],
    'three responses': [FIXED + CHUNKED + FIXED, { responses: 3 }]
  }
  for (const [name, [sent, options, request = GET]] of Object.entries(cases)) {
    for (const size of [sent.length, 1]) {
      const url = await server(t, socket => {
        socket.setNoDelay(true)
        const next = (at: number): void => {
          if (at < sent.length && !socket.destroyed) {
            socket.write(sent.slice(at, at + size), () => {
              setImmediate(next, at + size)
            })
          }
        }
        next(0)
      })
      t.equal(await rawExchange(url, request, options), sent, `${name}, ${size} bytes at a time`)
    }
  }
})

t.test('if the connection is to be closed, the result has everything before', async t => {
  const closing = FIXED.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  for (const [sent, options] of [
    [closing + FIXED, {}],
    ['HTTP/1.1 200 OK\r\n\r\nall of it', {}],
    ['', { until: 'close' }],
    ['no HTTP', { until: 'close' }],
    [FIXED + FIXED, { until: 'close' }]
  ] as [string, ExchangeOptions][]) {
    const url = await server(t, socket => {
      socket.write(sent.slice(0, 70))
      setImmediate(() => {
        socket.end(sent.slice(70))
      })
    })
    t.equal(await rawExchange(url, GET, options), sent)
  }
})

t.test('a response that is missing or cut off fails, and so does silence', async t => {
  for (const [sent, options] of [
    ['', {}],
    ['no HTTP\r\n\r\n', {}],
    [FIXED.slice(0, -1), {}],
    [CHUNKED.slice(0, -2), {}],
    [FIXED, { responses: 2 }],
    ['HTTP/1.1 100 Continue\r\n\r\n', {}]
  ] as [string, ExchangeOptions][]) {
    const closing = await server(t, socket => {
      socket.end(sent)
    })
    await t.rejects(
      rawExchange(closing, GET, options),
      /^the connection is closed, [01] of [12] responses are complete: /,
      JSON.stringify(sent)
    )
    const open = await server(t, socket => {
      socket.write(sent)
    })
    await t.rejects(rawExchange(open, GET, { ...options, timeout: 30 }), /^after 30 ms, [01] of [12] responses/, JSON.stringify(sent))
  }
  const open = await server(t, socket => { socket.write(FIXED) })
  await t.rejects(rawExchange(open, GET, { until: 'close', timeout: 30 }), /^after 30 ms/)
})

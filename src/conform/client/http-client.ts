/** Sends one HTTP/1.1 request, byte for byte, and reads the response as it is on the wire. */
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { chunkBytes, headBytes, Http1Reader, LAST_CHUNK } from '../http1.js'
import { filled } from '../mark.js'
import type { Exchange, HttpRequest, Line } from '../model.js'
import { ExchangeRecord } from './exchange-record.js'

export interface SendOptions {
  /** The base URL of the request's target, without a final slash. */
  readonly base: string
  /** The name of the call, which replaces the mark. */
  readonly name: string
  /** The origin of the agent, which replaces `{agent}` in bodies. */
  readonly agent?: string
  /** Pieces of the response that the agent sends one after the other: called when the client has a piece. */
  readonly gates?: { readonly pieces: readonly Buffer[], readonly release: (piece: number) => void }
  readonly timeout?: number
}

/** Milliseconds until a client leaves that waits for no piece. */
const LEAVE = 300

/** @returns the exchange; a connection that fails is an exchange without a response */
export async function sendHttp (request: HttpRequest, options: SendOptions): Promise<Exchange> {
  const { base, name, gates, agent = '', timeout } = options
  const url = new URL(base)
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const socket: Socket = url.protocol === 'https:'
    ? connectTls({ host, port, rejectUnauthorized: false, servername: url.hostname, ALPNProtocols: ['http/1.1'] })
    : connect({ host, port, noDelay: true })
  const bytes = bytesOf(request, url, name, agent)
  return await new Promise(resolve => {
    const { pieces = [], release } = gates ?? {}
    const record = new ExchangeRecord({ pieces: pieces.length, release, timeout, close: () => { socket.destroy() }, done: resolve })
    let left = request.repeat ?? 0
    const advance = (): void => {
      const body = Buffer.concat(record.chunks)
      for (let next = pieces[record.piece]; next !== undefined && body.includes(next); next = pieces[record.piece]) record.arrived()
      if (request.leaveAfter !== undefined && request.leaveAfter > 0 && record.piece >= request.leaveAfter) record.settle('left')
    }
    const reader = new Http1Reader('response', {
      head: head => {
        const status = Number(head.start.slice(9, 12))
        if (status >= 100 && status < 200) return
        record.status = status
        record.headers = head.headers
        record.watch()
      },
      data: chunk => {
        record.chunks.push(chunk)
        if (gates !== undefined && !record.settled) advance()
      },
      end: trailers => {
        if (record.status === 0) return
        record.trailers = trailers
        if (left === 0) return record.settle('complete')
        left--
        record.chunks = []
        reader.withoutBody = request.method === 'HEAD'
        socket.write(bytes)
      },
      fault: problem => record.settle('broken', problem)
    })
    reader.withoutBody = request.method === 'HEAD'
    socket.on('data', (chunk: Buffer) => { reader.feed(chunk) })
    socket.on('end', () => {
      if (reader.finish() && record.status !== 0) record.settle('complete')
      else {
        record.settle(
          'broken', record.status === 0 ? 'the connection ended before a response' : 'the connection ended within the response'
        )
      }
    })
    socket.on('error', error => record.settle('broken', record.status === 0
      ? `no response: ${(error as NodeJS.ErrnoException).code ?? error.message}`
      : 'the connection broke within the response'))
    socket.on(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      socket.write(bytes)
      if (request.leaveAfter === 0) setTimeout(() => record.settle('left'), LEAVE)
    })
  })
}

/** The bytes of the request. */
function bytesOf (request: HttpRequest, url: URL, name: string, agent: string): Buffer {
  const base = url.pathname.replace(/\/$/, '')
  if (request.raw !== undefined) {
    return filled(
      request.raw.replaceAll('{host}', url.host).replaceAll('{path}', base === '' ? '/' : base).replaceAll('{base}', base), name
    )
  }
  const target = filled(base + request.target, name).toString('latin1') || '/'
  const text = request.body === null ? null : filled(request.body.replaceAll('{agent}', agent), name)
  const body = text !== null && request.framing === 'gzip' ? gzipSync(text) : text
  const hasHost = request.headers.some(([key]) => key.toLowerCase() === 'host')
  const headers: Line[] = [
    ...hasHost ? [] : [['Host', url.host] as const],
    ...request.headers.map(([key, value]) => [key, filled(value, name).toString('latin1')] as const),
    ...request.framing === 'gzip' ? [['Content-Encoding', 'gzip'] as const] : [],
    ...body === null
      ? []
      : request.framing === 'chunked'
        ? [['Transfer-Encoding', 'chunked'] as const]
        : [
            ['Content-Length', String(body.length)] as const
          ]
  ]
  const head = headBytes(`${request.method} ${target} HTTP/1.1`, headers)
  if (body === null) return head
  if (request.framing !== 'chunked') return Buffer.concat([head, body])
  const middle = Math.floor(body.length / 2)
  return Buffer.concat([head, chunkBytes(body.subarray(0, middle)), chunkBytes(body.subarray(middle)), LAST_CHUNK])
}

/**
 * The agent behind all parties, in a process of its own. The agent works directly on the socket and does as little as possible, because it
 * shares its core with the load generator. The agent understands only requests with Content-Length, which every party sends.
 *
 * GET /stats returns `{calls, bytes, streams}`. Any other GET returns a card, below `/POLICIES/NODES`. POST is a call. The header
 * `bench-stream` requests an event stream: `burst N` sends N events as fast as the reader takes them, `paced N` sends N events, one every
 * 10 ms, and `hold` sends one event and then nothing. `bench-response: SHAPE BYTES` requests a response of that content.
 * `bench-digest: yes` puts the SHA-256 of the request body into the response header `bench-digest`.
 */
import { createHash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { announce } from '../processes.js'
import { ANSWER, EVENT, responseTo } from './calls.js'
import { card } from './card.js'

const EVENTS_PER_WRITE = 10
const PACE = 10
const CHUNK = Buffer.concat([Buffer.from(`${EVENT.length.toString(16)}\r\n`), EVENT, Buffer.from('\r\n')])
const CHUNKS = Buffer.concat(Array.from({ length: EVENTS_PER_WRITE }, () => CHUNK))
const LAST = Buffer.from('0\r\n\r\n')
const STREAM_HEAD = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nX-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n\r\n'
)
const PLAIN = whole('200 OK', ANSWER)
/** Whole responses, by the value of `bench-response`. */
const REQUESTED = new Map<string, Buffer>()

const stats = { calls: 0, bytes: 0, streams: 0 }

class Connection {
  private readonly socket: Socket
  private readonly origin: string
  private pending: Buffer = Buffer.alloc(0)
  /** Bytes of the body that have not arrived yet; -1 between requests. */
  private left = -1
  private head = ''
  private digest: Hash | null = null

  constructor (socket: Socket, origin: string) {
    this.socket = socket
    this.origin = origin
    socket.setNoDelay(true)
    socket.on('data', chunk => { this.take(chunk) })
    socket.on('error', () => {})
  }

  private take (chunk: Buffer): void {
    let rest: Buffer = chunk
    while (rest.length > 0) {
      if (this.left < 0) {
        this.pending = this.pending.length === 0 ? rest : Buffer.concat([this.pending, rest])
        const end = this.pending.indexOf('\r\n\r\n')
        if (end < 0) return
        this.head = this.pending.toString('latin1', 0, end)
        rest = this.pending.subarray(end + 4)
        this.pending = Buffer.alloc(0)
        if (!this.begin()) return
        if (this.left === 0) {
          this.left = -1
          this.answer()
          continue
        }
      }
      const body = rest.subarray(0, this.left)
      this.digest?.update(body)
      stats.bytes += body.length
      this.left -= body.length
      rest = rest.subarray(body.length)
      if (this.left > 0) return
      this.left = -1
      this.answer()
    }
  }

  private begin (): boolean {
    this.digest = /^bench-digest: yes/im.test(this.head) ? createHash('sha256') : null
    const length = /^content-length: *(\d+)/im.exec(this.head)?.[1]
    this.left = Number(length ?? 0)
    if (length !== undefined || this.head.startsWith('GET ')) return true
    this.socket.end(whole('411 Length Required', Buffer.from('{}')))
    return false
  }

  private answer (): void {
    if (this.head.startsWith('GET ')) {
      const path = this.head.slice(4, this.head.indexOf(' ', 4))
      const [, policies = '0', nodes = '0'] = path.split('/')
      const found = path === '/stats' ? stats : card(`${this.origin}/${policies}/${nodes}`, Number(policies), Number(nodes))
      this.socket.write(whole('200 OK', Buffer.from(JSON.stringify(found))))
      return
    }
    stats.calls++
    const wanted = this.head.includes('event-stream') ? /^bench-stream: (\w+) ?(\d*)/im.exec(this.head) : null
    const response = this.head.includes('bench-response') ? /^bench-response: (\w+ \d+)/im.exec(this.head)?.[1] : undefined
    if (wanted !== null) this.stream(wanted[1] as string, Number(wanted[2]))
    else if (this.digest !== null) {
      const body = response === undefined ? ANSWER : responseTo(response)
      this.socket.write(whole('200 OK', body, `Bench-Digest: ${this.digest.digest('hex')}\r\n`))
    } else this.socket.write(response === undefined ? PLAIN : requested(response))
  }

  private stream (kind: string, events: number): void {
    const { socket } = this
    stats.streams++
    let ended = false
    const end = (): void => {
      if (!ended) stats.streams--
      ended = true
      socket.off('close', end)
    }
    socket.once('close', end)
    socket.write(STREAM_HEAD)
    let left = events
    const burst = (): void => {
      while (left > 0) {
        const some = Math.min(left, EVENTS_PER_WRITE)
        left -= some
        if (!socket.write(some === EVENTS_PER_WRITE ? CHUNKS : CHUNKS.subarray(0, some * CHUNK.length))) {
          socket.once('drain', burst)
          return
        }
      }
      end()
      socket.write(LAST)
    }
    const paced = (): void => {
      if (ended) return
      socket.write(CHUNK)
      if (--left > 0) {
        setTimeout(paced, PACE)
        return
      }
      end()
      socket.write(LAST)
    }
    if (kind === 'burst') burst()
    else if (kind === 'paced') paced()
    else socket.write(CHUNK)
  }
}

function requested (wanted: string): Buffer {
  const known = REQUESTED.get(wanted)
  if (known !== undefined) return known
  const response = whole('200 OK', responseTo(wanted))
  REQUESTED.set(wanted, response)
  return response
}

function whole (status: string, body: Buffer, more = ''): Buffer {
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${more}\r\n`),
    body
  ])
}

const server = createServer(socket => new Connection(socket, `http://127.0.0.1:${(server.address() as AddressInfo).port}`))
server.listen(0, '127.0.0.1', 4_096, () => { announce((server.address() as AddressInfo).port) })

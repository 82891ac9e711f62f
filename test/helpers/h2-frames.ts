/** HTTP/2 frame by frame on a raw socket (RFC 9113), for frames that no client library sends. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'

export const FRAME = {
  data: 0, headers: 1, priority: 2, reset: 3, settings: 4, push: 5, ping: 6, goaway: 7, windowUpdate: 8, continuation: 9
} as const
export const END_STREAM = 1
export const ACK = 1
export const END_HEADERS = 4
/** Identifiers of settings, RFC 9113 §6.5.2. */
export const SETTING = { maxConcurrentStreams: 3, initialWindowSize: 4, maxFrameSize: 5 } as const

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const HEAD = 9

export interface Frame { readonly type: number, readonly flags: number, readonly stream: number, readonly payload: Buffer }

export function frame (type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0), length = payload.length): Buffer {
  const bytes = Buffer.alloc(HEAD + payload.length)
  bytes.writeUIntBE(length, 0, 3)
  bytes[3] = type
  bytes[4] = flags
  bytes.writeUInt32BE(stream, 5)
  payload.copy(bytes, HEAD)
  return bytes
}

export function uint32 (value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export function settings (entries: ReadonlyArray<readonly [identifier: number, value: number]>): Buffer {
  return frame(FRAME.settings, 0, 0, Buffer.concat(entries.map(([identifier, value]) => {
    const bytes = Buffer.alloc(6)
    bytes.writeUInt16BE(identifier)
    bytes.writeUInt32BE(value, 2)
    return bytes
  })))
}

/** HPACK, RFC 7541: literals without Huffman coding. `indexed`: the peer adds each to its table. */
export function headerBlock (headers: ReadonlyArray<readonly [name: string, value: string]>, indexed = false): Buffer {
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([indexed ? 0x40 : 0]), text(name), text(value)]))
}

function text (content: string): Buffer {
  const bytes = Buffer.from(content, 'latin1')
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes])
  const length: number[] = [127]
  let rest = bytes.length - 127
  for (; rest > 127; rest >>= 7) length.push((rest & 127) | 128)
  return Buffer.concat([Buffer.from([...length, rest]), bytes])
}

/** The head of a call of SendMessage. */
export const CALL: ReadonlyArray<readonly [string, string]> = [
  [':method', 'POST'], [':scheme', 'http'], [':path', '/lf.a2a.v1.A2AService/SendMessage'], [':authority', '127.0.0.1'],
  ['te', 'trailers'], ['content-type', 'application/grpc'], ['a2a-version', '1.0']
]

export class H2Socket {
  /** Frames of the peer so far. */
  readonly frames: Frame[] = []
  private readonly socket: Socket
  private received: Buffer = Buffer.alloc(0)
  private wakers: Array<() => void> = []
  /** Bytes of the peer's preface that have not arrived. */
  private preface: number
  closed = false

  private constructor (socket: Socket, preface = 0) {
    this.socket = socket
    this.preface = preface
    socket.setNoDelay(true)
    socket.on('data', chunk => { this.take(chunk) })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.closed = true
      this.wake()
    })
  }

  /** Connects, and sends the preface and these settings. */
  static async to (address: string, first = settings([])): Promise<H2Socket> {
    const [host, port] = address.split(':')
    const socket = connect(Number(port), host)
    await once(socket, 'connect')
    const h2 = new H2Socket(socket)
    h2.send(Buffer.from(PREFACE), first)
    return h2
  }

  /** Takes the connection of a client, and sends these settings. */
  static of (socket: Socket, first = settings([])): H2Socket {
    const h2 = new H2Socket(socket, PREFACE.length)
    h2.send(first)
    return h2
  }

  send (...bytes: Buffer[]): void {
    if (!this.closed) this.socket.write(Buffer.concat(bytes))
  }

  /** Sends the same bytes many times, as fast as the peer takes them. @returns how often, until the peer ended the connection */
  async flood (times: number, bytes: (i: number) => Buffer): Promise<number> {
    for (let i = 0; i < times; i++) {
      if (this.closed) return i
      this.socket.write(bytes(i))
      // The gateway has the event loop of the test.
      if (i % 100 === 99) await new Promise(resolve => { setImmediate(resolve) })
      if (this.socket.writableNeedDrain) await this.drained()
    }
    return times
  }

  private drained (): Promise<void> {
    return new Promise(resolve => {
      this.socket.once('drain', resolve)
      this.wakers.push(resolve)
    })
  }

  /** Waits until the frames so far satisfy the condition, or the peer has ended the connection. @returns false in the latter case */
  async until (condition: (frames: readonly Frame[]) => boolean): Promise<boolean> {
    while (!condition(this.frames)) {
      if (this.closed) return false
      await this.next()
    }
    return true
  }

  /** True after a PING has come back: the peer has processed all frames before it. */
  async alive (): Promise<boolean> {
    const before = this.frames.length
    this.send(frame(FRAME.ping, 0, 0, Buffer.alloc(8, 7)))
    return await this.until(frames => frames.slice(before).some(({ type, flags }) => type === FRAME.ping && (flags & ACK) !== 0))
  }

  /** The code of GOAWAY; null when none came. */
  get goaway (): number | null {
    return this.frames.find(({ type }) => type === FRAME.goaway)?.payload.readUInt32BE(4) ?? null
  }

  /** Codes of RST_STREAM, by stream. */
  get resets (): Map<number, number> {
    return new Map(this.frames.filter(({ type }) => type === FRAME.reset).map(({ stream, payload }) => [stream, payload.readUInt32BE()]))
  }

  close (): void {
    this.socket.destroy()
  }

  private next (): Promise<void> {
    return new Promise(resolve => { this.wakers.push(resolve) })
  }

  private wake (): void {
    const { wakers } = this
    this.wakers = []
    for (const waker of wakers) waker()
  }

  private take (chunk: Buffer): void {
    const ahead = Math.min(this.preface, chunk.length)
    this.preface -= ahead
    chunk = chunk.subarray(ahead)
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk])
    let at = 0
    while (this.received.length - at >= HEAD) {
      const end = at + HEAD + this.received.readUIntBE(at, 3)
      if (end > this.received.length) break
      const type = this.received[at + 3] as number
      const flags = this.received[at + 4] as number
      this.frames.push({ type, flags, stream: this.received.readUInt32BE(at + 5), payload: this.received.subarray(at + HEAD, end) })
      if (type === FRAME.settings && (flags & ACK) === 0) this.send(frame(FRAME.settings, ACK, 0))
      at = end
    }
    this.received = this.received.subarray(at)
    this.wake()
  }
}

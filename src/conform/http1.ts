/**
 * Reads HTTP/1.1 messages as they are on the wire (RFC 9112): each header line with its spelling, and bodies in pieces. Node's parser
 * merges lines, and rejects what a test of proxies has to see. The client, the scripted agent and the faulty proxy of the tests share this
 * reader.
 */
import type { Line } from './model.js'

export interface Head {
  /** The request line or the status line. */
  readonly start: string
  readonly headers: readonly Line[]
}

export interface Http1Events {
  head (head: Head): void
  data (bytes: Buffer): void
  /** The message is complete. */
  end (trailers: readonly Line[]): void
  /** The bytes are no HTTP/1.1. The reader ignores all further bytes. */
  fault (problem: string): void
}

/** Maximum size of a head or of a line of a chunk, bytes. */
const MAX_LINE = 1024 * 1024

type State = 'head' | 'length' | 'close' | 'size' | 'chunk' | 'chunk-end' | 'trailers' | 'failed'

export class Http1Reader {
  /** Set before the response of a request whose response has no body: HEAD. */
  withoutBody = false
  readonly #role: 'request' | 'response'
  readonly #events: Http1Events
  #state: State = 'head'
  #held: Buffer = Buffer.alloc(0)
  #left = 0

  constructor (role: 'request' | 'response', events: Http1Events) {
    this.#role = role
    this.#events = events
  }

  /** True between two messages. */
  get idle (): boolean {
    return this.#state === 'head' && this.#held.length === 0
  }

  feed (chunk: Buffer): void {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    while (this.#step());
  }

  /** The connection has ended. Ends a body that ends with the connection. @returns false when a message is incomplete */
  finish (): boolean {
    if (this.#state === 'close') {
      this.#complete([])
      return true
    }
    return this.idle
  }

  /** @returns false when more bytes are needed */
  #step (): boolean {
    switch (this.#state) {
      case 'head': return this.#readHead()
      case 'length':
      case 'chunk': return this.#readBody()
      case 'close': {
        if (this.#held.length > 0) this.#events.data(this.#take(this.#held.length))
        return false
      }
      case 'size': return this.#readSize()
      case 'chunk-end': {
        const line = this.#line()
        if (line === null) return false
        this.#state = 'size'
        return true
      }
      case 'trailers': return this.#readTrailers()
      case 'failed': return false
    }
  }

  #readHead (): boolean {
    while (this.#held[0] === 0x0d || this.#held[0] === 0x0a) this.#held = this.#held.subarray(1)
    const end = /\r?\n\r?\n/.exec(this.#held.toString('latin1'))
    if (end === null) {
      if (this.#held.length > MAX_LINE) return this.#fail('a head above 1 MiB')
      return false
    }
    const [start = '', ...lines] = this.#take(end.index + end[0].length).toString('latin1').replace(/(?:\r?\n){2}$/, '').split(/\r?\n/)
    const isStart = this.#role === 'request' ? /^\S+ \S.* HTTP\/\d\.\d$/.test(start) : /^HTTP\/1\.[01] \d{3}/.test(start)
    if (!isStart) return this.#fail(`no ${this.#role} line`)
    const headers = lines.map(lineOf)
    this.#events.head({ start, headers })
    this.#begin(start, headers)
    return true
  }

  #begin (start: string, headers: readonly Line[]): void {
    const status = this.#role === 'response' ? Number(start.slice(9, 12)) : 0
    if (status >= 100 && status < 200 && status !== 101) return
    const none = this.withoutBody || status === 204 || status === 304
    this.withoutBody = false
    const coding = valueOf(headers, 'transfer-encoding')
    const length = valueOf(headers, 'content-length')
    if (none) this.#complete([])
    else if (coding !== null && /chunked\s*$/i.test(coding)) this.#state = 'size'
    else if (length !== null) {
      this.#left = Number.parseInt(length, 10)
      this.#state = 'length'
      if (!(this.#left > 0)) this.#complete([])
    } else if (this.#role === 'response') this.#state = 'close'
    else this.#complete([])
  }

  #readBody (): boolean {
    if (this.#held.length === 0) return false
    const bytes = this.#take(Math.min(this.#left, this.#held.length))
    this.#left -= bytes.length
    this.#events.data(bytes)
    if (this.#left > 0) return false
    if (this.#state === 'chunk') this.#state = 'chunk-end'
    else this.#complete([])
    return true
  }

  #readSize (): boolean {
    const line = this.#line()
    if (line === null) return false
    const size = /^([0-9a-f]+)\s*(?:;.*)?$/i.exec(line)?.[1]
    if (size === undefined) return this.#fail('no size of a chunk')
    this.#left = Number.parseInt(size, 16)
    this.#state = this.#left === 0 ? 'trailers' : 'chunk'
    return true
  }

  #readTrailers (): boolean {
    const text = this.#held.toString('latin1')
    const end = /^\r?\n|\r?\n\r?\n/.exec(text)
    if (end === null) return this.#held.length > MAX_LINE ? this.#fail('trailers above 1 MiB') : false
    const lines = this.#take(end.index + end[0].length).toString('latin1').split(/\r?\n/).filter(line => line !== '')
    this.#complete(lines.map(lineOf))
    return true
  }

  #line (): string | null {
    const end = this.#held.indexOf(0x0a)
    if (end < 0) return null
    return this.#take(end + 1).toString('latin1').replace(/\r?\n$/, '')
  }

  #take (count: number): Buffer {
    const bytes = this.#held.subarray(0, count)
    this.#held = this.#held.subarray(count)
    return bytes
  }

  #complete (trailers: readonly Line[]): void {
    this.#state = 'head'
    this.#events.end(trailers)
  }

  #fail (problem: string): false {
    this.#state = 'failed'
    this.#events.fault(problem)
    return false
  }
}

function lineOf (line: string): Line {
  const colon = line.indexOf(':')
  // A name that no header can have.
  return colon < 0 ? [`${line} (no colon)`, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')]
}

/** The values of all lines with the name. */
export function valuesOf (headers: readonly Line[], name: string): string[] {
  return headers.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value)
}

/** The lines with the name as one value, joined with commas (RFC 9110 §5.2), or null. */
export function valueOf (headers: readonly Line[], name: string): string | null {
  const values = valuesOf(headers, name)
  return values.length === 0 ? null : values.join(', ')
}

/** The head of a message as bytes. */
export function headBytes (start: string, headers: readonly Line[]): Buffer {
  return Buffer.from([start, ...headers.map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n'), 'latin1')
}

/** A chunk of a body with `Transfer-Encoding: chunked`. */
export function chunkBytes (bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}

/** The end of a body with `Transfer-Encoding: chunked`. */
export const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/** One gRPC call of a client, in the form of an HTTP exchange: the shared steps read and write it as they do a request of `node:http`. */
import type { IncomingHttpHeaders, ServerHttp2Stream, ServerStreamResponseOptions } from 'node:http2'
import { constants } from 'node:http2'
import type { Socket } from 'node:net'
import type { Guarded } from '#guard.js'
import { callAll, guarded, ignoreErrors, listen } from '#guard.js'
import { addHeaders } from '#wire/header-object.js'
import type { ClientRequest, ClientResponse, HttpListener } from '#call/client-streams.js'

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_INTERNAL_ERROR } = constants

/** The head of a call. */
export interface ReceivedHead {
  readonly stream: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
  /** Flat list as received, with pseudo-headers. */
  readonly raw: string[]
  readonly socket: Socket
}

export class GrpcRequest implements ClientRequest {
  readonly method: string
  readonly url: string
  readonly httpVersion = '2.0'
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: string[]
  readonly socket: Socket
  readonly stream: ServerHttp2Stream
  /** An early response resets the rest of the request, so nothing has to be read off. */
  readonly complete = true

  readonly main: () => HttpListener

  constructor ({ stream, headers, raw, socket }: ReceivedHead, main: () => HttpListener) {
    this.stream = stream
    this.main = main
    this.socket = socket
    this.rawHeaders = raw
    this.method = headers[':method'] as string
    this.url = headers[':path'] as string
    this.headers = headers
    // RFC 9113 §8.3.1
    headers.host ??= headers[':authority']
  }

  on (event: string, listener: (...args: never[]) => void): void {
    // eslint-disable-next-line no-restricted-syntax -- the caller guards the listener
    this.stream.on(event, listener as () => void)
  }

  once (event: string, listener: () => void): void {
    // eslint-disable-next-line no-restricted-syntax -- the caller guards the listener
    this.stream.once(event, listener)
  }

  pause (): void {
    this.stream.pause()
  }

  resume (): void {
    this.stream.resume()
  }
}

/** A call has no status when the agent ended it without one. */
const NO_STATUS: readonly string[] = ['grpc-status', '14', 'grpc-message', 'The agent ended the call without a status.']

/**
 * Bytes that Node gets at once. Node reports only that the client has all bytes of a write, so these are also the bytes that a client has
 * to read within `limits.writeTimeout`. Clients allow more in steps of 32 kB and larger, by half of their window of 64 kB.
 */
const PIECE = 16_384

export class GrpcResponse implements ClientResponse, Guarded {
  readonly place = 'grpc'
  statusCode = 200
  headersSent = false
  /** True when the gateway has reset the call, as its agent did or for an error of the gateway. */
  wasReset = false
  private readonly stream: ServerHttp2Stream
  /** The head until the first message or the end: without a message, head and trailers are one frame. */
  private head: string[] = []
  private begun = false
  private over = false
  private trailers: readonly string[] = NO_STATUS
  /** Bytes of the response so far. */
  private given = 0
  /** What Node has not got yet, in pieces. */
  private queue: Buffer[] = []
  private at = 0
  /** Null until something has to wait for the client. */
  private drainers: (() => void)[] | null = null
  /** Listeners of the end of the call: one listener of Node for all of them costs less. */
  private readonly closers: (() => void)[] = []

  constructor (stream: ServerHttp2Stream) {
    this.stream = stream
    ignoreErrors(stream)
    listen(this, stream, 'close', () => {
      this.queue = []
      this.at = 0
      callAll(this, this.closers)
      // V8 keeps the object of a stream until the next full collection, with all that its listeners refer to (20 kB of a call of 400 B).
      stream.removeAllListeners()
      ignoreErrors(stream)
    })
  }

  endAfter (): void {
    this.destroy()
  }

  /** True also when the response is complete: work that still waits for a store must not forward the call. */
  get destroyed (): boolean {
    return this.over || this.stream.destroyed || this.stream.aborted
  }

  get writableFinished (): boolean {
    return this.stream.writableFinished && !this.stream.aborted && this.stream.rstCode === NGHTTP2_NO_ERROR
  }

  get writableNeedDrain (): boolean {
    return this.stream.writableNeedDrain || this.queue.length > 0
  }

  /** Bytes that wait for the client. */
  get waiting (): number {
    let bytes = this.stream.writableLength
    for (let i = this.at; i < this.queue.length; i++) bytes += (this.queue[i] as Buffer).length
    return bytes
  }

  /** Bytes that the client has taken. */
  get taken (): number {
    return this.given - this.waiting
  }

  on (event: 'close' | 'drain', listener: () => void): void {
    if (event === 'close') this.closers.push(listener)
    else this.onDrain(listener)
  }

  private onDrain (listener: () => void): void {
    if (this.drainers === null) {
      this.drainers = []
      listen(this, this.stream, 'drain', () => { this.drained() })
    }
    this.drainers.push(listener)
  }

  private drained (): void {
    if (this.drainers === null || this.writableNeedDrain) return
    callAll(this, this.drainers)
  }

  /** A response has no reason phrase in HTTP/2. */
  writeHead (status: number, phrase: string | string[], headers?: string[]): void {
    this.headersSent = true
    this.statusCode = status
    this.head = headers ?? (phrase as string[])
  }

  /** Sends the head now. */
  flushHeaders (): void {
    if (this.begun || this.destroyed) return
    this.begun = true
    listen(this, this.stream, 'wantTrailers', () => { this.finish() })
    this.respond(this.head, MORE)
  }

  write (chunk: Buffer): boolean {
    if (this.destroyed) return true
    this.flushHeaders()
    this.given += chunk.length
    if (chunk.length <= PIECE && this.queue.length === 0) return this.stream.write(chunk)
    const idle = this.queue.length === 0
    for (let at = 0; at < chunk.length; at += PIECE) this.queue.push(chunk.subarray(at, at + PIECE))
    if (idle) this.pump()
    return !this.writableNeedDrain
  }

  /** Gives Node the next piece, and the piece after it once the client has that. */
  private pump (): void {
    const { queue, stream } = this
    if (stream.destroyed) return
    const piece = queue[this.at++]
    if (this.at < queue.length) {
      stream.write(piece, guarded(this, () => { this.pump() }))
      return
    }
    this.queue = []
    this.at = 0
    stream.write(piece, guarded(this, () => { this.drained() }))
    if (this.over) stream.end()
  }

  end (chunk?: Buffer | string): void {
    if (this.destroyed) return
    this.over = true
    if (this.begun) {
      if (this.queue.length === 0) this.stream.end()
    } else {
      this.begun = true
      const whole = chunk !== undefined && chunk.length > 0
      this.respond(this.head, whole ? NO_OPTIONS : LAST)
      // A response that is not gRPC: the client does not speak it.
      if (whole) this.stream.end(chunk)
      this.dropRest()
    }
  }

  endWith (trailers: readonly string[]): void {
    if (this.destroyed) return
    this.trailers = trailers
    this.flushHeaders()
    this.end()
  }

  destroy (): void {
    this.reset(NGHTTP2_INTERNAL_ERROR)
  }

  /** @param code error code of RFC 9113 §7 */
  reset (code: number = NGHTTP2_CANCEL): void {
    if (this.stream.destroyed) return
    this.wasReset = true
    this.stream.close(code)
  }

  /** Trailers follow the last message. */
  private finish (): void {
    if (this.stream.destroyed) return
    try {
      this.stream.sendTrailers(addHeaders({}, this.trailers))
    } catch {
      this.reset(NGHTTP2_INTERNAL_ERROR)
    }
    this.dropRest()
  }

  private respond (head: readonly string[], options: ServerStreamResponseOptions): void {
    try {
      this.stream.respond(addHeaders({ ':status': String(this.statusCode) }, head), options)
    } catch {
      // A header that cannot be sent: nothing can follow either.
      this.reset(NGHTTP2_INTERNAL_ERROR)
    }
  }

  /** Tells a client that still sends its request to stop (RFC 9113 §8.1). */
  private dropRest (): void {
    if (!this.stream.readableEnded && !this.stream.endAfterHeaders) this.stream.close(NGHTTP2_NO_ERROR)
  }
}

const LAST = { endStream: true } as const
const MORE = { waitForTrailers: true } as const
const NO_OPTIONS = {} as const

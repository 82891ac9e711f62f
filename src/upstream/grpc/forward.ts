/**
 * Forwards one gRPC call and relays its response, with back-pressure and cancellation in both directions. A call that the agent may have
 * seen is never sent again.
 */
import { constants } from 'node:http2'
import type { ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'
import type { Readable } from 'node:stream'
import type { Guarded, Place, SharedListener } from '#guard.js'
import { guarded, listenShared, run, shared } from '#guard.js'
import { GivenUp } from '../failure.js'
import type { Forwarding } from '../forward.js'
import type { Waiter } from '../connection-queue.js'
import { addHeaders } from '#wire/header-object.js'
import { VIA_HTTP2 } from '../via.js'
import type { GrpcPool } from './pool.js'
import type { GrpcSession, StreamUser } from './session.js'

export interface GrpcForwardRequest {
  readonly pool: GrpcPool
  /** `/<service>/<rpc>` */
  readonly path: string
  /** Flat list of lower-case names and values. */
  readonly headers: readonly string[]
  /** All messages with their prefixes, or the stream of the client. */
  readonly body: Buffer | Readable
  /** Milliseconds: `total` of the whole call, `headers` until the response begins, `idle` between parts of the response; 0: no limit. */
  readonly timeouts: { readonly total: number, readonly headers: number, readonly idle: number }
}

/** Handles a response. */
export interface GrpcReceiver {
  /**
   * @param rawHeaders flat list with `:status`
   * @param last true when the response has nothing else: they are its trailers, and no `end` follows
   */
  head (rawHeaders: readonly string[], last: boolean): void
  /** @returns false to pause the agent until `resume` is called */
  data (chunk: Buffer): boolean
  /** @param trailers flat list; empty without trailers */
  end (trailers: readonly string[]): void
  /** Called at most once, and not after `end`. */
  failed (error: Error): void
  /** What an error of the methods above ends. The agent is not called again for it. */
  readonly owner: Guarded
}

/** The agent reset the stream. */
export class StreamReset extends Error {
  /** Error code of RFC 9113 §7. */
  readonly rstCode: number
  readonly code = 'ECONNRESET'

  constructor (rstCode: number) {
    super(`the agent reset the call with HTTP/2 error code ${rstCode}`)
    this.rstCode = rstCode
  }
}

/** The connection of the call broke. */
class Disconnected extends Error {
  readonly code = 'ECONNRESET'

  constructor () {
    super('the agent closed the connection')
  }
}

const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM } = constants
const END_STREAM: number = constants.NGHTTP2_FLAG_END_STREAM
const NO_TRAILERS: readonly string[] = []
/** Codes of Node for a connection that takes no new calls. */
const ENDED: ReadonlySet<string> = new Set(['ERR_HTTP2_GOAWAY_SESSION', 'ERR_HTTP2_INVALID_SESSION'])
const CALL = Symbol('call')
const ERROR = Symbol('error')

/**
 * The listeners below are shared by all calls: no closures per call. A stream that is over forgets its call, because V8 keeps the object
 * of an HTTP/2 stream until the next full collection, with all that it refers to.
 */
type Stream = ClientHttp2Stream & { [CALL]: GrpcCall | null, [ERROR]?: Error }

class GrpcCall implements Forwarding, Waiter, StreamUser, Guarded {
  private readonly receiver: GrpcReceiver
  private readonly pool: GrpcPool
  private readonly timeouts: GrpcForwardRequest['timeouts']
  /** Null once the response begins. */
  private request: GrpcForwardRequest | null
  private session: GrpcSession | null = null
  private stream: Stream | null = null
  private total: NodeJS.Timeout | null = null
  /** One timer for the head and for the parts of the response. */
  private timer: NodeJS.Timeout | null = null
  /** Time of the last part of the response; 0 before its head. */
  private heardAt = 0
  private trailers: readonly string[] | null = null
  private dataEnded = false
  private paused = false
  private retried = false
  private done = false

  constructor (request: GrpcForwardRequest, receiver: GrpcReceiver) {
    this.request = request
    this.receiver = receiver
    this.pool = request.pool
    this.timeouts = request.timeouts
  }

  start (total: number): void {
    if (total > 0) this.total = setTimeout(guarded(this, () => { this.giveUp('total_timeout') }), total)
    this.pool.queue.beginOrWait(this)
  }

  begin (): boolean {
    return this.pool.dispatch(this)
  }

  expired (): void {
    run(this, () => { this.giveUp('queue_timeout') })
  }

  open (session: GrpcSession): void {
    const { request } = this
    if (this.done || request === null) return session.release()
    this.session = session
    try {
      const streamed = !Buffer.isBuffer(request.body)
      const stream = session.request(headersOf(request), false) as Stream
      this.stream = stream
      stream[CALL] = this
      listenShared(stream, 'response', onResponse)
      listenShared(stream, 'data', onData)
      listenShared(stream, 'trailers', onTrailers)
      listenShared(stream, 'end', onEnd)
      listenShared(stream, 'error', onError)
      listenShared(stream, 'close', onClose)
      if (streamed) (request.body as Readable).pipe(stream)
      else stream.end(request.body)
      const { headers, idle } = this.timeouts
      if (headers > 0 || idle > 0) this.wait(headers > 0 ? headers : idle)
    } catch (error) {
      this.release()
      // The connection has just ended: nothing of the call was sent.
      if (!ENDED.has((error as NodeJS.ErrnoException).code ?? '') || !this.again()) this.fail(error as Error)
    }
  }

  requeue (): void {
    if (!this.done) this.pool.queue.beginOrWait(this)
  }

  unconnected (error: Error): void {
    this.fail(error)
  }

  abort (): void {
    if (this.done) return
    this.finish()
    this.cancel()
  }

  resume (): void {
    if (!this.paused) return
    this.paused = false
    this.stream?.resume()
  }

  onResponse (raw: readonly string[], last: boolean): void {
    if (this.done) return
    this.request = null
    this.heardAt = performance.now()
    if (last) this.over()
    this.receiver.head(raw, last)
  }

  onData (chunk: Buffer): void {
    if (this.done) return
    this.heardAt = performance.now()
    if (this.receiver.data(chunk) || this.done) return
    this.paused = true
    this.stream?.pause()
  }

  /** Trailers may be here before the client has taken the data in front of them. */
  onTrailers (raw: readonly string[]): void {
    this.trailers = raw
    if (this.dataEnded) this.ended(raw)
  }

  onEnd (): void {
    this.dataEnded = true
    if (this.trailers !== null) this.ended(this.trailers)
  }

  /** The stream is over, well or not. @param rstCode of RFC 9113 §7 */
  onClose (rstCode: number, error: Error | null): void {
    const { session } = this
    this.stream = null
    this.release()
    if (this.done) return
    if (rstCode === NGHTTP2_REFUSED_STREAM && this.again()) return
    if (this.dataEnded && rstCode === 0) this.ended(this.trailers ?? NO_TRAILERS)
    // Node gives CANCEL to the streams of a connection that breaks.
    else if (session?.closed === true || rstCode === 0) this.fail(error ?? new Disconnected())
    else this.fail(new StreamReset(rstCode))
  }

  /**
   * Sends the call once more when the agent has not seen it. RFC 9113 §8.7: the agent has not seen a call that is refused, nor one above
   * the last stream of a GOAWAY frame, which nghttp2 reports in the same way.
   */
  private again (): boolean {
    const { request } = this
    if (request === null || this.retried || !Buffer.isBuffer(request.body)) return false
    this.retried = true
    this.clearTimer()
    this.pool.queue.beginOrWait(this)
    return true
  }

  private ended (trailers: readonly string[]): void {
    if (this.done) return
    this.over()
    this.receiver.end(trailers)
  }

  /** The response is complete. */
  private over (): void {
    this.finish()
    // The agent responded before it had the whole request: nothing more is sent.
    if (this.stream?.writableFinished === false) this.reset(this.stream)
  }

  get place (): Place {
    return this.receiver.owner.place
  }

  get facts (): Guarded['facts'] {
    return this.receiver.owner.facts
  }

  endAfter (error: unknown): void {
    this.abort()
    this.receiver.owner.endAfter(error)
  }

  private wait (milliseconds: number): void {
    this.timer = setTimeout(guarded(this, () => { this.look() }), milliseconds)
  }

  private look (): void {
    const { timeouts: { headers, idle }, heardAt } = this
    if (heardAt === 0) {
      if (headers > 0) return this.silent('headers_timeout')
      this.wait(idle)
    } else if (idle > 0) {
      const left = idle - (performance.now() - heardAt)
      // A client that does not read makes the agent wait.
      if (left > 0 || this.paused) this.wait(left > 0 ? left : idle)
      else this.silent('body_timeout')
    }
  }

  private silent (kind: 'headers_timeout' | 'body_timeout'): void {
    this.session?.probe()
    this.giveUp(kind)
  }

  private giveUp (kind: GivenUp['kind']): void {
    this.stop(new GivenUp(kind))
  }

  private stop (error: Error): void {
    if (this.done) return
    this.fail(error)
    this.cancel()
  }

  private fail (error: Error): void {
    if (this.done) return
    this.finish()
    this.receiver.failed(error)
  }

  private cancel (): void {
    if (this.stream !== null) return this.reset(this.stream)
    this.pool.queue.leave(this)
    this.pool.withdraw(this)
  }

  private reset (stream: Stream): void {
    stream.close(NGHTTP2_CANCEL)
    this.session?.cancelled()
  }

  private release (): void {
    this.session?.release()
    this.session = null
  }

  private finish (): void {
    this.done = true
    this.request = null
    this.clearTimer()
    if (this.total !== null) clearTimeout(this.total)
    this.total = null
  }

  private clearTimer (): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
  }
}

const callOf = (stream: Stream): GrpcCall | null => stream[CALL]

type Lines = readonly string[]

/** Node passes the lines as received after the arguments that it documents. */
const onResponse: SharedListener<Stream> = shared(callOf, (stream, _headers: IncomingHttpHeaders, flags: number, raw: Lines) => {
  stream[CALL]?.onResponse(raw, (flags & END_STREAM) !== 0)
})

const onData: SharedListener<Stream> = shared(callOf, (stream, chunk: Buffer) => { stream[CALL]?.onData(chunk) })

const onTrailers: SharedListener<Stream> = shared(callOf, (stream, _headers: IncomingHttpHeaders, _flags: number, raw: Lines) => {
  stream[CALL]?.onTrailers(raw)
})

const onEnd: SharedListener<Stream> = shared(callOf, stream => { stream[CALL]?.onEnd() })

/** The event `close` follows. */
const onError: SharedListener<Stream> = shared(callOf, (stream, error: Error) => { stream[ERROR] = error })

const onClose: SharedListener<Stream> = shared(callOf, stream => {
  const call = stream[CALL]
  stream[CALL] = null
  call?.onClose(stream.rstCode ?? 0, stream[ERROR] ?? null)
})

function headersOf ({ pool, path, headers }: GrpcForwardRequest): OutgoingHttpHeaders {
  const out = addHeaders(
    { ':method': 'POST', ':scheme': pool.scheme, ':authority': pool.authority, ':path': path, te: 'trailers' }, headers
  )
  return addHeaders(out, VIA)
}

const VIA: readonly string[] = ['via', VIA_HTTP2]

export function forwardGrpc (request: GrpcForwardRequest, receiver: GrpcReceiver): Forwarding {
  const call = new GrpcCall(request, receiver)
  call.start(request.timeouts.total)
  return call
}

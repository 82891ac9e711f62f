/** Reads and decodes a request body, or discards its rest; bounded in bytes and in time. */
import type { CallProblem } from '../a2a/message/call.js'
import { schedule } from './event-loop-batch.js'
import type { Encoding } from '../pipeline/content-encoding.js'
import { encodingOf } from '../pipeline/content-encoding.js'
import * as rejections from '../pipeline/rejections.js'
import type { Bytes } from '../wire/chunked-buffer.js'
import { collected, whole } from '../wire/chunked-buffer.js'
import { gunzip } from '../wire/gzip.js'
import type { ClientRequest } from './client-streams.js'
import type { HandlerOptions } from './dispatch.js'
import type { Exchange } from './exchange.js'

export type BodyResult =
  { readonly ok: true; readonly bytes: Bytes } | { readonly ok: false; readonly why: 'too_large' | 'timeout' | 'aborted' | 'no_memory' }

const EMPTY = Buffer.alloc(0)

export interface BodyLimits {
  /** Bytes. */
  readonly size: number
  /** Milliseconds for the whole body. */
  readonly timeout: number
  /** Reserves memory before a chunk of the body is kept. @returns false when no memory is left */
  readonly hold: (bytes: number) => boolean
}

/**
 * Reads the body and calls `done` exactly once. After `too_large` or `timeout` the reader stops reading the body: the caller responds and
 * closes the connection.
 */
export function readBody (request: ClientRequest, limits: BodyLimits, done: (result: BodyResult) => void): void {
  const declared = request.headers['content-length']
  if (declared !== undefined && Number(declared) > limits.size) return done({ ok: false, why: 'too_large' })
  if (declared === undefined && request.headers['transfer-encoding'] === undefined) return done({ ok: true, bytes: EMPTY })
  new BodyReader(request, limits, done).start()
}

class BodyReader {
  private readonly request: ClientRequest
  private readonly limits: BodyLimits
  private readonly done: (result: BodyResult) => void
  private chunks: Buffer[] = []
  private size = 0
  private timer: NodeJS.Timeout | null = null
  private finished = false

  constructor (request: ClientRequest, limits: BodyLimits, done: (result: BodyResult) => void) {
    this.request = request
    this.limits = limits
    this.done = done
  }

  start (): void {
    this.timer = setTimeout(() => { this.finish({ ok: false, why: 'timeout' }) }, this.limits.timeout)
    this.request.on('data', this.onData)
    this.request.once('end', this.onEnd)
    this.request.once('close', this.onClose)
    this.request.once('error', this.onClose)
  }

  private readonly onData = (chunk: Buffer): void => {
    this.size += chunk.length
    if (this.size > this.limits.size) this.finish({ ok: false, why: 'too_large' })
    else if (!this.limits.hold(chunk.length)) this.finish({ ok: false, why: 'no_memory' })
    else this.chunks.push(chunk)
  }

  private readonly onEnd = (): void => {
    this.finish({ ok: true, bytes: collected(this.chunks, this.size) })
  }

  private readonly onClose = (): void => {
    this.finish({ ok: false, why: 'aborted' })
  }

  private finish (result: BodyResult): void {
    if (this.finished) return
    this.finished = true
    if (this.timer !== null) clearTimeout(this.timer)
    this.request.off('data', this.onData)
    this.request.off('end', this.onEnd)
    this.request.off('close', this.onClose)
    // An error after the decision is ignored: the connection closes anyway.
    if (!result.ok) this.request.pause()
    // A reader that stays referenced must not keep the body in memory.
    this.chunks = []
    this.done(result)
  }
}

/** Decodes a compressed body. The memory budget also counts the content. */
export function decode (
  exchange: Exchange,
  options: HandlerOptions,
  sent: Bytes,
  then: (bytes: Bytes, problem: CallProblem | null) => void
): void {
  decoded(exchange, encodingOf(exchange.request.headers['content-encoding'], whole(sent), options.limits.body), sent, then)
}

/** @param encoding of the bytes */
export function decoded (
  exchange: Exchange,
  encoding: Encoding,
  sent: Bytes,
  then: (bytes: Bytes, problem: CallProblem | null) => void
): void {
  if (encoding.kind === 'rejected') return exchange.reject(encoding.rejection, 'rejected')
  if (encoding.kind === 'plain') return then(sent, null)
  if (encoding.kind === 'problem') return then(sent, encoding.problem)
  if (!exchange.hold(encoding.member.size)) {
    return exchange.reject(rejections.noMemory(exchange.services.overload.retryAfter), 'rejected')
  }
  gunzip(encoding.member, content => {
    schedule('decide', exchange, () => {
      // The client may have disconnected.
      if (exchange.response.destroyed) return
      if (content === null) then(sent, rejections.notGzip)
      else then(content, null)
    })
  })
}

/** Reads the body of a request. Rejects the request when a limit is exceeded. */
export function read (exchange: Exchange, options: HandlerOptions, then: (bytes: Bytes) => void): void {
  const { limits } = options
  readBody(exchange.request, { size: limits.body, timeout: limits.requestTimeout, hold: bytes => exchange.hold(bytes) }, result => {
    if (!result.ok) {
      if (result.why === 'too_large') exchange.reject(rejections.tooLarge(limits.body), 'rejected')
      else if (result.why === 'no_memory') exchange.reject(rejections.noMemory(exchange.services.overload.retryAfter), 'rejected')
      else if (result.why === 'timeout') exchange.reject(rejections.tooSlow(limits.requestTimeout), 'rejected')
      return
    }
    schedule('decide', exchange, () => {
      // The client may have disconnected.
      if (!exchange.response.destroyed) then(result.bytes)
    })
  })
}

const READ_OFF_BYTES = 16 * 1024 * 1024
const READ_OFF_MS = 5_000

/**
 * Reads and discards the rest of a request that was rejected. Closing at once would reset the connection, and the client might never see
 * the response (RFC 9112 §9.6). Reading without bounds would let the client send for ever.
 */
export function readOff (request: ClientRequest, done: () => void): void {
  let left = READ_OFF_BYTES
  const timer = setTimeout(() => { request.socket.destroy() }, READ_OFF_MS).unref()
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) request.socket.destroy()
  })
  request.once('end', done)
  request.once('close', () => { clearTimeout(timer) })
  request.resume()
}

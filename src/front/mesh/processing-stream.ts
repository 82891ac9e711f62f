/**
 * The stream of one call through ext_proc: messages of Envoy in, replies out.
 *
 * Envoy takes a stream that ends cleanly as "continue without me". The stream therefore ends cleanly after the last reply only. An error
 * before that ends in an immediate response, or resets the stream.
 */
import type { ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import { ignoreErrors, listen } from '#guard.js'
import { EnvoyFault } from '#wire/envoy/fields.js'
import { GRPC_CODES } from '#wire/grpc/codes.js'
import type { ProcessingMessage, Reply } from '#wire/envoy/processing.js'
import { readProcessing, UNCHANGED, writeReply } from '#wire/envoy/processing.js'
import { grpcFrame } from '#wire/grpc/deframer.js'
import type { MessageOwner } from './arriving-messages.js'
import { ArrivingMessages } from './arriving-messages.js'
import type { MeshFrontOptions } from './front.js'
import { endWithTrailers } from './trailers.js'

/** Bytes of a body in one reply of FULL_DUPLEX_STREAMED: Envoy rejects replies of more than its buffers hold. */
const PIECE = 65_536

export abstract class ProcessingStream implements MessageOwner {
  readonly place = 'ext_proc'
  protected readonly stream: ServerHttp2Stream
  private readonly messages: ArrivingMessages
  /** The part that waits for a reply. */
  protected pending: Pick<ProcessingMessage, 'of' | 'part'> | null = null
  protected over = false
  /** Status of gRPC in the trailers. */
  private status: number = GRPC_CODES.OK

  constructor (stream: ServerHttp2Stream, { services, snapshot }: MeshFrontOptions) {
    this.stream = stream
    const { limits } = snapshot()
    this.messages = new ArrivingMessages(this, limits, services.heldBytes, Math.max(limits.body, limits.response))
    stream.respond(HEAD, MORE)
    endWithTrailers(this, stream, limits.requestTimeout, () => this.status)
    listen(this, stream, 'data', (chunk: Buffer) => { this.onData(chunk, services) })
    ignoreErrors(stream)
    listen(this, stream, 'drain', () => { stream.resume() })
    listen(this, stream, 'end', () => { this.halfClosed() })
    listen(this, stream, 'close', () => { this.left() })
  }

  protected abstract take (message: ProcessingMessage): void
  /** A message is longer than any that the gateway reads. */
  protected abstract tooLong (): void
  /** The proxy sends nothing more, or has ended the stream, and the gateway may still wait for a part. */
  protected abstract unread (): void
  /** The stream is over. @param finished whether the proxy has everything that the gateway sends */
  protected abstract closed (finished: boolean): void
  /** The budget has no room for a message of the request. */
  protected abstract noMemory (): void
  /** False once the request is accepted: messages about the response count in the budget, and are never refused. */
  protected abstract get refuses (): boolean
  /** The messages that a chunk completes are taken. */
  protected abstract taken (): void
  abstract late (): void
  abstract endAfter (error: unknown): void

  private onData (chunk: Buffer, { metrics, heldBytes }: MeshFrontOptions['services']): void {
    if (this.over) return
    const { messages } = this
    const complete = messages.feed(chunk, this.refuses)
    heldBytes.release(messages.handOver())
    if (messages.isRefused) return this.noMemory()
    for (const { compressed, bytes } of complete) {
      if (this.over) return
      const message = compressed ? null : messageOf(bytes)
      if (message === null) {
        metrics.add('client_errors_total', 'malformed')
        return this.fail()
      }
      this.take(message)
    }
    if (this.over) return
    if (messages.fault === null) return this.taken()
    if (messages.fault === 'too_large') return this.tooLong()
    metrics.add('client_errors_total', 'malformed')
    this.fail()
  }

  /** Sends a body of FULL_DUPLEX_STREAMED. @param last whether the body ends with it */
  pieces (of: 'request' | 'response', body: Buffer, last: boolean): void {
    for (let at = 0; at === 0 || at < body.length; at += PIECE) {
      const end = at + PIECE >= body.length
      if (body.length === 0 && !last) return
      this.write(writeReply(of, 'body', { ...UNCHANGED, body: { streamed: body.subarray(at, at + PIECE), last: last && end } }))
    }
  }

  /** Replies to the pending part. */
  reply (reply: Reply): void {
    const { pending } = this
    if (pending === null) return
    this.pending = null
    this.write(writeReply(pending.of, pending.part, reply))
  }

  /** A part waits for a reply. */
  get waits (): boolean {
    return this.pending !== null && !this.over
  }

  get shownTrailers (): boolean {
    return this.pending?.of === 'response' && this.pending.part === 'trailers'
  }

  /** Reads no more of Envoy until `continue`. */
  pause (): void {
    this.stream.pause()
  }

  continue (): void {
    this.stream.resume()
  }

  write (message: Buffer): void {
    if (this.over || this.stream.destroyed) return
    if (!this.stream.write(grpcFrame(message))) this.stream.pause()
  }

  /** The proxy sends nothing more. */
  private halfClosed (): void {
    if (this.over) return
    this.unread()
    this.finish()
  }

  /** Ends the stream: Envoy goes on without the gateway. */
  finish (): void {
    if (this.over) return
    this.over = true
    this.messages.end()
    this.stream.end()
    this.stream.resume()
    this.closed(true)
  }

  /** Ends the stream with an error. @param status of gRPC, not OK */
  protected failWith (status: number): void {
    if (this.over) return
    this.over = true
    this.status = status
    this.messages.end()
    this.stream.end()
    this.stream.resume()
    this.closed(false)
  }

  /** Resets the stream: Envoy responds with an error. */
  protected fail (): void {
    if (this.over) return
    this.over = true
    this.messages.end()
    this.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    this.closed(false)
  }

  /** Envoy has ended the stream. */
  private left (): void {
    this.messages.end()
    if (!this.over) this.unread()
    this.over = true
    this.closed(false)
  }
}

/** @returns null for bytes that are no message */
function messageOf (bytes: Buffer): ProcessingMessage | null {
  try {
    return readProcessing(bytes)
  } catch (error) {
    if (!(error instanceof EnvoyFault)) throw error
    return null
  }
}

const HEAD = { ':status': 200, 'content-type': 'application/grpc' } as const
const MORE = { waitForTrailers: true } as const

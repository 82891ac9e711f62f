/**
 * The stream of one call through ext_proc: messages of Envoy in, replies out.
 *
 * Envoy takes a stream that ends cleanly as "continue without me". The stream therefore ends cleanly after the last reply only. An error
 * before that ends in an immediate response, or resets the stream.
 */
import type { ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import type { ProcessingMessage, Reply } from '../../wire/envoy/processing.js'
import { readProcessing, UNCHANGED, writeReply } from '../../wire/envoy/processing.js'
import { GrpcDeframer, grpcFrame } from '../../wire/grpc/deframer.js'
import { endWithTrailers } from './check.js'

/** Bytes that Envoy adds to a body in its messages. */
const AROUND = 262_144
/** Bytes of a body in one reply of FULL_DUPLEX_STREAMED: Envoy rejects replies of more than its buffers hold. */
const PIECE = 65_536

export abstract class ProcessingStream {
  protected readonly stream: ServerHttp2Stream
  private readonly deframer: GrpcDeframer
  /** The part that waits for a reply. */
  protected pending: Pick<ProcessingMessage, 'of' | 'part'> | null = null
  protected over = false

  /** @param longest largest body in one message */
  constructor (stream: ServerHttp2Stream, longest: number) {
    this.stream = stream
    this.deframer = new GrpcDeframer(longest + AROUND)
    stream.respond(HEAD, MORE)
    endWithTrailers(stream)
    stream.on('data', (chunk: Buffer) => { this.safely(() => { this.onData(chunk) }) })
    stream.on('error', ignore)
    stream.on('drain', () => { stream.resume() })
    stream.on('end', () => { this.halfClosed() })
    stream.on('close', () => { this.left() })
  }

  protected abstract take (message: ProcessingMessage): void
  /** A message is longer than any that the gateway reads. */
  protected abstract tooLong (): void
  /** The proxy sends nothing more, or has ended the stream, and the gateway may still wait for a part. */
  protected abstract unread (): void
  /** The stream is over. @param finished whether the proxy has everything that the gateway sends */
  protected abstract closed (finished: boolean): void
  /** Events of a stream have no caller that could catch an error. */
  protected abstract safely (step: () => void): void

  private onData (chunk: Buffer): void {
    for (const { compressed, bytes } of this.deframer.feed(chunk)) {
      if (this.over) return
      const message = compressed ? null : readProcessing(bytes)
      if (message === null) return this.fail()
      this.take(message)
    }
    if (this.deframer.fault === null || this.over) return
    if (this.deframer.fault === 'too_large') this.tooLong()
    else this.fail()
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
    this.stream.end()
    this.stream.resume()
    this.closed(true)
  }

  /** Resets the stream: Envoy responds with an error. */
  protected fail (): void {
    if (this.over) return
    this.over = true
    this.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    this.closed(false)
  }

  /** Envoy has ended the stream. */
  private left (): void {
    if (!this.over) this.unread()
    this.over = true
    this.closed(false)
  }
}

const HEAD = { ':status': 200, 'content-type': 'application/grpc' } as const
const MORE = { waitForTrailers: true } as const

function ignore (): void {}

/**
 * A large body as a stream. undici does not track a body that it gets as one buffer. If the agent responds before it has read the whole
 * body, undici counts the connection as free, and the next caller's request waits behind unread data. For a stream, undici knows whether it
 * is sent completely, and closes such a connection.
 *
 * The class implements the part of a Readable that undici's dispatcher uses. A Readable stops at every chunk, because one chunk fills the
 * queue of a socket, and a Readable is more expensive to create.
 */
import { EventEmitter } from 'node:events'
import type { Readable } from 'node:stream'
import { guarded, ignoreErrors } from '#guard.js'

/** Bytes per chunk. The system has taken a smaller body completely before a response can arrive. */
export const PIECE = 65_536
/** Bytes that are sent before the stream obeys a pause of the socket. These bytes are in memory anyway. */
const TURN = 4 * PIECE

class BodyStream extends EventEmitter {
  readonly place = 'upstream'
  destroyed = false
  private pieces: readonly Buffer[]
  private at = 0
  private paused = true

  constructor (pieces: readonly Buffer[]) {
    super()
    this.pieces = pieces
    // The failed call reports the error. Its body then needs no further handling.
    ignoreErrors(this)
  }

  pause (): this {
    this.paused = true
    return this
  }

  resume (): this {
    if (!this.paused || this.destroyed) return this
    this.paused = false
    // undici listens to its socket only after this call.
    process.nextTick(guarded(this, () => { this.flow() }))
    return this
  }

  private flow (): void {
    let sent = 0
    while (!this.destroyed && (!this.paused || sent < TURN)) {
      const piece = this.pieces[this.at]
      if (piece === undefined) {
        // The stream ends only once the socket has taken the whole body. A response before that is an early response.
        if (!this.paused) this.emit('end')
        return
      }
      if (++this.at === this.pieces.length) this.forget()
      sent += piece.length
      this.emit('data', piece)
    }
  }

  endAfter (error: unknown): void {
    this.destroy(error as Error)
  }

  destroy (error?: Error): this {
    if (this.destroyed) return this
    this.destroyed = true
    this.forget()
    process.nextTick(guarded(this, () => {
      if (error !== undefined && error !== null) this.emit('error', error)
      this.emit('close')
    }))
    return this
  }

  /** Releases the chunks, because undici keeps a body until the response is over. */
  private forget (): void {
    this.pieces = NO_CHUNKS
    this.at = 0
  }

  /** undici recognizes a stream by this method. */
  pipe (): never {
    throw new Error('a body is sent by the dispatcher')
  }
}

const NO_CHUNKS: readonly Buffer[] = []

export function streamOf (pieces: readonly Buffer[]): Readable {
  return new BodyStream(pieces) as unknown as Readable
}

export function splitBody (body: Buffer): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; at += PIECE) pieces.push(body.subarray(at, at + PIECE))
  return pieces
}

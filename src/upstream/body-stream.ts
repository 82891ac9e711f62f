/**
 * A large body as a stream. undici forgets a body that it is given whole: where the agent answers before it has read all of it, the connection counts as
 * free, and the next caller's request waits behind what nobody reads. Of a stream undici knows whether it is sent, and closes such a connection.
 *
 * It is the part of a Readable that undici's dispatcher uses. A Readable stops at every piece, because one fills a socket's queue, and costs more to make.
 */
import { EventEmitter } from 'node:events'
import type { Readable } from 'node:stream'

/** Bytes at once; what is not larger is with the system before an answer can come. */
export const PIECE = 65_536
/** Bytes that go out before the socket's word is asked. They are in memory anyway. */
const TURN = 4 * PIECE

class BodyStream extends EventEmitter {
  destroyed = false
  private pieces: readonly Buffer[]
  private at = 0
  private paused = true

  constructor (pieces: readonly Buffer[]) {
    super()
    this.pieces = pieces
    // The call that fails is told; its body is of no interest then.
    this.on('error', () => {})
  }

  pause (): this {
    this.paused = true
    return this
  }

  resume (): this {
    if (!this.paused || this.destroyed) return this
    this.paused = false
    // undici listens to its socket only after this.
    process.nextTick(() => { this.flow() })
    return this
  }

  private flow (): void {
    let sent = 0
    while (!this.destroyed && (!this.paused || sent < TURN)) {
      const piece = this.pieces[this.at]
      if (piece === undefined) {
        // Only once the socket has taken all of it: until then the agent's answer is an early one.
        if (!this.paused) this.emit('end')
        return
      }
      if (++this.at === this.pieces.length) this.forget()
      sent += piece.length
      this.emit('data', piece)
    }
  }

  destroy (error?: Error): this {
    if (this.destroyed) return this
    this.destroyed = true
    this.forget()
    process.nextTick(() => {
      if (error !== undefined && error !== null) this.emit('error', error)
      this.emit('close')
    })
    return this
  }

  /** undici keeps a body until the answer is over. */
  private forget (): void {
    this.pieces = NOTHING
    this.at = 0
  }

  /** undici knows a stream by it. */
  pipe (): never {
    throw new Error('a body is sent by the dispatcher')
  }
}

const NOTHING: readonly Buffer[] = []

export function streamOf (pieces: readonly Buffer[]): Readable {
  return new BodyStream(pieces) as unknown as Readable
}

export function cut (body: Buffer): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; at += PIECE) pieces.push(body.subarray(at, at + PIECE))
  return pieces
}

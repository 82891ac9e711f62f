/** Messages in the body of a gRPC request or response: a flag, the length in four bytes, and the bytes (gRPC doc/PROTOCOL-HTTP2.md). */

export interface GrpcMessage {
  readonly compressed: boolean
  /** The message as sent, compressed or not. */
  readonly bytes: Buffer
  /** Prefix and message as sent. */
  readonly frame: Buffer
}

/**
 * `flag`: the first byte is neither 0 nor 1. `too_large`: the prefix announces more than the limit. `incomplete`: the body ends within a
 * message.
 */
export type GrpcFault = 'flag' | 'too_large' | 'incomplete'

const PREFIX = 5
const NONE: readonly GrpcMessage[] = []
const NO_BYTES = Buffer.alloc(0)
/** Smallest memory for a message that comes in several chunks, bytes. */
const ROOM = 1_024

/** Puts a message behind its prefix, uncompressed. */
export function grpcFrame (message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX + message.length)
  frame[0] = 0
  frame.writeUInt32BE(message.length, 1)
  message.copy(frame, PREFIX)
  return frame
}

/**
 * Takes the messages out of a body. Holds at most one incomplete message, in memory that grows with the bytes received and not with the
 * announced length: neither a prefix without a message nor chunks of one byte each can take more.
 */
export class GrpcDeframer {
  /** Set once: the deframer ignores all bytes after a fault. */
  fault: GrpcFault | null = null
  /** With a fault, the bytes that belong to no message: those of the frame with the fault, and of the chunk after it. */
  rest = NO_BYTES
  private readonly limit: number
  /** The incomplete frame. */
  private room = NO_BYTES
  private held = 0
  /** Bytes of the incomplete frame when it is complete; 0 until its prefix is. */
  private total = 0

  /** @param limit bytes of a message */
  constructor (limit: number) {
    this.limit = limit
  }

  /** @returns the messages that are complete now; those before a fault as well */
  feed (chunk: Buffer): readonly GrpcMessage[] {
    if (this.fault !== null) return NONE
    let messages: GrpcMessage[] | null = null
    let at = 0
    while (at < chunk.length && this.fault === null) {
      if (this.held === 0 && chunk.length - at >= PREFIX) {
        // Nearly every message comes in one chunk, and needs no copy.
        const total = this.totalOf(chunk, at)
        if (this.fault !== null) break
        if (chunk.length - at >= total) {
          (messages ??= []).push(messageOf(chunk.subarray(at, at + total)))
          at += total
          continue
        }
      }
      at = this.collect(chunk, at)
      if (this.fault === null && this.total > 0 && this.held === this.total) {
        (messages ??= []).push(messageOf(this.room.subarray(0, this.total)))
        this.room = NO_BYTES
        this.held = this.total = 0
      }
    }
    if (this.fault !== null && at < chunk.length) this.rest = Buffer.concat([this.rest, chunk.subarray(at)])
    return messages ?? NONE
  }

  /** Bytes of the incomplete message, with its prefix. */
  get waiting (): number {
    return this.held
  }

  /** Gives the incomplete message up: what follows is ignored. @returns its bytes so far, with the prefix */
  giveUp (): Buffer {
    if (this.fault === null) this.fail('incomplete')
    const { rest } = this
    this.rest = NO_BYTES
    return rest
  }

  /** @returns the fault of the whole body; null when all its messages are complete */
  end (): GrpcFault | null {
    if (this.held > 0 && this.fault === null) this.fail('incomplete')
    return this.fault
  }

  /** Bytes of the frame that begins here, by its prefix. */
  private totalOf (bytes: Buffer, at: number): number {
    const length = bytes.readUInt32BE(at + 1)
    if ((bytes[at] as number) > 1) this.fail('flag')
    else if (length > this.limit) this.fail('too_large')
    return PREFIX + length
  }

  private fail (fault: GrpcFault): void {
    this.fault = fault
    this.rest = this.room.subarray(0, this.held)
    this.room = NO_BYTES
    this.held = 0
  }

  /** Adds bytes to the incomplete frame: first the prefix, then the message. @returns where the rest begins */
  private collect (chunk: Buffer, at: number): number {
    const wanted = this.total === 0 ? PREFIX : this.total
    const end = Math.min(chunk.length, at + wanted - this.held)
    const size = this.held + end - at
    if (size > this.room.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(size, Math.min(wanted, Math.max(ROOM, 2 * this.room.length))))
      this.room.copy(grown, 0, 0, this.held)
      this.room = grown
    }
    chunk.copy(this.room, this.held, at, end)
    this.held = size
    if (this.total === 0 && size === PREFIX) this.total = this.totalOf(this.room, 0)
    return end
  }
}

function messageOf (frame: Buffer): GrpcMessage {
  return { compressed: frame[0] === 1, bytes: frame.subarray(PREFIX), frame }
}

/**
 * Bytes as received, in several chunks. Joining the chunks of a large body needs fresh memory. Fresh memory costs page faults, collections
 * of memory outside V8's heap, and a copy. The bytes are therefore joined in memory of their own only for callers that keep them. Callers
 * that only read them get a temporary view of shared memory.
 */

import { giveBack, take } from './shared-memory.js'

export type Bytes = Buffer | ChunkedBuffer

/** Chunks up to this total size, in bytes, are joined: a copy costs less than a list of chunks. */
const SMALL = 65_536

let last = 0

/** @param size bytes of all chunks. @returns a single chunk as it is, without a copy */
export function joined (chunks: readonly Buffer[], size: number): Buffer {
  const [first] = chunks
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, size)
}

export class ChunkedBuffer {
  readonly chunks: readonly Buffer[]
  readonly length: number
  private readonly number = ++last
  private joined: Buffer | null = null

  /** @param chunks must not change afterwards */
  constructor (chunks: readonly Buffer[], length: number) {
    this.chunks = chunks
    this.length = length
  }

  /** Joins all bytes in memory of their own. */
  whole (): Buffer {
    this.joined ??= Buffer.concat(this.chunks, this.length)
    return this.joined
  }

  /** Joins a range of the bytes in memory of its own. */
  part (start: number, end: number): Buffer {
    if (this.joined !== null) return this.joined.subarray(start, end)
    const part = Buffer.allocUnsafeSlow(end - start)
    this.copy(part, start, end)
    return part
  }

  /**
   * Passes all bytes to `look` in one buffer. The buffer is valid only until `look` returns: the next call reuses the memory for the bytes
   * of another caller.
   * @param look must not keep the buffer, a view of it, or an object that reads from it later
   */
  withContiguous<T> (look: (bytes: Buffer) => T): T {
    const memory = this.joined === null ? take(this.length) : null
    if (memory === null) return look(this.whole())
    try {
      if (memory.holder !== this.number) {
        memory.holder = 0
        this.copy(memory.bytes, 0, this.length)
        memory.holder = this.number
      }
      return look(memory.bytes.subarray(0, this.length))
    } finally {
      giveBack()
    }
  }

  private copy (target: Buffer, start: number, end: number): void {
    let at = 0
    for (let i = 0; i < this.chunks.length && at < end; i++) {
      const piece = this.chunks[i] as Buffer
      if (at + piece.length > start) piece.copy(target, Math.max(0, at - start), Math.max(0, start - at), Math.min(piece.length, end - at))
      at += piece.length
    }
  }
}

/** Combines the chunks of a body. Most bodies come in one chunk, which is not copied. Large bodies stay in chunks. */
export function collected (chunks: readonly Buffer[], size: number): Bytes {
  return chunks.length > 1 && size > SMALL ? new ChunkedBuffer(chunks, size) : joined(chunks, size)
}

/** Returns all bytes in one buffer that the caller may keep. */
export function whole (bytes: Bytes): Buffer {
  return bytes instanceof ChunkedBuffer ? bytes.whole() : bytes
}

/** Calls `ChunkedBuffer.withContiguous`. A single buffer goes to `look` directly. */
export function withContiguous<T> (bytes: Bytes, look: (bytes: Buffer) => T): T {
  return bytes instanceof ChunkedBuffer ? bytes.withContiguous(look) : look(bytes)
}

/** Calls `ChunkedBuffer.part`. For a single buffer, the result is a view. */
export function part (bytes: Bytes, start: number, end: number): Buffer {
  return bytes instanceof ChunkedBuffer ? bytes.part(start, end) : bytes.subarray(start, end)
}

/**
 * Bytes as they came, in several pieces. Joining those of a large body takes fresh memory, which costs page faults, collections of what is outside
 * V8's heap and a copy; so they are joined only for whoever keeps them so, and lent to those who only look.
 */

export type Bytes = Buffer | ChunkedBuffer

/** Bytes of the largest body that is lent from shared memory: the default of `limits.body`. Of a larger one each loan is joined. */
const MOST = 4 * 1024 * 1024
const LEAST = 256 * 1024

/** Used again by one loan after the other. Weak, so that the next full collection takes it back. */
let shared: WeakRef<Buffer> | null = null
/** Whose bytes are in it: as a number, so that it keeps nothing alive. 0: nobody's. */
let lentTo = 0
/** While somebody looks. */
let busy = false
let last = 0

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

  /** In one, in memory of their own. */
  whole (): Buffer {
    this.joined ??= Buffer.concat(this.chunks, this.length)
    return this.joined
  }

  /** Some of them in one, in memory of their own. */
  part (start: number, end: number): Buffer {
    if (this.joined !== null) return this.joined.subarray(start, end)
    const part = Buffer.allocUnsafeSlow(end - start)
    this.copy(part, start, end)
    return part
  }

  /**
   * Lends the bytes in one. They are of use only until `look` returns: the memory is that of the next loan, of another caller's bytes.
   * @param look must not keep the buffer, nor a view of it, nor anything that reads from it later
   */
  withContiguous<T> (look: (bytes: Buffer) => T): T {
    if (this.joined !== null || busy || this.length > MOST) return look(this.whole())
    busy = true
    try {
      return look(this.borrowed())
    } finally {
      busy = false
    }
  }

  private borrowed (): Buffer {
    const memory = memoryFor(this.length)
    if (lentTo !== this.number) {
      lentTo = 0
      this.copy(memory, 0, this.length)
      lentTo = this.number
    }
    return memory.subarray(0, this.length)
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

function memoryFor (bytes: number): Buffer {
  const there = shared?.deref()
  if (there !== undefined && there.length >= bytes) return there
  lentTo = 0
  const memory = Buffer.allocUnsafeSlow(Math.max(LEAST, 2 ** Math.ceil(Math.log2(bytes))))
  shared = new WeakRef(memory)
  return memory
}

/** In one, to keep. */
export function whole (bytes: Bytes): Buffer {
  return bytes instanceof ChunkedBuffer ? bytes.whole() : bytes
}

/** As `Pieces.lend`. */
export function withContiguous<T> (bytes: Bytes, look: (bytes: Buffer) => T): T {
  return bytes instanceof ChunkedBuffer ? bytes.withContiguous(look) : look(bytes)
}

/** As `Pieces.part`; of one buffer it is a view. */
export function part (bytes: Bytes, start: number, end: number): Buffer {
  return bytes instanceof ChunkedBuffer ? bytes.part(start, end) : bytes.subarray(start, end)
}

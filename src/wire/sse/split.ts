import { BLANK, COMMENT, DATA, MARK, SseScan } from './scan.js'

const LF = 0x0a
const SPACE = 0x20
const NONE = Buffer.alloc(0)

export type SsePiece =
  /** Bytes that no client would dispatch: comments, blank lines, blocks without data, the rest of an event that was too large. */
  | { readonly kind: 'pass', readonly bytes: Buffer }
  /**
   * From the first field of a block through its blank line. When the CRLF of the blank line is cut, the LF comes later in a `pass` piece.
   * data = the values of the `data` lines, joined by LF. complete = false: the stream ended before the blank line; some clients dispatch
   * the event.
   */
  | { readonly kind: 'event', readonly bytes: Buffer, readonly data: Buffer, readonly complete: boolean }
  /** The bytes so far of an event that exceeds a limit. The rest of the event passes. */
  | { readonly kind: 'overflow', readonly bytes: Buffer }

export interface SseLimits {
  /** Maximum bytes of one block of lines, without its blank line. */
  readonly bytes: number
  readonly lines: number
}

/**
 * Splits an event stream into pieces. The bytes of all pieces, in order, are exactly the bytes fed. The input may be cut anywhere (HTML
 * Living Standard §9.2.6; line ends LF, CR, CRLF). The splitter holds an event until its blank line. Comments between events pass at once,
 * finished or not. A piece is a part of a chunk where possible, so the caller must not write to a chunk after feeding it. The cuts of the
 * stream do not affect whether an event exceeds the limits. The splitter never holds more than `limits.bytes`.
 */
export class SseSplitter {
  private readonly limits: SseLimits
  private readonly scan = new SseScan()
  private chunk: Buffer = NONE
  private pieces: SsePiece[] = []
  /** Number of bytes of the chunk that are already in pieces. */
  private given = 0
  /**
   * `open` is true while a block is held. `blockAt` is the offset of the block in the chunk; 0 when the block began in an earlier chunk.
   */
  private open = false
  private blockAt = 0
  /**
   * Bytes of the block from earlier chunks: the first `heldLength` bytes of `held`. `held` has room for more only when the splitter
   * allocated it.
   */
  private held: Buffer = NONE
  private heldLength = 0
  private lines = 0
  /** Offsets in the block: the current line, the first `data` line, and the end of the first `data` line. */
  private lineAt = 0
  private dataAt = 0
  private dataEnd = 0
  private dataLines = 0
  /** True while the rest of a block that was too large passes. */
  private skipping = false

  constructor (limits: SseLimits) {
    this.limits = limits
  }

  /** @returns the pieces that are ready, in order */
  feed (chunk: Buffer): SsePiece[] {
    const { scan } = this
    this.chunk = chunk
    this.given = 0
    this.blockAt = 0
    scan.begin(chunk)
    while (scan.next()) this.line(scan.kind)
    if (!this.open && !this.skipping && scan.midLine && !scan.midComment) this.openBlock()
    if (this.open) this.hold()
    else this.emitBytes(chunk.length)
    return this.handOver()
  }

  /** Ends the stream. @returns the held bytes: an event with `complete` false when the block has a `data` line */
  end (): SsePiece[] {
    if (!this.open) return []
    this.given = this.blockAt = 0
    if (this.scan.unfinished === DATA) this.sawData(this.heldLength)
    this.close(0)
    return this.handOver()
  }

  private line (kind: number): void {
    if (this.skipping) {
      if (kind === BLANK) this.skipping = false
      return
    }
    if (!this.open) {
      if (kind === BLANK || kind === COMMENT || kind === MARK) return
      this.openBlock()
    }
    const { scan } = this
    if (kind === BLANK) {
      if (this.offset(scan.start) > this.limits.bytes) this.overflow(scan.after)
      else this.close(scan.after, true)
      return
    }
    if (kind === MARK) return this.close(0)
    if (!scan.continued) this.lineAt = this.offset(scan.start)
    if (kind === DATA) this.sawData(this.offset(scan.end))
    if (++this.lines > this.limits.lines) {
      this.overflow(scan.after)
      this.skipping = true
    }
  }

  private openBlock (): void {
    this.open = true
    this.blockAt = this.scan.start
    this.lines = this.dataLines = this.lineAt = 0
  }

  /** Converts an offset in the chunk to an offset in the block. */
  private offset (at: number): number {
    return this.heldLength + at - this.blockAt
  }

  private sawData (end: number): void {
    if (this.dataLines++ > 0) return
    this.dataAt = this.lineAt
    this.dataEnd = end
  }

  /** Ends the block at an offset in the chunk. */
  private close (end: number, complete = false): void {
    if (this.dataLines > 0) {
      const bytes = this.take(end)
      this.pieces.push({ kind: 'event', bytes, data: this.dataOf(bytes), complete })
      return
    }
    if (this.heldLength > 0) this.pieces.push({ kind: 'pass', bytes: this.held.subarray(0, this.heldLength) })
    this.drop()
  }

  private overflow (end: number): void {
    this.pieces.push({ kind: 'overflow', bytes: this.take(end) })
  }

  /** Passes the bytes before the block. @returns the block up to an offset in the chunk */
  private take (end: number): Buffer {
    let bytes: Buffer
    if (this.heldLength > 0) {
      this.append(end, this.heldLength + end)
      bytes = this.held.subarray(0, this.heldLength)
    } else {
      this.emitBytes(this.blockAt)
      bytes = this.blockAt === 0 && end === this.chunk.length ? this.chunk : this.chunk.subarray(this.blockAt, end)
    }
    this.given = end
    this.drop()
    return bytes
  }

  private drop (): void {
    this.open = false
    this.held = NONE
    this.heldLength = 0
    this.blockAt = 0
  }

  private emitBytes (end: number): void {
    if (end <= this.given) return
    const { chunk } = this
    this.pieces.push({ kind: 'pass', bytes: this.given === 0 && end === chunk.length ? chunk : chunk.subarray(this.given, end) })
    this.given = end
  }

  /** Holds the rest of the chunk, which belongs to the block. */
  private hold (): void {
    const { scan, chunk } = this
    const size = this.offset(chunk.length)
    if (size > this.limits.bytes) {
      this.overflow(chunk.length)
      this.skipping = true
      return
    }
    if (!scan.continued) this.lineAt = this.offset(scan.start)
    this.emitBytes(this.blockAt)
    if (this.heldLength > 0) return this.append(chunk.length, Math.min(size * 2, this.limits.bytes))
    this.held = this.blockAt === 0 ? chunk : chunk.subarray(this.blockAt)
    this.heldLength = this.held.length
  }

  /**
   * Appends the chunk, up to an offset, to the held bytes. The buffer grows by doubling, so the copied bytes are a small multiple of the
   * bytes of the event.
   */
  private append (end: number, room: number): void {
    const size = this.heldLength + end
    if (size > this.held.length) {
      const grown = Buffer.allocUnsafe(room)
      this.held.copy(grown, 0, 0, this.heldLength)
      this.held = grown
    }
    this.chunk.copy(this.held, this.heldLength, 0, end)
    this.heldLength = size
  }

  private handOver (): SsePiece[] {
    const { pieces } = this
    this.pieces = []
    this.chunk = NONE
    return pieces
  }

  private dataOf (bytes: Buffer): Buffer {
    return this.dataLines === 1 ? bytes.subarray(valueAt(bytes, this.dataAt, this.dataEnd), this.dataEnd) : joined(bytes, this.dataAt)
  }
}

/** @returns the offset of the value of the `data` line: after the colon and one space */
function valueAt (bytes: Buffer, lineAt: number, lineEnd: number): number {
  const at = lineAt + 5
  return Math.min(bytes[at] === SPACE ? at + 1 : at, lineEnd)
}

/**
 * @returns the values of all `data` lines, joined by LF
 * @param from offset of the first `data` line
 */
function joined (block: Buffer, from: number): Buffer {
  const bytes = block.subarray(from)
  const data = Buffer.allocUnsafe(bytes.length)
  const scan = new SseScan(false)
  let length = 0
  const add = (start: number, end: number): void => {
    if (length > 0) data[length - 1] = LF
    length += bytes.copy(data, length, valueAt(bytes, start, end), end) + 1
  }
  scan.begin(bytes)
  while (scan.next()) if (scan.kind === DATA) add(scan.start, scan.end)
  if (scan.unfinished === DATA) add(scan.start, bytes.length)
  return data.subarray(0, length - 1)
}

/** Finds the lines of an event stream and their kinds (HTML Living Standard §9.2.6), in bytes cut anywhere. */
const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const NAME = Buffer.from('data')
const BOM = Buffer.from([0xef, 0xbb, 0xbf])
const NONE = Buffer.alloc(0)
/** Distance in bytes up to which the scan checks each byte for a line end: a native search costs more per call. */
const NEAR = 24

/** Kinds of lines. A number between BLANK and DATA counts the letters of the name `data` read so far. */
export const BLANK = 0
const NAMED = 4
export const DATA = 5
/** A line that begins with a colon. */
export const COMMENT = 6
/** Any other field, known or unknown. */
const FIELD = 7
/** Not a line: the byte order mark at the beginning of the stream. */
export const MARK = 8

/**
 * Scans one chunk after the other. Call `begin`, then call `next` until `next` returns false. The scan keeps no reference to a chunk after
 * its end.
 */
export class SseScan {
  /** BLANK, COMMENT, DATA, FIELD or MARK. */
  kind = BLANK
  /** Offset of the line in the chunk; the beginning of the chunk when the line began in an earlier chunk. */
  start = 0
  /** Offset of the line end. */
  end = 0
  /** Offset of the next line. The LF of a cut CRLF belongs to no line of the next chunk. */
  after = 0
  /** True when the line began in an earlier chunk. */
  continued = false
  private chunk: Buffer = NONE
  /** Offsets of the next LF and CR found in the chunk; -1 before the first search, the length of the chunk when there is none. */
  private lf = -1
  private cr = -1
  /** State of the unfinished line: BLANK when no line has begun, otherwise a kind or the number of letters of `data` read. */
  private state = BLANK
  private afterCr = false
  /** Number of bytes of the byte order mark seen so far; -1 after the mark. */
  private mark: number

  /** @param atStart true when a byte order mark may come first */
  constructor (atStart = true) {
    this.mark = atStart ? 0 : -1
  }

  /** True when the bytes seen end within a line, or within a byte order mark. */
  get midLine (): boolean {
    return this.state !== BLANK || this.mark > 0
  }

  /** True when the bytes seen end within a comment. */
  get midComment (): boolean {
    return this.state === COMMENT
  }

  /** Kind of the unfinished line if no more bytes follow. */
  get unfinished (): number {
    return this.mark > 0 ? FIELD : kindOf(this.state)
  }

  begin (chunk: Buffer): void {
    this.chunk = chunk
    this.lf = this.cr = -1
    this.after = 0
    if (!this.afterCr || chunk.length === 0) return
    this.afterCr = false
    if (chunk[0] === LF) this.after = 1
  }

  /**
   * @returns true when there is another whole line or a byte order mark. When false, `start` and `continued` describe the rest of the
   *   chunk.
   */
  next (): boolean {
    const { chunk } = this
    const { length } = chunk
    let at = this.after
    let { state } = this
    this.start = at
    this.continued = state !== BLANK
    if (this.mark >= 0) {
      this.continued = this.mark > 0
      while (at < length && this.mark < BOM.length && chunk[at] === BOM[this.mark]) {
        this.mark++
        at++
      }
      if (this.mark === BOM.length) return this.found(MARK, at, at)
      if (at === length) return this.exhausted(BLANK)
      if (this.mark > 0) state = FIELD
      this.mark = -1
    }
    let byte = -1
    while (at < length && state < DATA) {
      byte = chunk[at] as number
      if (byte === LF || byte === CR) break
      state = step(state, byte)
      at++
    }
    if (state >= DATA) {
      const near = Math.min(at + NEAR, length)
      while (at < near) {
        byte = chunk[at] as number
        if (byte === LF || byte === CR) break
        at++
      }
      if (at === near && near < length) {
        at = this.lineEnd(near)
        byte = chunk[at] as number
      }
    }
    if (at >= length) return this.exhausted(state)
    let after = at + 1
    if (byte === CR) {
      if (after === length) this.afterCr = true
      else if (chunk[after] === LF) after++
    }
    this.state = BLANK
    return this.found(kindOf(state), at, after)
  }

  private found (kind: number, end: number, after: number): true {
    if (kind === MARK) this.mark = -1
    this.kind = kind
    this.end = end
    this.after = after
    return true
  }

  private exhausted (state: number): false {
    this.state = state
    this.chunk = NONE
    this.end = this.after = 0
    this.lf = this.cr = -1
    return false
  }

  /** @returns the offset of the next line end at or after `from`. Each byte is searched once for LF and once for CR. */
  private lineEnd (from: number): number {
    const { chunk } = this
    if (this.lf < from) this.lf = found(chunk.indexOf(LF, from), chunk)
    if (this.cr < from) this.cr = found(chunk.indexOf(CR, from), chunk)
    return Math.min(this.lf, this.cr)
  }
}

function found (at: number, chunk: Buffer): number {
  return at === -1 ? chunk.length : at
}

function step (state: number, byte: number): number {
  if (byte === COLON) return state === BLANK ? COMMENT : state === NAMED ? DATA : FIELD
  return state < NAMED && byte === NAME[state] ? state + 1 : FIELD
}

function kindOf (state: number): number {
  if (state === BLANK || state >= DATA) return state
  return state === NAMED ? DATA : FIELD
}

/** Finds the lines of an event stream and what they are (HTML Living Standard §9.2.6), in bytes cut anywhere. */
const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const NAME = Buffer.from('data')
const BOM = Buffer.from([0xef, 0xbb, 0xbf])
const NONE = Buffer.alloc(0)
/** Line ends nearer than this are found by looking at each byte: a native search costs more to call. */
const NEAR = 24

/** Kinds of lines. Between BLANK and DATA: how much of the name `data` has been read. */
export const BLANK = 0
const NAMED = 4
export const DATA = 5
/** Begins with a colon. */
export const COMMENT = 6
/** Any other field, known or unknown. */
const FIELD = 7
/** Not a line: the byte order mark at the beginning of the stream. */
export const MARK = 8

/** Looks at one chunk after the other: `begin`, then `next` until it says no. Holds on to no chunk once that is read. */
export class SseScan {
  /** BLANK, COMMENT, DATA, FIELD or MARK. */
  kind = BLANK
  /** Where the line begins in the chunk; the chunk's beginning if it began in an earlier one. */
  start = 0
  /** Where its line end begins. */
  end = 0
  /** Where the next line begins. The LF of a CRLF that is cut belongs to no line of the next chunk. */
  after = 0
  /** Whether the line began in an earlier chunk. */
  continued = false
  private chunk: Buffer = NONE
  /** The next LF and CR of the chunk as far as they have been looked for; its length when there is none. */
  private lf = -1
  private cr = -1
  /** What is known of the line that is not ended: BLANK if none is begun, else a kind or a count of letters of `data`. */
  private state = BLANK
  private afterCr = false
  /** Bytes of the byte order mark that have been seen; -1 when it is past. */
  private mark: number

  /** @param atStart whether a byte order mark may come first */
  constructor (atStart = true) {
    this.mark = atStart ? 0 : -1
  }

  /** Whether the bytes seen end within a line, or within a byte order mark. */
  get midLine (): boolean {
    return this.state !== BLANK || this.mark > 0
  }

  /** Whether they end within a comment. */
  get midComment (): boolean {
    return this.state === COMMENT
  }

  /** What the unfinished line is if nothing follows. */
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

  /** @returns whether there was another whole line, or a byte order mark; if not, `start` and `continued` are those of what is left */
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

  /** @returns the next line end at or after an offset. Each byte is looked at once for LF and once for CR. */
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

/** Event streams in which some clients see more than the standard has them see. */
import { BLANK, DATA, SseScan } from './scan.js'
import type { SsePiece } from './split.js'

/**
 * What else ends a line for clients that split text as Python does: VT, FF, FS, GS, RS (and all controls but the tab), NEL, U+2028 and U+2029, in
 * UTF-8 read as latin1. Between it and the line's end an event may lie. Within data it does no harm: there it can only be part of a string, which
 * it breaks.
 */
const LINE_END = /[^\P{Cc}\t\n\r\u0080-\u009f]|\u00c2\u0085|\u00e2\u0080[\u00a8\u00a9]/u
/** Blanks as `trim` of JavaScript has them, in UTF-8 read as latin1. */
const SPACE = '(?:[\\t\\v\\f ]|\u00c2\u00a0|\u00e1\u009a\u0080|\u00e2\u0080[\u0080-\u008a\u00a8\u00a9\u00af]|\u00e2\u0081\u009f|\u00e3\u0080\u0080|\u00ef\u00bb\u00bf)'
/** Data after blanks at the beginning of a line, for clients that trim lines (JavaScript SDK 0.3). The standard has a field of another name there. */
const TRIMMED = new RegExp(`[\\n\\r]${SPACE}+data:`)
const SPACES = new RegExp(`^${SPACE}+`)
/** Blanks and a byte order mark. */
const NOTHING = /^[\s\u00ef\u00bb\u00bf]*/
const LF = 0x0a
const CR = 0x0d
/** Length of `data`. */
const NAME = 4
/** Bytes of an event beside its data that leave no room for another line with data. */
const ROOM = 12

/** Looks at the pieces of one stream, in order. */
export class SseAmbiguity {
  private begun = false
  /** The end of what passed last: a character may be cut, or the name after blanks. */
  private tail = '\n'

  /** @returns whether clients differ on what the piece is */
  isIn (piece: SsePiece): boolean {
    if (piece.kind === 'event') {
      this.begun = true
      this.tail = '\n'
      return beside(piece.bytes, piece.data) > ROOM && isAmbiguous(otherLines(piece.bytes))
    }
    const text = this.tail + piece.bytes.toString('latin1')
    this.tail = tailOf(text)
    return this.isJson(text) || isAmbiguous(text)
  }

  /** Clients of calls with one answer parse what they get, whatever it says it is; no field of an event begins so. */
  private isJson (text: string): boolean {
    if (this.begun) return false
    const first = text.replace(NOTHING, '')[0]
    this.begun = first !== undefined
    return first === '{' || first === '['
  }
}

/** What of a text can matter to what follows it. */
function tailOf (text: string): string {
  const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'))
  const line = text.slice(end + 1)
  const rest = line.replace(SPACES, '')
  if (end === -1 || rest.length > NAME) return text.slice(-2)
  return rest.length < line.length ? `\n ${rest}` : `\n${rest}`
}

function isAmbiguous (text: string): boolean {
  return LINE_END.test(text) || TRIMMED.test(text)
}

/** Bytes of an event that are not its data. The LF of a CRLF that ends it does not count: where it is cut off, it is not there. */
function beside (bytes: Buffer, data: Buffer): number {
  const cut = bytes.at(-1) === LF && bytes.at(-2) === CR ? 1 : 0
  return bytes.length - cut - data.length
}

/** All but data, as latin1. */
function otherLines (block: Buffer): string {
  const scan = new SseScan(false)
  let text = '\n'
  scan.begin(block)
  while (scan.next()) if (scan.kind !== DATA && scan.kind !== BLANK) text += `${block.toString('latin1', scan.start, scan.end)}\n`
  return text
}

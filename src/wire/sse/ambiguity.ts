/** Detects event streams in which some clients see more than the standard defines. */
import { BLANK, DATA, SseScan } from './scan.js'
import type { SsePiece } from './split.js'

/**
 * Characters that also end a line for clients that split text as Python does: VT, FF, FS, GS, RS (and all controls except the tab), NEL,
 * U+2028 and U+2029. The pattern matches UTF-8 read as latin1. An event may be hidden between such a character and the end of the line.
 * Within data the character does no harm: it can only be part of a string, and breaks that string.
 */
const LINE_END = /[^\P{Cc}\t\n\r\u0080-\u009f]|\u00c2\u0085|\u00e2\u0080[\u00a8\u00a9]/u
/** White space as JavaScript's `trim` defines it, in UTF-8 read as latin1. */
const SPACE =
  '(?:[\\t\\v\\f ' +
    ']|\u00c2\u00a0|\u00e1\u009a\u0080|\u00e2\u0080[\u0080-\u008a\u00a8\u00a9\u00af]|\u00e2\u0081\u009f|\u00e3\u0080\u0080|\u00ef\u00bb\u00bf)'
/**
 * Matches `data:` after white space at the beginning of a line. Clients that trim lines (JavaScript SDK 0.3) read data there. The standard
 * reads a field of another name there.
 */
const TRIMMED = new RegExp(`[\\n\\r]${SPACE}+data:`)
const SPACES = new RegExp(`^${SPACE}+`)
/** Matches white space and a byte order mark. */
const BLANK_START = /^[\s\u00ef\u00bb\u00bf]*/
const LF = 0x0a
const CR = 0x0d
/** Length of `data`. */
const NAME = 4
/** Number of bytes of an event, without its data, up to which the event has no room for another line with data. */
const ROOM = 12

/** Checks the pieces of one stream, in order. */
export class SseAmbiguity {
  private begun = false
  /** The end of the last passed text. A character may be cut there, or a name after white space. */
  private tail = '\n'

  /** @returns true when clients differ on how they read the piece */
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

  /**
   * True when the stream begins like JSON. Clients of calls with one response parse the body as JSON, whatever its media type. No field of
   * an event begins like JSON.
   */
  private isJson (text: string): boolean {
    if (this.begun) return false
    const first = text.replace(BLANK_START, '')[0]
    this.begun = first !== undefined
    return first === '{' || first === '['
  }
}

/** Returns the end of a text that can affect how the following text is read. */
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

/**
 * Counts the bytes of an event that are not its data. The LF of a final CRLF does not count: an event whose CRLF is cut does not hold this
 * LF.
 */
function beside (bytes: Buffer, data: Buffer): number {
  const { length } = bytes
  const cut = bytes[length - 1] === LF && bytes[length - 2] === CR ? 1 : 0
  return length - cut - data.length
}

/** Returns all lines except data lines, as latin1. */
function otherLines (block: Buffer): string {
  const scan = new SseScan(false)
  let text = '\n'
  scan.begin(block)
  while (scan.next()) if (scan.kind !== DATA && scan.kind !== BLANK) text += `${block.toString('latin1', scan.start, scan.end)}\n`
  return text
}

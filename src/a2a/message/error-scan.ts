/**
 * Finds errors in an agent's response without parsing the response: a JSON-RPC error object in place of a result, or an error event of a
 * stream. Every call passes here, so the scan reads the first bytes of a body, and of a stream only chunks that contain the word.
 */
import type { Binding } from '../versions.js'

/** Bytes of a body that are read: all members before `error`, and its code. */
const WINDOW = 4_096
/** Characters of a line that are kept when a chunk ends within the line. */
const LINE = 4_096

/** In `"error":` and in `event: error`. */
const WORD = Buffer.from('error')
const RESULT = Buffer.from('"result":')
/** Bytes of a usual JSON-RPC response within which its result begins. */
const USUAL = 96
const QUOTE = 0x22
const OPEN_BRACE = 0x7b

/** Members that may come before `error`. Serialisers that write every member write null for the unused `result`. */
const BEFORE = '(?:"(?:jsonrpc|id|result)"\\s*:\\s*(?:"(?:[^"\\\\]|\\\\.)*"|null|-?[\\d.eE+-]+)\\s*,\\s*)*'
const OBJECT = `\\{\\s*${BEFORE}"error"\\s*:\\s*\\{`
/** The usual order of an error object: `code` first, or after `message`. */
const CODE = '(?:\\s*(?:"message"\\s*:\\s*"(?:[^"\\\\]|\\\\.)*"\\s*,\\s*)?"code"\\s*:\\s*(-?\\d{1,9})(?!\\d))?'
/** A byte order mark, in latin1, and blanks may come before. */
const BODY = new RegExp(`^(?:\\u00ef\\u00bb\\u00bf)?\\s*${OBJECT}${CODE}`)
/** The JavaScript SDK names error events; without a space after the colon, no known agent writes them. */
const EVENT_LINE = /(?:^|[\r\n])event: error[\r\n]/
const DATA_LINE = new RegExp(`(?:^|[\\r\\n])data: ?\\s*${OBJECT}${CODE}`)

export interface AgentError {
  /** `error.code`; null when it cannot be read. */
  readonly code: number | null
}

/** Scans one response. */
export class ErrorScan {
  private readonly json: boolean
  /** Null until the first byte that is not blank. */
  private stream: boolean | null = null
  /** Start of a JSON body, until it is decided. */
  private head: Buffer[] = []
  private size = 0
  private done = false
  /** Start of the line, in latin1, that the last chunk did not end. */
  private line = ''

  /** @param binding HTTP+JSON has errors with a successful status in streams only */
  constructor (binding: Binding) {
    this.json = binding === 'JSONRPC'
  }

  /** @returns the first error of the response, once */
  chunk (bytes: Buffer): AgentError | null {
    if (this.done) return null
    this.stream ??= kindOf(bytes)
    if (this.stream === true) return this.events(bytes)
    if (!this.json || (this.size === 0 && hasResult(bytes))) {
      this.done = this.stream === false
      return null
    }
    this.head.push(bytes)
    this.size += bytes.length
    return this.size < WINDOW ? null : this.end()
  }

  /** Handles the end of the response. @returns as `chunk` */
  end (): AgentError | null {
    const { head } = this
    if (this.done || head.length === 0) return null
    this.done = true
    this.head = []
    const first = head[0] as Buffer
    const whole = head.length === 1 ? first : Buffer.concat(head)
    const start = whole.length <= WINDOW ? whole : whole.subarray(0, WINDOW)
    return start.indexOf(WORD) >= 0 ? errorIn(BODY, start.toString('latin1')) : null
  }

  private events (bytes: Buffer): AgentError | null {
    const { line } = this
    const event = line !== '' || bytes.indexOf(WORD) >= 0 ? eventIn(line + bytes.toString('latin1')) : null
    if (event !== null) {
      this.done = true
      return event
    }
    const last = bytes[bytes.length - 1]
    if (last === 0x0a || last === 0x0d) {
      this.line = ''
    } else {
      const from = Math.max(bytes.lastIndexOf(0x0a), bytes.lastIndexOf(0x0d)) + 1
      if (from > 0 || this.line.length < LINE) {
        this.line = ((from > 0 ? '' : this.line) + bytes.toString('latin1', from, Math.min(bytes.length, from + LINE))).slice(0, LINE)
      }
    }
    return null
  }
}

/** @returns true for an event stream, which cannot begin with a brace; null for blanks only */
function kindOf (bytes: Buffer): boolean | null {
  for (const byte of bytes) {
    if (byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d || byte >= 0x80) continue
    return byte !== OPEN_BRACE
  }
  return null
}

/**
 * True for most responses: their result is an object, and begins within the first bytes. A response with a result and an error is no valid
 * one. Quotation marks within strings are escaped, so `"result":{` is a member.
 */
function hasResult (bytes: Buffer): boolean {
  if (bytes[0] !== OPEN_BRACE) return false
  const end = Math.min(USUAL, bytes.length - RESULT.length - 1)
  for (let i = 1; i < end; i++) {
    if (bytes[i] !== QUOTE) continue
    let same = 1
    while (same < RESULT.length && bytes[i + same] === RESULT[same]) same++
    if (same === RESULT.length) return bytes[i + same] === OPEN_BRACE
  }
  return false
}

function eventIn (text: string): AgentError | null {
  return errorIn(DATA_LINE, text) ?? (EVENT_LINE.test(text) ? { code: null } : null)
}

function errorIn (pattern: RegExp, text: string): AgentError | null {
  const match = pattern.exec(text)
  if (match === null) return null
  return { code: match[1] === undefined ? null : Number(match[1]) }
}

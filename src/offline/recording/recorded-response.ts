/** An agent's recorded response, and the file formats of a recorded response. */
import type { Diagnostic } from '#config/diagnostics.js'
import type { ErrorCode } from '#operator-errors.js'
import { OperatorError } from '#operator-errors.js'

export interface RecordedResponse {
  readonly status: number
  /** Flat list: name, value, name, value. */
  readonly headers: readonly string[]
  readonly body: Buffer
  /** Only over gRPC: the status follows the messages. Flat list. */
  readonly trailers?: readonly string[]
  /** Assumptions that were made. */
  readonly notes: readonly string[]
}

const STATUS_LINE = /^HTTP\/\d(?:\.\d)? +(\d{3})(?:[ \t].*)?$/
const STREAM = /^(?:\uFEFF)?(?:(?:data|event|id|retry)(?::|$)|:)/

/** True when a body looks like an event stream. */
export function isStream (body: Buffer): boolean {
  return STREAM.test(body.toString('latin1', 0, Math.min(body.length, 64)).trimStart())
}

/**
 * Reads a response from a file: an HTTP response with status line, headers and body; a JSON body alone; or an event stream alone.
 * @param file name of the file in problems
 * @throws RecordingError
 */
export function readResponse (bytes: Buffer, file: string): RecordedResponse {
  const start = bytes.toString('latin1', 0, Math.min(bytes.length, 4096))
  if (start.startsWith('HTTP/')) return readRaw(bytes, file)
  const lead = start.replace(/^\xEF\xBB\xBF/, '').trimStart()
  if (STREAM.test(lead)) {
    return {
      status: 200,
      headers: ['content-type', 'text/event-stream'],
      body: bytes,
      notes: ['the response is only an event stream: status 200 and no other headers are assumed']
    }
  }
  if (/^[{[]/.test(lead)) {
    return {
      status: 200,
      headers: ['content-type', 'application/json'],
      body: bytes,
      notes: ['the response is only a body: status 200, application/json and no other headers are assumed']
    }
  }
  throw new RecordingError(
    file,
    0,
    'this is not a response',
    'it begins with HTTP/1.1 200 and has headers and a body, or is JSON, or an event stream'
  )
}

/** Reads a raw HTTP response. The body is everything after the first blank line, byte by byte. */
function readRaw (bytes: Buffer, file: string): RecordedResponse {
  const text = bytes.toString('latin1')
  const blank = /\r?\n\r?\n/.exec(text)
  const head = (blank === null ? text.trimEnd() : text.slice(0, blank.index)).split(/\r?\n/)
  const body = blank === null ? Buffer.alloc(0) : bytes.subarray(blank.index + blank[0].length)
  const [, status] = STATUS_LINE.exec(head[0]?.trimEnd() ?? '') ?? []
  if (status === undefined) {
    throw new RecordingError(file, 1, 'the first line is not the status line of an HTTP response', 'write it as in "HTTP/1.1 200 OK"')
  }
  const headers: string[] = []
  head.slice(1).forEach((line, index) => {
    const colon = line.indexOf(':')
    if (colon < 1) {
      throw new RecordingError(
        file,
        index + 2,
        'this line is not a header',
        'write Name: value; a blank line comes between headers and body'
      )
    }
    headers.push(line.slice(0, colon).trim(), line.slice(colon + 1).trim())
  })
  return asReceived({ status: Number(status), headers, body, notes: [] })
}

/**
 * Converts a recorded response to what the gateway would have received. Recorders keep decoded bodies with the original headers. A readable
 * body is therefore not encoded, and its length is its actual length.
 */
export function asReceived (response: RecordedResponse): RecordedResponse {
  const { body } = response
  const lead = body.toString('latin1', 0, Math.min(body.length, 64)).trimStart()
  const readable = /^[{[]/.test(lead) || STREAM.test(lead)
  const headers: string[] = []
  const notes = [...response.notes]
  for (let i = 0; i < response.headers.length; i += 2) {
    const [name, value] = [response.headers[i] ?? '', response.headers[i + 1] ?? '']
    const lower = name.toLowerCase()
    if (lower === 'content-length' || lower === 'transfer-encoding') continue
    if (
      lower === 'content-encoding' &&
      readable &&
      value.toLowerCase() !== 'identity'
    ) { notes.push('the recorded response is already decoded: its Content-Encoding is removed') } else headers.push(name, value)
  }
  return { ...response, headers, notes }
}

interface Details { readonly unreadable?: boolean, readonly code?: ErrorCode }

/** The only error that reading a recording throws. Its message gives the place, the problem and the fix. It contains no data of a body. */
export class RecordingError extends OperatorError {
  /** The same as the message, in parts. */
  readonly problem: Diagnostic
  /** True when the file does not exist or cannot be read. */
  readonly unreadable: boolean

  /** @param line from 1; 0 when no line is at fault */
  constructor (file: string, line: number, what: string, remedy: string, more: Details = {}) {
    super(more.code ?? 'A2AGW_ERR_RECORDING', `${line === 0 ? file : `${file}:${line}`}: ${what} (${remedy})`)
    this.name = 'RecordingError'
    this.problem = { file, line, col: line === 0 ? 0 : 1, message: what, hint: remedy, code: this.code }
    this.unreadable = more.unreadable === true
  }
}

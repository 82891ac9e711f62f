/**
 * Reads `.http` files as the REST Client of VS Code and the HTTP client of JetBrains write them.
 *
 * Lines that begin with `#` or `//` are comments everywhere, also in bodies: both editors omit them. The body is the rest of the section,
 * in UTF-8 and with the file's line ends, without the blank lines at its end. `<> file` names the response. The reader ignores other
 * response handling (`> {% %}`, `> script`, `>> file`) and scripts that run before the request, with a warning.
 */
import { Variables } from './http-variables.js'
import type { RecordedResponse } from './recorded-response.js'
import { readResponse, RecordingError } from './recorded-response.js'
import type { RecordedRequest } from './recorded-request.js'
import { requestOf } from './recorded-request.js'

export interface Recordings {
  readonly requests: readonly RecordedRequest[]
  /** Each warning has the form `file:line: text`. */
  readonly warnings: readonly string[]
}

/**
 * Reads a file that a recording names, relative to the recording.
 * @throws Error with a `code`
 */
export type ReadBeside = (path: string) => Buffer

interface Line {
  readonly text: string
  /** Line end: '', a line feed, or carriage return and line feed. */
  readonly end: string
  readonly number: number
}

interface Section {
  name: string | null
  /** Lines from the request line on. Empty when there is no request. */
  lines: Line[]
  /** Files of the responses, newest first, as JetBrains lists them. */
  responses: Line[]
}

const COMMENT = /^\s*(?:#|\/\/)/
const SEPARATOR = /^#{3,}(.*)$/
const NAMED = /^\s*(?:#|\/\/)\s*@name(?:\s*=\s*|\s+)(\S.*)$/
const DEFINITION = /^\s*@([^\s=]+)\s*=(.*)$/
const SCRIPT = /^\s*[<>]\s*\{%/
const RESPONDED = /^\s*<>\s+(\S.*)$/
const RESPONSE = /^\s*(?:>>!?|>)\s+\S/
const QUERY = /^(?:\s*[?&]|\s+\/)/
const INCLUDE = /^<(@[\w-]*)?\s+(\S.*)$/

/**
 * Reads an `.http` file.
 * @throws RecordingError
 */
export function readHttpFile (text: string, file: string, read: ReadBeside): Recordings {
  const warnings: string[] = []
  const variables = new Variables(file)
  const sections = sectionsOf(text, file, variables, warnings)
  const requests = sections.map(section => readSection(section, { file, variables, read, warnings }))
  return { requests, warnings }
}

function * linesOf (text: string): Generator<Line> {
  for (let start = 0, number = 1; start < text.length; number++) {
    const feed = text.indexOf('\n', start)
    const next = feed === -1 ? text.length : feed + 1
    const end = feed === -1 ? '' : feed > start && text[feed - 1] === '\r' ? '\r\n' : '\n'
    yield { text: text.slice(start, next - end.length), end, number }
    start = next
  }
}

function sectionsOf (text: string, file: string, variables: Variables, warnings: string[]): Section[] {
  const sections: Section[] = []
  let section: Section = { name: null, lines: [], responses: [] }
  let script = 0
  for (const line of linesOf(text)) {
    const { number } = line
    if (script > 0) {
      if (line.text.includes('%}')) script = 0
      continue
    }
    const separator = SEPARATOR.exec(line.text)
    if (separator !== null) {
      sections.push(section)
      section = { name: separator[1]?.trim() || null, lines: [], responses: [] }
    } else if (SCRIPT.test(line.text)) {
      warnings.push(`${file}:${number}: scripts do not run, and their changes are missing`)
      if (!line.text.includes('%}')) script = number
    } else if (section.lines.length > 0 && RESPONDED.test(line.text)) {
      section.responses.push(line)
      if (section.responses.length === 2) warnings.push(`${file}:${number}: skipped: the first recorded response is the newest`)
    } else if (section.lines.length > 0 && RESPONSE.test(line.text)) {
      warnings.push(`${file}:${number}: skipped: it concerns the response, not the request`)
    } else if (COMMENT.test(line.text)) {
      section.name = NAMED.exec(line.text)?.[1]?.trim() ?? section.name
    } else if (section.lines.length > 0) {
      section.lines.push(line)
    } else {
      const definition = DEFINITION.exec(line.text)
      if (definition !== null) variables.define(definition[1] ?? '', definition[2]?.trim() ?? '', number)
      else if (line.text.trim() !== '') section.lines.push(line)
    }
  }
  if (script > 0) throw new RecordingError(file, script, 'a script has no end', 'end it with %}')
  sections.push(section)
  return sections.filter(section => section.lines.length > 0)
}

interface FileContext {
  readonly file: string
  readonly variables: Variables
  readonly read: ReadBeside
  readonly warnings: string[]
}

function readSection ({ name, lines, responses }: Section, around: FileContext): RecordedRequest {
  const { file, variables } = around
  const first = lines[0] as Line
  let i = 1
  let address = first.text.trim()
  for (; QUERY.test(lines[i]?.text ?? ''); i++) address += lines[i]?.text.trim()
  const line = requestLine(variables.expand(address, first.number))
  if (line === null) throw new RecordingError(file, first.number, 'this is not a request', NO_REQUEST)
  const { method, url } = line
  const headers: string[] = []
  for (; i < lines.length && lines[i]?.text.trim() !== ''; i++) {
    const { text, number } = lines[i] as Line
    const colon = text.indexOf(':')
    if (colon < 1) {
      throw new RecordingError(file, number, 'this line is not a header', 'write Name: value; a blank line comes between headers and body')
    }
    headers.push(variables.expand(text.slice(0, colon), number).trim(), variables.expand(text.slice(colon + 1), number).trim())
  }
  return requestOf(
    {
      name,
      line: first.number,
      method,
      url,
      headers,
      body: bodyOf(lines.slice(i + 1), around),
      response: responseOf(responses[0], around)
    },
    file
  )
}

const NO_REQUEST = 'write one as in "POST http://host/path", or give a curl command, captured JSON or a HAR entry'
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT']
/** An address with a scheme, or a path; its faults are reported elsewhere. Otherwise a host, which has a dot, a port or a path. */
const ADDRESS = /^(?:[a-z][a-z0-9+.-]*:\/\/|\/)|^[a-z0-9._[\]:-]+[.:/?]\S*$/i

/**
 * Parses the request line. Without a method the request is GET, as in both editors.
 * @returns null for a line that is none, such as a sentence
 */
function requestLine (text: string): { method: string, url: string } | null {
  const line = text.replace(/\s+HTTP\/[\d.]+$/i, '')
  const [, method, url] = /^([A-Za-z-]+)\s+(\S.*)$/.exec(line) ?? []
  if (method === undefined || url === undefined) return ADDRESS.test(line) ? { method: 'GET', url: line } : null
  const isMethod = METHODS.includes(method.toUpperCase()) || (method === method.toUpperCase() && ADDRESS.test(url))
  return isMethod ? { method: method.toUpperCase(), url } : null
}

function bodyOf (lines: readonly Line[], { file, variables, read }: FileContext): Buffer {
  const last = lines.findLastIndex(line => line.text.trim() !== '')
  const body = lines.slice(0, last + 1)
  const from = body.find(line => INCLUDE.test(line.text))
  if (from === undefined) {
    const text = body.map((line, i) => i === last ? line.text : line.text + line.end).join('')
    return Buffer.from(variables.expand(text, body[0]?.number ?? 0))
  }
  const { number } = from
  if (body.some(line => line !== from && line.text.trim() !== '')) {
    throw new RecordingError(file, number, 'a body is text or a file, not both', 'put all of it into the file')
  }
  const [, expanded, path = ''] = INCLUDE.exec(from.text) ?? []
  const encoding = (expanded ?? '@').slice(1).toLowerCase()
  if (!['', 'utf8', 'utf-8'].includes(encoding)) {
    throw new RecordingError(file, number, 'a body with variables is read as UTF-8 only', 'write <@ and save the file in UTF-8')
  }
  const bytes = readNamed(variables.expand(path.trim(), number), number, file, read)
  if (expanded === undefined) return bytes
  try {
    return Buffer.from(variables.expand(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), number))
  } catch (error) {
    if (error instanceof RecordingError) throw error
    throw new RecordingError(file, number, 'the file of the body is not UTF-8', 'name it with < to send it unchanged')
  }
}

/** Reads the recorded response. Editors add response files automatically and may delete them, so a missing file is only a warning. */
function responseOf (line: Line | undefined, { file, variables, read, warnings }: FileContext): RecordedResponse | null {
  if (line === undefined) return null
  const [, path = ''] = RESPONDED.exec(line.text) ?? []
  const name = variables.expand(path.trim(), line.number)
  try {
    return readResponse(read(name), name)
  } catch (error) {
    warnings.push(
      `${file}:${line.number}: the response is skipped: ${error instanceof RecordingError ? error.message : 'its file cannot be read'}`
    )
    return null
  }
}

function readNamed (path: string, line: number, file: string, read: ReadBeside): Buffer {
  try {
    return read(path)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read${code === undefined ? '' : ` (${code})`}`
    throw new RecordingError(file, line, `the file of the body ${why}`, 'its path is relative to the recording')
  }
}

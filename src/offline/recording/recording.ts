/** Reads a file of recorded requests in any supported format into wire form. */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { findFault } from '#wire/json/fault.js'
import { parseJson } from '#wire/json/parse-json.js'
import { readCaptured } from './captured.js'
import { curlRequest, isCurl, readCurl } from './curl.js'
import type { ReadBeside, Recordings } from './http-file.js'
import { readHttpFile } from './http-file.js'
import type { RecordedRequest } from './recorded-request.js'
import { RecordingError } from './recorded-response.js'

export type { RecordedRequest } from './recorded-request.js'
export { parseHeader } from './recorded-request.js'
export { RecordingError } from './recorded-response.js'

/**
 * Loads a recording.
 * @throws RecordingError
 */
export function loadRecording (file: string): Recordings {
  const { bytes, beside } = openRecording(file)
  return readRecording(bytes, file, beside)
}

/**
 * Opens a recording.
 * @returns its content, and how to read the files that it names
 * @throws RecordingError
 */
export function openRecording (file: string): { readonly bytes: Buffer, readonly beside: ReadBeside } {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (/^https?:\/\//i.test(file)) {
      throw new RecordingError(
        file, 0, 'this is a URL, not a recording', 'write the call as a curl command: a2a-gateway explain curl URL', { unreadable: true }
      )
    }
    const why =
      code === 'ENOENT'
        ? 'there is no such file'
        : code === 'EISDIR'
          ? 'this is a directory'
          : `it cannot be read${code === undefined ? '' : ` (${code})`}`
    throw new RecordingError(file, 0, why, NAME_ONE, { unreadable: true })
  }
  return { bytes, beside: name => readFileSync(resolve(dirname(file), name)) }
}

const NAME_ONE = 'name an .http file, captured JSON or a HAR file, give a curl command, or - for standard input'

/** Name of standard input in problems. */
export const STANDARD_INPUT = 'stdin'

/** Name of a curl command of the command line in problems. */
const CURL = 'curl command'

/**
 * Reads a curl command of the command line. Files that it names are relative to the working directory.
 * @param command one text, or the words into which a shell has split the command, the first of which is `curl`
 * @param ownFlags flags that do not belong to curl, but to the command that reads it
 * @throws RecordingError
 */
export function readCurlCommand (command: string | readonly string[], ownFlags: readonly string[] = []): Recordings {
  const place = { file: CURL, read: (name: string) => readFileSync(name), pasted: true, ownFlags }
  if (typeof command === 'string') return readCurl(command, place)
  return { requests: [curlRequest(command.slice(1), { ...place, line: 0, input: null })], warnings: [] }
}

export { isCurl }

/**
 * Reads JSON, curl commands or `.http`. The suffix of the name decides; without a known suffix, a text that begins with a brace or bracket
 * is JSON. A text that begins with `curl` is commands.
 * @param file name of the file in problems
 * @throws RecordingError
 */
export function readRecording (bytes: Buffer, file: string, read: ReadBeside): Recordings {
  const text = textOf(bytes, file)
  const start = text.trimStart()
  const json = /\.(?:json|har)$/i.test(file) || (!/\.(?:http|rest)$/i.test(file) && /^(?:\{(?!\{)|\[)/.test(start))
  const jsonForm = json
    ? { requests: readCaptured(jsonOf(text, file), bytes, file), warnings: [] }
    : isCurl(text) ? readCurl(text, { file, read, pasted: file === STANDARD_INPUT }) : readHttpFile(text, file, read)
  if (jsonForm.requests.length > 0) return jsonForm
  if (json) throw new RecordingError(file, 0, 'the HAR file has no entries', 'save it again after the call, with the network log recording')
  throw new RecordingError(file, 0, 'there is no request in it', 'write one as in "POST http://host/path"')
}

/**
 * Picks one request.
 * @param wanted name of the request, or its number in the file, from 1
 * @throws RecordingError when there is no match
 */
export function pickRequest (requests: readonly RecordedRequest[], wanted: string, file: string): RecordedRequest {
  const named = requests.filter(request => request.name === wanted)
  if (named.length > 1) throw new RecordingError(file, named[1]?.line ?? 0, 'two requests have this name', 'choose by number')
  const picked = named[0] ?? (/^\d{1,9}$/.test(wanted) ? requests[Number(wanted) - 1] : undefined)
  if (picked !== undefined) return picked
  const names = requests.map(request => request.name).filter(name => name !== null)
  throw new RecordingError(
    file,
    0,
    `it contains no request "${wanted}"`,
    names.length === 0 ? `they are numbered 1 to ${requests.length}` : `there are ${names.join(', ')}`
  )
}

function textOf (bytes: Buffer, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new RecordingError(
      file,
      0,
      'the file is not UTF-8 text',
      'save it in UTF-8; put other bytes into "bodyBase64" of a captured JSON'
    )
  }
}

function jsonOf (text: string, file: string): unknown {
  try {
    return parseJson(text)
  } catch {
    // V8's error message quotes the text, so the message is not used.
    const bytes = Buffer.from(text)
    const fault = findFault(bytes)
    const line = fault === null ? 0 : bytes.subarray(0, fault.offset).toString('latin1').split('\n').length
    throw new RecordingError(
      file,
      line,
      `the JSON is not valid${fault === null ? '' : `: expected ${fault.expected}`}`,
      'fix it; write a body that is not JSON as a string in "body"'
    )
  }
}

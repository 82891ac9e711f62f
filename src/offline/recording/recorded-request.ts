/** One recorded request in its wire form, and the errors of a recording. */
import { isToken } from '#wire/tokens.js'
import type { RecordedResponse } from './recorded-response.js'
import { RecordingError } from './recorded-response.js'

export interface RecordedRequest {
  readonly name: string | null
  /** Line where the request begins in the file, from 1. */
  readonly line: number
  readonly method: string
  /** Path and query. Null for a bare JSON-RPC envelope, which has no address. */
  readonly target: string | null
  /** Node's flat list: name, value, name, value. Host comes first when only the URL names the host. */
  readonly headers: readonly string[]
  readonly body: Buffer
  /** The recorded response of the agent, if any. */
  readonly response: RecordedResponse | null
}

/** A recorded request before the check that a client could send it. */
export interface RequestDraft extends Omit<RecordedRequest, 'target'> {
  /** `/path`, `http(s)://host/path` or `host/path`. */
  readonly url: string
}

/**
 * Checks and converts a draft.
 * @throws RecordingError when no HTTP client could send the request
 */
export function requestOf ({ url, ...draft }: RequestDraft, file: string): RecordedRequest {
  const fail = (what: string, remedy: string): never => { throw new RecordingError(file, draft.line, what, remedy) }
  if (!isToken(draft.method)) fail('the HTTP method is not one word', 'write it as in "POST /path"')
  const address = addressOf(url)
  if ('problem' in address) return fail(address.problem, address.remedy)
  const { host, target } = address
  const { headers } = draft
  for (let i = 0; i < headers.length; i += 2) {
    if (!isToken(headers[i] ?? '')) fail('a header has a name that HTTP does not allow', 'names are letters, digits and hyphens')
    if (!isSendable(headers[i + 1] ?? '')) {
      fail(
        `the header ${headers[i]} contains a character that cannot be sent`,
        'line breaks, control characters and characters outside Latin-1 are not allowed'
      )
    }
  }
  const named = headers.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'host')
  return { ...draft, target, headers: host === null || named ? headers : ['Host', host, ...headers] }
}

/**
 * Parses one header line.
 * @param text `Name: value`
 * @returns name and value
 * @throws RecordingError
 */
export function parseHeader (text: string): [string, string] {
  const colon = text.indexOf(':')
  const [name, value] = [text.slice(0, Math.max(colon, 0)).trim(), text.slice(colon + 1).trim()]
  if (!isToken(name) || !isSendable(value)) {
    throw new RecordingError(
      '--header', 0, 'this is not a header', "write --header 'Name: value'", { code: 'A2AGW_ERR_USAGE' }
    )
  }
  return [name, value]
}

type Address = { readonly host: string | null, readonly target: string } | { readonly problem: string, readonly remedy: string }

const HOST = /^(?:[a-z0-9](?:[a-z0-9._-]*)|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i

/**
 * Splits a URL into host and target. The URL is not normalised: a path that the gateway's guard rejects must reach the guard as it was
 * recorded.
 */
function addressOf (url: string): Address {
  if (/[^\x21-\x7e]/.test(url)) return { problem: 'the URL contains a space or a non-ASCII character', remedy: 'percent-encode it' }
  if (url.startsWith('/')) return { host: null, target: url }
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)
  if (scheme !== null && !/^https?$/i.test(scheme[1] ?? '')) {
    return { problem: 'the URL is not an http or https URL', remedy: 'begin it with http:// or https://' }
  }
  const rest = scheme === null ? url : url.slice(scheme[0].length)
  const [host = ''] = /^[^/?#]*/.exec(rest) ?? []
  if (host.includes('@')) return { problem: 'the URL contains a user name', remedy: 'send it as the header Authorization' }
  if (!HOST.test(host)) return { problem: 'the URL names no host', remedy: 'write http://host/path, or /path with a header Host' }
  const [path = ''] = /^[^#]*/.exec(rest.slice(host.length)) ?? [] // no client sends a fragment
  return { host, target: path.startsWith('/') ? path : `/${path}` }
}

function isSendable (value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}

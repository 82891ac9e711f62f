import { open, stat } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { readCard } from '#a2a/card/card.js'
import { CARD_PATHS } from '#a2a/card/map.js'
import type { CardDocument } from '#a2a/card/loaded-cards.js'
import { VERSION_HEADER } from '#a2a/versions.js'
import { inexactConstant, inexactConstantMessage } from '#a2a/inexact-constants.js'
import { parseStrict } from '#wire/json/json.js'
import { boundedRequest, errorCode, headerValue } from '#upstream/bounded-request.js'
import { cacheLifetime, readValidators } from './card-cache.js'
import type { Validators } from './card-cache.js'

export interface CardLimits {
  readonly card: number
  readonly jsonDepth: number
  readonly jsonMembers: number
}

export type CardResponse =
  | {
    readonly kind: 'fetched'
    readonly from: string
    readonly status: number
    readonly bytes: Buffer
    readonly contentType: string
    readonly validators: Validators | null
    readonly lifetime: number | null
  }
  | { readonly kind: 'notModified'; readonly from: string; readonly lifetime: number | null }
  /** A response that is no card. `status` is null when the connection failed. */
  | { readonly kind: 'failed'; readonly status: number | null; readonly invalid: boolean; readonly problem: string }

export interface CardRequest {
  readonly dispatcher: (origin: string) => Dispatcher
  /** Value of A2A-Version, or null to send none. */
  readonly version: string | null
  /** Headers with credentials, by name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The key of the configuration that `headers` come from, for messages. Default `card.headers`. */
  readonly setting?: string
  /** JSON text to post. Default: the request is a GET. */
  readonly post?: string
  /** Sent only to the URL that they came from. */
  readonly validators: Validators | null
  readonly limit: number
  readonly signal: AbortSignal
  /** Timeout of the whole request, ms; named in the problem. */
  readonly timeout: number
}

/** Statuses of an agent without a card at this path. The older path may have one. */
const TRY_NEXT: ReadonlySet<number> = new Set([404, 405, 410, 501])

const NETWORK_PROBLEMS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'host name cannot be resolved',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  UND_ERR_CONNECT_TIMEOUT: 'connecting took too long',
  UND_ERR_HEADERS_TIMEOUT: 'no response in time',
  UND_ERR_BODY_TIMEOUT: 'the response stalled',
  UND_ERR_SOCKET: 'the connection broke',
  UND_ERR_HEADERS_OVERFLOW: 'response headers too large'
}

/** The URLs where the card of an agent may be, in order. */
export function cardUrls (upstream: URL, configured: string | null): URL[] {
  if (configured !== null) return [new URL(configured)]
  const base = upstream.pathname.replace(/\/$/, '')
  return CARD_PATHS.map((path) => new URL(base + path, upstream.origin))
}

/** Fetches from each URL in turn, until a response is not one of TRY_NEXT. Never throws. */
export async function fetchCard (urls: readonly URL[], request: CardRequest): Promise<CardResponse> {
  let first: CardResponse | null = null
  for (const url of urls) {
    const response = await fetchOne(url, request)
    if (response.kind !== 'failed') return response
    first ??= response
    if (response.status === null || !TRY_NEXT.has(response.status)) return response
  }
  if (urls.length > 1 && first?.kind === 'failed') {
    return { ...first, problem: `${first.problem}; so did ${urls.slice(1).map(printableUrl).join(', ')}` }
  }
  return first ?? { kind: 'failed', status: null, invalid: false, problem: 'there is no URL to fetch the card from' }
}

async function fetchOne (url: URL, request: CardRequest): Promise<CardResponse> {
  const { signal, limit, timeout } = request
  const from = printableUrl(url)
  const headers: Record<string, string> = { ...request.headers, accept: 'application/json' }
  if (request.post !== undefined) headers['content-type'] = 'application/json'
  if (request.version !== null) headers[VERSION_HEADER] = request.version
  const validators = request.validators?.from === from ? request.validators : null
  if (validators?.etag != null) headers['if-none-match'] = validators.etag
  if (validators?.lastModified != null) headers['if-modified-since'] = validators.lastModified

  const failure = (status: number | null, invalid: boolean, problem: string): CardResponse => ({
    kind: 'failed',
    status,
    invalid,
    problem: `${from} ${problem}`
  })
  const message = {
    method: request.post === undefined ? 'GET' as const : 'POST' as const,
    headers,
    ...(request.post === undefined ? {} : { body: request.post }),
    timeout,
    signal
  }
  try {
    return await boundedRequest(url, request.dispatcher(url.origin), message, async response => {
      const { status, headers: responded } = response
      if (status === 304 && validators !== null) return { kind: 'notModified', from, lifetime: cacheLifetime(responded) }
      const problem = statusProblem(status, Object.keys(request.headers), request.setting ?? 'card.headers')
      if (problem !== null) return failure(status, status < 500 && status !== 429 && status !== 408, problem)
      if (response.encoded) {
        return failure(
          status, true, `responded with ${status} and a content-encoding, although the request accepted none`
        )
      }
      const bytes = await response.read(limit)
      if (bytes === null) return failure(status, true, `responded with ${status} and more than ${limit} bytes (limits.card)`)
      return {
        kind: 'fetched',
        from,
        status,
        bytes,
        contentType: mediaType(responded),
        validators: readValidators(from, responded),
        lifetime: cacheLifetime(responded)
      }
    })
  } catch (error) {
    if (signal.aborted) return failure(null, false, `did not deliver the card within ${timeout} ms`)
    return failure(null, false, `cannot be reached: ${networkProblem(error)}`)
  }
}

/** Reads a card from disk. Never throws. */
export async function readCardFile (path: string, limit: number): Promise<CardResponse> {
  const failure = (invalid: boolean, problem: string): CardResponse => ({
    kind: 'failed',
    status: null,
    invalid,
    problem: `${path} ${problem}`
  })
  try {
    // Reading a pipe or a device would block for ever.
    if (!(await stat(path)).isFile()) return failure(true, 'is not a file')
    const file = await open(path, 'r')
    try {
      const buffer = Buffer.allocUnsafe(limit + 1)
      let size = 0
      while (size <= limit) {
        const { bytesRead } = await file.read(buffer, size, limit + 1 - size, null)
        if (bytesRead === 0) break
        size += bytesRead
      }
      if (size > limit) return failure(true, `has more than ${limit} bytes (limits.card)`)
      return {
        kind: 'fetched',
        from: path,
        status: 200,
        bytes: Buffer.from(buffer.subarray(0, size)),
        contentType: '',
        validators: null,
        lifetime: null
      }
    } finally {
      await file.close()
    }
  } catch (error) {
    const code = errorCode(error)
    return failure(false, code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? 'unknown error'})`)
  }
}

/**
 * Converts a response into a document, or returns one sentence with the reason why it is no card. The sentence never contains text of the
 * card.
 */
export function readDocument (response: CardResponse & { kind: 'fetched' }, limits: CardLimits): CardDocument | string {
  const { from, status, contentType } = response
  // A byte order mark comes from an editor, not from the agent. RFC 8259 §8.1 allows a reader to ignore it.
  const bytes = response.bytes.subarray(0, 3).equals(BOM) ? response.bytes.subarray(3) : response.bytes
  const parsed = parseStrict(bytes, { depth: limits.jsonDepth, members: limits.jsonMembers })
  if (!parsed.ok) {
    const as = contentType === '' || contentType.endsWith('json') ? '' : ` It responded with ${status} with content type "${contentType}".`
    return `${from} does not contain a card: ${parsed.problem.message}.${as}`
  }
  const constant = inexactConstant(parsed.value, parsed.inexact)
  if (constant !== null) return `${from} does not contain a usable card: ${inexactConstantMessage(constant)}`
  const read = readCard(parsed.value)
  return read.ok ? { bytes, value: parsed.value, card: read.card } : `${from} does not contain a usable card: ${read.problem}`
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf])

function statusProblem (status: number, credentials: readonly string[], setting: string): string | null {
  if (status >= 200 && status < 300) return null
  if (status === 304) return 'responded with 304, although the request was not conditional'
  if (status >= 300 && status < 400) return `responded with ${status}; the gateway follows no redirect; set card.url to the final address`
  if (status === 508) {
    return 'responded with 508: the address leads back to this gateway; set upstream.url (or card.url) to the agent itself'
  }
  if (status === 401 || status === 403) {
    return credentials.length === 0
      ? `responded with ${status} to a request without credentials; set ${setting}${setting === 'card.headers' ? ', or card.file' : ''}`
      : `responded with ${status} to the credentials of ${setting} (${credentials.join(', ')}); check the secrets`
  }
  return `responded with ${status}`
}

function mediaType (headers: IncomingHttpHeaders): string {
  const type = headerValue(headers['content-type']).split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type) ? type : ''
}

function networkProblem (error: unknown): string {
  const code = errorCode(error)
  if (code === null) return 'unknown error'
  const problem = NETWORK_PROBLEMS[code]
  return problem === undefined ? code : `${problem} (${code})`
}

/** Returns the URL for logs, without credentials and query. */
function printableUrl (url: URL): string {
  return url.origin + url.pathname
}

/**
 * Requests access tokens from the token endpoint of an authorization server (RFC 6749 §4.4, RFC 8693). The words of the endpoint go
 * nowhere: a problem has the gateway's own words, and an error code only if it is a registered one.
 */
import type { Dispatcher } from 'undici'
import { parseStrict } from '#wire/json/json.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { parseMediaType } from '#wire/media-type.js'
import { boundedRequest, errorCode, headerValue, serviceConnections } from '#upstream/bounded-request.js'

export interface TokenRequest {
  readonly endpoint: URL
  readonly client: { readonly id: string, readonly secret: string }
  readonly auth: 'basic' | 'post'
  /** Names and values of the form, without those of the client. */
  readonly form: readonly (readonly [name: string, value: string])[]
  /** Requested scopes. Empty: the authorization server decides. */
  readonly scopes: readonly string[]
}

export type TokenResponse =
  /** `lifetime` is in milliseconds. */
  | { readonly kind: 'token', readonly token: string, readonly lifetime: number, readonly status: number }
  /** `invalid_grant`: the authorization server does not accept the token that was sent. */
  | { readonly kind: 'rejected', readonly status: number }
  /** `down`: no request would succeed now. `status` is null without a response. */
  | { readonly kind: 'failed', readonly problem: string, readonly status: number | null, readonly down: boolean }

/** Longest time from the request to the end of the response, ms. */
const TIMEOUT = 5_000
const MAX_BYTES = 64 * 1024
/** Longest token, in characters. Agents bound their headers, often at 8 or 16 KiB. */
const LONGEST_TOKEN = 16_384
/** Lifetime of a token where the response does not say (agentgateway has the same), and the longest, ms. */
const DEFAULT_LIFETIME = 300_000
const LONGEST_LIFETIME = 24 * 3_600_000
/** Connections to one endpoint. Each call of a new caller may need a token at the same time. */
const CONNECTIONS = 16

/** Error codes of RFC 6749 §5.2, RFC 6749 §4.1.2.1 and RFC 8693 §2.2.2. */
const ERRORS: ReadonlySet<unknown> = new Set([
  'invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type', 'invalid_scope', 'invalid_target',
  'access_denied', 'temporarily_unavailable', 'server_error'
])

/** Connections to token endpoints, verified by the system's authorities. The first request opens them. */
export class TokenConnections {
  private readonly certificate: { readonly cert: Buffer, readonly key: Buffer } | null
  private dispatcher: Dispatcher | null = null

  /** @param tls PEM of the gateway's client certificate; null for none */
  constructor ({ cert, key }: { readonly cert: Buffer | null; readonly key: Buffer | null }) {
    this.certificate = cert === null || key === null ? null : { cert, key }
  }

  /** Requests one token: no redirect, no compression, no second attempt. Never throws. */
  request (request: TokenRequest): Promise<TokenResponse> {
    this.dispatcher ??= this.open()
    return requestToken(request, this.dispatcher)
  }

  async close (): Promise<void> {
    await this.dispatcher?.destroy()
  }

  private open (): Dispatcher {
    return serviceConnections(CONNECTIONS, TIMEOUT, this.certificate ?? {})
  }
}

async function requestToken (request: TokenRequest, dispatcher: Dispatcher): Promise<TokenResponse> {
  const { endpoint, scopes } = request
  const from = endpoint.origin + endpoint.pathname
  const failed = (text: string, status: number | null, down = false): TokenResponse =>
    ({ kind: 'failed', problem: `${from} ${text}`, status, down })
  const signal = AbortSignal.timeout(TIMEOUT)
  try {
    return await boundedRequest(endpoint, dispatcher, { method: 'POST', ...message(request), timeout: TIMEOUT, signal }, async response => {
      const { status, headers } = response
      if (status >= 300 && status < 400) return failed(`responded with ${status}; the gateway follows no redirect`, status)
      if (status >= 500 || status === 429) return failed(`responded with ${status}`, status, true)
      if (response.encoded) return failed('responded with a content-encoding, although the request accepted none', status)
      if (parseMediaType(headerValue(headers['content-type']))?.essence !== 'application/json') {
        return failed(`responded with ${status} and no JSON`, status)
      }
      const bytes = await response.read(MAX_BYTES)
      if (bytes === null) return failed('responded with more than 64 KiB', status)
      const parsed = parseStrict(bytes, { depth: 16, members: 1_000 })
      if (!parsed.ok || !isObject(parsed.value)) return failed(`responded with ${status} and JSON that cannot be read`, status)
      if (status === 200) return granted(parsed.value, scopes, text => failed(text, status))
      const { error } = parsed.value
      if (error === 'invalid_grant') return { kind: 'rejected', status }
      return failed(`responded with ${status}${ERRORS.has(error) ? ` ${String(error)}` : ''}`, status)
    })
  } catch (error) {
    if (signal.aborted) return failed(`did not respond within ${TIMEOUT} ms`, null, true)
    return failed(`cannot be reached: ${errorCode(error) ?? 'unknown error'}`, null, true)
  }
}

function message ({ client: { id, secret }, auth, form }: TokenRequest): { headers: Record<string, string>; body: string } {
  const own = auth === 'post' ? [['client_id', id], ['client_secret', secret]] as const : []
  return {
    headers: {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'content-type': 'application/x-www-form-urlencoded',
      ...(auth === 'post' ? {} : { authorization: `Basic ${Buffer.from(`${encoded(id)}:${encoded(secret)}`).toString('base64')}` })
    },
    body: new URLSearchParams([...form, ...own].map(([name, value]): [string, string] => [name, value])).toString()
  }
}

/** RFC 6749 §2.3.1 encodes both parts as a form does, so that an id may contain a colon. */
function encoded (text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

/** Validates a successful response (RFC 6749 §5.1). */
function granted (response: JsonObject, scopes: readonly string[], failed: (text: string) => TokenResponse): TokenResponse {
  const { access_token: token, token_type: type, issued_token_type: issued, expires_in: expires, scope } = response
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') return failed('responded with a token that is not a bearer token')
  if (issued !== undefined && !ISSUED.has(issued)) return failed('responded with a token that is not an access token')
  if (typeof token !== 'string' || token.length > LONGEST_TOKEN || !/^[\x21-\x7e]+$/.test(token)) {
    return failed('responded with a token that a header cannot contain')
  }
  if (scope !== undefined && (typeof scope !== 'string' || isWider(scope, scopes))) {
    return failed('responded with a token that has other scopes than the requested ones')
  }
  const seconds = secondsOf(expires)
  return seconds === null
    ? failed('responded with an expires_in that is not a number of seconds')
    : { kind: 'token', token, lifetime: Math.min(seconds * 1_000, LONGEST_LIFETIME), status: 200 }
}

/** RFC 8693 §3. */
const ISSUED: ReadonlySet<unknown> = new Set(['access_token', 'jwt'].map(type => `urn:ietf:params:oauth:token-type:${type}`))

function isWider (granted: string, scopes: readonly string[]): boolean {
  if (scopes.length === 0) return false
  const requested = new Set(scopes.flatMap(scope => scope.split(' ')))
  return granted.split(' ').some(scope => scope !== '' && !requested.has(scope))
}

/** Some authorization servers write the number as a string. @returns null for anything else that is no number of seconds */
function secondsOf (expires: unknown): number | null {
  if (expires === undefined) return DEFAULT_LIFETIME / 1_000
  const seconds = typeof expires === 'string' && /^\d{1,15}$/.test(expires) ? Number(expires) : expires
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0 ? seconds : null
}

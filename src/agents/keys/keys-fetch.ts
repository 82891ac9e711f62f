/** Fetches the keys of an issuer (RFC 7517), and its metadata (OpenID Connect Discovery, RFC 8414). */
import type { Dispatcher } from 'undici'
import { parseStrict } from '#wire/json/json.js'
import { isObject } from '#wire/json/object.js'
import { boundedRequest, errorCode, headerValue, serviceConnections } from '#upstream/bounded-request.js'
import { cacheLifetime } from '../card/card-cache.js'
import { parseUrl } from '#wire/url.js'

/** `lifetime` is the time for which the response may be used, in ms; null when it does not say. */
export type Fetched =
  | { readonly bytes: Buffer, readonly etag: string | null, readonly lifetime: number | null }
  | { readonly unchanged: true, readonly lifetime: number | null }
  | { readonly problem: string, readonly status: number | null }

/** Called before a fetch. The returned function is called after it, with the status of the response and the kind of a failure. */
export type FetchTrace = (url: URL) => (status: number | null, error: string | null) => void

/** Longest wait for a response, ms. */
const TIMEOUT = 5_000
const MAX_BYTES = 256 * 1024

/**
 * Connections to issuers: few, and always verified.
 * @param ca authorities in PEM; null: those of the system
 */
export function issuerPool (ca: Buffer | null = null): Dispatcher {
  return serviceConnections(2, TIMEOUT, ca === null ? {} : { ca })
}

/** True for URLs that the gateway fetches keys from: https, or http on this machine. */
export function isSafeUrl (text: string): boolean {
  const url = parseUrl(text)
  if (url === null) return false
  const { protocol, hostname, username, password } = url
  if (username !== '' || password !== '') return false
  const here = hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
  return protocol === 'https:' || (protocol === 'http:' && here)
}

/** Fetches one document, without redirects and without compression. Never throws. */
export async function fetchDocument (
  url: URL,
  dispatcher: Dispatcher,
  etag: string | null,
  trace?: FetchTrace,
  { accept = 'application/json', maxBytes = MAX_BYTES }: { readonly accept?: string, readonly maxBytes?: number } = {}
): Promise<Fetched> {
  const from = url.origin + url.pathname
  const ended = trace?.(url)
  const failed = (text: string, status: number | null = null): Fetched => ({ problem: `${from} ${text}`, status })
  const signal = AbortSignal.timeout(TIMEOUT)
  const headers = { accept, 'accept-encoding': 'identity', ...(etag === null ? {} : { 'if-none-match': etag }) }
  let responded: number | null = null
  let failure: string | null = null
  try {
    return await boundedRequest(url, dispatcher, { method: 'GET', headers, timeout: TIMEOUT, signal }, async response => {
      const { status, headers } = response
      responded = status
      if (status === 304 && etag !== null) return { unchanged: true, lifetime: cacheLifetime(headers) }
      if (status >= 300 && status < 400) return failed(`responded with ${status}; the gateway follows no redirect`, status)
      if (status !== 200) return failed(`responded with ${status}`, status)
      if (response.encoded) return failed('responded with a content-encoding, although the request accepted none', status)
      const bytes = await response.read(maxBytes)
      if (bytes === null) return failed(`responded with more than ${maxBytes / 1_024} KiB`, status)
      const tag = headerValue(headers['etag'])
      return { bytes, etag: tag === '' ? null : tag, lifetime: cacheLifetime(headers) }
    })
  } catch (error) {
    const code = errorCode(error) ?? 'unknown error'
    failure = signal.aborted ? 'timeout' : code
    if (signal.aborted) return failed(`did not respond within ${TIMEOUT} ms`)
    return failed(`cannot be reached: ${code}`)
  } finally {
    ended?.(responded, failure)
  }
}

/** Reads the address of the keys from the issuer's metadata. The metadata must name the issuer exactly (RFC 8414 §3.3). */
export async function discover (
  issuer: string,
  dispatcher: Dispatcher,
  trace?: FetchTrace
): Promise<{ readonly url: URL } | { readonly problem: string }> {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  let first: string | null = null
  for (const url of [`${origin}${path}/.well-known/openid-configuration`, `${origin}/.well-known/oauth-authorization-server${path}`]) {
    const fetched = await fetchDocument(new URL(url), dispatcher, null, trace)
    if (!('bytes' in fetched)) {
      first ??= 'problem' in fetched ? fetched.problem : 'responded with 304'
      if ('status' in fetched && fetched.status !== null && fetched.status >= 400 && fetched.status < 500) continue
      break
    }
    const parsed = parseStrict(fetched.bytes, { depth: 16, members: 10_000 })
    const document = parsed.ok && isObject(parsed.value) ? parsed.value : {}
    if (document['issuer'] !== issuer) return { problem: `${url} names another issuer, or none` }
    const keys = document['jwks_uri']
    if (typeof keys !== 'string' || !isSafeUrl(keys)) return { problem: `${url} names no https URL of keys (jwks_uri)` }
    return { url: new URL(keys) }
  }
  return { problem: first ?? 'no metadata' }
}

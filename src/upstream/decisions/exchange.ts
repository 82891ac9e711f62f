/**
 * One request to a policy server (AuthZEN 1.0 §10.1), and its metadata (§9). The words of a server go nowhere but through the reader of its
 * answers: a problem has the gateway's own words.
 */
import type { Dispatcher } from 'undici'
import { parseStrict } from '#wire/json/json.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { parseMediaType } from '#wire/media-type.js'
import { parseUrl } from '#wire/url.js'
import { boundedRequest, errorCode, headerValue } from '../bounded-request.js'

/** `open`: not asked, because the server failed again and again. `busy`: not asked, too many questions wait. */
export type DecisionFailure = 'timeout' | 'unreachable' | 'status' | 'redirect' | 'malformed' | 'too_large' | 'busy' | 'open' | 'cancelled'

export interface Failed { readonly kind: 'failed', readonly failure: DecisionFailure, readonly problem: string }

/** `size` in bytes of the body. */
export type Responded = { readonly kind: 'json', readonly value: JsonObject, readonly size: number } | Failed

/** Bytes of an answer. */
const MAX_ANSWER = 65_536
const METADATA = '/.well-known/authzen-configuration'
const EVALUATION = '/access/v1/evaluation'
const EVALUATIONS = '/access/v1/evaluations'

export function failed (failure: DecisionFailure, problem: string): Failed {
  return { kind: 'failed', failure, problem }
}

export interface DecisionRequest {
  readonly url: URL
  /** Null: GET. */
  readonly body: string | null
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Time of the whole exchange, ms. */
  readonly timeout: number
  readonly signal: AbortSignal
}

/** Sends one request: no redirect, no compression, no second attempt. Never throws. */
export async function exchange (dispatcher: Dispatcher, { url, body, headers, timeout, signal }: DecisionRequest): Promise<Responded> {
  const from = url.origin + url.pathname
  const own = {
    accept: 'application/json', 'accept-encoding': 'identity', ...(body === null ? {} : { 'content-type': 'application/json' })
  }
  try {
    return await boundedRequest(
      url,
      dispatcher,
      { method: body === null ? 'GET' : 'POST', headers: { ...headers, ...own }, ...(body === null ? {} : { body }), timeout, signal },
      async (response): Promise<Responded> => {
        const { status, headers } = response
        if (status >= 300 && status < 400) return failed('redirect', `${from} responded with ${status}; the gateway follows no redirect`)
        if (status !== 200) return failed('status', `${from} responded with ${status}`)
        if (response.encoded) return failed('malformed', `${from} responded with a content-encoding, although the request accepted none`)
        if (parseMediaType(headerValue(headers['content-type']))?.essence !== 'application/json') {
          return failed('malformed', `${from} responded without the media type application/json`)
        }
        const bytes = await response.read(MAX_ANSWER)
        if (bytes === null) return failed('too_large', `${from} responded with more than ${MAX_ANSWER} bytes`)
        const parsed = parseStrict(bytes, { depth: 32, members: 10_000 })
        return parsed.ok && isObject(parsed.value)
          ? { kind: 'json', value: parsed.value, size: bytes.length }
          : failed('malformed', `${from} responded with JSON that is not an object`)
      }
    )
  } catch (error) {
    return failed('unreachable', `${from} cannot be reached: ${errorCode(error) ?? 'unknown error'}`)
  }
}

/** The endpoints of a policy server. */
export interface Endpoints { readonly evaluation: URL, readonly evaluations: URL | null }

/**
 * Reads the endpoints from the metadata of a server. They must be of its own origin, because they get its credentials.
 * @param batch true to use an evaluations endpoint that the metadata names
 */
export async function discover (dispatcher: Dispatcher, request: Omit<DecisionRequest, 'body'>): Promise<Endpoints | Failed> {
  const { origin } = request.url
  const response = await exchange(dispatcher, { ...request, url: new URL(METADATA, origin), body: null })
  if (response.kind === 'failed') return response
  const { policy_decision_point: named, access_evaluation_endpoint: single, access_evaluations_endpoint: several } = response.value
  if (typeof named !== 'string' || parseUrl(named)?.origin !== origin) {
    return failed('malformed', `${origin}${METADATA} names another policy decision point, or none`)
  }
  const evaluation = endpointOf(single, EVALUATION, origin)
  const evaluations = several === undefined ? null : endpointOf(several, EVALUATIONS, origin)
  return evaluation === null ? failed('malformed', `${origin}${METADATA} names an endpoint of another origin`) : { evaluation, evaluations }
}

function endpointOf (value: unknown, path: string, origin: string): URL | null {
  if (value === undefined) return new URL(path, origin)
  const url = typeof value === 'string' ? parseUrl(value) : null
  return url?.origin === origin ? url : null
}

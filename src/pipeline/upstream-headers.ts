/** Builds the headers that go to the agent. */
import type { Version } from '#a2a/versions.js'
import { EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER, VERSION_HEADER } from '#a2a/versions.js'
import type { UpstreamConfig } from '#config/model/model.js'
import type { TrustedProxies } from '#wire/forwarded.js'
import { forwardedHeaders } from '#wire/forwarded.js'
import { formatList, splitList } from '#wire/header-list.js'
import { plainHeaderName } from '#wire/header-names.js'
import { copyRequestHeaders } from '#wire/headers.js'
import type { Principal } from '#identity/principal.js'
import { isPreflight } from './guard.js'
import type { RequestHead } from './request-head.js'
import { covers, resembles } from '#policy/access/forbidden.js'
import type { CompiledGuard } from '#policy/access/forbidden.js'

/**
 * Headers that are never copied from the client, besides the forwarding headers. The gateway or the HTTP client sets them, or the client
 * may not set them.
 */
const OWN = [
  'host', 'content-length', 'gateway-decision',
  // Some frameworks route by these headers instead of the method and address that the gateway has evaluated.
  'x-http-method-override', 'x-http-method', 'x-method-override', 'x-original-url', 'x-rewrite-url'
]
const NEGOTIATION = [EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER, VERSION_HEADER]
const TRACE = ['traceparent', 'tracestate']

const OWN_HEADERS = setOf(OWN)
const PLAIN_TRACED = setOf(OWN, TRACE)
const NEGOTIATED = setOf(OWN, NEGOTIATION)
const NEGOTIATED_TRACED = setOf(OWN, NEGOTIATION, TRACE)
/** The gateway reads these responses itself, so they must be uncompressed. */
const READ = setOf(OWN, NEGOTIATION, ['accept-encoding'])
const READ_TRACED = setOf(OWN, NEGOTIATION, TRACE, ['accept-encoding'])

function setOf (...lists: readonly (readonly string[])[]): ReadonlySet<string> {
  return new Set(lists.flat())
}

interface Trace { readonly traceparent: string, readonly tracestate: string | null }

export interface Negotiated {
  readonly outbound: readonly string[]
  /** Version of the interface that receives the request. */
  readonly version: Version
  /** True when the client named a version. An agent of 0.3 gets no version when the client sent none. */
  readonly stated: boolean
  /**
   * True for a request with a minor version that the gateway does not know, and for an observed request with a version that the agent does
   * not support: the version header stays unchanged.
   */
  readonly versionAsSent: boolean
  /** The version and extension headers stay as the client sent them, line by line. */
  readonly verbatim: boolean
  /**
   * True when the gateway must be able to read the response (an extended card, enforced rules). It then requests an uncompressed response.
   */
  readonly read: boolean
}

export interface UpstreamHeadersOptions {
  /** The client's address, when it is known. */
  readonly peer: string | undefined
  readonly config: UpstreamConfig
  readonly trusted: TrustedProxies
  /** The trace to continue, when there is one. */
  readonly trace: Trace | null
  /** Null leaves extension and version headers as the client sent them. */
  readonly negotiated: Negotiated | null
  /** Guards of the extensions that the caller may not use, for a call that no rule reads. Default: none. */
  readonly forbidden?: readonly CompiledGuard[]
}

/** Returns the headers for the agent, as a flat list of names and values. */
export function upstreamHeaders (
  head: RequestHead,
  { peer, config, trusted, trace, negotiated, forbidden = [] }: UpstreamHeadersOptions
): string[] {
  let out: string[] = []
  const traced = trace !== null
  const drop = negotiated === null
    ? (traced ? PLAIN_TRACED : OWN_HEADERS)
    : negotiated.read ? (traced ? READ_TRACED : READ) : (traced ? NEGOTIATED_TRACED : NEGOTIATED)
  copyRequestHeaders(head.rawHeaders, drop, out)
  if (negotiated === null && isPreflight(head)) out = withoutUnneeded(out)
  else if (forbidden.length > 0) out = withoutForbidden(out, forbidden)
  if (negotiated?.verbatim === true) pushAsSent(head.rawHeaders, out)
  else if (negotiated !== null) pushNegotiated(negotiated, config, head.headers[VERSION_HEADER], out)
  forwardedHeaders(
    head.rawHeaders,
    { peer, trusted: trusted.trusts(peer), scheme: schemeOf(head.socket), host: head.headers.host },
    out
  )
  if (negotiated?.read === true) out.push('accept-encoding', 'identity')
  if (trace !== null) {
    out.push('traceparent', trace.traceparent)
    if (trace.tracestate !== null) out.push('tracestate', trace.tracestate)
  }
  return out
}

/** A preflight needs no caller, so nothing else of it may reach the agent. */
function withoutUnneeded (headers: readonly string[]): string[] {
  return keep(headers, name => name === 'origin' || name.startsWith('access-control-'))
}

/** The guards of enforced policies that do not allow the caller. A condition that cannot be evaluated does not allow the caller. */
export function forbiddenFor (guards: readonly CompiledGuard[], caller: Principal | null): readonly CompiledGuard[] {
  return guards.filter(({ mode, allows }) => {
    if (mode !== 'enforce') return false
    try {
      return !allows(caller)
    } catch {
      return true
    }
  })
}

/** Removes the names of forbidden extensions, in every spelling, and the headers that they own. */
function withoutForbidden (headers: readonly string[], guards: readonly CompiledGuard[]): string[] {
  const owned = new Set(guards.flatMap(guard => [...guard.headers].map(plainHeaderName)))
  const allowed = keep(headers, name => !owned.has(plainHeaderName(name)))
  const out: string[] = []
  for (let i = 0; i < allowed.length; i += 2) {
    const [name = '', value = ''] = [allowed[i], allowed[i + 1]]
    const isList = plainHeaderName(name) === EXTENSIONS_HEADER || plainHeaderName(name) === LEGACY_EXTENSIONS_HEADER
    if (!isList) {
      out.push(name, value)
      continue
    }
    const uris: string[] = []
    splitList(value, uris)
    const remaining = uris.filter(uri => !guards.some(guard => covers(guard, uri) || resembles(guard, uri)))
    if (remaining.length === uris.length) out.push(name, value)
    else if (remaining.length > 0) out.push(name, remaining.join(', '))
  }
  return out
}

function keep (headers: readonly string[], isKept: (name: string) => boolean): string[] {
  return headers.filter((_, i) => isKept(headers[i - i % 2]?.toLowerCase() ?? ''))
}

/** Scheme of a client's connection. */
export function schemeOf (socket: object | undefined): 'http' | 'https' {
  return socket !== undefined && 'encrypted' in socket && socket.encrypted === true ? 'https' : 'http'
}

function pushAsSent (rawHeaders: readonly string[], out: string[]): void {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? ''
    if (NEGOTIATION.includes(name)) out.push(name, rawHeaders[i + 1] ?? '')
  }
}

function pushNegotiated (
  negotiated: Negotiated,
  config: UpstreamConfig,
  sent: string | readonly string[] | undefined,
  out: string[]
): void {
  const { outbound, version } = negotiated
  if (negotiated.versionAsSent) {
    if (typeof sent === 'string') out.push(VERSION_HEADER, sent)
  } else if (version === '1.0') out.push(VERSION_HEADER, '1.0')
  else if (negotiated.stated) out.push(VERSION_HEADER, '0.3')
  if (outbound.length === 0) return
  const { spelling, form } = config.extensionHeader
  const values = formatList(outbound, form)
  const v1 = spelling === 'v1' || spelling === 'both' || (spelling === 'auto' && version === '1.0')
  const v03 = spelling === 'v03' || spelling === 'both' || (spelling === 'auto' && version === '0.3')
  for (const value of values) {
    if (v1) out.push(EXTENSIONS_HEADER, value)
    if (v03) out.push(LEGACY_EXTENSIONS_HEADER, value)
  }
}

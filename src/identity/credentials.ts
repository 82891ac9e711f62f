/** Reads credentials from the head of a request, and removes them from what goes to the agent. */
import type { Carrier } from './authentication.js'
import type { ClientCertificate } from './certificate/certificate.js'
import type { LastCredential } from './last-credential.js'
import { isOfScheme } from './last-credential.js'
import { EnvoyFault } from '#wire/envoy/fields.js'
import type { MetadataPlace } from '#wire/envoy/metadata.js'
import { valueIn } from '#wire/envoy/metadata.js'
import { plainHeaderName } from '#wire/header-names.js'

/** The parts of a request that can carry credentials. */
export interface Presented {
  /** Headers by lower-case name, as Node joins repeated lines. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Query with its leading `?`, or ''. */
  readonly query: string
  readonly connection: Connection
  /** Address of the client, behind trusted proxies; undefined once the connection is closed. */
  readonly address?: () => string | undefined
  /** `Metadata` in the message of a proxy. Without it, sources find nothing there. */
  readonly metadata?: Buffer | null
}

/** The connection on which a request came. */
export interface Connection {
  /** IP address of the direct peer; undefined once the connection is closed. */
  readonly peer: string | undefined
  /** Certificate of the direct peer that TLS has verified; null without one. */
  readonly certificate: ClientCertificate | null
  readonly last: LastCredential
}

/**
 * Returns the credential of a carrier. '' when the carrier occurs more than once: two readers could take different ones.
 * @returns null when the request has none
 */
export function credentialOf (presented: Presented, { in: place, name, scheme, metadata: at }: Carrier): string | null {
  const { headers, query, connection: { last }, metadata } = presented
  // Never the header of the same name: only what the proxy has verified.
  if (place === 'metadata') return at === undefined || metadata === undefined || metadata === null ? null : provenAt(metadata, at)
  if (place === 'query') return query === '' ? null : single(parametersOf(query, name))
  const header = headers[place === 'cookie' ? 'cookie' : name]
  if (typeof header !== 'string' || header === '') return null
  if (place === 'cookie') return single(cookiesOf(header, name))
  return scheme === null ? header : last.credentialIn(header, scheme)
}

/** The bytes of the value, each a character. '' for metadata that cannot be read. */
function provenAt (metadata: Buffer, place: MetadataPlace): string | null {
  try {
    return valueIn(metadata, place)?.toString('latin1') ?? null
  } catch (error) {
    if (error instanceof EnvoyFault) return ''
    throw error
  }
}

/** True when a header has more than one line. Node joins the lines with a comma, so the joined text is no credential. */
export function isRepeated (rawHeaders: readonly string[], name: string): boolean {
  let lines = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === name) lines++
  return lines > 1
}

function single (values: readonly string[]): string | null {
  return values.length > 1 ? '' : (values[0] ?? null)
}

function cookiesOf (header: string, name: string): string[] {
  return header.split(';').map(pair => pair.trim()).filter(pair => cookieName(pair) === name).map(pair => {
    const value = pair.slice(name.length + 1).trim()
    return value.startsWith('"') && value.endsWith('"') && value.length > 1 ? value.slice(1, -1) : value
  })
}

function cookieName (pair: string): string {
  const equals = pair.indexOf('=')
  return equals < 0 ? '' : pair.slice(0, equals).trim()
}

function parametersOf (query: string, name: string): string[] {
  return query.slice(1).split('&').filter(pair => parameterName(pair) === name).map(pair => {
    const equals = pair.indexOf('=')
    return equals < 0 ? '' : decoded(pair.slice(equals + 1))
  })
}

function parameterName (pair: string): string {
  const equals = pair.indexOf('=')
  return decoded(equals < 0 ? pair : pair.slice(0, equals))
}

function decoded (text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

/**
 * Removes the credentials of carriers from headers, in every spelling of their names: a CGI-like agent reads `x-api-key` and `x_api_key` as
 * one variable (CVE-2025-64484).
 * @param headers flat list of lower-case names and values
 */
export function withoutCredentials (headers: string[], carriers: readonly Carrier[]): string[] {
  let remaining = headers
  for (const carrier of carriers) {
    const { in: place } = carrier
    if (place === 'header' || place === 'cookie' || place === 'metadata') {
      remaining = withoutCarrier(
        remaining, carrier, place === 'cookie' ? 'cookie' : plainHeaderName(carrier.name)
      )
    }
  }
  return remaining
}

/** @param plain name of the header, as `plainHeaderName` returns it; all spellings have its length */
function withoutCarrier (headers: readonly string[], carrier: Carrier, plain: string): string[] {
  const out: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? ''
    const value = headers[i + 1] ?? ''
    if (name.length !== plain.length || plainHeaderName(name) !== plain) out.push(name, value)
    else if (carrier.in === 'cookie') {
      const others = withoutCookie(value, carrier.name)
      if (others !== null) out.push(name, others)
    } else if (!ofScheme(carrier, value)) out.push(name, value)
  }
  return out
}

/**
 * Removes headers that only a trusted proxy may write, in every spelling.
 * @param headers flat list of lower-case names and values
 * @param names in lower case
 * @param written names of those that a trusted proxy has written; it writes no other spelling
 */
export function withoutProxyHeaders (headers: readonly string[], names: ReadonlySet<string>, written: ReadonlySet<string>): string[] {
  const out: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? ''
    if (!names.has(plainHeaderName(name)) || written.has(name)) out.push(name, headers[i + 1] ?? '')
  }
  return out
}

/** Credentials of another scheme in `Authorization` are for the agent. */
function ofScheme ({ scheme }: Carrier, value: string): boolean {
  return scheme === null || isOfScheme(value, scheme)
}

function withoutCookie (header: string, name: string): string | null {
  const pairs = header.split(';').map(pair => pair.trim()).filter(pair => pair !== '' && cookieName(pair) !== name)
  return pairs.length === 0 ? null : pairs.join('; ')
}

/** Removes the parameters of carriers from a query. @param query with its leading `?`, or '' */
export function queryWithoutCredentials (query: string, carriers: readonly Carrier[]): string {
  const names = carriers.filter(carrier => carrier.in === 'query').map(({ name }) => name)
  if (query === '' || names.length === 0) return query
  const pairs = query.slice(1).split('&').filter(pair => !names.includes(parameterName(pair)))
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** Names of the headers on which the result of an authentication depends, for `Vary`. */
export function headersOf (carriers: readonly Carrier[]): string[] {
  const inHeaders = carriers.filter(({ in: place }) => place !== 'query' && place !== 'connection')
  return [...new Set(inHeaders.map(({ in: place, name }) => (place === 'cookie' ? 'cookie' : name)))]
}

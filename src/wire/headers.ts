import { isForwarding } from './forwarded.js'
import { splitList } from './header-list.js'
import { plainHeaderName } from './header-names.js'
import { isToken } from './tokens.js'

/**
 * Headers that the gateway never copies, in either direction: RFC 9110 §7.6.1, Caddy's `hopHeaders` (reverseproxy.go), and headers that
 * have a meaning only between two neighbours. undici throws on some of them, so none may reach undici.
 */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection', // RFC 9110 §7.6.1, lists other hop-by-hop headers
  'keep-alive', // about this connection
  'proxy-connection', // old clients send it in place of Connection
  'proxy-authenticate', // RFC 9110 §11.7: between a client and the next proxy only
  'proxy-authorization', // the same; this credential is not for the agent
  'te', // RFC 9110 §10.1.4: about this connection; the gateway relays no trailers
  'trailer', // announces trailers; the gateway relays no trailers
  'transfer-encoding', // message framing; both HTTP libraries write their own
  'upgrade', // the gateway never requests an upgrade from an agent
  'http2-settings', // RFC 7540 §3.2.1, belongs to an h2c upgrade
  'expect', // RFC 9110 §10.1.1: Node itself has sent 100 Continue
  'alt-svc' // RFC 7838: would direct the client around the gateway
])

/** End-to-end headers that a Connection header must not remove on the way to the agent or the client (reply-from c815dc4). */
const ESSENTIAL: ReadonlySet<string> = new Set([
  'authorization', 'content-encoding', 'content-length', 'content-type', 'cookie', 'host', 'forwarded', 'x-real-ip', 'traceparent',
  'tracestate',
  'www-authenticate'
])
const ESSENTIAL_PREFIXES = ['a2a-', 'x-a2a-', 'x-forwarded-'] as const

/** @returns the lower-cased tokens of a Connection header's value */
export function connectionTokens (value: string | undefined): string[] {
  const tokens: string[] = []
  if (value !== undefined) splitList(value.toLowerCase(), tokens)
  return tokens
}

/**
 * Finds a repeated header that two readers could read differently: Node keeps the first line of some headers, joins the lines of others
 * with a comma, and accepts two Host headers.
 * @param rawHeaders Node's flat list, name, value, name, value
 * @returns its name in lower case, or null
 */
export function duplicatedHeader (rawHeaders: readonly string[]): string | null {
  let bits = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase()
    const bit = singleBit(name)
    if (bit === 0 || name === undefined) continue
    if ((bits & bit) !== 0) return name
    bits |= bit
  }
  return null
}

/** Returns a bit for each header that may occur only once; 0 for all others. */
function singleBit (name: string | undefined): number {
  switch (name) {
    case 'host': return 1
    case 'content-type': return 2
    case 'content-length': return 4
    case 'authorization': return 8
    case 'a2a-version': return 16
    case 'transfer-encoding': return 32
    case 'traceparent': return 64
  }
  return 0
}

/**
 * Copies a request's end-to-end headers, except the headers that report its origin: `forwardedHeaders` writes those anew. Other
 * spellings of these names, such as `x_real_ip`, are dropped in the same way: a CGI-like agent reads them as one variable (CVE-2024-45614).
 * The function does not validate names and values again: Node's parser rejects everything on which undici would throw.
 * @param rawHeaders Node's flat list, name, value, name, value
 * @param drop lower-case names to drop as well
 * @param out receives name, value, name, value, names in lower case
 */
export function copyRequestHeaders (rawHeaders: readonly string[], drop: ReadonlySet<string>, out: string[]): void {
  const named = namedByConnection(rawHeaders)
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? ':'
    if (name.charCodeAt(0) === COLON) continue // an HTTP/2 pseudo-header
    if (ends(name, drop) || named?.has(name)) continue
    const plain = plainHeaderName(name)
    if (plain !== name && ends(plain, drop)) continue
    out.push(name, rawHeaders[i + 1] ?? '')
  }
}

function ends (name: string, drop: ReadonlySet<string>): boolean {
  return HOP_BY_HOP.has(name) || drop.has(name) || isForwarding(name)
}

/**
 * Copies a response's end-to-end headers, except those that its Connection header names. A header is dropped when Node would throw on its
 * name or value: a broken agent must not break the gateway.
 * @param rawHeaders undici's flat list, of latin1 buffers or of strings
 * @param drop lower-case names to drop as well
 * @param out receives name, value, name, value, names in lower case
 */
export function copyResponseHeaders (rawHeaders: readonly Buffer[] | readonly string[], drop: ReadonlySet<string>, out: string[]): void {
  const named = namedByConnection(rawHeaders)
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = text(rawHeaders[i]).toLowerCase()
    if (HOP_BY_HOP.has(name) || drop.has(name) || named?.has(name)) continue
    const value = text(rawHeaders[i + 1])
    if (isToken(name) && isFieldValue(value)) out.push(name, value)
  }
}

const COLON = 0x3a

function text (part: Buffer | string | undefined): string {
  return typeof part === 'string' ? part : part === undefined ? '' : part.toString('latin1')
}

/** Returns the names that Connection headers declare hop-by-hop, without the essential headers; null for none. */
export function namedByConnection (rawHeaders: readonly Buffer[] | readonly string[]): ReadonlySet<string> | null {
  let named: Set<string> | null = null
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]
    if (name?.length !== 10 || text(name).toLowerCase() !== 'connection') continue
    const value = text(rawHeaders[i + 1])
    if (value === 'keep-alive' || value === 'close') continue // nearly every message
    for (const token of connectionTokens(value)) {
      if (!HOP_BY_HOP.has(token) && !isEssential(token)) (named ??= new Set()).add(token)
    }
  }
  return named
}

function isEssential (name: string): boolean {
  return ESSENTIAL.has(name) || ESSENTIAL_PREFIXES.some((prefix) => name.startsWith(prefix))
}

/** True for a value that Node's `writeHead` and undici accept: space, tab, visible ASCII, and latin1 beyond ASCII. */
function isFieldValue (value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    if ((code < 0x20 && code !== 0x09) || code === 0x7f || code > 0xff) return false
  }
  return true
}

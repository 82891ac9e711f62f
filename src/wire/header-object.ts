/** Headers in the form that `node:http2` sends. */

/** Node throws when one of these has two values; the first one counts, as for Node's own readers. */
const SINGLE: ReadonlySet<string> = new Set([
  'access-control-allow-credentials', 'access-control-max-age', 'access-control-request-method', 'age', 'authorization', 'content-encoding',
  'content-language', 'content-length', 'content-location', 'content-md5', 'content-range', 'content-type', 'date', 'dnt', 'etag', 'expires',
  'from', 'grpc-message', 'grpc-status', 'host', 'if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since',
  'last-modified', 'location', 'max-forwards', 'proxy-authorization', 'range', 'referer', 'retry-after', 'tk', 'upgrade-insecure-requests',
  'user-agent', 'x-content-type-options'
])

/** Header lines by name. */
export type HeaderObject = Record<string, string | string[]>

/**
 * Adds the lines of a flat list. Lines of one name become lines of the message again, in their order.
 * @param headers names in lower case, and values
 */
export function addHeaders (object: HeaderObject, headers: readonly string[]): HeaderObject {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    const value = headers[i + 1] as string
    // An object with a null prototype would hold the name, and costs three times as much to fill.
    if (name === '__proto__') continue
    const before = object[name]
    if (typeof before !== 'string' && !Array.isArray(before)) object[name] = value
    else if (SINGLE.has(name)) continue
    else if (typeof before === 'string') object[name] = [before, value]
    else before.push(value)
  }
  return object
}

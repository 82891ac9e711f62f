/**
 * Reads `x-forwarded-client-cert`, the header in which Envoy and Istio pass on the certificate of their client. An element is
 * `key=value;key=value`, elements are separated by commas. A value with a delimiter is in quotes.
 */
import type { ClientCertificate } from './certificate.js'

type Pair = readonly [key: string, value: string]

/** Envoy escapes `"` in the subject as RFC 4514 does, and so also `\`: a backslash always belongs to the next character. */
const PAIR = /([A-Za-z][A-Za-z0-9-]*)=(?:"((?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*)"|([\x21\x23-\x2b\x2d-\x3a\x3c\x3e-\x7e]*))/y
const SHA256 = /^[0-9a-f]{64}$/i

/**
 * Returns the certificate of the client, from the first element.
 * @param hops number of proxies that add an element; a header with another number of elements has parts that none of them wrote
 * @returns null for a header that two readers could read differently
 */
export function readXfcc (header: string, hops: number): ClientCertificate | null {
  const elements = elementsOf(header)
  const [first] = elements ?? []
  return elements?.length === hops && first !== undefined ? certificateOf(first) : null
}

function elementsOf (header: string): Pair[][] | null {
  const elements: Pair[][] = [[]]
  for (let at = 0; ;) {
    PAIR.lastIndex = at
    const pair = PAIR.exec(header)
    if (pair === null) return null
    const [, key = '', quoted, bare = ''] = pair
    elements.at(-1)?.push([key.toLowerCase(), quoted ?? bare])
    at = PAIR.lastIndex
    if (at === header.length) return elements
    const delimiter = header[at++]
    if (delimiter === ',') {
      elements.push([])
      // Node joins repeated lines with a comma and a blank.
      while (header[at] === ' ' || header[at] === '\t') at++
    } else if (delimiter !== ';') return null
  }
}

/** Other keys are the proxy's own name (By), or repeat the certificate (Cert, Chain, Subject): they do not name the caller. */
function certificateOf (pairs: readonly Pair[]): ClientCertificate | null {
  const valuesOf = (key: string): string[] => pairs.filter(pair => pair[0] === key).map(([, value]) => value)
  const [uris, hashes] = [valuesOf('uri'), valuesOf('hash')]
  const [hash] = hashes
  if (uris.length > 1 || hashes.length > 1 || (hash !== undefined && !SHA256.test(hash))) return null
  // Envoy writes an empty value for a certificate without such a name.
  const [uri, dns] = [uris, valuesOf('dns')].map(values => values.filter(value => value !== '')) as [string[], string[]]
  if ([...uri, ...dns].some(value => value.includes('\\'))) return null
  return {
    thumbprint: hash === undefined ? null : Buffer.from(hash, 'hex').toString('base64url'),
    names: { uri, dns, email: [] },
    from: 0,
    until: Infinity
  }
}

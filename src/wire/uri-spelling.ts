/**
 * Spellings of a URI that RFC 3986 §6 calls equivalent, or that a lenient reader takes for the same URI. Extensions are compared exactly:
 * this form only finds names that look like another one.
 */

/** Texts that lenient readers find in a name: without quotes, angle brackets and parameters, and each of several URIs. */
function namesIn (text: string): readonly string[] {
  return text.split(/[\s;,"'<>]+/).filter(part => part !== '')
}

/** Returns the comparable forms of the URIs in a name: two names are equivalent if they have a form in common. */
export function comparableUris (text: string): readonly string[] {
  return namesIn(text).map(comparable)
}

/** True when the name is not the URI itself, and a lenient reader may take the name for the URI. @param forms of the URIs */
export function isOtherSpelling (name: string, forms: ReadonlySet<string>): boolean {
  return comparableUris(name).some(form => forms.has(form))
}

/** RFC 3986 §6.2.2 and §6.2.3: case, percent-encoding, dot segments, default port. Also the scheme of HTTP, and empty parts at the end. */
function comparable (uri: string): string {
  let url: URL
  try {
    url = new URL(uri)
  } catch {
    return decodeUnreserved(uri).replace(/[?#/]+$/, '')
  }
  const { protocol, hostname, port, pathname, search, hash } = url
  const isHttp = protocol === 'http:' || protocol === 'https:'
  const path = decodeUnreserved(pathname)
  const tail = `${decodeUnreserved(search)}${decodeUnreserved(hash)}`
  // RFC 8141 §3.1: the namespace of a URN has no case.
  if (!isHttp) {
    return `${protocol}${hostname}${protocol === 'urn:' ? path.replace(/^[^:]*/, nid => nid.toLowerCase()) : path}${tail}`.replace(
      /[?#/]+$/, ''
    )
  }
  const host = hostname.replace(/\.$/, '')
  const place = port === '' || port === '80' || port === '443' ? host : `${host}:${port}`
  // Decoding may show new dot segments and slashes.
  const segments: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '.' && segment !== '') segments.push(segment)
  }
  return `https://${place}/${segments.join('/')}${tail}`.replace(/[?#/]+$/, '')
}

/** RFC 3986 §2.3. Other octets keep their encoding, in upper case. */
function decodeUnreserved (text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (encoded, digits: string) => {
    const character = String.fromCharCode(parseInt(digits, 16))
    return /[A-Za-z0-9._~-]/.test(character) ? character : encoded.toUpperCase()
  })
}

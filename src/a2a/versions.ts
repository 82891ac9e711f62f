/**
 * Protocol versions and bindings that the gateway carries. Any other interface of a card (custom bindings, other versions) is not
 * carried and is removed from the served card.
 */

export type Version = '0.3' | '1.0'
export type Binding = 'JSONRPC' | 'HTTP+JSON' | 'GRPC'

export const VERSIONS: readonly Version[] = ['0.3', '1.0']

/** A2A 1.0 §3.6: service parameter that names the protocol version; absent or empty means 0.3. */
export const VERSION_HEADER = 'a2a-version'
/** A2A 1.0 §3.2.6. */
export const EXTENSIONS_HEADER = 'a2a-extensions'
/** A2A 0.2.4 to 0.3.0, topic document "Extensions". */
export const LEGACY_EXTENSIONS_HEADER = 'x-a2a-extensions'

/** The protocol's media type since 1.0.1 (§11.1); `application/json` is still allowed. */
export const A2A_MEDIA_TYPE = 'application/a2a+json'

/** Cards write pre-releases as `1.0-rc`, `1.0.0-rc.1` and `1.0rc1`. */
const MAJOR_MINOR = /^(\d{1,4})\.(\d{1,4})(?:\.\d{1,6})?(?:[-+][0-9A-Za-z.-]{1,64}|(?:a|b|rc)\d{1,4})?$/

/**
 * Reads a version as a client or a card writes it. Surrounding white space, a patch number and a pre-release are ignored (§3.6). 0.2.x uses
 * the grammar of 0.3. A later minor version of 1 is compatible with 1.0 (`unknownMinor`). An empty text means 0.3.
 * @returns the version whose rules apply, or null when the gateway does not carry the version
 */
export function readVersion (text: string): Version | null {
  const trimmed = text.trim()
  if (trimmed === '' || trimmed === '0.3') return '0.3'
  if (trimmed === '1.0') return '1.0'
  const match = MAJOR_MINOR.exec(trimmed)
  if (match === null) return null
  if (Number(match[1]) === 1) return '1.0'
  const majorMinor = `${Number(match[1])}.${Number(match[2])}`
  return majorMinor === '0.3' || majorMinor === '0.2' ? '0.3' : null
}

/** Returns a minor version of 1 that is later than 1.0, such as `1.1`; null for any other version. */
export function unknownMinor (text: string): string | null {
  const match = MAJOR_MINOR.exec(text.trim())
  return match === null || Number(match[1]) !== 1 || Number(match[2]) === 0 ? null : `1.${Number(match[2])}`
}

/**
 * Returns the version that a request asks for: the header, otherwise the query parameter, otherwise 0.3 (1.0 §3.6). A header and a
 * parameter with different versions are a problem. `minor` is a later minor version, such as 1.1.
 * @param header value of A2A-Version, undefined when absent
 * @param query raw query string with its leading `?`, or ''
 */
export function requestedVersion (
  header: string | undefined,
  query: string
): { readonly version: Version; readonly stated: boolean; readonly minor?: string } | { readonly problem: 'conflict' | 'unknown' } {
  const param = query === '' ? null : queryVersion(query)
  if (param === AMBIGUOUS) return { problem: 'conflict' }
  if (header !== undefined && header.trim() !== '') {
    const version = readVersion(header)
    if (version === null) return { problem: 'unknown' }
    if (param !== null && (readVersion(param) !== version || unknownMinor(param) !== unknownMinor(header))) return { problem: 'conflict' }
    return statedVersion(version, header)
  }
  if (param === null || param.trim() === '') return { version: '0.3', stated: false }
  const version = readVersion(param)
  return version === null ? { problem: 'unknown' } : statedVersion(version, param)
}

function statedVersion (version: Version, text: string): { version: Version, stated: true, minor?: string } {
  // Nearly every request.
  if (version === '0.3' || text === '1.0') return { version, stated: true }
  const minor = unknownMinor(text)
  return minor === null ? { version, stated: true } : { version, stated: true, minor }
}

const AMBIGUOUS = Symbol('the parameter is repeated with different values')

/** Reads the version parameter of the query. A percent sign may hide the parameter's name: agents compare decoded names. */
function queryVersion (query: string): string | typeof AMBIGUOUS | null {
  if (!/a2a-version|%/i.test(query)) return null
  let chosenVersion: string | null = null
  for (const [name, value] of new URLSearchParams(query)) {
    if (name.toLowerCase() !== VERSION_HEADER) continue
    if (chosenVersion !== null && chosenVersion !== value) return AMBIGUOUS
    chosenVersion = value
  }
  return chosenVersion
}

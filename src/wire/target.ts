/** Maximum length of a request target, in characters. Node's own limit covers all headers together. */
const MAX_LENGTH = 8192

const PERCENT = 0x25
const DOT = 0x2e
const SLASH = 0x2f
const SEMICOLON = 0x3b
const BACKSLASH = 0x5c

/**
 * Validates a request target (RFC 9112 §3.2) before routing. An accepted target has one reading, whichever software decodes it and however
 * often. All of these see the same segments: a router that cuts at `;` (CVE-2026-127060), a server that decodes twice, a server that reads
 * `\` as `/` (CVE-2026-85124), and the gateway itself.
 *
 * The client may still choose in the path: `%3A` for `:`, encoded letters beyond ASCII, upper or lower case of hex digits. Routes must take
 * this into account when they compare.
 * @returns null for a valid target, otherwise the reason in plain words, without any text of the target
 */
export function checkTarget (target: string): string | null {
  if (target.charCodeAt(0) !== SLASH) return 'the request target does not begin with "/"'
  if (target.length > MAX_LENGTH) return `the request target is longer than ${MAX_LENGTH} characters`
  let beyondAscii = false
  let i = 0
  for (; i < target.length; i++) {
    const code = target.charCodeAt(i)
    if (code === 0x3f) break
    if (code <= 0x20 || code === 0x7f) return 'the path contains a space or a control character'
    if (code > 0x7f) return 'the path contains a non-ASCII character that is not percent-encoded'
    if (code === 0x23) return 'the request target contains a fragment ("#")'
    if (code === BACKSLASH) return 'the path contains a backslash'
    if (code === SLASH) {
      const reason = checkSegment(target, i + 1)
      if (reason !== null) return reason
    } else if (code === PERCENT) {
      const byte = escapedByte(target, i)
      const reason = checkEscape(byte, target, i)
      if (reason !== null) return reason
      if (byte > 0x7f) beyondAscii = true
      i += 2
    }
  }
  if (beyondAscii && !isDecodable(target.slice(0, i))) return 'the path contains percent-encoded bytes that are not UTF-8'
  return checkQuery(target, i)
}

/** Splits a target into the path and the query. The query includes its leading `?`, and is '' when there is none. */
export function splitTarget (target: string): { path: string, query: string } {
  const mark = target.indexOf('?')
  return mark === -1 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark) }
}

/**
 * Validates a path of a card as {@link checkTarget} validates the path of a request. Every carried path can therefore be requested and has
 * one reading. A path with characters beyond ASCII equals its percent-encoded form.
 * @param path as written: parsing would hide dot segments
 */
export function checkCardPath (path: string): string | null {
  return path === '' ? null : checkTarget(canonicalPath(encodeBeyondAscii(path)))
}

/**
 * Returns the canonical spelling of a path, which routing, passthrough and cards compare: hexadecimal digits in upper case, and no encoded
 * character that needs no encoding (RFC 3986 §6.2.2). A path that {@link checkTarget} accepts keeps its length.
 */
export function canonicalPath (path: string): string {
  return path.includes('%') ? path.replace(/%([0-9a-f]{2})/gi, canonicalEscape) : path
}

/**
 * Returns a path as the most lenient server reads it: decoded, without matrix parameters (JAX-RS) and without a final slash. The result
 * ignores letter case (Express) and forms of a character (UTR 15). Use this form to find paths that must not pass without inspection.
 * Forwarded paths are matched in the form of {@link canonicalPath}.
 */
export function loosePath (path: string): string {
  const decoded = decodedOf(path).replace(/;[^/]*/g, '')
  // Upper case first, then lower case: a Greek sigma at the end of a word has its own lower case, but a reader that ignores case takes it
  // for the same letter.
  const loose = decoded.normalize('NFKC').toUpperCase().toLowerCase()
  return loose.endsWith('/') ? loose.slice(0, -1) : loose
}

/** True when a path equals a base, or lies below the base by whole segments. The root is ''. */
export function isAtOrBelow (path: string, base: string): boolean {
  return path.startsWith(base) && (path.length === base.length || path.charCodeAt(base.length) === SLASH)
}

/** Joins a base path without trailing slash (the root is '') and a rest that is empty or begins with `/`. The result is never empty. */
export function joinPath (base: string, rest: string): string {
  const path = base + rest
  return path === '' ? '/' : path
}

/** Finds a segment that is empty, `.` or `..`, also after cutting a `;` and the text after it. The last segment may be empty. */
function checkSegment (target: string, start: number): string | null {
  let i = start
  while (i < start + 3 && target.charCodeAt(i) === DOT) i++
  if (i === start + 3) return null
  const code = target.charCodeAt(i) // NaN at the end
  const cut = code === SEMICOLON || (code === PERCENT && escapedByte(target, i) === SEMICOLON)
  const ends = cut || code === SLASH || code === 0x3f || Number.isNaN(code)
  if (i === start) return cut || code === SLASH ? 'the path contains an empty segment ("//")' : null
  return ends ? 'the path contains a dot segment ("." or "..")' : null
}

/** @param byte the value of the escape at `at` */
function checkEscape (byte: number, target: string, at: number): string | null {
  if (byte === -1) return 'the path contains "%" without two hexadecimal digits'
  if (byte < 0x20 || byte === 0x7f) return 'the path contains a percent-encoded control character'
  if (byte === SLASH || byte === BACKSLASH) return 'the path contains a percent-encoded slash or backslash'
  // RFC 3986 §2.3: producers should not encode these characters, and consumers decode them. An encoded name or dot would be compared in its
  // encoded form and used in its decoded form (CVE-2026-16117, GHSA-2q7r-29rg-6m5h).
  if (isUnreserved(byte)) return 'the path contains a percent-encoded letter, digit or one of "-._~"'
  // The hexadecimal digits after %25 cannot be escapes themselves, because hexadecimal digits are unreserved.
  if (byte === PERCENT && isHex(target.charCodeAt(at + 3)) && isHex(target.charCodeAt(at + 4))) return 'the path is percent-encoded twice'
  return null
}

/** @returns the byte of the escape at `at`, or -1 */
function escapedByte (target: string, at: number): number {
  const high = target.charCodeAt(at + 1)
  const low = target.charCodeAt(at + 2)
  return isHex(high) && isHex(low) ? hexValue(high) * 16 + hexValue(low) : -1
}

function checkQuery (target: string, start: number): string | null {
  for (let i = start; i < target.length; i++) {
    const code = target.charCodeAt(i)
    if (code === 0x23) return 'the request target contains a fragment ("#")'
    if (code <= 0x20 || code === 0x7f) return 'the query contains a space or a control character'
    if (code > 0xff) return 'the query contains a character that is not percent-encoded'
  }
  return null
}

function isDecodable (path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

function canonicalEscape (escape: string, hex: string): string {
  const byte = Number.parseInt(hex, 16)
  return isUnreserved(byte) ? String.fromCharCode(byte) : escape.toUpperCase()
}

function encodeBeyondAscii (path: string): string {
  try {
    // eslint-disable-next-line no-control-regex
    return path.replace(/[^\u0000-\u007f]+/g, encodeURIComponent)
  } catch {
    return path
  }
}

/** Decodes a path. A path whose escapes are not UTF-8 is returned unchanged. */
function decodedOf (path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function isUnreserved (byte: number): boolean {
  const letter = byte | 0x20
  return (letter >= 0x61 && letter <= 0x7a) || (byte >= 0x30 && byte <= 0x39) ||
    byte === 0x2d || byte === DOT || byte === 0x5f || byte === 0x7e
}

function isHex (code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66)
}

function hexValue (code: number): number {
  return code <= 0x39 ? code - 0x30 : (code | 0x20) - 0x57
}

/** Longest request target, in characters. Node's own bound is on all headers together. */
const MAX_LENGTH = 8192

const PERCENT = 0x25
const DOT = 0x2e
const SLASH = 0x2f
const SEMICOLON = 0x3b
const BACKSLASH = 0x5c

/**
 * Judges a request target (RFC 9112 §3.2) before routing. What passes has one reading, whoever decodes it and however
 * often: a router that cuts at `;` (CVE-2026-127060), a server that decodes twice, one that takes `\` for `/`
 * (CVE-2026-85124), and the gateway itself see the same segments.
 *
 * Still free to the client in the path: `%3A` for `:`, encoded letters beyond ASCII, upper and lower case of hex digits.
 * Routes must compare with that in mind.
 * @returns null when it is fine, else why not, in plain words that hold nothing of the target
 */
export function checkTarget (target: string): string | null {
  if (target.charCodeAt(0) !== SLASH) return 'the request target does not begin with "/"'
  if (target.length > MAX_LENGTH) return `the request target is longer than ${MAX_LENGTH} characters`
  let beyondAscii = false
  let i = 0
  for (; i < target.length; i++) {
    const code = target.charCodeAt(i)
    if (code === 0x3f) break
    if (code <= 0x20 || code === 0x7f) return 'the path holds a blank or a control character'
    if (code > 0x7f) return 'the path holds a character beyond ASCII that is not percent-encoded'
    if (code === 0x23) return 'the request target holds a fragment ("#")'
    if (code === BACKSLASH) return 'the path holds a backslash'
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
  if (beyondAscii && !isDecodable(target.slice(0, i))) return 'the path holds percent-encoded bytes that are not UTF-8'
  return checkQuery(target, i)
}

/** The path, and the query with its leading `?`, or '' when there is none. */
export function splitTarget (target: string): { path: string, query: string } {
  const mark = target.indexOf('?')
  return mark === -1 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark) }
}

/**
 * Checks a path that a card names as {@link checkTarget} checks that of a request, so that whatever is carried can be requested, and has one
 * reading. Written beyond ASCII it is the same path as its percent-encoded form.
 * @param path as it is written: parsing would hide dot segments
 */
export function checkCardPath (path: string): string | null {
  return path === '' ? null : checkTarget(canonicalPath(encodeBeyondAscii(path)))
}

/**
 * The one spelling of a path that routing, passthrough and cards compare: hexadecimal digits in upper case, and nothing encoded that needs no
 * encoding (RFC 3986 §6.2.2). A path that {@link checkTarget} passes keeps its length.
 */
export function canonicalPath (path: string): string {
  return path.includes('%') ? path.replace(/%([0-9a-f]{2})/gi, canonicalEscape) : path
}

/**
 * A path as the most lenient server reads it: decoded, without matrix parameters (JAX-RS) and a last slash, letter case (Express) and forms of a
 * character (UTR 15) ignored. For finding what must not pass unread; what is forwarded is matched as {@link canonicalPath} has it.
 */
export function loosePath (path: string): string {
  const decoded = decodedOf(path).replace(/;[^/]*/g, '')
  // Both cases: a Greek sigma at the end of a word has a lower case of its own, and is the same letter to who ignores case.
  const loose = decoded.normalize('NFKC').toUpperCase().toLowerCase()
  return loose.endsWith('/') ? loose.slice(0, -1) : loose
}

/** Whether a path is a base, or lies below it by whole segments. The root is ''. */
export function isAtOrBelow (path: string, base: string): boolean {
  return path.startsWith(base) && (path.length === base.length || path.charCodeAt(base.length) === SLASH)
}

/** Joins a base path without trailing slash (the root is '') and a rest that is empty or begins with `/`. Never empty. */
export function joinPath (base: string, rest: string): string {
  const path = base + rest
  return path === '' ? '/' : path
}

/** A segment that is empty, `.` or `..`, also once a `;` and what follows it is cut off. The last one may be empty. */
function checkSegment (target: string, start: number): string | null {
  let i = start
  while (i < start + 3 && target.charCodeAt(i) === DOT) i++
  if (i === start + 3) return null
  const code = target.charCodeAt(i) // NaN at the end
  const cut = code === SEMICOLON || (code === PERCENT && escapedByte(target, i) === SEMICOLON)
  const ends = cut || code === SLASH || code === 0x3f || Number.isNaN(code)
  if (i === start) return cut || code === SLASH ? 'the path holds an empty segment ("//")' : null
  return ends ? 'the path holds a dot segment ("." or "..")' : null
}

/** @param byte what the escape at `at` stands for */
function checkEscape (byte: number, target: string, at: number): string | null {
  if (byte === -1) return 'the path holds "%" without two hexadecimal digits'
  if (byte < 0x20 || byte === 0x7f) return 'the path holds a percent-encoded control character'
  if (byte === SLASH || byte === BACKSLASH) return 'the path holds a percent-encoded slash or backslash'
  // RFC 3986 §2.3: producers should not encode these, and consumers decode them. An encoded name or dot would be
  // compared before and acted on after (CVE-2026-16117, GHSA-2q7r-29rg-6m5h).
  if (isUnreserved(byte)) return 'the path holds a percent-encoded letter, digit or one of "-._~"'
  // Digits after %25 cannot hide behind an escape, being unreserved.
  if (byte === PERCENT && isHex(target.charCodeAt(at + 3)) && isHex(target.charCodeAt(at + 4))) return 'the path is percent-encoded twice'
  return null
}

/** @returns the byte that the escape at `at` stands for, or -1 */
function escapedByte (target: string, at: number): number {
  const high = target.charCodeAt(at + 1)
  const low = target.charCodeAt(at + 2)
  return isHex(high) && isHex(low) ? hexValue(high) * 16 + hexValue(low) : -1
}

function checkQuery (target: string, start: number): string | null {
  for (let i = start; i < target.length; i++) {
    const code = target.charCodeAt(i)
    if (code === 0x23) return 'the request target holds a fragment ("#")'
    if (code <= 0x20 || code === 0x7f) return 'the query holds a blank or a control character'
    if (code > 0xff) return 'the query holds a character that is not percent-encoded'
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

/** As it stands where its escapes are not UTF-8. */
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

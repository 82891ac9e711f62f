/**
 * Helpers that step over the bytes of JSON text. All code in this folder that reads JSON without parsing uses them.
 * Reading UTF-8 byte by byte is safe here: every byte of a multi-byte character is 0x80 or higher.
 */
import { decodeString } from './string-literal.js'

export const QUOTE = 0x22
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_ARRAY = 0x5b
export const BACKSLASH = 0x5c
export const CLOSE_ARRAY = 0x5d
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d

/** Characters of the longest substring that V8 copies. Longer substrings refer to the whole text. */
export const COPIED = 12

/** Number of string bytes to check one by one before the native search starts. One native call costs about as much as these checks. */
const SHORT = 32

/** True for JSON white space (RFC 8259 §2): space, tab, line feed, carriage return. */
function isSpace (byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/** @returns the offset of the first byte at or after `at` that is not JSON white space; the length when there is none */
export function skipSpace (bytes: Buffer, at: number): number {
  let i = at
  while (isSpace(bytes[i])) i++
  return i
}

/**
 * Steps over a string. The function skips escapes and does not validate them.
 * @param open offset of the opening quote
 * @returns the offset after the closing quote, or -1 when there is none
 */
export function skipString (bytes: Buffer, open: number): number {
  const stop = Math.min(open + 1 + SHORT, bytes.length)
  let i = open + 1
  while (i < stop) {
    const byte = bytes[i++]
    if (byte === QUOTE) return i
    if (byte === BACKSLASH) i++
  }
  return skipLongString(bytes, i)
}

/**
 * Steps over the rest of a long string. When a found quote is escaped, the search returns to the byte loop. A string made of escaped quotes
 * therefore costs one native call per 32 bytes, not one per two bytes.
 */
function skipLongString (bytes: Buffer, at: number): number {
  const length = bytes.length
  let i = at
  while (i < length) {
    const quote = bytes.indexOf(QUOTE, i)
    if (quote === -1) return -1
    let run = quote
    while (run > i && bytes[run - 1] === BACKSLASH) run--
    if (((quote - run) & 1) === 0) return quote + 1
    i = quote + 1
    const stop = Math.min(i + SHORT, length)
    while (i < stop) {
      const byte = bytes[i++]
      if (byte === QUOTE) return i
      if (byte === BACKSLASH) i++
    }
  }
  return -1
}

/**
 * Steps over any value of valid JSON, without recursion.
 * @param start offset of the value's first byte
 * @returns the offset after its last byte
 */
export function skipValue (bytes: Buffer, start: number): number {
  const length = bytes.length
  let depth = 0
  let i = start
  while (i < length) {
    const byte = bytes[i]
    if (byte === QUOTE) {
      i = skipString(bytes, i)
      if (i === -1) return length
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth++
      i++
      continue
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth--
      i++
    } else if (depth === 0) {
      return scalarEnd(bytes, i)
    } else {
      i++
    }
    if (depth === 0) return i
  }
  return length
}

function scalarEnd (bytes: Buffer, start: number): number {
  let i = start
  for (; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || isSpace(byte)) break
  }
  return i
}

/**
 * Reads the text of a string token and decodes its escapes.
 * @param start offset of its opening quote
 * @param end offset after its closing quote
 */
export function readName (bytes: Buffer, start: number, end: number): string {
  for (let i = start + 1; i < end - 1; i++) {
    const byte = bytes[i]
    if (byte === BACKSLASH || byte === undefined || byte > 0x7f) return decodeString(bytes.toString('utf8', start, end))
  }
  return bytes.toString('latin1', start + 1, end - 1)
}

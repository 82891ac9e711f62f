/** Bytes of JSON strings, four at a time, and escapes. The readers that decode nothing share these steps (SWAR: SIMD within a register). */

/** The same byte four times. */
export const CONTROLS = 0x20202020
const QUOTES = 0x22222222
const BACKSLASHES = 0x5c5c5c5c
const ONES = 0x01010101
export const HIGH_BITS = 0x80808080

/** True when a byte of the word is a backslash or a control character, and never for words without them. */
export function isOddWord (word: number): boolean {
  const backslash = word ^ BACKSLASHES
  return ((((word - CONTROLS) & ~word) | ((backslash - ONES) & ~backslash)) & HIGH_BITS) !== 0
}

/**
 * True when one of sixteen bytes from `at` is a quote, a backslash, a control character or beyond ASCII, and never for bytes without them.
 * One branch for four words.
 */
export function endsPlainText (view: DataView, at: number): boolean {
  return ((plainBits(view.getInt32(at, true)) | plainBits(view.getInt32(at + 4, true)) |
    plainBits(view.getInt32(at + 8, true)) | plainBits(view.getInt32(at + 12, true))) & HIGH_BITS) !== 0
}

function plainBits (word: number): number {
  return word | oddBits(word) | ((word ^ QUOTES) - ONES)
}

function oddBits (word: number): number {
  return (word - CONTROLS) | ((word ^ BACKSLASHES) - ONES)
}

/** True when a byte of the word is a quote, and never for words without one. */
export function hasQuote (word: number): boolean {
  const quote = word ^ QUOTES
  return (((quote - ONES) & ~quote) & HIGH_BITS) !== 0
}

const NO_WORDS = new Int32Array(0)

/** Returns the first offset at which a typed array may begin: typed arrays begin only at multiples of the size of their elements. */
export function nextWord ({ byteOffset }: Buffer, start: number, end: number): number {
  return Math.min(end, start + (-(byteOffset + start) & 3))
}

/** @param first offset that `nextWord` returned. @param length number of words */
export function wordsOf ({ buffer, byteOffset }: Buffer, first: number, length: number): Int32Array {
  return length === 0 ? NO_WORDS : new Int32Array(buffer, byteOffset + first, length)
}

/** Characters that may follow a backslash, except `u` (RFC 8259 §7). */
const ESCAPED = new Uint8Array(256)
for (const character of '"\\/bfnrt') ESCAPED[character.charCodeAt(0)] = 1
const HEX = new Uint8Array(256)
for (const character of '0123456789abcdefABCDEF') HEX[character.charCodeAt(0)] = 1
const LETTER_U = 0x75

/** @param at offset after a backslash. @returns the offset after the escape; -1 when the escape is not valid */
export function pastEscape (bytes: Buffer, at: number): number {
  const byte = bytes[at] ?? 0
  if (ESCAPED[byte] === 1) return at + 1
  if (byte !== LETTER_U) return -1
  for (let i = at + 1; i <= at + 4; i++) if (HEX[bytes[i] ?? 0] !== 1) return -1
  return at + 5
}

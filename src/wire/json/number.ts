/**
 * Numbers that no double holds exactly: integers beyond 2^53, decimals of more digits than a double keeps, exponents beyond its range. `JSON.parse`
 * makes the nearest double of them, while readers with integers of any length or with decimals execute what was written (RFC 8259 §6).
 */
import type { Bytes } from '../chunked-buffer.js'
import { withContiguous } from '../chunked-buffer.js'

/** Every decimal of so many digits is the shortest one of its double, so no shorter token needs a look (IEEE 754: DBL_DIG). */
export const ALWAYS_EXACT = 15

/** What a token is made of beside its digits: 1 for what only lengthens it, 2 for what scales it. */
export const NUMERIC = new Uint8Array(256)
for (const character of '0123456789.+-') NUMERIC[character.charCodeAt(0)] = 1
for (const character of 'eE') NUMERIC[character.charCodeAt(0)] = 2

/** The doubles of a document that stand for other numbers. Told when it is first asked: most documents hold none, and most rules look at none. */
export class InexactNumbers {
  private readonly bytes: Bytes
  private readonly tokens: readonly number[]
  private known: Set<number> | null = null

  /**
   * @param bytes must stay what they are
   * @param tokens offsets of those that may be inexact: beginning, end, beginning, end
   */
  constructor (bytes: Bytes, tokens: readonly number[]) {
    this.bytes = bytes
    this.tokens = tokens
  }

  /** Whether a token of the document stands for another number than this double, which it was made. */
  has (value: number): boolean {
    this.known ??= this.look()
    return this.known.has(value)
  }

  private look (): Set<number> {
    const { tokens } = this
    const found = new Set<number>()
    withContiguous(this.bytes, bytes => {
      for (let i = 0; i < tokens.length; i += 2) {
        const token = bytes.toString('latin1', tokens[i], tokens[i + 1])
        if (!isExact(token)) found.add(Number(token))
      }
    })
    return found
  }
}

/** Whether a double says what the token says: the shortest decimal that makes the double is the same number. `1.10` and `1e3` are. */
export function isExact (token: string): boolean {
  const value = Number(token)
  const text = String(value)
  if (text === token) return true
  if (!Number.isFinite(value)) return false
  return normal(token) === normal(text)
}

const PARTS = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** Digits without zeros at either end, and the power of ten of the last one. The sign is the same for both. */
function normal (token: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = PARTS.exec(token) ?? []
  const digits = whole + fraction
  let first = 0
  let end = digits.length
  while (first < end && digits[first] === '0') first++
  while (end > first && digits[end - 1] === '0') end--
  return first === end ? '0' : `${digits.slice(first, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}

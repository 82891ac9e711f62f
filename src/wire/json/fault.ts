import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE, skipSpace } from './bytes.js'

export interface Fault {
  /** First byte that cannot continue the text; the length of the text when the text ends too early. */
  readonly offset: number
  /** The expected input at this offset, in words. */
  readonly expected: string
}

/**
 * Finds the offset at which a text stops being JSON (RFC 8259). `JSON.parse` makes the decision. This function names the place without
 * quoting the text; V8's own messages quote the text. The function runs on rejected texts only.
 * @returns null when the text is JSON
 */
export function findFault (bytes: Buffer): Fault | null {
  const reader = new Reader(bytes)
  return reader.readText() ? null : { offset: reader.at, expected: reader.expected }
}

/** Reads JSON step by step. Each method returns false at a fault, and leaves `at` and `expected` at the fault. */
class Reader {
  at = 0
  expected = ''
  readonly #bytes: Buffer

  constructor (bytes: Buffer) {
    this.#bytes = bytes
  }

  readText (): boolean {
    const open: number[] = [] // the byte that closes each open container
    for (;;) {
      const byte = this.#skipSpace()
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        const closer = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY
        this.at++
        if (this.#skipSpace() === closer) {
          this.at++
        } else {
          open.push(closer)
          if (closer === CLOSE_OBJECT && !this.#readName('a member name or "}"')) return false
          continue
        }
      } else if (!this.#readScalar(byte)) {
        return false
      }
      // A value is complete: close the containers that end here, up to the comma before the next value.
      for (;;) {
        const next = this.#skipSpace()
        const closer = open[open.length - 1]
        if (closer === undefined) return this.at === this.#bytes.length || this.#expect('the end of the body')
        if (next === COMMA) {
          this.at++
          if (closer === CLOSE_OBJECT && !this.#readName('a member name')) return false
          break
        }
        if (next !== closer) return this.#expect(closer === CLOSE_OBJECT ? 'a comma or "}"' : 'a comma or "]"')
        open.pop()
        this.at++
      }
    }
  }

  #expect (what: string): false {
    this.expected = what
    return false
  }

  #skipSpace (): number | undefined {
    this.at = skipSpace(this.#bytes, this.at)
    return this.#bytes[this.at]
  }

  #readName (expected: string): boolean {
    if (this.#skipSpace() !== QUOTE) return this.#expect(expected)
    if (!this.#readString()) return false
    if (this.#skipSpace() !== COLON) return this.#expect('a colon')
    this.at++
    return true
  }

  #readScalar (byte: number | undefined): boolean {
    switch (byte) {
      case QUOTE: return this.#readString()
      case 0x74: return this.#readWord('true')
      case 0x66: return this.#readWord('false')
      case 0x6e: return this.#readWord('null')
    }
    return byte === MINUS || isDigit(byte) ? this.#readNumber() : this.#expect('a value')
  }

  #readWord (word: string): boolean {
    for (let i = 0; i < word.length; i++, this.at++) {
      if (this.#bytes[this.at] !== word.charCodeAt(i)) return this.#expect(`the word ${word}`)
    }
    return true
  }

  /** number = [ "-" ] int [ "." 1*DIGIT ] [ "e" [ sign ] 1*DIGIT ], and int has no leading zero. */
  #readNumber (): boolean {
    if (this.#bytes[this.at] === MINUS) this.at++
    if (this.#bytes[this.at] === ZERO) this.at++
    else if (!this.#readDigits()) return false
    if (this.#bytes[this.at] === DOT) {
      this.at++
      if (!this.#readDigits()) return false
    }
    const e = this.#bytes[this.at]
    if (e !== 0x65 && e !== 0x45) return true
    this.at++
    const sign = this.#bytes[this.at]
    if (sign === MINUS || sign === PLUS) this.at++
    return this.#readDigits()
  }

  #readDigits (): boolean {
    if (!isDigit(this.#bytes[this.at])) return this.#expect('a digit')
    while (isDigit(this.#bytes[this.at])) this.at++
    return true
  }

  #readString (): boolean {
    for (this.at++; ; this.at++) {
      const byte = this.#bytes[this.at]
      if (byte === undefined) return this.#expect('the end of a string')
      if (byte === QUOTE) {
        this.at++
        return true
      }
      if (byte < 0x20) return this.#expect('an escape sequence instead of a control character')
      if (byte === BACKSLASH && !this.#readEscape()) return false
    }
  }

  /** Leaves `at` on the escape's last byte. */
  #readEscape (): boolean {
    this.at++
    const byte = this.#bytes[this.at]
    if (byte === 0x75) {
      for (let digits = 0; digits < 4; digits++) {
        this.at++
        if (!isHex(this.#bytes[this.at])) return this.#expect('four hexadecimal digits')
      }
      return true
    }
    return (byte !== undefined && '"\\/bfnrt'.includes(String.fromCharCode(byte))) || this.#expect('a valid escape sequence')
  }
}

const PLUS = 0x2b
const MINUS = 0x2d
const DOT = 0x2e
const ZERO = 0x30

function isDigit (byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= 0x39
}

function isHex (byte: number | undefined): boolean {
  return isDigit(byte) || (byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66)
}

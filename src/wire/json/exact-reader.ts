/**
 * Reads JSON without the engine's parser. V8 13.6 (Node 24) reads some escaped member names as other names: it compares the member that it
 * expects with the beginning of the escaped text. `parseJson` therefore reads every text with an escape in a member name here.
 *
 * The engine decodes single string literals only: at the root of a text, V8 expects no name.
 */
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, COPIED, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './bytes.js'
import { decodeString } from './string-literal.js'

/** RFC 8259 §6 */
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const ESCAPES: Readonly<Record<string, string>> = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

type Container = unknown[] | Record<string, unknown>

/** A value, and whether the text has a member name that V8 13.6 may read in place of another name (`isBackslashName`). */
export interface ExactReading { readonly value: unknown, readonly backslashName: boolean }

/**
 * Returns the value that `JSON.parse` returns on an engine without faults: own members even for `__proto__`, the last of two members with
 * one name, lone surrogates, the nearest double of a number. The depth of the text is not limited.
 * @throws SyntaxError when the text is not JSON (RFC 8259). The message does not quote the text
 */
export function readExactly (text: string): ExactReading {
  const reader = new ExactReader(text)
  return { value: reader.read(), backslashName: reader.backslashName }
}

class ExactReader {
  backslashName = false
  readonly #text: string
  #at = 0

  constructor (text: string) {
    this.#text = text
  }

  read (): unknown {
    const open: Container[] = []
    /** For each open container: the name whose value comes next; '' for an array. */
    const names: string[] = []
    for (;;) {
      let value: unknown
      const code = this.#skipSpace()
      if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
        const isArray = code === OPEN_ARRAY
        const container: Container = isArray ? [] : {}
        this.#at++
        if (this.#skipSpace() !== (isArray ? CLOSE_ARRAY : CLOSE_OBJECT)) {
          open.push(container)
          names.push(isArray ? '' : this.#readName())
          continue
        }
        this.#at++
        value = container
      } else {
        value = this.#readScalar(code)
      }
      // A value is complete: close the containers that end here, up to the comma before the next value.
      for (;;) {
        const next = this.#skipSpace()
        const last = open.length - 1
        const container = open[last]
        if (container === undefined) {
          if (this.#at < this.#text.length) this.#reject()
          return value
        }
        const isArray = Array.isArray(container)
        if (isArray) container.push(value)
        else setMember(container, names[last] as string, value)
        if (next === COMMA) {
          this.#at++
          if (!isArray) names[last] = this.#readName()
          break
        }
        if (next !== (isArray ? CLOSE_ARRAY : CLOSE_OBJECT)) this.#reject()
        this.#at++
        value = container
        open.pop()
        names.pop()
      }
    }
  }

  #rejectAt (at: number): never {
    this.#at = at
    this.#reject()
  }

  #reject (): never {
    throw new SyntaxError(`the JSON is not valid at character ${this.#at}`)
  }

  /** @returns the code unit after the white space; NaN at the end of the text */
  #skipSpace (): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code
      this.#at++
    }
  }

  #readScalar (code: number): unknown {
    switch (code) {
      case QUOTE: return this.#readString()
      case 0x74: return this.#readWord('true', true)
      case 0x66: return this.#readWord('false', false)
      case 0x6e: return this.#readWord('null', null)
      default: return this.#readNumber()
    }
  }

  #readWord<T> (word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) this.#reject()
    this.#at += word.length
    return value
  }

  #readNumber (): number {
    NUMBER.lastIndex = this.#at
    if (!NUMBER.test(this.#text)) this.#reject()
    const start = this.#at
    this.#at = NUMBER.lastIndex
    return Number(this.#text.slice(start, this.#at))
  }

  /** Leaves `#at` after the closing quote. @returns true when the string has an escape, which is not validated */
  #skipString (): boolean {
    const text = this.#text
    let escaped = false
    let i = this.#at + 1
    for (; ; i++) {
      const code = text.charCodeAt(i)
      if (code === QUOTE) break
      if (code === BACKSLASH) {
        escaped = true
        i++
      } else if (!(code >= 0x20)) {
        this.#at = Math.min(i, text.length)
        this.#reject()
      }
    }
    this.#at = i + 1
    return escaped
  }

  /** A long slice would refer to the text and keep all of it in memory. The engine's parser copies. */
  #readString (): string {
    const start = this.#at
    const escaped = this.#skipString()
    if (!escaped && this.#at - start - 2 <= COPIED) return this.#text.slice(start + 1, this.#at - 1)
    try {
      return decodeString(this.#text.slice(start, this.#at))
    } catch {
      this.#at = start
      this.#reject()
    }
  }

  /** Reads a name and the colon after the name. */
  #readName (): string {
    if (this.#skipSpace() !== QUOTE) this.#reject()
    const start = this.#at
    const escaped = this.#skipString()
    const end = this.#at
    const name = escaped ? this.#decode(start + 1, end - 1) : this.#text.slice(start + 1, end - 1)
    this.#at = end
    if (escaped && !this.backslashName) this.backslashName = isBackslashName(name)
    if (this.#skipSpace() !== COLON) this.#reject()
    this.#at++
    return name
  }

  #decode (start: number, end: number): string {
    const text = this.#text
    let name = ''
    let plain = start
    for (let i = start; i < end; i++) {
      if (text.charCodeAt(i) !== BACKSLASH) continue
      name += text.slice(plain, i)
      const letter = text[i + 1] as string
      if (letter === 'u') {
        let unit = 0
        for (let k = i + 2; k < i + 6; k++) {
          const code = text.charCodeAt(k)
          if (!isHex(code)) this.#rejectAt(i)
          unit = unit * 16 + (code <= 0x39 ? code - 0x30 : (code | 0x20) - 0x57)
        }
        name += String.fromCharCode(unit)
        i += 5
      } else {
        if (!Object.hasOwn(ESCAPES, letter)) this.#rejectAt(i)
        name += ESCAPES[letter]
        i++
      }
      plain = i + 1
    }
    return name + text.slice(plain, end)
  }
}

/** An assignment to `__proto__` would set the prototype. */
function setMember (object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true })
  else object[name] = value
}

/**
 * True for a name that V8 13.6 may read in place of a name that clients write with escapes: the name, taken literally, is the beginning of
 * the escaped text of another name, as `\u00` is of `\u0064ata`, and `https:\/\/a` of `https:\/\/a.b`. `\d+` and `\server` are none: no
 * escape begins like this. Nor is a name whose only escapes are those of characters that every writer must escape (RFC 8259 §7), such as
 * `C:\new` and `\beta`: it hides only names that contain control characters, quotes or backslashes, and it is a likely name of a file or a
 * formula.
 */
export function isBackslashName (name: string): boolean {
  if (!name.includes('\\')) return false
  const { length } = name
  let isOptional = false
  for (let i = 0; i < length; i++) {
    const code = name.charCodeAt(i)
    if (code === QUOTE || code < 0x20) return false
    if (code !== BACKSLASH) continue
    if (++i === length) return true
    const letter = name[i] as string
    if (letter !== 'u') {
      if (!Object.hasOwn(ESCAPES, letter)) return false
      if (letter === '/') isOptional = true
      continue
    }
    isOptional = true
    for (const end = i + 4; i < end;) {
      if (++i === length) return true
      if (!isHex(name.charCodeAt(i))) return false
    }
  }
  return isOptional
}

function isHex (code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66)
}

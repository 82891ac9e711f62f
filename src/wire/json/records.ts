/**
 * Parses JSON of many small objects with the same members, such as rows of a table.
 *
 * `JSON.parse` reads every name of every object and compares short strings with those that it knows. This parser expects that an object of
 * an array has the text of its predecessor around its values, compares that text in one step, and reads only the values. It validates and
 * counts while it builds the values, so no further pass is needed (measured with 860 objects in 50 kB: half the time of the exact parser,
 * and 0.6 of the CPU time of a call).
 *
 * The parser only accepts text that it is sure about. For all other text the caller uses the exact parser, which knows the reason.
 */
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, COPIED, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './bytes.js'
import { isBackslashName } from './exact-reader.js'
import { ALWAYS_EXACT } from './number.js'
import { PlainBytes } from './plain-bytes.js'
import type { Learnt, Range, Shape } from './shape.js'
import { shapeOf, Slot } from './shape.js'
import { decodeString } from './string-literal.js'

/** Bytes of the smallest and of the largest text. The work for a text must stay small if the parser gives up near its end. */
const LEAST = 1_024
const MOST = 512 * 1024
/** Number and length of the places that show if a text consists of small values, and the quotes that one place has at least. */
const SAMPLES = 4
const SAMPLE = 128
const QUOTES = 4
/** Maximum number of objects and arrays open at once. */
const DEPTH = 32

const WORD = 4
/** Bytes that an object of another shape costs, in addition to the bytes that are read again. */
const MISS = 64

const TAB = 0x09
const LINE_FEED = 0x0a
const RETURN = 0x0d
const SPACE = 0x20
const MINUS = 0x2d
const POINT = 0x2e
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
const CAPITAL_E = 0x45
const LETTER_E = 0x65
const LETTER_F = 0x66
const LETTER_N = 0x6e
const LETTER_T = 0x74

const POWERS = Array.from({ length: ALWAYS_EXACT + 1 }, (_, i) => Number(`1e${i}`))
/** RFC 8259 §6 */
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?([eE][+-]?\d+)?/y

export interface Records {
  readonly value: unknown
  /** Offsets of the numbers that may be inexact, as for `InexactNumbers`; null for none. */
  readonly tokens: readonly number[] | null
  /** True when a member name may hide other names (`isBackslashName`). */
  readonly backslashName: boolean
}

interface Limits { readonly depth: number, readonly members: number }

/**
 * Parses text that looks as if this parser is the faster one.
 * @param bytes ASCII
 * @param long bytes of the longest string to read. Longer strings are read lazily by the exact parser
 * @returns null when the exact parser must read the text
 */
export function parseRecords (bytes: Buffer, limits: Limits, long: number): Records | null {
  return bytes.length < LEAST || bytes.length > MOST || !isDense(bytes) ? null : readRecords(bytes, limits, long)
}

/** Parses any text, as `parseRecords`. */
export function readRecords (bytes: Buffer, limits: Limits, long: number): Records | null {
  const reader = new Reader(bytes, Math.min(limits.depth, DEPTH), long)
  try {
    const value = reader.all()
    return reader.members > limits.members ? null : { value, tokens: reader.tokens, backslashName: reader.backslashName }
  } catch (error) {
    if (error === UNSURE) return null
    throw error
  }
}

/** True for text with many short strings, as a few places show. The result only affects the speed. */
function isDense (bytes: Buffer): boolean {
  let dense = 0
  for (let i = 1; i <= SAMPLES; i++) {
    const from = Math.floor((bytes.length - SAMPLE) * i / (SAMPLES + 1))
    let quotes = 0
    for (let at = from; at < from + SAMPLE; at++) {
      const byte = bytes[at] as number
      if (byte === QUOTE) quotes++
      else if (byte === BACKSLASH) return false
    }
    if (quotes >= QUOTES) dense++
  }
  return dense >= SAMPLES - 1
}

/** Thrown to give up. One object, because a stack trace is not needed. */
const UNSURE = new Error('not sure')

class Reader {
  members = 0
  tokens: number[] | null = null
  backslashName = false
  private readonly bytes: Buffer
  private readonly text: string
  private readonly view: DataView
  private readonly plain: PlainBytes
  private readonly length: number
  private readonly depth: number
  private readonly long: number
  /** Offset after the last value. */
  private end = 0
  /** Bytes that were read in vain. */
  private wasted = 0
  private open = 0

  constructor (bytes: Buffer, depth: number, long: number) {
    this.bytes = bytes
    this.text = bytes.toString('latin1')
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.length = bytes.length
    this.plain = new PlainBytes(bytes)
    this.depth = depth
    this.long = long
  }

  all (): unknown {
    const value = this.value(this.skip(0), null)
    if (this.skip(this.end) !== this.length) throw UNSURE
    return value
  }

  /** Returns the byte, or 0 after the end, which no valid text contains. V8 compiles code that reads undefined once to slower code. */
  private at (offset: number): number {
    return offset < this.length ? this.bytes[offset] as number : 0
  }

  /** Compares four bytes at once: `startsWith` takes five times as long. */
  private isSame (known: number, at: number, length: number): boolean {
    if (at + length > this.length) return false
    const { view } = this
    const last = length - WORD
    if (last < 0) {
      for (let i = 0; i < length; i++) if (this.bytes[known + i] !== this.bytes[at + i]) return false
      return true
    }
    for (let i = 0; i < last; i += WORD) if (view.getInt32(known + i, true) !== view.getInt32(at + i, true)) return false
    return view.getInt32(known + last, true) === view.getInt32(at + last, true)
  }

  private skip (at: number): number {
    let i = at
    for (;;) {
      const code = this.at(i)
      if (code !== SPACE && code !== LINE_FEED && code !== RETURN && code !== TAB) return i
      i++
    }
  }

  /** @param slot place of the value; null outside of arrays */
  private value (at: number, slot: Slot | null): unknown {
    switch (this.at(at)) {
      case QUOTE: return this.string(at, slot)
      case OPEN_OBJECT: return this.object(at, slot)
      case OPEN_ARRAY: return this.array(at, slot)
      case LETTER_T: return this.literal(at, 'true', true)
      case LETTER_F: return this.literal(at, 'false', false)
      case LETTER_N: return this.literal(at, 'null', null)
      default: return this.number(at)
    }
  }

  private literal<T> (at: number, word: string, value: T): T {
    if (!this.text.startsWith(word, at)) throw UNSURE
    this.end = at + word.length
    return value
  }

  /**
   * Digits that fit into a double, divided by a power of ten that fits into a double, give the double of `JSON.parse`, because IEEE 754
   * rounds once.
   */
  private number (at: number): number {
    let i = at
    let code = this.at(i)
    const negative = code === MINUS
    if (negative) code = this.at(++i)
    const first = i
    const zero = code === DIGIT_0
    let value = 0
    while (code >= DIGIT_0 && code <= DIGIT_9) {
      value = value * 10 + code - DIGIT_0
      code = this.at(++i)
    }
    if (i === first || (zero && i - first > 1)) throw UNSURE
    if (code === POINT) {
      const point = i
      code = this.at(++i)
      while (code >= DIGIT_0 && code <= DIGIT_9) {
        value = value * 10 + code - DIGIT_0
        code = this.at(++i)
      }
      const decimals = i - point - 1
      if (decimals === 0 || i - at > ALWAYS_EXACT) return this.longNumber(at)
      value /= POWERS[decimals] as number
    }
    if (i - at > ALWAYS_EXACT || code === LETTER_E || code === CAPITAL_E) return this.longNumber(at)
    this.end = i
    return negative ? -value : value
  }

  private longNumber (at: number): number {
    NUMBER.lastIndex = at
    const match = NUMBER.exec(this.text)
    if (match === null) throw UNSURE
    const [token, exponent] = match
    this.end = at + token.length
    if (token.length > ALWAYS_EXACT || exponent !== undefined) (this.tokens ??= []).push(at, this.end)
    return Number(token)
  }

  /**
   * Substrings of more than a few characters would refer to the whole text, and keep the text in memory as long as anyone keeps the
   * string. Values often recur in a column, so the last one is compared before a copy is made (10 ns and 80 ns).
   */
  private string (at: number, slot: Slot | null): string {
    const { text } = this
    const from = at + 1
    const to = text.indexOf('"', from)
    if (to === -1) throw UNSURE
    if (!this.plain.isPlain(from, to)) return this.escaped(at)
    const length = to - from
    if (length > this.long) throw UNSURE
    this.end = to + 1
    if (length <= COPIED) return text.slice(from, to)
    if (slot === null) return this.bytes.toString('latin1', from, to)
    if (slot.text.length !== length || !this.isSame(slot.from, from, length)) {
      slot.text = this.bytes.toString('latin1', from, to)
      slot.from = from
    }
    return slot.text
  }

  private escaped (at: number): string {
    const { text } = this
    let i = at + 1
    for (; ; i++) {
      const code = this.at(i)
      if (code === QUOTE) break
      if (code === BACKSLASH) i++
      else if (!(code >= SPACE)) throw UNSURE
    }
    if (i - at - 1 > this.long) throw UNSURE
    this.end = i + 1
    try {
      return decodeString(text.slice(at, this.end))
    } catch {
      throw UNSURE
    }
  }

  private array (at: number, slot: Slot | null): unknown[] {
    if (++this.open > this.depth) throw UNSURE
    const elements = slot === null ? new Slot() : slot.elements ??= new Slot()
    const found: unknown[] = []
    let i = this.skip(at + 1)
    if (this.at(i) === CLOSE_ARRAY) {
      this.end = i + 1
    } else {
      for (;;) {
        found.push(this.value(i, elements))
        i = this.end
        let code = this.at(i)
        if (code !== COMMA && code !== CLOSE_ARRAY) code = this.at(i = this.skip(i))
        if (code === CLOSE_ARRAY) break
        if (code !== COMMA) throw UNSURE
        i++
        if (this.at(i) <= SPACE) i = this.skip(i)
      }
      this.end = i + 1
      this.members += found.length
    }
    this.open--
    return found
  }

  private object (at: number, slot: Slot | null): object {
    if (++this.open > this.depth) throw UNSURE
    const shape = slot?.shape ?? null
    let found = shape === null ? null : this.similar(at, shape)
    if (found === null) {
      if (shape !== null && slot?.miss() === false) throw UNSURE
      found = this.other(at, slot)
    } else {
      slot?.hit()
    }
    this.open--
    return found
  }

  /** @returns null when the text around the values differs */
  private similar (at: number, shape: Shape): object | null {
    const { before, after, slots, values } = shape
    const { members } = this
    const tokens = this.tokens?.length ?? 0
    let i = at
    for (let k = 0; k < values.length; k++) {
      const { from, length } = before[k] as Range
      if (!this.isSame(from, i, length)) return this.back(i - at, members, tokens)
      i += length
      values[k] = this.value(i, slots[k] as Slot)
      i = this.end
    }
    if (!this.isSame(after.from, i, after.length)) return this.back(i - at, members, tokens)
    this.end = i + after.length
    this.members += values.length
    return shape.object()
  }

  /**
   * Goes back, because the values are read again. A text of many such objects is left to the exact parser: an object in an object would be
   * read four times, and so on.
   */
  private back (bytes: number, members: number, tokens: number): null {
    this.wasted += bytes + MISS
    if (this.wasted > MISS * 16 + this.length / 4) throw UNSURE
    this.members = members
    this.plain.goBack()
    if (this.tokens !== null) this.tokens.length = tokens
    return null
  }

  /** Reads an object name by name, and keeps its shape for the next one. */
  private other (at: number, slot: Slot | null): object {
    const found: Record<string, unknown> = {}
    const learnt: Learnt | null = slot === null ? null : { names: [], before: [], slots: [] }
    let last = at
    let count = 0
    let i = this.skip(at + 1)
    if (this.at(i) !== CLOSE_OBJECT) {
      for (;;) {
        if (this.at(i) !== QUOTE) throw UNSURE
        const name = this.string(i, null)
        // An assignment would set the prototype.
        if (name === '__proto__' || Object.hasOwn(found, name)) throw UNSURE
        if (this.end - i !== name.length + 2 && isBackslashName(name)) this.backslashName = true
        i = this.skip(this.end)
        if (this.at(i) !== COLON) throw UNSURE
        i = this.skip(i + 1)
        const place = slot === null ? null : new Slot()
        if (learnt !== null && place !== null) {
          learnt.names.push(name)
          learnt.before.push({ from: last, length: i - last })
          learnt.slots.push(place)
        }
        found[name] = this.value(i, place)
        count++
        last = this.end
        i = this.skip(last)
        const code = this.at(i)
        if (code === CLOSE_OBJECT) break
        if (code !== COMMA) throw UNSURE
        i = this.skip(i + 1)
      }
    }
    this.end = i + 1
    this.members += count
    if (slot !== null && learnt !== null) slot.shape = shapeOf(learnt, Object.keys(found), { from: last, length: this.end - last })
    return found
  }
}

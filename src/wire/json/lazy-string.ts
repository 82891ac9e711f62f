/**
 * Long JSON strings that are decoded at their first read. Files and prose that no rule reads are most of a large body. Decoding them would
 * be most of the cost of parsing the body.
 *
 * The parser replaces each long string by a short mark in the text. The parsed value holds a property in its place. At the first read, the
 * property becomes the string that `JSON.parse` would have made. Readers cannot see the difference; `isUnread` checks a property without
 * reading it.
 */
import { isAscii } from 'node:buffer'
import { BACKSLASH } from './bytes.js'
import type { Bytes } from '../chunked-buffer.js'
import { part } from '../chunked-buffer.js'
import { decodeString } from './string-literal.js'
import { CONTROLS, HIGH_BITS, isOddWord, nextWord, pastEscape, wordsOf } from './word-scan.js'

/** Minimum length in bytes of a string that is replaced. Parsing a shorter string takes less time than replacing it. */
export const LONG = 4_096

/** Offsets of the text between the quotes. */
export interface LongString { readonly start: number, readonly end: number, readonly escapes: boolean }

/** @returns null when `JSON.parse` would reject the string: a control character, or an invalid escape */
export function longString (bytes: Buffer, start: number, end: number): LongString | null {
  const escapes = bytes.subarray(start, end).includes(BACKSLASH)
  return (escapes ? isEscaped(bytes, start, end) : isPlain(bytes, start, end)) ? { start, end, escapes } : null
}

/** Checks four bytes at once. When one of the four bytes is special, checks these four bytes one by one. */
function isEscaped (bytes: Buffer, start: number, end: number): boolean {
  const first = nextWord(bytes, start, end)
  const words = wordsOf(bytes, first, (end - first) >> 2)
  let i = pastBytes(bytes, start, first)
  for (let at = 0; at < words.length && i !== -1; at++) {
    if (!isOddWord(words[at] as number)) continue
    const from = first + at * 4
    i = pastBytes(bytes, Math.max(i, from), from + 4)
  }
  const rest = first + words.length * 4
  return i !== -1 && pastBytes(bytes, Math.max(i, rest), end) === end
}

/** @returns the offset after the last character or escape that begins before `to`; -1 at an error. `to` may lie within an escape. */
function pastBytes (bytes: Buffer, from: number, to: number): number {
  let i = from
  while (i < to) {
    const byte = bytes[i] as number
    if (byte < 0x20) return -1
    i = byte === BACKSLASH ? pastEscape(bytes, i + 1) : i + 1
    if (i === -1) return -1
  }
  return i
}

/** Checks sixteen bytes at once: 0.2 ms for 1 MB. Four bytes at once take 0.37 ms. */
function isPlain (bytes: Buffer, start: number, end: number): boolean {
  const first = nextWord(bytes, start, end)
  const words = wordsOf(bytes, first, ((end - first) >> 4) << 2)
  let below = 0
  for (let at = 0; at < words.length; at += 4) {
    const a = words[at] as number
    const b = words[at + 1] as number
    const c = words[at + 2] as number
    const d = words[at + 3] as number
    // A high bit is set exactly when a byte of the word is below 0x20.
    below |= ((a - CONTROLS) & ~a) | ((b - CONTROLS) & ~b) | ((c - CONTROLS) & ~c) | ((d - CONTROLS) & ~d)
  }
  return (below & HIGH_BITS) === 0 && !hasControls(bytes, start, first) && !hasControls(bytes, first + words.length * 4, end)
}

function hasControls (bytes: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if ((bytes[i] as number) < 0x20) return true
  return false
}

/** Text that replaces a string in the parsed text. The number of the string follows. */
const MARK = 'left out '

export function markOf (number: number): string {
  return MARK + number
}

/** Replaces each string in the text by a mark. */
export function withoutLong (bytes: Buffer, left: readonly LongString[], encoding: 'latin1' | 'utf8'): string {
  let text = ''
  let at = 0
  for (let i = 0; i < left.length; i++) {
    const { start, end } = left[i] as LongString
    text += bytes.toString(encoding, at, start) + markOf(i)
    at = end
  }
  return text + bytes.toString(encoding, at)
}

/**
 * Key under which an object with such properties stores the source of their values. A closure per property that holds the bytes would also
 * work. But the closures survive every young collection until the next full collection, and so do the bytes (measured, 1 MB: a full
 * collection every 25 calls, which was a third of the cost of a call).
 */
const LEFT = Symbol('left out')

interface Left { readonly bytes: Bytes, readonly strings: Map<string | number, LongString> }
interface Holder { readonly [LEFT]?: Left }

/** Replaces the marks in a parsed value by properties. */
export class LazyString {
  private readonly bytes: Bytes
  /** An entry becomes null when its mark is found. */
  private readonly left: (LongString | null)[]
  private found = 0
  private strange = false

  /** @param bytes must not change afterwards */
  constructor (bytes: Bytes, left: readonly LongString[]) {
    this.bytes = bytes
    this.left = [...left]
  }

  /** Call this for every string of the value: each member of an object and each element of an array. */
  restore (holder: object, key: string | number, text: string): void {
    if (!text.startsWith(MARK)) return
    const number = Number(text.slice(MARK.length))
    const string = this.left[number]
    if (string === undefined || text !== MARK + number) return
    if (string === null) {
      this.strange = true
      return
    }
    this.left[number] = null
    this.found++
    const there = (holder as Holder)[LEFT]
    if (there === undefined) {
      Object.defineProperty(holder, LEFT, { value: { bytes: this.bytes, strings: new Map([[key, string]]) } satisfies Left })
    } else {
      there.strings.set(key, string)
    }
    Object.defineProperty(holder, key, { configurable: true, enumerable: true, get: reader(key) })
  }

  /**
   * False when a mark occurs twice, because the client sent the text of a mark, or when a mark does not occur. The parsed value is then
   * unusable.
   */
  get whole (): boolean {
    return !this.strange && this.found === this.left.length
  }
}

/** @returns a getter that holds only the key */
function reader (key: string | number): () => string {
  return function (this: Required<Holder>) {
    const { bytes, strings } = this[LEFT]
    const value = textOf(bytes, strings.get(key) as LongString)
    Object.defineProperty(this, key, { configurable: true, enumerable: true, writable: true, value })
    return value
  }
}

function textOf (bytes: Bytes, { start, end, escapes }: LongString): string {
  if (escapes) return decodeString(part(bytes, start - 1, end + 1).toString())
  const plain = part(bytes, start, end)
  return plain.toString(isAscii(plain) ? 'latin1' : 'utf8')
}

/** True when the object has, or had, members that are such strings. When false, the caller need not call `isUnread`. */
export function hasUnread (object: object): boolean {
  return (object as Holder)[LEFT] !== undefined
}

/** True when a member is a string that nobody has read yet. */
export function isUnread (object: object, key: string): boolean {
  return (object as Holder)[LEFT] !== undefined && Object.getOwnPropertyDescriptor(object, key)?.get !== undefined
}

/** Returns the strings of a value that nobody has read yet, without reading them. */
export function unreadStrings (root: unknown): LongString[] {
  const longStrings: LongString[] = []
  const open: unknown[] = [root]
  while (open.length > 0) {
    const node = open.pop()
    if (typeof node !== 'object' || node === null) continue
    const strings = (node as Holder)[LEFT]?.strings
    for (const key in node) {
      if (strings === undefined || Object.getOwnPropertyDescriptor(node, key)?.get === undefined) {
        open.push((node as Record<string, unknown>)[key])
      } else longStrings.push(strings.get(Array.isArray(node) ? Number(key) : key) as LongString)
    }
  }
  return longStrings
}

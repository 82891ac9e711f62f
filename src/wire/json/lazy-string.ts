/**
 * Long strings of JSON, read only when somebody asks for them: files and prose that no rule looks at are most of a large body, and making
 * texts of them is most of what parsing it costs.
 *
 * They are left out of the text that is parsed. In the value each is a property that becomes, when it is first read, the string that `JSON.parse`
 * would have made. Readers cannot tell the difference; `isUnread` asks without reading.
 */
import { isAscii } from 'node:buffer'
import { BACKSLASH } from './bytes.js'
import type { Bytes } from '../chunked-buffer.js'
import { part } from '../chunked-buffer.js'

/** Bytes from which a string is left out: a shorter one is parsed in less time than that takes. */
export const LONG = 4_096

/** Offsets of what is between the quotes. */
export interface LongString { readonly start: number, readonly end: number, readonly escapes: boolean }

/** Characters that may follow a backslash, but `u` (RFC 8259 §7). */
const ESCAPED = new Uint8Array(256)
for (const character of '"\\/bfnrt') ESCAPED[character.charCodeAt(0)] = 1
const LETTER_U = 0x75
const CONTROLS = 0x20202020
const BACKSLASHES = 0x5c5c5c5c
const ONES = 0x01010101
const HIGH_BITS = 0x80808080
const NO_WORDS = new Int32Array(0)
const FOUR_DIGITS = /^[\dA-Fa-f]{4}$/

/** @returns null where `JSON.parse` would refuse it, for a control character or an escape that is none */
export function longString (bytes: Buffer, start: number, end: number): LongString | null {
  const escapes = bytes.subarray(start, end).includes(BACKSLASH)
  return (escapes ? isEscaped(bytes, start, end) : isPlain(bytes, start, end)) ? { start, end, escapes } : null
}

/** Four bytes at once, and one after the other where one of them is odd. */
function isEscaped (bytes: Buffer, start: number, end: number): boolean {
  const first = nextWord(bytes, start, end)
  const words = wordsOf(bytes, first, (end - first) >> 2)
  let i = pastBytes(bytes, start, first)
  for (let at = 0; at < words.length && i !== -1; at++) {
    const word = words[at] as number
    const odd = word ^ BACKSLASHES
    if (((((word - CONTROLS) & ~word) | ((odd - ONES) & ~odd)) & HIGH_BITS) === 0) continue
    const from = first + at * 4
    i = pastBytes(bytes, Math.max(i, from), from + 4)
  }
  const rest = first + words.length * 4
  return i !== -1 && pastBytes(bytes, Math.max(i, rest), end) === end
}

/** @returns the offset after what begins before `to`, which may be within an escape; -1 where something is wrong */
function pastBytes (bytes: Buffer, from: number, to: number): number {
  let i = from
  while (i < to) {
    const byte = bytes[i] as number
    if (byte < 0x20) return -1
    if (byte !== BACKSLASH) i++
    else if (ESCAPED[bytes[i + 1] as number] === 1) i += 2
    else if (bytes[i + 1] === LETTER_U && FOUR_DIGITS.test(bytes.toString('latin1', i + 2, i + 6))) i += 6
    else return -1
  }
  return i
}

/** Sixteen bytes at once: 0.2 ms for 1 MB, where four at once take 0.37. */
function isPlain (bytes: Buffer, start: number, end: number): boolean {
  const first = nextWord(bytes, start, end)
  const words = wordsOf(bytes, first, ((end - first) >> 4) << 2)
  let below = 0
  for (let at = 0; at < words.length; at += 4) {
    const a = words[at] as number
    const b = words[at + 1] as number
    const c = words[at + 2] as number
    const d = words[at + 3] as number
    // A high bit is set where any byte of the word is below 0x20, and only then.
    below |= ((a - CONTROLS) & ~a) | ((b - CONTROLS) & ~b) | ((c - CONTROLS) & ~c) | ((d - CONTROLS) & ~d)
  }
  return (below & HIGH_BITS) === 0 && !hasControls(bytes, start, first) && !hasControls(bytes, first + words.length * 4, end)
}

function hasControls (bytes: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if ((bytes[i] as number) < 0x20) return true
  return false
}

/** Typed arrays begin at multiples of their elements' size only. */
function nextWord ({ byteOffset }: Buffer, start: number, end: number): number {
  return Math.min(end, start + (-(byteOffset + start) & 3))
}

function wordsOf ({ buffer, byteOffset }: Buffer, first: number, length: number): Int32Array {
  return length === 0 ? NO_WORDS : new Int32Array(buffer, byteOffset + first, length)
}

/** What stands for a string in the text that is parsed; its number follows. */
const MARK = 'left out '

/** The text with a mark in the place of each string. */
export function withoutLong (bytes: Buffer, left: readonly LongString[], encoding: 'latin1' | 'utf8'): string {
  let text = ''
  let at = 0
  for (let i = 0; i < left.length; i++) {
    const { start, end } = left[i] as LongString
    text += bytes.toString(encoding, at, start) + MARK + i
    at = end
  }
  return text + bytes.toString(encoding, at)
}

/**
 * Where an object that has such properties keeps what they are read from. A closure for each that holds the bytes would do, but survives every young
 * collection until a full one comes, and the bytes with it (measured, 1 MB: a full collection every 25 calls, which was a third of what a call cost).
 */
const LEFT = Symbol('left out')

interface Left { readonly bytes: Bytes, readonly strings: Map<string | number, LongString> }
interface Holder { readonly [LEFT]?: Left }

/** Puts properties in the place of the marks. */
export class LazyString {
  private readonly bytes: Bytes
  /** Null once its mark is found. */
  private readonly left: (LongString | null)[]
  private found = 0
  private strange = false

  /** @param bytes must stay what they are */
  constructor (bytes: Bytes, left: readonly LongString[]) {
    this.bytes = bytes
    this.left = [...left]
  }

  /** For every string of the value: member of an object, or element of an array. */
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
    if (there === undefined) Object.defineProperty(holder, LEFT, { value: { bytes: this.bytes, strings: new Map([[key, string]]) } satisfies Left })
    else there.strings.set(key, string)
    Object.defineProperty(holder, key, { configurable: true, enumerable: true, get: reader(key) })
  }

  /** False where a mark shows twice, because the client sent its very words, or not at all: the value is of no use then. */
  get whole (): boolean {
    return !this.strange && this.found === this.left.length
  }
}

/** @returns a getter that knows nothing but the key */
function reader (key: string | number): () => string {
  return function (this: Required<Holder>) {
    const { bytes, strings } = this[LEFT]
    const value = textOf(bytes, strings.get(key) as LongString)
    Object.defineProperty(this, key, { configurable: true, enumerable: true, writable: true, value })
    return value
  }
}

function textOf (bytes: Bytes, { start, end, escapes }: LongString): string {
  if (escapes) return JSON.parse(part(bytes, start - 1, end + 1).toString()) as string
  const plain = part(bytes, start, end)
  return plain.toString(isAscii(plain) ? 'latin1' : 'utf8')
}

/** Whether the object has, or had, members that are such strings: where it has none, `isUnread` need not be asked. */
export function hasUnread (object: object): boolean {
  return (object as Holder)[LEFT] !== undefined
}

/** Whether a member is a string that nobody has read yet. */
export function isUnread (object: object, key: string): boolean {
  return (object as Holder)[LEFT] !== undefined && Object.getOwnPropertyDescriptor(object, key)?.get !== undefined
}

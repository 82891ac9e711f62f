/**
 * Values of a JSON text that nobody reads. A validator checks them on their bytes, the parser leaves them out, and they are parsed at their
 * first read. Reading 50 kB of data into objects is most of the cost of its call, and no rule reads a value of data that is valid.
 *
 * The parser replaces each such value by a short mark in a copy of the text, and parses that copy as any other text. Whatever is wrong with
 * the copy, the parser reads the whole text again without the validator, and that result counts.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { BACKSLASH, QUOTE } from './bytes.js'
import { hasUnread, isUnread } from './lazy-string.js'
import { InexactNumbers } from './number.js'
import { parseJson } from './parse-json.js'
import type { JsonObject } from './object.js'
import type { Bytes } from '../chunked-buffer.js'
import { part } from '../chunked-buffer.js'
import type { JsonLimits, JsonResult } from './json-result.js'

/** A value that the validator accepts, and the validator's note about it. */
export interface ValidatedValue { readonly start: number, readonly end: number, readonly note: unknown }

export interface ValidatedBody {
  /** Values of members with the validator's name, in the order of the text, not one in another. At least one. */
  readonly values: readonly ValidatedValue[]
  /** Members and elements in the values, together. */
  readonly members: number
  /** Largest number of objects and arrays that are open at once in a value. */
  readonly depth: number
  /** Offsets of the numbers in the values that may be inexact, as for `InexactNumbers`; null for none. */
  readonly numbers: readonly number[] | null
}

/** Validates values of members on the bytes of a text. */
export interface ValueValidator {
  /** Name of the members, in plain ASCII. */
  readonly name: string
  /**
   * Finds values that are JSON within the limits, without equal names and without escapes in names. What looks like a member with the name
   * need not be one.
   * @param bytes UTF-8
   * @returns null for none, and when reading them is as cheap
   */
  validate (bytes: Buffer, limits: JsonLimits): ValidatedBody | null
  /** Reports that a value was read after all. */
  onRead (): void
  /** Reports the note that a value should have got. */
  prefer (note: unknown): void
}

/** Bytes of the smallest text with values to leave out: parsing a smaller one takes less time. */
const LEAST = 1_536
/** Number and length of the places that show if a text consists of small values, and the quotes that one place has at least. */
const SAMPLES = 4
const SAMPLE = 128
const QUOTES = 4

/** Text of a mark. The number of the value follows. */
const MARK = 'unread value '

/**
 * Parses a text without reading the values that the validator accepts.
 * @param source the same bytes, for later reads
 * @param parse parses the text that is left
 * @returns null when the parser must read the whole text
 */
export function parseAround (
  bytes: Buffer,
  source: Bytes,
  limits: JsonLimits,
  validator: ValueValidator,
  parse: (text: Buffer, limits: JsonLimits) => JsonResult
): JsonResult | null {
  if (bytes.length < LEAST || !isDense(bytes) || !(isAscii(bytes) || isUtf8(bytes))) return null
  const validated = validator.validate(bytes, limits)
  if (validated === null) return null
  const { values, members, depth, numbers } = validated
  const result = parse(withoutValues(bytes, values), { depth: limits.depth - depth, members: limits.members - members })
  if (!result.ok || !restored(result.value, values.map(value => new UnreadValue(source, value, validator)), validator.name)) return null
  return numbers === null ? result : { ...result, inexact: new InexactNumbers(source, numbers, result.inexact ?? null) }
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

function withoutValues (bytes: Buffer, values: readonly ValidatedValue[]): Buffer {
  const pieces: Buffer[] = []
  let at = 0
  values.forEach(({ start, end }, i) => {
    pieces.push(bytes.subarray(at, start), Buffer.from(`"${MARK}${i}"`, 'latin1'))
    at = end
  })
  pieces.push(bytes.subarray(at))
  return Buffer.concat(pieces)
}

/** Key under which an object holds the value of a member that nobody has read. */
const UNREAD = Symbol('unread value')

interface Holder { readonly [UNREAD]?: UnreadValue }

/**
 * Replaces the marks by properties that read the values.
 * @returns false when a mark is not there, or there twice because the client sent its text: the parsed value is then unusable
 */
function restored (root: unknown, values: readonly UnreadValue[], name: string): boolean {
  const left: (UnreadValue | null)[] = [...values]
  let count = 0
  const open: unknown[] = [root]
  while (open.length > 0) {
    const node = open.pop() as Readonly<Record<string, unknown>>
    const hasLong = hasUnread(node)
    for (const key in node) {
      if (hasLong && isUnread(node, key)) continue
      const child = node[key]
      if (typeof child === 'object' && child !== null) open.push(child)
      if (key !== name || typeof child !== 'string' || !child.startsWith(MARK)) continue
      const number = Number(child.slice(MARK.length))
      const value = left[number]
      if (value === undefined || value === null || child !== MARK + number) return false
      left[number] = null
      count++
      Object.defineProperty(node, UNREAD, { value })
      Object.defineProperty(node, key, { configurable: true, enumerable: true, get: readMember })
    }
  }
  return count === values.length
}

/** The getter of all such members: a validator has one name. */
function readMember (this: Required<Holder>): unknown {
  const unread = this[UNREAD]
  const value = unread.read()
  Object.defineProperty(this, unread.name, { configurable: true, enumerable: true, writable: true, value })
  return value
}

/** A value that is known to be valid, and whether it has been read. */
export class UnreadValue {
  isRead = false
  readonly name: string
  /** The note of the validator. */
  readonly note: unknown
  readonly #bytes: Bytes
  readonly #start: number
  readonly #end: number
  readonly #validator: ValueValidator

  constructor (bytes: Bytes, { start, end, note }: ValidatedValue, validator: ValueValidator) {
    this.name = validator.name
    this.note = note
    this.#bytes = bytes
    this.#start = start
    this.#end = end
    this.#validator = validator
  }

  /** The bytes of the value. */
  bytes (): Buffer {
    return part(this.#bytes, this.#start, this.#end)
  }

  /** Reports the note that the validator should have given. */
  prefer (note: unknown): void {
    this.#validator.prefer(note)
  }

  read (): unknown {
    this.isRead = true
    this.#validator.onRead()
    return parseJson(this.bytes())
  }
}

/** The value of a member, if nobody has read it; otherwise null. The caller need not know whether the object has the member. */
export function unreadValue (object: object, name: string): UnreadValue | null {
  const unread = (object as Holder)[UNREAD]
  return unread === undefined || unread.isRead || unread.name !== name ? null : unread
}

/** Key under which a copy holds the places of its members that nobody has read. */
const ORIGINALS = Symbol('originals of unread members')

interface Copy { readonly [ORIGINALS]?: Map<string, Original> }
interface Original { readonly from: JsonObject, readonly key: string }

/**
 * Gives a copy the value of a member, unless the value is null or absent. A value that nobody has read stays unread: the copy reads it
 * at the original, so that the original shows the read.
 * @param name of the member in the copy
 */
export function copyMember (from: JsonObject, key: string, to: Record<string, unknown>, name: string): void {
  if (!Object.hasOwn(from, key)) return
  if (!isUnread(from, key) && unreadValue(from, key) === null) {
    const value = from[key]
    if (value !== undefined && value !== null) to[name] = value
    return
  }
  const original: Original = { from, key }
  const originals = (to as Copy)[ORIGINALS]
  if (originals === undefined) Object.defineProperty(to, ORIGINALS, { value: new Map([[name, original]]) })
  else originals.set(name, original)
  Object.defineProperty(to, name, { configurable: true, enumerable: true, get: readerOf(name) })
}

/** @returns a getter that holds only the name. A getter that holds the original keeps the body in memory (`lazy-string.ts`). */
function readerOf (name: string): () => unknown {
  return function (this: Required<Copy>) {
    const { from, key } = this[ORIGINALS].get(name) as Original
    const value = from[key]
    Object.defineProperty(this, name, { configurable: true, enumerable: true, writable: true, value })
    return value
  }
}

import { isAscii, isUtf8 } from 'node:buffer'
import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE, skipSpace, skipString } from './bytes.js'
import { findDuplicate } from './duplicate.js'
import { findFault } from './fault.js'
import type { LongString } from './lazy-string.js'
import { LONG, longString, LazyString, withoutLong } from './lazy-string.js'
import { ALWAYS_EXACT, InexactNumbers, NUMERIC } from './number.js'
import type { Bytes } from '../chunked-buffer.js'
import { withContiguous } from '../chunked-buffer.js'

const PLAIN = 0
const OPEN = 1
const CLOSE = 2
const NUMBER = 3
/** What the scan does at each byte; one look-up where a chain of comparisons takes seven. */
const KINDS = new Uint8Array(256)
KINDS[QUOTE] = QUOTE
KINDS[COLON] = COLON
KINDS[COMMA] = COMMA
KINDS[OPEN_OBJECT] = KINDS[OPEN_ARRAY] = OPEN
KINDS[CLOSE_OBJECT] = KINDS[CLOSE_ARRAY] = CLOSE
for (const character of '-0123456789') KINDS[character.charCodeAt(0)] = NUMBER

export interface JsonLimits {
  /** Objects and arrays open at once; `[]` has depth 1. */
  readonly depth: number
  /** Object members and array elements, together, in the whole text. */
  readonly members: number
}

export interface JsonProblem {
  readonly kind: 'empty' | 'encoding' | 'bom' | 'depth' | 'members' | 'syntax' | 'duplicate'
  /** Bytes from the start of the text, or null when the problem has no single place. */
  readonly offset: number | null
  /** Plain words without a full stop. Holds nothing of the client's values; of its names only those of a duplicate's path. */
  readonly message: string
}

/** `inexact` where a number of the text may be another than its double. */
export type JsonResult = { readonly ok: true, readonly value: unknown, readonly inexact?: InexactNumbers } | { readonly ok: false, readonly problem: JsonProblem }

/**
 * Reads JSON that no other parser may read differently: RFC 8259 in UTF-8 without byte order mark, within the limits,
 * and without two members of one name in an object (compared after escapes, as RFC 8259 §4 advises). Whatever it accepts
 * equals what `JSON.parse` makes of it; whatever `JSON.parse` refuses it refuses.
 *
 * Duplicates cost next to nothing: in valid JSON the colons outside strings are the members, so a duplicate shows as
 * fewer keys in the parsed value. Only then is the text read again to name the place.
 *
 * @param bytes must not change while the value is used: strings longer than `long` bytes are read from it when somebody asks for them
 */
export function parseStrict (bytes: Bytes, limits: JsonLimits, long = LONG): JsonResult {
  return Buffer.isBuffer(bytes) ? parse(bytes, bytes, limits, long) : withContiguous(bytes, lent => parse(lent, bytes, limits, long))
}

/**
 * @param bytes may be lent: nothing of them is kept
 * @param kept the same, for what is read later
 */
function parse (bytes: Buffer, kept: Bytes, limits: JsonLimits, long: number): JsonResult {
  const ascii = isAscii(bytes)
  if (!ascii) {
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return reject('bom', 0, 'the JSON begins with a byte order mark')
    if (!isUtf8(bytes)) return reject('encoding', null, 'the JSON is not UTF-8')
  }
  const length = bytes.length
  let i = skipSpace(bytes, 0)
  if (i === length) return reject('empty', null, 'the body is empty, JSON was expected')

  let depth = 0
  let colons = 0
  let members = 0
  let left: LongString[] | null = null
  let tokens: number[] | null = null
  while (i < length) {
    const kind = KINDS[bytes[i] ?? 0]
    if (kind === PLAIN) {
      i++
    } else if (kind === QUOTE) {
      const end = skipString(bytes, i)
      if (end === -1) return reject('syntax', length, `the JSON ends at byte ${length}, inside a string`)
      if (end - i - 2 > long) {
        const long = bytes[skipSpace(bytes, end)] === COLON ? null : longString(bytes, i + 1, end - 1)
        if (long !== null) (left ??= []).push(long)
      }
      i = end
    } else if (kind === OPEN) {
      if (++depth > limits.depth) return reject('depth', i, `the JSON is nested deeper than ${limits.depth} levels`)
      // Members are the commas, and one more for each container that is not empty.
      i = skipSpace(bytes, i + 1)
      if (bytes[i] !== CLOSE_OBJECT && bytes[i] !== CLOSE_ARRAY) members++
    } else {
      if (kind === NUMBER) {
        const start = i
        let parts = 0
        for (let part = 1; part !== 0; part = NUMERIC[bytes[++i] ?? 0] as number) parts |= part
        if (i - start > ALWAYS_EXACT || parts > 1) (tokens ??= []).push(start, i)
        continue
      }
      if (kind === COLON) colons++
      else if (kind === COMMA) members++
      else depth--
      i++
    }
  }
  if (members > limits.members) return reject('members', null, `the JSON has more than ${limits.members} members and elements`)

  const encoding = ascii ? 'latin1' : 'utf8'
  let value: unknown
  try {
    if (left !== null) {
      value = JSON.parse(withoutLong(bytes, left, encoding))
      const unread = new LazyString(kept, left)
      const keys = countKeys(value, unread)
      if (unread.whole) return colons === keys ? accepted(value, kept, tokens) : duplicateProblem(bytes)
    }
    value = JSON.parse(bytes.toString(encoding))
  } catch {
    return syntaxProblem(bytes) // V8's message quotes the text, so it is not used
  }
  return colons === countKeys(value, null) ? accepted(value, kept, tokens) : duplicateProblem(bytes)
}

function accepted (value: unknown, bytes: Bytes, tokens: readonly number[] | null): JsonResult {
  return tokens === null ? { ok: true, value } : { ok: true, value, inexact: new InexactNumbers(bytes, tokens) }
}

/**
 * Keys of all objects in a value made by JSON.parse, which makes even `__proto__` an own key.
 * `for in` is four times as fast as `Object.values`; what it would inherit, JSON.parse never gives.
 * @param unread is shown every string where some were left out
 */
function countKeys (root: unknown, unread: LazyString | null): number {
  let count = 0
  const open: unknown[] = [root]
  for (let size = 1; size > 0;) {
    const node = open[--size]
    if (Array.isArray(node)) {
      for (let i = 0; i < node.length; i++) {
        const value: unknown = node[i]
        if (typeof value === 'object' && value !== null) open[size++] = value
        else if (unread !== null && typeof value === 'string') unread.restore(node, i, value)
      }
    } else if (typeof node === 'object' && node !== null) {
      for (const key in node) {
        count++
        const value: unknown = (node as Record<string, unknown>)[key]
        if (typeof value === 'object' && value !== null) open[size++] = value
        else if (unread !== null && typeof value === 'string') unread.restore(node, key, value)
      }
    }
  }
  return count
}

function reject (kind: JsonProblem['kind'], offset: number | null, message: string): JsonResult {
  return { ok: false, problem: { kind, offset, message } }
}

function syntaxProblem (bytes: Buffer): JsonResult {
  const fault = findFault(bytes)
  if (fault === null) return reject('syntax', null, 'the JSON is not valid')
  return reject('syntax', fault.offset, fault.offset === bytes.length
    ? `the JSON ends at byte ${fault.offset}, where ${fault.expected} was expected`
    : `the JSON is not valid at byte ${fault.offset}, where ${fault.expected} was expected`)
}

function duplicateProblem (bytes: Buffer): JsonResult {
  const duplicate = findDuplicate(bytes)
  if (duplicate === null) return reject('duplicate', null, 'an object has two members of one name')
  return reject('duplicate', duplicate.offset, `duplicate member "${duplicate.name}" in ${duplicate.place}`)
}

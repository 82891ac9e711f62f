import { isAscii, isUtf8 } from 'node:buffer'
import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE, skipSpace, skipString } from './bytes.js'
import { findDuplicate } from './duplicate.js'
import { readExactly } from './exact-reader.js'
import { findFault } from './fault.js'
import type { LongString } from './lazy-string.js'
import { LazyString, LONG, longString, withoutLong } from './lazy-string.js'
import { ALWAYS_EXACT, InexactNumbers, NUMERIC } from './number.js'
import { hasEscapedName } from './parse-json.js'
import { SCANNED, scanStructure } from './structural-scan.js'
import type { ValueValidator } from './unread-value.js'
import { parseAround } from './unread-value.js'
import type { Bytes } from '../chunked-buffer.js'
import { withContiguous } from '../chunked-buffer.js'
import type { JsonLimits, JsonProblem, JsonResult } from './json-result.js'

const PLAIN_BYTE = 0
const OPEN = 1
const CLOSE = 2
const NUMBER = 3
/** Kind of each byte for the scan. One table look-up replaces a chain of seven comparisons. */
const KINDS = new Uint8Array(256)
KINDS[QUOTE] = QUOTE
KINDS[COLON] = COLON
KINDS[COMMA] = COMMA
KINDS[OPEN_OBJECT] = KINDS[OPEN_ARRAY] = OPEN
KINDS[CLOSE_OBJECT] = KINDS[CLOSE_ARRAY] = CLOSE
for (const character of '-0123456789') KINDS[character.charCodeAt(0)] = NUMBER

/**
 * Parses JSON that no other parser may read differently: RFC 8259 in UTF-8 without byte order mark, within the limits, and without two
 * members of the same name in an object (compared after decoding escapes, as RFC 8259 §4 advises). For accepted text, the value equals the
 * result of `JSON.parse` on an engine without faults. Text that `JSON.parse` rejects is rejected here too. `readExactly`, not the engine,
 * reads every text with an escape in a member name.
 *
 * The check for duplicates costs next to nothing. In valid JSON the number of colons outside strings is the number of members, so a
 * duplicate shows as fewer keys in the parsed value. Only then does the parser read the text again to name the place.
 *
 * @param bytes must not change while the value is used: strings longer than `long` bytes are decoded from it at their first read
 * @param scanned minimum size in bytes of a text that the structural scan reads first. The result is the same without the scan
 */
export function parseStrict (bytes: Bytes, limits: JsonLimits, long = LONG, scanned = SCANNED): JsonResult {
  return Buffer.isBuffer(bytes)
    ? parse(bytes, bytes, limits, long, scanned)
    : withContiguous(bytes, lent => parse(lent, bytes, limits, long, scanned))
}

/**
 * `parseStrict`, which leaves the values unread that the validator accepts (`unread-value.ts`). Readers cannot see the difference.
 * @param validator null for none
 */
export function parseValidated (bytes: Bytes, limits: JsonLimits, validator: ValueValidator | null): JsonResult {
  return validator === null
    ? parseStrict(bytes, limits)
    : withContiguous(bytes, lent => parseAround(lent, bytes, limits, validator, parseStrict) ?? parse(lent, bytes, limits, LONG, SCANNED))
}

/**
 * @param bytes may be a temporary view: the parser keeps no reference to it
 * @param source the same bytes, for later reads
 */
function parse (bytes: Buffer, source: Bytes, limits: JsonLimits, long: number, scanned: number): JsonResult {
  const ascii = isAscii(bytes)
  if (!ascii) {
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return reject('bom', 0, 'the JSON begins with a byte order mark')
    if (!isUtf8(bytes)) return reject('encoding', null, 'the JSON is not UTF-8')
  }
  const length = bytes.length
  let i = skipSpace(bytes, 0)
  if (i === length) return reject('empty', null, 'the body is empty, JSON was expected')

  const structure = length < scanned ? null : scanStructure(bytes, limits, long)
  let depth = 0
  let colons = structure?.colons ?? 0
  let members = 0
  let left: LongString[] | null = structure?.strings ?? null
  let tokens: number[] | null = structure?.numbers ?? null
  if (structure !== null) i = length
  while (i < length) {
    const kind = KINDS[bytes[i] ?? 0]
    if (kind === PLAIN_BYTE) {
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
      // Each comma counts as one member. Each container that is not empty adds one more.
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
  let text = left === null ? bytes.toString(encoding) : withoutLong(bytes, left, encoding)
  const escaped = structure === null ? hasEscapedName(text) : structure.escapedNames
  let value: unknown
  let backslashName = false
  try {
    for (;;) {
      if (escaped) ({ value, backslashName } = readExactly(text))
      else value = JSON.parse(text)
      if (left === null) break
      const unread = new LazyString(source, left)
      const keys = countKeys(value, unread)
      if (unread.whole) return colons === keys ? accepted(value, source, tokens, backslashName) : duplicateProblem(bytes)
      left = null
      text = bytes.toString(encoding)
    }
  } catch {
    return syntaxProblem(bytes) // V8's message quotes the text, so the gateway does not use that message
  }
  const distinct = structure?.distinct === true || colons === countKeys(value, null)
  return distinct ? accepted(value, source, tokens, backslashName) : duplicateProblem(bytes)
}

function accepted (value: unknown, bytes: Bytes, tokens: readonly number[] | null, backslashName: boolean): JsonResult {
  if (backslashName) {
    return tokens === null
      ? { ok: true, value, backslashName }
      : { ok: true, value, inexact: new InexactNumbers(bytes, tokens), backslashName }
  }
  return tokens === null ? { ok: true, value } : { ok: true, value, inexact: new InexactNumbers(bytes, tokens) }
}

/**
 * Counts the keys of all objects in a value made by JSON.parse, which makes even `__proto__` an own key.
 * `for in` is four times as fast as `Object.values`. JSON.parse never makes objects with inherited enumerable keys.
 * @param unread receives every string of the value when some strings were replaced by marks
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
  if (duplicate === null) return reject('duplicate', null, 'an object has two members with the same name')
  return reject('duplicate', duplicate.offset, `duplicate member "${duplicate.name}" in ${duplicate.place}`)
}

import { BACKSLASH, CLOSE_ARRAY, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE, skipSpace, skipString, skipValue } from './bytes.js'
import { decodeString } from './string-literal.js'

/** A range of bytes; `end` is exclusive. */
export interface Span { readonly start: number, readonly end: number }

/**
 * Finds the bytes of the value at a path, as written: all digits of a number, all escapes of a string.
 * @param bytes valid JSON without duplicate members, as `parseStrict` accepts it; for other input the result is meaningless
 * @param path member names, compared after decoding escapes, and array indexes; empty for the whole value
 * @returns null when there is nothing at the path
 */
export function memberSpan (bytes: Buffer, path: readonly (string | number)[]): Span | null {
  let at = skipSpace(bytes, 0)
  for (let i = 0; i < path.length; i++) {
    const step = path[i]
    if (typeof step === 'string') at = findMember(bytes, at, step)
    else at = findElement(bytes, at, step)
    if (at === -1) return null
  }
  return { start: at, end: skipValue(bytes, at) }
}

/** @returns the offset of the member's value, or -1 */
function findMember (bytes: Buffer, object: number, name: string): number {
  if (bytes[object] !== OPEN_OBJECT) return -1
  let i = skipSpace(bytes, object + 1)
  while (bytes[i] === QUOTE) {
    const nameStart = i
    const nameEnd = skipString(bytes, i)
    i = skipSpace(bytes, nameEnd)
    if (bytes[i] !== COLON) return -1
    i = skipSpace(bytes, i + 1)
    if (isName(bytes, nameStart, nameEnd, name)) return i
    i = skipSpace(bytes, skipValue(bytes, i))
    if (bytes[i] !== COMMA) return -1
    i = skipSpace(bytes, i + 1)
  }
  return -1
}

/** @returns the offset of the element, or -1 */
function findElement (bytes: Buffer, array: number, index: number | undefined): number {
  if (bytes[array] !== OPEN_ARRAY || index === undefined || !Number.isSafeInteger(index) || index < 0) return -1
  let i = skipSpace(bytes, array + 1)
  if (bytes[i] === CLOSE_ARRAY) return -1
  for (let left = index; left > 0; left--) {
    i = skipSpace(bytes, skipValue(bytes, i))
    if (bytes[i] !== COMMA) return -1
    i = skipSpace(bytes, i + 1)
  }
  return i
}

/** True when the string token equals the name. Plain ASCII is compared in place; escapes and other characters are decoded first. */
function isName (bytes: Buffer, start: number, end: number, name: string): boolean {
  const stop = end - 1
  for (let i = start + 1, at = 0; i < stop; i++, at++) {
    const byte = bytes[i]
    if (byte === BACKSLASH || byte === undefined || byte > 0x7f) return decodeString(bytes.toString('utf8', start, end)) === name
    if (byte !== name.charCodeAt(at)) return false
  }
  return stop - start - 1 === name.length
}

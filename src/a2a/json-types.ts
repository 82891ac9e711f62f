/**
 * JSON types of the protocol's members, as bits: a member may have several. Readers treat a member of another type in different ways: a
 * reader may keep the value, convert it to a string, ignore it, or reject the request.
 *
 * All readers treat null as absent, except within a list.
 */
import { hasUnread, isUnread } from '#wire/json/lazy-string.js'
import { isObject } from '#wire/json/object.js'

/** No check: any JSON value is allowed, or this version and binding have no such field. */
export const ANY = 0
export const STRING = 1
export const BOOLEAN = 2
export const INTEGER = 4
/** An integer written as a string, which ProtoJSON allows. */
export const DIGITS = 8
export const OBJECT = 16
export const STRINGS = 32
export const OBJECTS = 64
/** A list of any JSON values. */
export const LIST = 128

const INTEGER_TEXT = /^-?\d{1,19}$/

export function accepts (types: number, value: unknown): boolean {
  switch (typeof value) {
    case 'string': return (types & STRING) !== 0 || ((types & DIGITS) !== 0 && INTEGER_TEXT.test(value))
    case 'number': return (types & INTEGER) !== 0 && Number.isInteger(value)
    case 'boolean': return (types & BOOLEAN) !== 0
    default:
      if (value === null || value === undefined) return true
      if (!Array.isArray(value)) return (types & OBJECT) !== 0
      return (types & LIST) !== 0 || ((types & (STRINGS | OBJECTS)) !== 0 && wrongElement(types, value) === -1)
  }
}

/** @returns index of the first element of a wrong type, or -1 */
function wrongElement (types: number, list: readonly unknown[]): number {
  const unread = hasUnread(list)
  for (let i = 0; i < list.length; i++) {
    if ((types & OBJECTS) !== 0) {
      if (!isObject(list[i])) return i
    } else if (!(unread && isUnread(list, String(i))) && typeof list[i] !== 'string') return i
  }
  return -1
}

/** Returns the path from a rejected member to the fault inside it: `[2]` in a list, otherwise ''. */
export function typeProblemAt (types: number, value: unknown): string {
  return Array.isArray(value) && (types & (STRINGS | OBJECTS)) !== 0 ? `[${wrongElement(types, value)}]` : ''
}

/** Describes the required type of a rejected value, as a predicate of the path that `typeProblemAt` completes. */
export function typeProblem (types: number, value: unknown): string {
  const element = typeProblemAt(types, value) !== ''
  if ((types & STRINGS) !== 0) return element ? 'must be a string' : 'must be a list of strings'
  if ((types & OBJECTS) !== 0) return element ? 'must be an object' : 'must be a list of objects'
  if ((types & OBJECT) !== 0) return (types & LIST) === 0 ? 'must be an object' : 'must be an object or a list'
  if ((types & BOOLEAN) !== 0) return 'must be true or false'
  if ((types & STRING) === 0) return 'must be an integer'
  return (types & INTEGER) !== 0 ? 'must be a string or an integer' : 'must be a string'
}

/** Strings of JSON text: where they end, their length, comparison with other text, and automata of patterns. Part of checker.as. */

import { charge, doubt, hasSteps } from './state'

// @ts-ignore: decorator
@external("env", "test")
/** Asks JavaScript about the JSON between two places: 1 for valid, 0 for not valid, 2 for a doubt. */
declare function external (test: u32, start: usize, end: usize): u32

/** Offsets in an automaton: classes of bytes, 1 when the automaton decides alone, place of the table, first state, and the class of each byte. */
const IS_EXACT: usize = 4
const TABLE: usize = 8
const START: usize = 12
const CLASSES: usize = 16
/** Bit of a state that accepts. */
const ACCEPTS: u32 = 0x8000

/** Of the string read last: true when it has escapes. */
export let escapes: bool = false

// @ts-ignore: decorator
@inline
export function pastSpace (at: usize): usize {
  return load<u8>(at) > 0x20 ? at : pastSpaces(at)
}

function pastSpaces (at: usize): usize {
  const start = at
  let byte = <u32>load<u8>(at)
  while (byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09) byte = <u32>load<u8>(++at)
  const size = <u32>(at - start)
  if (size > 64) charge(size >> 4)
  return at
}

export function isHex (byte: u32): bool {
  return byte - 0x30 < 10 || (byte | 0x20) - 0x61 < 6
}

export function isDigit (byte: u32): bool {
  return byte - 0x30 < 10
}

/** Place after an escape whose letter is at `at`; 0 when it is none. */
export function pastEscape (at: usize): usize {
  const letter = <u32>load<u8>(at)
  if (letter == 0x75) {
    return isHex(load<u8>(at, 1)) && isHex(load<u8>(at, 2)) && isHex(load<u8>(at, 3)) && isHex(load<u8>(at, 4)) ? at + 5 : 0
  }
  return letter == 0x22 || letter == 0x5c || letter == 0x2f || letter == 0x62 || letter == 0x66 || letter == 0x6e || letter == 0x72 ||
    letter == 0x74 ? at + 1 : 0
}

/** Place of the closing quote of a string that begins at `at`, after its opening quote; 0 at a fault. Sets `escapes`. */
export function stringEnd (at: usize): usize {
  const quote = i8x16.splat(0x22)
  const backslash = i8x16.splat(0x5c)
  const space = i8x16.splat(0x20)
  const start = at
  let end: usize = 0
  escapes = false
  for (;;) {
    const bytes = v128.load(at)
    const ends = i8x16.bitmask(v128.or(v128.or(i8x16.eq(bytes, quote), i8x16.eq(bytes, backslash)), v128.lt<u8>(bytes, space)))
    if (ends == 0) {
      at += 16
      continue
    }
    at += <usize>ctz(ends)
    const byte = <u32>load<u8>(at)
    if (byte == 0x22) {
      end = at
      break
    }
    if (byte != 0x5c) break
    escapes = true
    const next = pastEscape(at + 1)
    if (next == 0) break
    at = next
  }
  const size = <u32>(at - start)
  if (size > 64) charge(size >> 6)
  return end
}

/** Code points of UTF-8 text: all bytes but those that continue a character. */
export function codePoints (at: usize, end: usize): u32 {
  let count: u32 = 0
  for (; at < end; at++) if (<i8>load<u8>(at) >= -64) count++
  return count
}

/** True when the bytes at both places are the same. */
export function isSame (a: usize, b: usize, size: u32): bool {
  while (size >= 8) {
    if (load<u64>(a) != load<u64>(b)) return false
    a += 8
    b += 8
    size -= 8
  }
  return size == 0 || ((load<u64>(a) ^ load<u64>(b)) << (64 - (<u64>size << 3))) == 0
}

/** @param size at least 1 */
export function hashOf (at: usize, size: u32): u64 {
  let hash: u64 = <u64>size * 0x9e3779b97f4a7c15
  while (size >= 8) {
    hash = (hash ^ load<u64>(at)) * 0xff51afd7ed558ccd
    hash ^= hash >> 32
    at += 8
    size -= 8
  }
  if (size != 0) {
    hash = (hash ^ (load<u64>(at) & ((<u64>1 << (<u64>size << 3)) - 1))) * 0xff51afd7ed558ccd
    hash ^= hash >> 32
  }
  return hash * 0xc4ceb9fe1a85ec53
}

/** Asks JavaScript about the JSON between two places. JavaScript parses the value, so a value in many tested values costs as many steps. */
export function test (test: u32, start: usize, end: usize): bool {
  charge(<u32>(end - start) >> 2)
  if (!hasSteps()) return false
  const outcome = external(test, start, end)
  if (outcome == 2) doubt()
  return outcome == 1
}

/** A pair: place of an automaton, 0 for none, and a test. Bytes beyond ASCII and escapes are left to the test. */
function conforms (pair: usize, at: usize, end: usize): bool {
  const automaton = <usize>load<u32>(pair)
  if (automaton != 0 && !escapes) {
    const size = <usize>load<u32>(automaton)
    const table = <usize>load<u32>(automaton, TABLE)
    let state = load<u32>(automaton, START)
    let byte: u32 = 0
    for (let place = at; place < end; place++) {
      byte = <u32>load<u8>(place)
      if (byte > 0x7f) break
      state = <u32>load<u16>(table + ((<usize>(state & ~ACCEPTS) * size + <usize>load<u8>(automaton + CLASSES + <usize>byte)) << 1))
    }
    if (byte <= 0x7f) {
      if ((state & ACCEPTS) != 0) return true
      if (load<u32>(automaton, IS_EXACT) != 0) return false
    }
  }
  return test(load<u32>(pair, 4), at - 1, end + 1)
}

/** A record without bounds of its length. */
const UNBOUNDED: u64 = 0xffffffff_00000000

/**
 * A record: minimum and maximum of code points, number of listed values, number of pairs, place of the list (size, place), and two pairs of
 * an automaton (0 for none) and a test.
 */
// @ts-ignore: decorator
@inline
export function string (record: usize, at: usize): usize {
  const end = stringEnd(at)
  if (end == 0) return 0
  const size = <u32>(end - at)
  if (load<u64>(record) != UNBOUNDED) {
    const min = load<u32>(record)
    const max = load<u32>(record, 4)
    // As many bytes as four times the code points at most. An escape may be a half of a code point.
    if (escapes) return doubt()
    if (size > max || size < min << 2) {
      const count = codePoints(at, end)
      if (count < min || count > max) return 0
    }
  }
  if (load<u64>(record, 8) == 0) return end + 1
  const count = load<u32>(record, 8)
  if (count != 0) {
    if (escapes) return doubt()
    let listed = <usize>load<u32>(record, 16)
    const last = listed + 8 * <usize>count
    while (listed < last && !(load<u32>(listed) == size && isSame(at, <usize>load<u32>(listed, 4), size))) listed += 8
    if (listed == last) return 0
  }
  const last = record + 24 + 8 * <usize>load<u32>(record, 12)
  for (let pair = record + 24; pair < last; pair += 8) if (!conforms(pair, at, end)) return 0
  return end + 1
}

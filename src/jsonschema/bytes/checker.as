/**
 * Validates JSON text by a program, in AssemblyScript (https://www.assemblyscript.org): TypeScript's syntax, compiled to WebAssembly.
 * `checker.ts` describes the promise and loads the module, `program.ts` writes the programs, `scripts/web-assembly.ts` compiles this file.
 *
 * One pass over the bytes reads the grammar and applies the schema. The member names that the schema lists come in its order most of the
 * time: a name is then one or two comparisons of eight bytes. Sixteen bytes of a string are searched at once.
 */

/** Layout of the memory below the text. `checker.ts` and `program.ts` know the same places. */
const RESULT: usize = 0
const NUMBERS: usize = 64
const MAX_NUMBERS: u32 = 2048
const NAMES: usize = NUMBERS + 8 * <usize>MAX_NUMBERS
const MAX_NAMES: u32 = 4096

/** Offsets in a node: for each kind of value 0 (not allowed) or the place of a record, and the words that are allowed. */
const OBJECT: usize = 0
const ARRAY: usize = 4
const STRING: usize = 8
const NUMBER: usize = 12
const WORDS: usize = 16
const TRUE: u32 = 1
const FALSE: u32 = 2
const NULL: u32 = 4

/** Size of the head of an object's record, and of one of its members. */
const MEMBERS: usize = 32
const MEMBER: usize = 40

/** Flags of a number's record. COMPARED: the value itself matters, not only its grammar. */
const INTEGER: u32 = 1
const COMPARED: u32 = 2
const OVER: u32 = 4
const UNDER: u32 = 8
const LISTED: u32 = 16
const MULTIPLE: u32 = 32

/** Names of one object beyond the schema that are compared one by one. */
const MAX_COMPARED: u32 = 64
/** Characters of a number that is always exact (`number.ts`), and characters of the longest number that is surely finite. */
const EXACT: u32 = 15
const LONGEST: u32 = 64
const MAX_EXPONENT: u32 = 99

let members: u32 = 0
let numbers: u32 = 0
let top: u32 = 0
let deepest: u32 = 0
let maxDepth: u32 = 0
let text: usize = 0
/** Of the string read last: true when it has escapes, and its code points when it has none. */
let escapes: bool = false

// @ts-ignore: decorator
@inline
function pastSpace (at: usize): usize {
  let byte = <u32>load<u8>(at)
  while (byte <= 0x20 && (byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09)) byte = <u32>load<u8>(++at)
  return at
}

function isHex (byte: u32): bool {
  return byte - 0x30 < 10 || (byte | 0x20) - 0x61 < 6
}

function isDigit (byte: u32): bool {
  return byte - 0x30 < 10
}

/** Place after an escape whose letter is at `at`; 0 when it is none. */
function pastEscape (at: usize): usize {
  const letter = <u32>load<u8>(at)
  if (letter == 0x75) {
    return isHex(load<u8>(at, 1)) && isHex(load<u8>(at, 2)) && isHex(load<u8>(at, 3)) && isHex(load<u8>(at, 4)) ? at + 5 : 0
  }
  return letter == 0x22 || letter == 0x5c || letter == 0x2f || letter == 0x62 || letter == 0x66 || letter == 0x6e || letter == 0x72 ||
    letter == 0x74 ? at + 1 : 0
}

/** Place of the closing quote of a string that begins at `at`, after its opening quote; 0 at a fault. Sets `escapes`. */
function stringEnd (at: usize): usize {
  const quote = i8x16.splat(0x22)
  const backslash = i8x16.splat(0x5c)
  const space = i8x16.splat(0x20)
  escapes = false
  while (at != 0) {
    const bytes = v128.load(at)
    const ends = i8x16.bitmask(v128.or(v128.or(i8x16.eq(bytes, quote), i8x16.eq(bytes, backslash)), v128.lt<u8>(bytes, space)))
    if (ends == 0) {
      at += 16
      continue
    }
    at += <usize>ctz(ends)
    const byte = <u32>load<u8>(at)
    if (byte == 0x22) return at
    if (byte != 0x5c) return 0
    escapes = true
    at = pastEscape(at + 1)
  }
  return 0
}

/** Code points of UTF-8 text: all bytes but those that continue a character. */
function codePoints (at: usize, end: usize): u32 {
  let count: u32 = 0
  for (; at < end; at++) if (<i8>load<u8>(at) >= -64) count++
  return count
}

/** True when the bytes at both places are the same. */
function isSame (a: usize, b: usize, size: u32): bool {
  while (size >= 8) {
    if (load<u64>(a) != load<u64>(b)) return false
    a += 8
    b += 8
    size -= 8
  }
  return size == 0 || ((load<u64>(a) ^ load<u64>(b)) << (64 - (<u64>size << 3))) == 0
}

/** @param size at least 1 */
function hashOf (at: usize, size: u32): u64 {
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

/** True when the name with its closing quote is at `at`. A member: first eight bytes, their mask, last eight bytes, size, place, node. */
// @ts-ignore: decorator
@inline
function isNamed (member: usize, at: usize): bool {
  if ((load<u64>(at) & load<u64>(member, 8)) != load<u64>(member)) return false
  const size = load<u32>(member, 24)
  if (size <= 8) return true
  if (load<u64>(at + <usize>size - 8) != load<u64>(member, 16)) return false
  return size <= 16 || isSame(at + 8, <usize>load<u32>(member, 28) + 8, size - 16)
}

function value (node: usize, at: usize, depth: u32): usize {
  switch (<u32>load<u8>(at)) {
    case 0x22: {
      const record = <usize>load<u32>(node, STRING)
      return record == 0 ? 0 : string(record, at + 1)
    }
    case 0x7b: {
      const record = <usize>load<u32>(node, OBJECT)
      return record == 0 ? 0 : object(record, at + 1, depth + 1)
    }
    case 0x5b: {
      const record = <usize>load<u32>(node, ARRAY)
      return record == 0 ? 0 : array(record, at + 1, depth + 1)
    }
    case 0x74: return (load<u32>(node, WORDS) & TRUE) != 0 && load<u32>(at) == 0x65757274 ? at + 4 : 0
    case 0x66: return (load<u32>(node, WORDS) & FALSE) != 0 && load<u32>(at, 1) == 0x65736c61 ? at + 5 : 0
    case 0x6e: return (load<u32>(node, WORDS) & NULL) != 0 && load<u32>(at) == 0x6c6c756e ? at + 4 : 0
    default: {
      const record = <usize>load<u32>(node, NUMBER)
      return record == 0 ? 0 : number(record, at)
    }
  }
}

/** A record: minimum and maximum of code points, number of listed values, place of their list (size, place). */
function string (record: usize, at: usize): usize {
  const end = stringEnd(at)
  if (end == 0) return 0
  const min = load<u32>(record)
  const max = load<u32>(record, 4)
  const size = <u32>(end - at)
  // Without bounds, 0 and the maximum.
  if (min != 0 || max != u32.MAX_VALUE) {
    // As many bytes as four times the code points at most. An escape may be a half of a code point.
    if (escapes) return 0
    if (size > max || size < min << 2) {
      const count = codePoints(at, end)
      if (count < min || count > max) return 0
    }
  }
  const count = load<u32>(record, 8)
  if (count != 0) {
    if (escapes) return 0
    let listed = <usize>load<u32>(record, 12)
    const last = listed + 8 * <usize>count
    while (listed < last && !(load<u32>(listed) == size && isSame(at, <usize>load<u32>(listed, 4), size))) listed += 8
    if (listed == last) return 0
  }
  return end + 1
}

/** Powers of ten that a double holds. */
function power (exponent: u32): f64 {
  let result: f64 = 1
  while (exponent-- != 0) result *= 10
  return result
}

/** A record: flags, number of listed values, place of their list, minimum, maximum, divisor. */
function number (record: usize, at: usize): usize {
  const start = at
  let byte = <u32>load<u8>(at)
  const negative = byte == 0x2d
  if (negative) byte = <u32>load<u8>(++at)
  if (!isDigit(byte)) return 0
  let digits: u64 = 0
  if (byte == 0x30) {
    byte = <u32>load<u8>(++at)
    if (isDigit(byte)) return 0
  } else {
    do {
      digits = digits * 10 + <u64>(byte - 0x30)
      byte = <u32>load<u8>(++at)
    } while (isDigit(byte))
  }
  let decimals: u32 = 0
  if (byte == 0x2e) {
    byte = <u32>load<u8>(++at)
    if (!isDigit(byte)) return 0
    const point = at
    do {
      digits = digits * 10 + <u64>(byte - 0x30)
      byte = <u32>load<u8>(++at)
    } while (isDigit(byte))
    decimals = <u32>(at - point)
  }
  const flags = load<u32>(record)
  const scaled = (byte | 0x20) == 0x65
  if (scaled) {
    byte = <u32>load<u8>(++at)
    if (byte == 0x2b || byte == 0x2d) byte = <u32>load<u8>(++at)
    if (!isDigit(byte)) return 0
    let exponent: u32 = 0
    do {
      exponent = exponent * 10 + (byte - 0x30)
      if (exponent > MAX_EXPONENT) return 0
      byte = <u32>load<u8>(++at)
    } while (isDigit(byte))
  }
  const size = <u32>(at - start)
  if (scaled || size > EXACT) {
    if ((flags & COMPARED) != 0 || size > LONGEST || numbers == MAX_NUMBERS) return 0
    if ((flags & INTEGER) != 0 && (scaled || decimals != 0)) return 0
    const place = NUMBERS + 8 * <usize>numbers
    numbers++
    store<u32>(place, <u32>(start - text))
    store<u32>(place, <u32>(at - text), 4)
    return at
  }
  if (flags == 0) return at
  if (decimals == 0 && (flags & COMPARED) == 0) return at
  // Fifteen digits and the power of ten are doubles, and IEEE 754 rounds their quotient once: the double of `JSON.parse`.
  let number = <f64>digits
  if (decimals != 0) number /= power(decimals)
  if (negative) number = -number
  if ((flags & INTEGER) != 0 && number != Math.trunc(number)) return 0
  if ((flags & COMPARED) == 0) return at
  const min = load<f64>(record, 16)
  const max = load<f64>(record, 24)
  if (number < min || number > max) return 0
  if ((flags & OVER) != 0 && number == min) return 0
  if ((flags & UNDER) != 0 && number == max) return 0
  if ((flags & MULTIPLE) != 0) {
    // Whole numbers only: the exact code divides decimals by their digits.
    if (number != Math.trunc(number) || <i64>number % <i64>load<f64>(record, 32) != 0) return 0
  }
  if ((flags & LISTED) != 0) {
    let listed = <usize>load<u32>(record, 8)
    const last = listed + 8 * <usize>load<u32>(record, 4)
    while (listed < last && load<f64>(listed) != number) listed += 8
    if (listed == last) return 0
  }
  return at
}

/** A record: node of the items, minimum and maximum of their number. */
function array (record: usize, at: usize, depth: u32): usize {
  if (depth > deepest) {
    if (depth > maxDepth) return 0
    deepest = depth
  }
  const node = <usize>load<u32>(record)
  let count: u32 = 0
  at = pastSpace(at)
  if (load<u8>(at) == 0x5d) {
    at++
  } else {
    for (;;) {
      at = value(node, at, depth)
      if (at == 0) return 0
      count++
      at = pastSpace(at)
      const byte = <u32>load<u8>(at)
      at++
      if (byte == 0x5d) break
      if (byte != 0x2c) return 0
      at = pastSpace(at)
    }
  }
  if (count < load<u32>(record, 4) || count > load<u32>(record, 8)) return 0
  members += count
  return at
}

/** A record: number of listed members, node of all others, minimum and maximum of members, bits of the required ones, listed members. */
function object (record: usize, at: usize, depth: u32): usize {
  if (depth > deepest) {
    if (depth > maxDepth) return 0
    deepest = depth
  }
  const first = record + MEMBERS
  const last = first + MEMBER * <usize>load<u32>(record)
  const base = top
  let next = first
  let seen: u64 = 0
  let count: u32 = 0
  at = pastSpace(at)
  if (load<u8>(at) == 0x7d) {
    at++
  } else {
    for (;;) {
      if (load<u8>(at) != 0x22) return 0
      at++
      let node: usize = 0
      let member = next
      if (member == last || !isNamed(member, at)) {
        member = first
        while (member < last && !isNamed(member, at)) member += MEMBER
      }
      if (member < last) {
        const bit = <u64>1 << <u64>load<u32>(member, 36)
        if ((seen & bit) != 0) return 0
        seen |= bit
        next = member + MEMBER
        node = <usize>load<u32>(member, 32)
        at += <usize>load<u32>(member, 24)
      } else {
        node = <usize>load<u32>(record, 4)
        if (node == 0) return 0
        const end = stringEnd(at)
        if (end == 0 || escapes || top - base >= MAX_COMPARED || top == MAX_NAMES) return 0
        const hash = hashOf(at, <u32>(end - at))
        const place = NAMES + 8 * <usize>top
        for (let other = NAMES + 8 * <usize>base; other < place; other += 8) if (load<u64>(other) == hash) return 0
        store<u64>(place, hash)
        top++
        at = end + 1
      }
      at = pastSpace(at)
      if (load<u8>(at) != 0x3a) return 0
      at = value(node, pastSpace(at + 1), depth)
      if (at == 0) return 0
      count++
      at = pastSpace(at)
      const byte = <u32>load<u8>(at)
      at++
      if (byte == 0x7d) break
      if (byte != 0x2c) return 0
      at = pastSpace(at)
    }
  }
  top = base
  const required = load<u64>(record, 16)
  if ((seen & required) != required || count < load<u32>(record, 8) || count > load<u32>(record, 12)) return 0
  members += count
  return at
}

/**
 * Validates the value that begins at `from`.
 * @param node of the program
 * @param start place of the text in the memory. The bytes after the text belong to this function
 * @param size of the text in bytes
 * @returns the place after the value, or 0: look closer
 */
export function check (node: usize, start: usize, size: u32, from: u32, depth: u32): u32 {
  // No valid text has this byte, so every loop ends here.
  v128.store(start + <usize>size, i8x16.splat(0))
  text = start
  members = 0
  numbers = 0
  top = 0
  deepest = 0
  maxDepth = depth
  const end = value(node, start + <usize>from, 0)
  if (end == 0) return 0
  store<u32>(RESULT, members)
  store<u32>(RESULT, deepest, 4)
  store<u32>(RESULT, numbers, 8)
  return <u32>(end - start)
}

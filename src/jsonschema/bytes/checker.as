/**
 * Validates JSON text by a program, in AssemblyScript (https://www.assemblyscript.org): TypeScript's syntax, compiled to WebAssembly.
 * `checker.ts` describes the promise and loads the module, `program.ts` writes the programs, `scripts/web-assembly.ts` compiles this file.
 *
 * One pass over the bytes reads the grammar and applies the schema. The member names that the schema lists come in its order most of the
 * time: a name is then one or two comparisons of eight bytes. Sixteen bytes of a string are searched at once.
 */

import { charge, DEPTH, doubt, DOUBT, hasSteps, MEMBERS_AND_ITEMS, NAMES, NUMBER_COUNT, STEPS, TEXT } from './state'
import { number } from './number'
import { escapes, hashOf, isDigit, isSame, pastSpace, string, stringEnd, test } from './text'

const MAX_NAMES: u32 = 4096

/** Offsets in a node: for each kind of value 0 (not allowed) or the place of a record, and the words that are allowed. */
const OBJECT: usize = 0
const ARRAY: usize = 4
const STRING: usize = 8
const NUMBER: usize = 12
const WORDS: usize = 16
/** Place of the schemas that the same value has to conform to beside; 0 for none. */
const BESIDE: usize = 20
/** Bit of a reference to a node that may have such schemas. */
const MARKED: usize = 1
const TRUE: u32 = 1
const FALSE: u32 = 2
const NULL: u32 = 4

/** Size of the head of an object's record, and of one of its members. */
const MEMBERS: usize = 32
const MEMBER: usize = 40

/** Names of one object beyond the schema that are compared one by one. */
const MAX_COMPARED: u32 = 64

/** Schemas beside a node: each of them, one at least, one exactly, not this one, and a condition with its two outcomes. */
const ALL: u32 = 1
const ANY: u32 = 2
const ONE: u32 = 3
const NOT: u32 = 4
const IF: u32 = 5

/** Characters of a whole number that equals no other text of a number. */
const PLAIN_DIGITS: u32 = 15
let members: u32 = 0
let top: u32 = 0
let deepest: u32 = 0
let maxDepth: u32 = 0

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
  if ((node & MARKED) != 0) {
    node &= ~MARKED
    const beside = <usize>load<u32>(node, BESIDE)
    if (beside != 0) {
      if (load<u32>(beside, 4) != 0) return choice(beside + 8, at, depth)
      const last = beside + 8 + 16 * <usize>load<u32>(beside)
      for (let entry = beside + 8; entry < last; entry += 16) if (!conforms(entry, at, depth)) return 0
    }
  }
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

/** Charges for the values that were read before a fault. */
function failed (count: u32): usize {
  charge(count)
  return 0
}

/** Steps of the members of one object: a step for each, and for eight names that a name was compared with. */
function stepsOf (count: u32, listed: u32, others: u32): u32 {
  return count * (1 + ((listed + others) >> 3))
}

/** Reads the value by another schema, and forgets all counts. */
function fits (node: usize, at: usize, depth: u32): bool {
  if (!hasSteps()) return false
  const before = members
  const topBefore = top
  const deepestBefore = deepest
  const numbersBefore = load<u32>(NUMBER_COUNT)
  const end = value(node, at, depth)
  members = before
  top = topBefore
  deepest = deepestBefore
  store<u32>(NUMBER_COUNT, numbersBefore)
  return end != 0
}

/** An entry: kind, number of nodes, place of their list. The value that does not fit is surely invalid, or there is a doubt. */
function conforms (entry: usize, at: usize, depth: u32): bool {
  const kind = load<u32>(entry)
  let node = <usize>load<u32>(entry, 8)
  if (kind == NOT) return !fits(<usize>load<u32>(node), at, depth)
  if (kind == IF) {
    const branch: usize = fits(<usize>load<u32>(node), at, depth) ? 4 : 8
    return fits(<usize>load<u32>(node + branch), at, depth)
  }
  const last = node + 4 * <usize>load<u32>(entry, 4)
  let count: u32 = 0
  for (; node < last; node += 4) {
    if (fits(<usize>load<u32>(node), at, depth)) {
      count++
      if (kind == ANY) return true
    } else if (kind == ALL) return false
  }
  return kind == ALL || (kind == ONE && count == 1)
}

/** The only keyword of a node is `anyOf` or `oneOf`. The reading by the schema that accepts the value counts. */
function choice (entry: usize, at: usize, depth: u32): usize {
  const isOne = load<u32>(entry) == ONE
  let node = <usize>load<u32>(entry, 8)
  const last = node + 4 * <usize>load<u32>(entry, 4)
  for (; node < last; node += 4) {
    if (!hasSteps()) return 0
    const before = members
    const topBefore = top
    const deepestBefore = deepest
    const numbersBefore = load<u32>(NUMBER_COUNT)
    const end = value(<usize>load<u32>(node), at, depth)
    if (end != 0) {
      for (node += 4; isOne && node < last; node += 4) if (fits(<usize>load<u32>(node), at, depth)) return 0
      return end
    }
    members = before
    top = topBefore
    deepest = deepestBefore
    store<u32>(NUMBER_COUNT, numbersBefore)
  }
  return 0
}

/**
 * Notes an item of an array whose items are to differ.
 * @returns false when equal items may have different texts: objects, arrays, escapes, and numbers that are not plain
 */
function isNoted (at: usize, end: usize, base: u32): bool {
  const byte = <u32>load<u8>(at)
  let hash: u64 = byte
  if (byte == 0x22) {
    if (escapes) return false
    hash = hashOf(at + 1, <u32>(end - at) - 2)
  } else if (byte == 0x2d || isDigit(byte)) {
    if (<u32>(end - at) > PLAIN_DIGITS || (byte == 0x2d && load<u8>(at, 1) == 0x30)) return false
    for (let digit = at + 1; digit < end; digit++) if (!isDigit(load<u8>(digit))) return false
    hash = ~hashOf(at, <u32>(end - at))
  } else if (byte == 0x7b || byte == 0x5b) return false
  if (top - base >= MAX_COMPARED || top == MAX_NAMES) return false
  const place = NAMES + 8 * <usize>top
  for (let other = NAMES + 8 * <usize>base; other < place; other += 8) if (load<u64>(other) == hash) return false
  store<u64>(place, hash)
  top++
  return true
}

/** A record: node of the items, minimum and maximum of their number, and the test of different items; 0 for none. */
function array (record: usize, at: usize, depth: u32): usize {
  if (depth > deepest) {
    if (depth > maxDepth) return doubt()
    deepest = depth
  }
  const node = <usize>load<u32>(record)
  const different = load<u32>(record, 12)
  const start = at - 1
  const base = top
  let areNoted = different != 0
  let count: u32 = 0
  at = pastSpace(at)
  if (load<u8>(at) == 0x5d) {
    at++
  } else {
    for (;;) {
      const item = at
      at = value(node, at, depth)
      if (at == 0) return failed(count)
      if (areNoted) areNoted = isNoted(item, at, base)
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
  if (different != 0) {
    top = base
    if (!areNoted && count > 1 && !test(different, start, at)) return 0
  }
  members += count
  charge(count)
  return at
}

/** A record: number of listed members, node of all others, minimum and maximum of members, bits of the required ones, listed members. */
function object (record: usize, at: usize, depth: u32): usize {
  if (depth > deepest) {
    if (depth > maxDepth) return doubt()
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
        if (end == 0) return 0
        if (escapes || top - base >= MAX_COMPARED || top == MAX_NAMES) return doubt()
        const hash = hashOf(at, <u32>(end - at))
        const place = NAMES + 8 * <usize>top
        // Equal names, or names with equal hashes, which a client can make.
        for (let other = NAMES + 8 * <usize>base; other < place; other += 8) if (load<u64>(other) == hash) return doubt()
        store<u64>(place, hash)
        top++
        at = end + 1
      }
      at = pastSpace(at)
      if (load<u8>(at) != 0x3a) return 0
      at = value(node, pastSpace(at + 1), depth)
      if (at == 0) return failed(stepsOf(count, load<u32>(record), top - base))
      count++
      at = pastSpace(at)
      const byte = <u32>load<u8>(at)
      at++
      if (byte == 0x7d) break
      if (byte != 0x2c) return 0
      at = pastSpace(at)
    }
  }
  charge(stepsOf(count, load<u32>(record), top - base))
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
  store<u32>(TEXT, <u32>start)
  store<u32>(NUMBER_COUNT, 0)
  store<u32>(DOUBT, 0)
  store<i32>(STEPS, <i32>(4 * size + 4096))
  members = 0
  top = 0
  deepest = 0
  maxDepth = depth
  const end = value(node, start + <usize>from, 0)
  if (end == 0 || load<u32>(DOUBT) != 0) return 0
  store<u32>(MEMBERS_AND_ITEMS, members)
  store<u32>(DEPTH, deepest)
  return <u32>(end - start)
}

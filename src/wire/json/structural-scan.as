/**
 * Structural scan of JSON text, in AssemblyScript (https://www.assemblyscript.org): TypeScript's syntax, compiled to WebAssembly with SIMD.
 * `structural-scan.ts` describes the promise and loads the module; `scripts/web-assembly.ts` compiles this file.
 *
 * The method is simdjson's (Langdale, Lemire: "Parsing Gigabytes of JSON per Second", 2019). Each step reads 64 bytes and makes masks of
 * 64 bits: bit i stands for byte i. Bits, not bytes, then say which characters are escaped, which lie inside strings, and where the
 * structure is. Only quotes outside of escapes, colons and brackets outside of strings are visited one by one.
 */

/** Layout of the memory below the text. `structural-scan.ts` knows the same places. */
const RESULT: usize = 0
const STRINGS: usize = 64
const MAX_STRINGS: u32 = 1024
const NUMBERS: usize = STRINGS + 12 * <usize>MAX_STRINGS
const MAX_NUMBERS: u32 = 6144
const NAMES: usize = NUMBERS + 8 * <usize>MAX_NUMBERS
const MAX_NAMES: u32 = 8184
const BASES: usize = NAMES + 8 * <usize>MAX_NAMES
const MAX_DEPTH: u32 = 512
/** First byte after the tables. RESERVED of `shared-memory.ts` is at least as large. */
const END: usize = BASES + 4 * <usize>(MAX_DEPTH + 1)
/** Names of one object that are compared one by one. An object with more names leaves duplicates to the caller. */
const MAX_COMPARED: u32 = 64

/** Outcomes. */
const LOOK_CLOSER: u32 = 0
const FINE: u32 = 1
const FINE_AND_DISTINCT: u32 = 2

// @ts-ignore: decorator
@inline
function masks (a: v128, b: v128, c: v128, d: v128): u64 {
  return <u64>i8x16.bitmask(a) | (<u64>i8x16.bitmask(b) << 16) | (<u64>i8x16.bitmask(c) << 32) | (<u64>i8x16.bitmask(d) << 48)
}

// @ts-ignore: decorator
@inline
function equal (a: v128, b: v128, c: v128, d: v128, to: v128): u64 {
  return masks(i8x16.eq(a, to), i8x16.eq(b, to), i8x16.eq(c, to), i8x16.eq(d, to))
}

/** Each bit becomes the XOR of itself and all bits below: from quotes to the bytes between them. */
// @ts-ignore: decorator
@inline
function prefixXor (bits: u64): u64 {
  bits ^= bits << 1
  bits ^= bits << 2
  bits ^= bits << 4
  bits ^= bits << 8
  bits ^= bits << 16
  return bits ^ (bits << 32)
}

// @ts-ignore: decorator
@inline
function isSpace (byte: u32): bool {
  return byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09
}

// @ts-ignore: decorator
@inline
function isHex (byte: u32): bool {
  return byte - 0x30 < 10 || (byte | 0x20) - 0x61 < 6
}

/** True for `0123456789.+-eE`, the same set as NUMERIC of `number.ts`. */
// @ts-ignore: decorator
@inline
function isNumeric (byte: u32): bool {
  return byte - 0x30 < 10 || (byte | 0x20) == 0x65 || byte == 0x2d || byte == 0x2b || byte == 0x2e
}

/** Offset of the first byte at or after `at` that is no white space. The byte after the padding ends the search. */
// @ts-ignore: decorator
@inline
function pastSpace (at: usize): usize {
  while (isSpace(load<u8>(at))) at++
  return at
}

/** 0xff for a byte that must not follow a backslash. Allowed: `" / \ b f n r t u`, found by the halves of the byte in two tables. */
// @ts-ignore: decorator
@inline
function noEscape (bytes: v128): v128 {
  const low = i8x16.swizzle(
    i8x16(0, 0, -60, 0, -128, -128, 64, 0, 0, 0, 0, 0, 32, 0, 64, 4),
    v128.and(bytes, i8x16.splat(0x0f))
  )
  const high = i8x16.swizzle(i8x16(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0), v128.shr<u8>(bytes, 4))
  return i8x16.eq(v128.and(low, high), i8x16.splat(0))
}

/** Hash of a name, over whole words. Equal names have equal hashes; different names with equal hashes only cost the caller time. */
// @ts-ignore: decorator
@inline
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

/**
 * Scans one text.
 * @param text offset in the memory. 80 bytes after the text belong to the scan
 * @param longFrom a string of more bytes, other than a name, goes into the list of strings
 * @returns LOOK_CLOSER, FINE, or FINE_AND_DISTINCT when, in addition, no object has two equal names
 */
export function scan (text: usize, size: u32, maxDepth: u32, maxMembers: u32, longFrom: u32): u32 {
  if (text < END) return LOOK_CLOSER
  const end = text + size
  const space = i8x16.splat(0x20)
  const zero = i8x16.splat(0)
  for (let i: usize = 0; i < 64; i += 16) v128.store(end + i, space)
  v128.store(end + 64, zero)

  const quote = i8x16.splat(0x22)
  const backslash = i8x16.splat(0x5c)
  const colon = i8x16.splat(0x3a)
  const comma = i8x16.splat(0x2c)
  const opener = i8x16.splat(0x7b)
  const closer = i8x16.splat(0x7d)
  const odd: u64 = 0xaaaaaaaaaaaaaaaa

  let depth: u32 = 0
  let colons: u32 = 0
  let members: u32 = 0
  let strings: u32 = 0
  let numbers: u32 = 0
  let distinct = true
  let escapedNames: u32 = 0
  /** Names of all open objects, as a stack; `base` is the first of the innermost object. */
  let top: u32 = 0
  let base: u32 = 0
  let start: usize = 0
  let stop: usize = 0
  let escapes = false
  /** Place after the last backslash of the blocks before; place after the last number in the list. */
  let afterBackslash: usize = 0
  let afterNumber: usize = 0
  let carryEscape: u64 = 0
  let carryString: u64 = 0
  /** Of the block before: numeric bytes, and those that end a run of 2, 4 and 8 of them. */
  let before1: u64 = 0
  let before2: u64 = 0
  let before4: u64 = 0
  let before8: u64 = 0
  if (maxDepth > MAX_DEPTH) maxDepth = MAX_DEPTH

  for (let at = text; at < end; at += 64) {
    const a = v128.load(at)
    const b = v128.load(at, 16)
    const c = v128.load(at, 32)
    const d = v128.load(at, 48)
    let quotes = equal(a, b, c, d, quote)
    const backslashes = equal(a, b, c, d, backslash)
    if ((backslashes | carryEscape) != 0) {
      // The bytes after backslashes that are not escaped themselves.
      const potential = backslashes & ~carryEscape
      const x = (((potential << 1) | odd) - potential) ^ odd
      const escaped = x ^ (backslashes | carryEscape)
      carryEscape = (x & backslashes) >> 63
      quotes &= ~escaped
      if ((escaped & masks(noEscape(a), noEscape(b), noEscape(c), noEscape(d))) != 0) return LOOK_CLOSER
      let letters = escaped & equal(a, b, c, d, i8x16.splat(0x75))
      while (letters != 0) {
        const u = at + <usize>ctz(letters)
        letters &= letters - 1
        if (!isHex(load<u8>(u, 1)) || !isHex(load<u8>(u, 2)) || !isHex(load<u8>(u, 3)) || !isHex(load<u8>(u, 4))) return LOOK_CLOSER
      }
    }
    // From each opening quote to the byte before its closing quote.
    const inside = prefixXor(quotes) ^ carryString
    carryString = <u64>(<i64>inside >> 63)
    // Outside of strings, the plain code does not see a backslash as an escape.
    if ((backslashes & ~inside) != 0) return LOOK_CLOSER
    if (inside != 0) {
      const controls = masks(v128.lt<u8>(a, space), v128.lt<u8>(b, space), v128.lt<u8>(c, space), v128.lt<u8>(d, space))
      if ((controls & inside) != 0) return LOOK_CLOSER
    }
    let marks = quotes
    if (~inside != 0) {
      const lowA = v128.or(a, space)
      const lowB = v128.or(b, space)
      const lowC = v128.or(c, space)
      const lowD = v128.or(d, space)
      const ends = masks(
        v128.or(v128.or(i8x16.eq(lowA, opener), i8x16.eq(lowA, closer)), i8x16.eq(a, colon)),
        v128.or(v128.or(i8x16.eq(lowB, opener), i8x16.eq(lowB, closer)), i8x16.eq(b, colon)),
        v128.or(v128.or(i8x16.eq(lowC, opener), i8x16.eq(lowC, closer)), i8x16.eq(c, colon)),
        v128.or(v128.or(i8x16.eq(lowD, opener), i8x16.eq(lowD, closer)), i8x16.eq(d, colon))
      )
      marks |= ends & ~inside
      const commas = equal(a, b, c, d, comma) & ~inside
      members += <u32>popcnt(commas)

      // Numbers that may be inexact: 16 numeric bytes in a row, or an exponent. 0x2b to 0x39 are `+ , - . /` and the digits.
      const first = i8x16.splat(0x2b)
      const many = i8x16.splat(15)
      const run1 = masks(
        v128.lt<u8>(v128.sub<i8>(a, first), many),
        v128.lt<u8>(v128.sub<i8>(b, first), many),
        v128.lt<u8>(v128.sub<i8>(c, first), many),
        v128.lt<u8>(v128.sub<i8>(d, first), many)
      ) & ~inside & ~commas
      const run2 = run1 & ((run1 << 1) | (before1 >> 63))
      const run4 = run2 & ((run2 << 2) | (before2 >> 62))
      const run8 = run4 & ((run4 << 4) | (before4 >> 60))
      const run16 = run8 & ((run8 << 8) | (before8 >> 56))
      const letter = i8x16.splat(0x65)
      const exponents = masks(i8x16.eq(lowA, letter), i8x16.eq(lowB, letter), i8x16.eq(lowC, letter), i8x16.eq(lowD, letter)) &
        ((run1 << 1) | (before1 >> 63)) & ~inside
      before1 = run1
      before2 = run2
      before4 = run4
      before8 = run8
      let candidates = run16 | exponents
      while (candidates != 0) {
        let from = at + <usize>ctz(candidates)
        candidates &= candidates - 1
        if (from < afterNumber) continue
        if (numbers == MAX_NUMBERS) return LOOK_CLOSER
        let to = from
        while (from > text && isNumeric(load<u8>(from - 1))) from--
        while (isNumeric(load<u8>(to))) to++
        const place = NUMBERS + 8 * <usize>numbers
        numbers++
        store<u32>(place, <u32>(from - text))
        store<u32>(place, <u32>(to - text), 4)
        afterNumber = to
      }
    } else {
      before1 = before2 = before4 = before8 = 0
    }
    while (marks != 0) {
      const bit = ctz(marks)
      const i = at + <usize>bit
      marks &= marks - 1
      const byte = <u32>load<u8>(i)
      if (byte == 0x22) {
        if (((inside >> bit) & 1) != 0) {
          start = i + 1
          continue
        }
        stop = i
        const earlier = backslashes & ((<u64>1 << bit) - 1)
        escapes = (earlier != 0 ? at + 64 - <usize>clz(earlier) : afterBackslash) > start
        if (<u32>(i - start) > longFrom && load<u8>(pastSpace(i + 1)) != 0x3a) {
          if (strings == MAX_STRINGS) return LOOK_CLOSER
          const place = STRINGS + 12 * <usize>strings
          strings++
          store<u32>(place, <u32>(start - text))
          store<u32>(place, <u32>(i - text), 4)
          store<u32>(place, <u32>escapes, 8)
        }
      } else if (byte == 0x3a) {
        colons++
        escapedNames |= <u32>escapes
        if (distinct) {
          if (escapes || top - base >= MAX_COMPARED || top == MAX_NAMES) {
            distinct = false
          } else {
            const hash = hashOf(start, <u32>(stop - start))
            const last = NAMES + 8 * <usize>top
            top++
            store<u64>(last, hash)
            for (let other = NAMES + 8 * <usize>base; other < last; other += 8) {
              if (load<u64>(other) == hash) distinct = false
            }
          }
        }
      } else if ((byte & 2) != 0 && (byte & 4) == 0) {
        // `[` 5b and `{` 7b; `]` 5d and `}` 7d
        depth++
        if (depth > maxDepth) return LOOK_CLOSER
        store<u32>(BASES + 4 * <usize>depth, base)
        base = top
        if ((load<u8>(pastSpace(i + 1)) | 0x20) != 0x7d) members++
      } else {
        if (depth == 0) return LOOK_CLOSER
        top = base
        base = load<u32>(BASES + 4 * <usize>depth)
        depth--
      }
    }
    if (backslashes != 0) afterBackslash = at + 64 - <usize>clz(backslashes)
  }
  if (carryString != 0 || depth != 0 || members > maxMembers) return LOOK_CLOSER
  store<u32>(RESULT, colons)
  store<u32>(RESULT, strings, 4)
  store<u32>(RESULT, numbers, 8)
  store<u32>(RESULT, escapedNames, 12)
  return distinct ? FINE_AND_DISTINCT : FINE
}

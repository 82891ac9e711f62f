/** Numbers of JSON text. Part of checker.as. */
import { doubt, MAX_NUMBERS, NUMBER_COUNT, NUMBERS, TEXT } from './state'
import { isDigit } from './text'

/** Flags of a number's record. COMPARED: the value itself matters, not only its grammar. */
const INTEGER: u32 = 1
const COMPARED: u32 = 2
const OVER: u32 = 4
const UNDER: u32 = 8
const LISTED: u32 = 16
const MULTIPLE: u32 = 32

/** Characters of a number that is always exact (`number.ts`), and characters of the longest number that is surely finite. */
const EXACT: u32 = 15
const LONGEST: u32 = 64
const MAX_EXPONENT: u32 = 99

/** Powers of ten that a double holds. */
function power (exponent: u32): f64 {
  let result: f64 = 1
  while (exponent-- != 0) result *= 10
  return result
}

/** A record: flags, number of listed values, place of their list, minimum, maximum, divisor. */
// @ts-ignore: decorator
@inline
export function number (record: usize, at: usize): usize {
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
      if (exponent > MAX_EXPONENT) return doubt()
      byte = <u32>load<u8>(++at)
    } while (isDigit(byte))
  }
  const size = <u32>(at - start)
  if (scaled || size > EXACT) {
    const numbers = load<u32>(NUMBER_COUNT)
    if ((flags & COMPARED) != 0 || size > LONGEST || numbers == MAX_NUMBERS) return doubt()
    if ((flags & INTEGER) != 0 && (scaled || decimals != 0)) return doubt()
    const place = NUMBERS + 8 * <usize>numbers
    const text = <usize>load<u32>(TEXT)
    store<u32>(NUMBER_COUNT, numbers + 1)
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
    if (number != Math.trunc(number)) return doubt()
    if (<i64>number % <i64>load<f64>(record, 32) != 0) return 0
  }
  if ((flags & LISTED) != 0) {
    let listed = <usize>load<u32>(record, 8)
    const last = listed + 8 * <usize>load<u32>(record, 4)
    while (listed < last && load<f64>(listed) != number) listed += 8
    if (listed == last) return 0
  }
  return at
}

/** Writes a number of the wire format: seven bits in each byte, the lowest first (protobuf encoding, "Base 128 varints"). */

/** @param number an integer from 0 to 2^53 */
export function varint (number: number): Buffer {
  const bytes: number[] = []
  let rest = number
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  bytes.push(rest)
  return Buffer.from(bytes)
}

/** @param number any integer of 64 bits: negative numbers take ten bytes, as int32 and int64 write them */
export function signedVarint (number: number): Buffer {
  if (number >= 0) return varint(number)
  const bytes = Buffer.alloc(10)
  let rest = BigInt.asUintN(64, BigInt(number))
  for (let i = 0; i < 10; i++, rest >>= 7n) bytes[i] = Number(rest & 0x7fn) | (i < 9 ? 0x80 : 0)
  return bytes
}

/**
 * Random ids of traces and spans, in lower-case hexadecimal digits: the same as the SDK's generator makes, which writes bytes to a buffer
 * and reads a text from it. In a profile of the gateway, that took 1.3% of a traced call of 400 B.
 */
const DIGITS = Buffer.from('0123456789abcdef')
const ZERO = '0'.repeat(16)

export function newTraceId (): string {
  const id = digits() + digits()
  return id === ZERO + ZERO ? `${id.slice(1)}1` : id
}

export function newSpanId (): string {
  const id = digits()
  return id === ZERO ? `${id.slice(1)}1` : id
}

/** @returns 16 digits. One call with all codes makes one text; joined parts make several. */
function digits (): string {
  const a = Math.random() * 0x100000000
  const b = Math.random() * 0x100000000
  return String.fromCharCode(
    digit(a >>> 28), digit(a >>> 24), digit(a >>> 20), digit(a >>> 16), digit(a >>> 12), digit(a >>> 8), digit(a >>> 4), digit(a >>> 0),
    digit(b >>> 28), digit(b >>> 24), digit(b >>> 20), digit(b >>> 16), digit(b >>> 12), digit(b >>> 8), digit(b >>> 4), digit(b >>> 0)
  )
}

/** @returns the code of the digit of the lowest four bits */
const digit = (value: number): number => DIGITS[value & 15] as number

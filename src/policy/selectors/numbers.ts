/** Numbers in data: JSON numbers, and strings of digits that may be too long for a JSON number. */

const DECIMAL = /^-?\d{1,40}(?:\.\d{1,40})?$/
const INTEGER = /^-?\d{1,40}$/
const EXPONENT = /^-?\d+(?:\.\d+)?e[+-]\d{1,3}$/

/** True for a number in decimal digits, or in JavaScript's notation of a JSON number. */
export function isNumber (text: unknown): text is string {
  return typeof text === 'string' && text.length <= 90 && (DECIMAL.test(text) || (EXPONENT.test(text) && Number.isFinite(Number(text))))
}

/** Compares two numbers. The result is exact for integers of any length. */
export function isLess (value: string, other: string): boolean {
  return INTEGER.test(value) && INTEGER.test(other) ? BigInt(value) < BigInt(other) : Number(value) < Number(other)
}

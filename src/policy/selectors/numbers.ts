/** Numbers as data writes them: JSON numbers, and strings of digits that may be too long for one. */

const DECIMAL = /^-?\d{1,40}(?:\.\d{1,40})?$/
const INTEGER = /^-?\d{1,40}$/
const EXPONENT = /^-?\d+(?:\.\d+)?e[+-]\d{1,3}$/

/** Whether it is a number in decimal digits, or as JavaScript writes a JSON number. */
export function isNumber (text: unknown): text is string {
  return typeof text === 'string' && text.length <= 90 && (DECIMAL.test(text) || (EXPONENT.test(text) && Number.isFinite(Number(text))))
}

/** Exact for integers, of whatever length. Both are numbers. */
export function isLess (one: string, other: string): boolean {
  return INTEGER.test(one) && INTEGER.test(other) ? BigInt(one) < BigInt(other) : Number(one) < Number(other)
}

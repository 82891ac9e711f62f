/**
 * Texts of any Unicode characters. `fc.string({ unit: 'binary' })` generates the same texts, but builds a map of all 1.1 million characters
 * first: 4 s of processor time and 150 MB in each process that uses it (fast-check 4.9).
 */
import fc from 'fast-check'

const SURROGATES = 0x800
const FIRST_SURROGATE = 0xd8_00

/** Names that objects inherit: an implementation that keeps texts as members of an object fails on these. */
const INHERITED = ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'valueOf', '__defineGetter__', 'length']

/** One character, as `stringUnit` of `fc.json` and its like. */
export const anyCharacter = fc.oneof(
  fc.integer({ min: 0, max: 0x7f }),
  fc.integer({ min: 0, max: 0x10_ff_ff - SURROGATES }).map(code => (code < FIRST_SURROGATE ? code : code + SURROGATES))
).map(code => String.fromCodePoint(code))

/**
 * @param limits numbers of characters, not of UTF-16 units
 * @returns well-formed texts
 */
export function anyText (limits: { readonly minLength?: number, readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  const { minLength = 0, maxLength = 10 } = limits
  const texts = fc.array(anyCharacter, { minLength, maxLength }).map(characters => characters.join(''))
  const inherited = INHERITED.filter(({ length }) => length >= minLength && length <= maxLength)
  if (inherited.length === 0) return texts
  return fc.oneof({ weight: 19, arbitrary: texts }, { weight: 1, arbitrary: fc.constantFrom(...inherited) })
}

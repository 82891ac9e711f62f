/** Writes the records of strings and numbers into a program (image.ts), as text.as and number.as read them. */
import type { Image } from './image.js'
import { UNSUPPORTED } from './image.js'
import type { ValueTest } from './value-tests.js'
import { formatTest, patternTest } from './value-tests.js'

/** Formats of strings that an automaton accepts. The automata are stricter than ajv-formats; Ajv decides about the rest. */

const DAY =
  '(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)'
const DATE = `[0-9]{4}-${DAY}`
const TIME = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])'
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?'
const BYTE = '(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'

/** Patterns whose strings surely have the format. February 29 and most URIs are left to Ajv. */
export const SURE: Readonly<Record<string, string>> = {
  date: `^${DATE}$`,
  'date-time': `^${DATE}[Tt]${TIME}$`,
  time: `^${TIME}$`,
  email: `^[\\w+-]+(?:\\.[\\w+-]+)*@(?:${LABEL}\\.)+${LABEL}$`,
  ipv4: `^(?:${BYTE}\\.){3}${BYTE}$`,
  uri: '^https?:\\/\\/[A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)*(?::[0-9]{1,5})?(?:\\/[\\w.~\\/-]*)?(?:\\?[\\w.~=&\\/-]*)?(?:#[\\w.~=&\\/-]*)?$',
  uuid: '^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$'
}

/** Formats of ajv-formats that concern numbers: the keyword accepts every string. */
const NUMERIC_FORMATS: ReadonlySet<string> = new Set(['double', 'float', 'int32', 'int64'])

export type Schema = Readonly<Record<string, unknown>>

/** Values of a list: the checker compares them one by one. */
const MAX_LISTED = 64
/** Flags of a number's record. */
const INTEGER = 1
const COMPARED = 2
const OVER = 4
const UNDER = 8
const LISTED = 16
const MULTIPLE = 32
const UNBOUNDED = 0xffff_ffff
/** Largest lower bound: four times as many bytes fit into 32 bits. */
const MAX_BOUND = 2 ** 28
const INT32 = { min: -(2 ** 31), max: 2 ** 31 - 1 }

/**
 * @param format as it is asserted; undefined for an annotation
 * @param testNumber adds a test to the program, once for each key, and returns its number
 * @returns the place of the record; 0 when the schema accepts no string
 */
export function writeString (
  image: Image,
  schema: Schema,
  values: readonly unknown[] | null,
  format: unknown,
  testNumber: (key: string, test: ValueTest) => number
): number {
  const texts = values?.filter(value => typeof value === 'string').map(value => wellFormed(value as string))
  if (texts?.length === 0) return 0
  const record = image.place(40)
  writeBounds(image, record, schema.minLength, schema.maxLength)
  if (texts !== undefined) {
    image.put(record + 8, texts.length)
    image.put(record + 16, image.list(texts.flatMap(text => [text.length, image.text(text)])))
  }
  let pairs = 0
  const pair = (automaton: number, key: string, test: ValueTest): void => {
    image.put(record + 24 + 8 * pairs, automaton)
    image.put(record + 28 + 8 * pairs, testNumber(key, test))
    image.put(record + 12, ++pairs)
  }
  const { pattern } = schema
  if (pattern !== undefined) {
    if (typeof pattern !== 'string') throw UNSUPPORTED
    pair(image.automaton(pattern, true), `pattern ${pattern}`, patternTest(pattern))
  }
  if (format !== undefined && typeof format !== 'string') throw UNSUPPORTED
  const accepts = format === undefined || NUMERIC_FORMATS.has(format) ? null : formatTest(format)
  if (format === undefined || accepts === null) return record
  const sure = Object.hasOwn(SURE, format) ? SURE[format] : undefined
  pair(sure === undefined ? 0 : image.automaton(sure, false), `format ${format}`, accepts)
  return record
}

/** @returns the place of the record, and whether it compares numbers; null when the schema accepts no number */
export function writeNumber (
  image: Image,
  schema: Schema,
  values: readonly unknown[] | null,
  format: unknown,
  isInteger: boolean
): { readonly record: number, readonly compares: boolean } | null {
  const numbers = values?.filter(value => typeof value === 'number')
  if (numbers?.length === 0) return null
  const { multipleOf } = schema
  const over = optionalNumber(schema.exclusiveMinimum) ?? Number.NEGATIVE_INFINITY
  const under = optionalNumber(schema.exclusiveMaximum) ?? Number.POSITIVE_INFINITY
  const least = format === 'int32' ? INT32.min : Number.NEGATIVE_INFINITY
  const most = format === 'int32' ? INT32.max : Number.POSITIVE_INFINITY
  const min = Math.max(optionalNumber(schema.minimum) ?? Number.NEGATIVE_INFINITY, over, least)
  const max = Math.min(optionalNumber(schema.maximum) ?? Number.POSITIVE_INFINITY, under, most)
  let flags = isInteger || format === 'int32' || format === 'int64' ? INTEGER : 0
  if (min !== Number.NEGATIVE_INFINITY || max !== Number.POSITIVE_INFINITY) flags |= COMPARED
  if (min === over && over !== Number.NEGATIVE_INFINITY) flags |= OVER
  if (max === under && under !== Number.POSITIVE_INFINITY) flags |= UNDER
  if (multipleOf !== undefined) {
    if (!Number.isSafeInteger(multipleOf) || (multipleOf as number) <= 0) throw UNSUPPORTED
    flags |= COMPARED | MULTIPLE
  }
  if (numbers !== undefined) flags |= COMPARED | LISTED
  const record = image.place(40)
  image.put(record, flags)
  image.putNumber(record + 16, min)
  image.putNumber(record + 24, max)
  if (multipleOf !== undefined) image.putNumber(record + 32, multipleOf as number)
  if (numbers !== undefined) {
    const list = image.place(8 * numbers.length)
    image.put(record + 4, numbers.length)
    image.put(record + 8, list)
    numbers.forEach((number, i) => { image.putNumber(list + 8 * i, number as number) })
  }
  return { record, compares: (flags & COMPARED) !== 0 }
}

export function writeBounds (image: Image, at: number, min: unknown, max: unknown): void {
  const least = optionalNumber(min) ?? 0
  if (!Number.isInteger(least) || least < 0 || least > MAX_BOUND || !Number.isInteger(optionalNumber(max) ?? 0)) throw UNSUPPORTED
  image.put(at, least)
  image.put(at + 4, Math.min(optionalNumber(max) ?? UNBOUNDED, UNBOUNDED))
}

/** @returns null for every type */
export function typesOf (type: unknown): ReadonlySet<string> | null {
  if (type === undefined) return null
  const types = typeof type === 'string' ? [type] : type
  if (!Array.isArray(types)) throw UNSUPPORTED
  return new Set(types as string[])
}

/** The values of `enum` or `const`; null without them. */
export function listedValues (schema: Schema): readonly unknown[] | null {
  const isConstant = Object.hasOwn(schema, 'const')
  const listed = isConstant ? [schema.const] : schema.enum
  if (listed === undefined) return null
  if (isConstant && Object.hasOwn(schema, 'enum')) throw UNSUPPORTED
  if (
    !Array.isArray(listed) ||
    listed.length > MAX_LISTED ||
    listed.some(value => typeof value === 'object' && value !== null)
  ) throw UNSUPPORTED
  return listed
}

/** Draft 4 has booleans for some bounds. */
function optionalNumber (value: unknown): number | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'number' || !Number.isFinite(value)) throw UNSUPPORTED
  return value
}

/** The bytes of a text. A half of a surrogate pair has no bytes in UTF-8. */
function wellFormed (text: string): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.toString() !== text) throw UNSUPPORTED
  return bytes
}

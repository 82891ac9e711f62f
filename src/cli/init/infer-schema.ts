/** Guesses a JSON Schema from values: their types, the members that all of them have, and formats. */
import { isObject } from '#wire/json/object.js'

/** Depth below which values are not described. */
const DEPTH = 5
/** An object with more names in its values is a map, and its names are data. */
const MEMBERS = 24
/** Values that are looked at. */
const VALUES = 500
/** Texts are a choice when this many values have at most CHOICES different ones. */
const MIN_CHOICE_VALUES = 8
const CHOICES = 4
const DATE_TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/

export type InferredSchema = Readonly<Record<string, unknown>>

/**
 * Infers the schema. Every given value satisfies it.
 * @param values at least one
 */
export function inferSchema (values: readonly unknown[], depth = 0): InferredSchema {
  const some = values.slice(0, VALUES)
  const types = [...new Set(values.map(typeOf))]
  // Every integer is a number.
  const names = types.includes('number') ? types.filter(type => type !== 'integer') : types
  const schema: Record<string, unknown> = { type: names.length === 1 ? names[0] : names.toSorted() }
  if (depth >= DEPTH) return schema
  const objects = some.filter(isObject)
  if (objects.length > 0 && values.length <= VALUES) Object.assign(schema, members(objects, depth))
  const items = some.filter(value => Array.isArray(value)).flat()
  if (items.length > 0 && items.length <= VALUES && values.length <= VALUES) schema.items = inferSchema(items, depth + 1)
  if (names.length === 1 && names[0] === 'string') Object.assign(schema, textsOf(values as readonly string[]))
  return schema
}

function members (objects: readonly Readonly<Record<string, unknown>>[], depth: number): object {
  const names = [...new Set(objects.flatMap(sample => Object.keys(sample)))]
  // The loader of the configuration rejects `__proto__`.
  if (names.length === 0 || names.length > MEMBERS || names.includes('__proto__')) return {}
  const required = names.filter(name => objects.every(sample => Object.hasOwn(sample, name)))
  const properties = names.map(name => {
    const values = objects.filter(sample => Object.hasOwn(sample, name)).map(sample => sample[name])
    return [name, inferSchema(values, depth + 1)] as const
  })
  return { ...(required.length === 0 ? {} : { required }), properties: Object.fromEntries(properties) }
}

function textsOf (texts: readonly string[]): object {
  if (texts.every(text => DATE_TIME.test(text) && !Number.isNaN(Date.parse(text)))) return { format: 'date-time' }
  const different = [...new Set(texts)]
  if (
    texts.length < MIN_CHOICE_VALUES ||
    different.length > CHOICES ||
    !different.every(text => /^[A-Za-z][\w.-]{0,39}$/.test(text))
  ) return {}
  return { enum: different.toSorted() }
}

function typeOf (value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'object' ? 'object' : typeof value
}

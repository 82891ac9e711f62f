/**
 * Makes a value that usually satisfies a schema: it follows types, required members, items and constants, and ignores the rest. For calls
 * that only exercise a validator, not for tests of it.
 */
import { childOf, resolvePointer } from '#wire/json/pointer.js'
import { isObject } from '#wire/json/object.js'

/** A schema may refer to itself, or be wide: its sample stays small. */
const DEPTH = 6
const MEMBERS = 32
/** Largest number of values. Seven lists in each other, each of 32, would be 34 billion. */
const VALUES = 2_000

export function sampleOf (schema: unknown): unknown {
  return sample(schema, { root: schema, left: VALUES }, 0)
}

interface Sampling {
  /** The schema that references start from. */
  readonly root: unknown
  /** Number of values that may still be made. */
  left: number
}

function sample (schema: unknown, sampling: Sampling, depth: number): unknown {
  if (!isObject(schema) || depth > DEPTH || sampling.left <= 0) return {}
  sampling.left--
  if ('const' in schema) return given(schema.const, sampling)
  if (Array.isArray(schema.enum)) return given(schema.enum[0], sampling)
  if (typeof schema.$ref === 'string') {
    return sample(
      schema.$ref.startsWith('#/') ? resolvePointer(sampling.root, schema.$ref.slice(1)) : {}, sampling, depth + 1
    )
  }
  for (const word of ['oneOf', 'anyOf'] as const) {
    const [first] = Array.isArray(schema[word]) ? schema[word] as unknown[] : []
    if (first !== undefined && schema.type === undefined) return sample(first, sampling, depth + 1)
  }
  switch (typeOf(schema)) {
    case 'array':
      return Array.from({ length: numberOf(schema.minItems, 1) || 1 }, () => sample(schema.items, sampling, depth + 1))
    case 'string':
      return 'x'.repeat(numberOf(schema.minLength, 4))
    case 'integer':
    case 'number':
      return numberOf(schema.minimum, 1)
    case 'boolean':
      return true
    case 'null':
      return null
    default: {
      const properties = isObject(schema.properties) ? schema.properties : {}
      const names = new Set([...Object.keys(properties), ...(Array.isArray(schema.required) ? schema.required : [])])
      const members = [...names].filter(name => typeof name === 'string').slice(0, MEMBERS)
      return Object.fromEntries(members.map(name => [name, sample(childOf(properties, name), sampling, depth + 1)]))
    }
  }
}

/** Returns a value of the schema itself, which may be large. Lists repeat it. */
function given (value: unknown, sampling: Sampling): unknown {
  sampling.left -= Math.ceil((JSON.stringify(value)?.length ?? 0) / 20)
  return sampling.left < 0 ? {} : value
}

function typeOf ({ type, items }: Readonly<Record<string, unknown>>): unknown {
  return Array.isArray(type) ? type[0] : type ?? (items === undefined ? 'object' : 'array')
}

/** @returns the number, within bounds, or the default */
function numberOf (value: unknown, usual: number): number {
  return typeof value === 'number' && value >= 0 && value <= MEMBERS ? Math.max(value, 0) : usual
}

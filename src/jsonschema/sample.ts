/**
 * Makes a value that usually satisfies a schema: it follows types, required members, items and constants, and ignores the rest. For calls
 * that only exercise a validator, not for tests of it.
 */
import { childOf, resolvePointer } from '../wire/json/pointer.js'
import { isObject } from '../wire/json/object.js'

/** A schema may refer to itself, or be wide: its sample stays small. */
const DEPTH = 6
const MEMBERS = 32

export function sampleOf (schema: unknown, root: unknown = schema, depth = 0): unknown {
  if (!isObject(schema) || depth > DEPTH) return {}
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  if (typeof schema.$ref === 'string') return sampleOf(schema.$ref.startsWith('#/') ? resolvePointer(root, schema.$ref.slice(1)) : {}, root, depth + 1)
  for (const word of ['oneOf', 'anyOf'] as const) {
    const [first] = Array.isArray(schema[word]) ? schema[word] as unknown[] : []
    if (first !== undefined && schema.type === undefined) return sampleOf(first, root, depth + 1)
  }
  switch (typeOf(schema)) {
    case 'array':
      return Array.from({ length: numberOf(schema.minItems, 1) || 1 }, () => sampleOf(schema.items, root, depth + 1))
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
      return Object.fromEntries(members.map(name => [name, sampleOf(childOf(properties, name), root, depth + 1)]))
    }
  }
}

function typeOf ({ type, items }: Readonly<Record<string, unknown>>): unknown {
  return Array.isArray(type) ? type[0] : type ?? (items === undefined ? 'object' : 'array')
}

/** @returns the number, within bounds, or the default */
function numberOf (value: unknown, usual: number): number {
  return typeof value === 'number' && value >= 0 && value <= MEMBERS ? Math.max(value, 0) : usual
}

/** Rewrites a schema so that it compiles faster: repeated parts are compiled once. The result validates the same values. */
import type { Schema } from './schema-builder.js'

/** Characters of JSON below which a function call costs more than the code it saves. */
const WORTH = 200

/**
 * Moves the repeated parts of a schema to `$defs`.
 * @param schema its own `$defs` keep their names; the names of added definitions begin with `shared`
 */
export function shareRepeats (schema: Schema): Schema {
  const counts = new Map<string, number>()
  count(bare(schema) as Schema, counts)
  const names = new Map<string, string>()
  const definitions: Record<string, Schema> = {}
  const share = (value: unknown, isRoot: boolean): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(element => share(element, false))
    const key = isRoot ? null : repeated(value as Schema, counts)
    if (key === null) return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, share(child, false)]))
    let name = names.get(key)
    if (name === undefined) {
      name = `shared${names.size}`
      names.set(key, name)
      const { default: _, ...rest } = value as Schema
      definitions[name] = Object.fromEntries(Object.entries(rest).map(([member, child]) => [member, share(child, false)]))
    }
    const { default: initial } = value as Schema
    // The parent's schema fills in defaults, and looks for them here.
    return initial === undefined ? { $ref: `#/$defs/${name}` } : { $ref: `#/$defs/${name}`, default: initial }
  }
  const shared = share(bare(schema), true) as Schema
  return { ...shared, $defs: { ...shared.$defs, ...definitions } }
}

const FOR_READERS: ReadonlySet<string> = new Set(['description', 'deprecated', 'x-instead'])

/** Removes keys that are only for readers. */
function bare (value: unknown, inProperties = false): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(element => bare(element))
  const entries = Object.entries(value).filter(([name]) => inProperties || !FOR_READERS.has(name))
  return Object.fromEntries(entries.map(([name, part]) => [name, bare(part, !inProperties && (name === 'properties' || name === '$defs'))]))
}

function count (value: unknown, counts: Map<string, number>): void {
  if (typeof value !== 'object' || value === null) return
  const key = Array.isArray(value) ? null : keyOf(value as Schema)
  if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1)
  for (const child of Object.values(value)) count(child, counts)
}

/** Returns the key of a mapping's schema. Null for any other schema, or when the schema is too small. */
function keyOf ({ default: _, ...schema }: Schema): string | null {
  if (schema.type !== 'object' || typeof schema.properties !== 'object') return null
  const key = JSON.stringify(schema)
  return key.length < WORTH ? null : key
}

function repeated (schema: Schema, counts: ReadonlyMap<string, number>): string | null {
  const key = keyOf(schema)
  return key !== null && (counts.get(key) ?? 0) > 1 ? key : null
}

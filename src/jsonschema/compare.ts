/** Compares two versions of a JSON Schema: whether the new one accepts more, less, or other values. */
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '#wire/json/object.js'
import { isObject, own } from '#wire/json/object.js'
import { escapePointer } from '#wire/json/pointer.js'

/** One difference. `loosened`: more values are valid. `tightened`: fewer. `changed`: not known, so perhaps more. */
export interface SchemaDifference {
  readonly kind: 'loosened' | 'tightened' | 'changed'
  /** JSON Pointer in the schema. */
  readonly path: string
  /** The keyword, and what happened to its value. */
  readonly message: string
}

/** Keywords that validate nothing. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  '$comment', '$id', 'title', 'description', 'default', 'deprecated', 'readOnly', 'writeOnly', 'examples', '$defs', 'definitions'
])
const UPPER: ReadonlySet<string> = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties', 'maxContains'])
const LOWER: ReadonlySet<string> = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties', 'minContains'])
/** Keywords with one schema; absent is `true`. */
const ONE: ReadonlySet<string> = new Set([
  'additionalProperties', 'unevaluatedProperties', 'items', 'additionalItems', 'unevaluatedItems', 'contains', 'propertyNames', 'then',
  'else'
])
/** Maximum number of differences. */
const MAX_DIFFERENCES = 100

type Kind = SchemaDifference['kind']

const OPPOSITE: Readonly<Record<Kind, Kind>> = { loosened: 'tightened', tightened: 'loosened', changed: 'changed' }

/** Returns the differences, at most 100. None: both accept the same values, as far as keywords show. */
export function compareSchemas (old: unknown, now: unknown): SchemaDifference[] {
  const differences: SchemaDifference[] = []
  const add = (kind: Kind, path: string, message: string): void => {
    if (differences.length < MAX_DIFFERENCES) differences.push({ kind, path, message })
  }
  compare(old, now, '', add)
  return differences
}

type Add = (kind: Kind, path: string, message: string) => void

function compare (old: unknown, now: unknown, path: string, add: Add): void {
  if (isDeepStrictEqual(old, now)) return
  if (acceptsAll(now)) return acceptsAll(old) ? undefined : add('loosened', path, 'every value is valid now')
  if (now === false) return add('tightened', path, 'no value is valid any more')
  if (old === false) return add('loosened', path, 'no value was valid')
  if (acceptsAll(old)) return add('tightened', path, 'every value was valid')
  if (!isObject(old) || !isObject(now)) return add('changed', path, 'it is not a schema')
  for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) {
    const [a, b] = [own(old, key), own(now, key)]
    if (!isDeepStrictEqual(a, b) && !ANNOTATIONS.has(key)) keyword(key, old, now, `${path}/${escapePointer(key)}`, add)
  }
  // Definitions are used by reference.
  for (const key of ['$defs', 'definitions']) {
    const [a, b] = [own(old, key), own(now, key)]
    if (!isObject(a) || !isObject(b)) continue
    for (const name of Object.keys(a)) if (Object.hasOwn(b, name)) compare(a[name], b[name], `${path}/${key}/${escapePointer(name)}`, add)
  }
}

function keyword (key: string, old: JsonObject, now: JsonObject, path: string, add: Add): void {
  const [a, b] = [own(old, key), own(now, key)]
  if (ONE.has(key)) return compare(a ?? true, b ?? true, path, add)
  if (key === 'not') {
    return compare(
      a ?? false, b ?? false, path, (kind, at, message) => { add(OPPOSITE[kind], at, `under not: ${message}`) }
    )
  }
  if (key === 'properties') return properties(a, b, { old: old['additionalProperties'], now: now['additionalProperties'] }, { path, add })
  if (b === undefined) return add('loosened', path, `${key} is gone`)
  if (a === undefined) return add('tightened', path, `${key} is new`)
  if ((UPPER.has(key) || LOWER.has(key)) && typeof a === 'number' && typeof b === 'number') {
    return add((b > a) === UPPER.has(key) ? 'loosened' : 'tightened', path, `${key} is ${b} instead of ${a}`)
  }
  if (key === 'type') return set(typesOf(a), typesOf(b), { path, add, what: 'type', grows: 'loosened' })
  if (key === 'enum' && Array.isArray(a) && Array.isArray(b)) return set(a, b, { path, add, what: 'value of enum', grows: 'loosened' })
  if (key === 'required' && Array.isArray(a) && Array.isArray(b)) {
    return set(
      a, b, { path, add, what: 'required member', grows: 'tightened' }
    )
  }
  if (['allOf', 'anyOf', 'oneOf', 'prefixItems'].includes(key) && Array.isArray(a) && Array.isArray(b)) return list(key, a, b, path, add)
  add('changed', path, `${key} has changed`)
}

interface Place { readonly path: string, readonly add: Add }

function properties (old: unknown, now: unknown, others: { readonly old: unknown, readonly now: unknown }, { path, add }: Place): void {
  const [a, b] = [isObject(old) ? old : {}, isObject(now) ? now : {}]
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const at = `${path}/${escapePointer(name)}`
    if (!Object.hasOwn(b, name)) {
      if (others.now === false) add('tightened', at, 'the member is not allowed any more')
      else if (!acceptsAll(a[name])) add('loosened', at, 'the member is not validated any more')
    } else if (!Object.hasOwn(a, name)) {
      if (others.old === false) add('loosened', at, 'the member is allowed now')
      else if (!acceptsAll(b[name])) add('tightened', at, 'the member is validated now')
    } else compare(a[name], b[name], at, add)
  }
}

interface Sets extends Place {
  readonly what: string
  /** Effect of a new item. */
  readonly grows: 'loosened' | 'tightened'
}

function set (old: readonly unknown[], now: readonly unknown[], { path, add, what, grows }: Sets): void {
  const less = (values: readonly unknown[], other: readonly unknown[]): number =>
    values.filter(a => !other.some(b => isDeepStrictEqual(a, b))).length
  const [added, gone] = [less(now, old), less(old, now)]
  if (added > 0) add(grows, path, `${added} more: ${what}`)
  if (gone > 0) add(OPPOSITE[grows], path, `${gone} fewer: ${what}`)
}

function list (key: string, old: readonly unknown[], now: readonly unknown[], path: string, add: Add): void {
  if (old.length === now.length) return old.forEach((schema, i) => { compare(schema, now[i], `${path}/${i}`, add) })
  const grows = key === 'allOf' || key === 'prefixItems' ? 'tightened' : 'loosened'
  const common = Math.min(old.length, now.length)
  add(now.length > old.length ? grows : OPPOSITE[grows], path, `${key} has ${now.length} schemas instead of ${old.length}`)
  for (let i = 0; i < common; i++) compare(old[i], now[i], `${path}/${i}`, add)
}

/** `integer` is a part of `number`. */
function typesOf (value: unknown): string[] {
  const names = (Array.isArray(value) ? value : [value]).map(String)
  return names.includes('number') ? [...new Set([...names, 'integer'])] : names
}

function acceptsAll (schema: unknown): boolean {
  return schema === true || (isObject(schema) && Object.keys(schema).every(key => ANNOTATIONS.has(key)))
}

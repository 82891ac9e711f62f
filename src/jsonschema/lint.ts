/**
 * Checks a JSON Schema in one walk before it is compiled. Schemas come from cards, so they are untrusted. The walk bounds their size,
 * rejects what the gateway does not support for untrusted schemas (remote references, async validation, slow patterns) and reports the
 * place.
 */
import { quoted } from '#a2a/fields.js'
import { patternSize } from './pattern-size.js'
import { Patterns } from './regexp.js'
import { escapePointer, resolvePointer } from '#wire/json/pointer.js'

export interface SchemaProblem {
  /** JSON Pointer from the root of the schema, '' for the root. */
  readonly pointer: string
  readonly message: string
  /** Further problems of the same schema, so that its author can fix all at once. */
  readonly others?: readonly SchemaProblem[]
}

/** Maximum number of problems that are listed for one schema. */
const MAX_PROBLEMS = 10

export interface SchemaLimits { readonly nodes: number, readonly depth: number, readonly unfolded: number, readonly chain: number }

export const SCHEMA_LIMITS: SchemaLimits = { nodes: 5_000, depth: 64, unfolded: 50_000, chain: 500 }
/** Limits for schemas that the operator keeps in files. They apply to a schema together with all schemas that it refers to. */
export const FILE_LIMITS: SchemaLimits = { nodes: 20_000, depth: 64, unfolded: 200_000, chain: 500 }

/** Keywords whose value is one schema. */
const ONE = new Set([
  'additionalItems',
  'additionalProperties',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contentSchema'
])
/** Keywords whose value is a list of schemas. */
const SCHEMA_LIST_KEYWORDS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'])
/** Keywords whose value maps names to schemas, or to lists of names. */
const MAP = new Set(['$defs', 'definitions', 'dependentRequired', 'dependentSchemas', 'patternProperties', 'properties', 'dependencies'])
/** Keywords that store subschemas without applying them. A stored schema costs nothing until it is referenced. */
const STORED = new Set(['$defs', 'definitions'])

/** Keywords whose value maps property names to something. */
const NAMED = new Set(['properties', 'dependentSchemas', 'dependencies', 'dependentRequired'])
/** Names to which the validator's comparison of objects would give a special meaning. */
const UNCOMPARABLE = new Set(['constructor', 'toString', 'valueOf'])

const META_SCHEMAS = [
  'https://json-schema.org/draft/2020-12/schema',
  'https://json-schema.org/draft/2019-09/schema',
  'http://json-schema.org/draft-07/schema'
]

/** Meaning of a value. It depends on the path to the value, because a property may have the name `pattern` or `$ref`. */
export type Role = 'schema' | 'schemas' | 'map' | 'patterns' | 'constant' | 'other'

interface Walk {
  readonly patterns: Patterns
  readonly limits: SchemaLimits
  nodes: number
  /** Absolute URIs that identify a schema inside this one. */
  readonly ids: Set<string>
  readonly references: { readonly uri: string, readonly text: string, readonly pointer: string }[]
  readonly problems: SchemaProblem[]
  /** True when the walk ends early: the schema exceeds a limit, or has enough problems. */
  over: boolean
}

/** @returns the first problem with the others, or null when the schema may be compiled */
export function lintSchema (schema: unknown, patterns = new Patterns()): SchemaProblem | null {
  const linted = lintDocuments(ROOT, new Map([[ROOT, schema]]), SCHEMA_LIMITS, patterns)
  if (!('message' in linted)) return null
  const { uri: _, ...problem } = linted
  return problem
}

/**
 * Checks a schema that may refer to other schemas by URI.
 * @param entry URI of the schema itself
 * @param documents all available schemas, by URI without fragment; their own `$id` is ignored
 * @param patterns compiles the patterns
 * @returns the problems of the first document that has any, with its URI, or the documents that the entry needs
 */
export function lintDocuments (
  entry: string,
  documents: ReadonlyMap<string, unknown>,
  limits: SchemaLimits,
  patterns: Patterns
): (SchemaProblem & { readonly uri: string }) | ReadonlyMap<string, unknown> {
  const needed = new Map<string, unknown>([[entry, documents.get(entry)]])
  const uris = [...documents.keys(), ...META_SCHEMAS]
  let nodes = 0
  // The iteration includes entries that are added to the map during the loop.
  for (const [uri, schema] of needed) {
    const walk: Walk = { patterns, limits, nodes, ids: new Set(uris), references: [], problems: [], over: false }
    visit(schema, 'schema', { pointer: '', base: uri, depth: 0 }, walk)
    nodes = walk.nodes
    for (const { uri: target, text, pointer } of walk.references) {
      if (documents.has(target)) needed.set(target, documents.get(target))
      else if (!walk.ids.has(target)) {
        fail(
          walk,
          pointer,
          `the reference ${quoted(text, 200)} points outside ${documents.size > 1 ? 'the bundle' : 'the schema'}; the gateway fetches ` +
            'nothing, so copy the target into "$defs"'
        )
      }
    }
    const [first, ...others] = walk.problems
    if (first !== undefined) return { uri, ...first, ...(others.length === 0 ? {} : { others }) }
  }
  const problem = unfoldedSize(entry, needed, limits)
  return problem === null ? needed : { uri: entry, ...problem }
}

/** Base URI of a schema that names none. It contains only the schema itself. */
const ROOT = 'schema:/root'

function fail (walk: Walk, pointer: string, message: string): void {
  if (!walk.over) walk.problems.push({ pointer, message })
  walk.over ||= walk.problems.length === MAX_PROBLEMS
}

/** The schema exceeds a limit: the rest of it is not visited. */
function stopAt (walk: Walk, pointer: string, message: string): void {
  fail(walk, pointer, message)
  walk.over = true
}

interface SchemaPlace {
  readonly pointer: string
  /** URI that references here are relative to. */
  readonly base: string
  readonly depth: number
}

/** Visits every value, schema or not: every nested value counts towards the bounds. */
function visit (value: unknown, role: Role, { pointer, base, depth }: SchemaPlace, walk: Walk): void {
  if (walk.over) return
  if (++walk.nodes > walk.limits.nodes) return stopAt(walk, pointer, `the schema has more than ${walk.limits.nodes} values`)
  if (depth > walk.limits.depth) return stopAt(walk, pointer, `the schema is nested deeper than ${walk.limits.depth} levels`)
  if (typeof value === 'number' && !Number.isFinite(value)) return fail(walk, pointer, 'the number is outside the range of doubles')
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      visit(
        value[i],
        role === 'schemas' ? 'schema' : role === 'constant' ? role : 'other',
        { pointer: `${pointer}/${i}`, base, depth: depth + 1 },
        walk
      )
    }
    return
  }
  const object = value as Readonly<Record<string, unknown>>
  const isSchema = role === 'schema' || role === 'schemas'
  let inner = base
  if (Object.hasOwn(object, '$id') && typeof object.$id === 'string' && role !== 'constant' && role !== 'map') {
    inner = resolve(object.$id, base)
    walk.ids.add(inner)
  }
  for (const [key, child] of Object.entries(object)) {
    const at = `${pointer}/${escapePointer(key)}`
    if (isSchema) checkKeyword(key, child, at, inner, walk)
    if (role === 'patterns') checkPattern(key, at, walk)
    if (role === 'constant' && UNCOMPARABLE.has(key)) fail(walk, at, `a member named "${key}" inside "const" or "enum" is not supported`)
    visit(
      child,
      isSchema ? roleOf(key, child) : role === 'map' || role === 'patterns' ? 'schema' : role,
      { pointer: at, base: inner, depth: depth + 1 },
      walk
    )
  }
}

/** Meaning of the value of a keyword. */
export function roleOf (key: string, child: unknown): Role {
  if (SCHEMA_LIST_KEYWORDS.has(key) && Array.isArray(child)) return 'schemas'
  if (ONE.has(key)) return 'schema'
  if (key === 'patternProperties') return 'patterns'
  if (MAP.has(key)) return 'map'
  return key === 'const' || key === 'enum' ? 'constant' : 'other'
}

function checkKeyword (key: string, child: unknown, pointer: string, base: string, walk: Walk): void {
  if (key === '$async' && child === true) fail(walk, pointer, 'asynchronous schemas are not supported')
  if ((key === '$ref' || key === '$dynamicRef' || key === '$recursiveRef') && typeof child === 'string') {
    walk.references.push({ uri: resolve(child, base), text: child, pointer })
  }
  if (key === 'pattern' && typeof child === 'string') checkPattern(child, pointer, walk)
  // Ajv leaves this name out of its tables, so it would not check the property.
  if (NAMED.has(key) && typeof child === 'object' && child !== null && Object.hasOwn(child, '__proto__')) {
    fail(walk, `${pointer}/__proto__`, 'a property named "__proto__" is not supported')
  }
}

/** @returns the absolute URI without its fragment */
function resolve (reference: string, base: string): string {
  const plain = reference.replace(/#.*$/s, '')
  if (plain === '') return base
  try {
    return new URL(plain, base).href
  } catch {
    return plain
  }
}

function checkPattern (pattern: string, pointer: string, walk: Walk): void {
  try {
    walk.patterns.compile(pattern)
  } catch (error) {
    fail(walk, pointer, (error as Error).message)
  }
}

/**
 * Bounds the size of a schema after its references are followed. Thirty definitions that each name the next one twice are small to read and
 * take 2^30 steps to run. A cycle counts once here. Its cost depends on the data, and the evaluation bounds it.
 */
function unfoldedSize (entry: string, documents: ReadonlyMap<string, unknown>, limits: SchemaLimits): SchemaProblem | null {
  const memo = new Map<unknown, number>()
  const active = new Set<unknown>()
  const cost = (schema: unknown, depth: number, uri: string): number => {
    if (typeof schema !== 'object' || schema === null || active.has(schema)) return 1
    const cachedCost = memo.get(schema)
    if (cachedCost !== undefined) return cachedCost
    if (depth > limits.chain) return Number.POSITIVE_INFINITY
    active.add(schema)
    let total = 1
    for (const [key, child] of Object.entries(schema)) {
      if (STORED.has(key)) continue
      if (key === '$ref' && typeof child === 'string') total += follow(child, depth + 1, uri)
      else if (SCHEMA_LIST_KEYWORDS.has(key) && Array.isArray(child)) for (const member of child) total += cost(member, depth + 1, uri)
      else if (ONE.has(key)) total += cost(child, depth + 1, uri)
      else if (MAP.has(key) && typeof child === 'object' && child !== null) {
        for (const member of Object.values(child)) total += cost(member, depth + 1, uri)
      }
      if (total > limits.unfolded) break
    }
    active.delete(schema)
    memo.set(schema, total)
    return total
  }
  const follow = (reference: string, depth: number, uri: string): number => {
    const target = reference.startsWith('#') ? uri : resolve(reference, uri)
    const fragment = reference.replace(/^[^#]*/, '') || '#'
    return documents.has(target) ? cost(resolveLocal(documents.get(target), fragment), depth, target) : 1
  }
  const total = cost(documents.get(entry), 0, entry)
  if (total === Number.POSITIVE_INFINITY) {
    return { pointer: '', message: `the references of the schema form a chain longer than ${limits.chain}` }
  }
  return total > limits.unfolded
    ? { pointer: '', message: `the schema unfolds to more than ${limits.unfolded} steps when its references are followed` }
    : null
}

/** Counts the values in a schema, up to `limit`. */
export function countValues (schema: unknown, limit: number): number {
  const stack: unknown[] = [schema]
  let count = 0
  while (stack.length > 0 && count < limit) {
    const value = stack.pop()
    count++
    if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) stack.push(child)
  }
  return count
}

/** Instructions of a pattern that take as long to compile as one value of a schema. */
const PATTERN_PART = 10

/** Estimates the time to compile a schema, in values of an ordinary schema (0.3 ms each), up to `limit`. */
export function costOf (schema: unknown, limit: number): number {
  const stack: unknown[] = [schema]
  let cost = 0
  while (stack.length > 0 && cost < limit) {
    const value = stack.pop()
    cost++
    if (typeof value !== 'object' || value === null) continue
    for (const [key, child] of Object.entries(value)) {
      stack.push(child)
      if (key === 'pattern' && typeof child === 'string') cost += patternCost(child)
      if (key === 'patternProperties' && typeof child === 'object' && child !== null) {
        for (const pattern of Object.keys(child)) cost += patternCost(pattern)
      }
    }
  }
  return Math.min(cost, limit)
}

function patternCost (pattern: string): number {
  const { instructions, tables } = patternSize(pattern)
  return (instructions + tables) / PATTERN_PART
}

function resolveLocal (root: unknown, reference: string): unknown {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  return resolvePointer(root, decodeFragment(reference.slice(1)))
}

export function decodeFragment (fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

/**
 * One walk over a JSON Schema before it is compiled. Schemas come from cards, so they are untrusted: this bounds their size,
 * refuses what the gateway will not do for a stranger (remote references, async validation, slow patterns) and says where.
 */
import { compilePattern } from './regexp.js'

export interface SchemaProblem {
  /** JSON Pointer from the root of the schema, '' for the root. */
  readonly pointer: string
  readonly message: string
}

export const SCHEMA_LIMITS = { nodes: 5_000, depth: 64, unfolded: 50_000 } as const

/** Keywords whose value is one schema. */
const ONE = new Set(['additionalItems', 'additionalProperties', 'contains', 'else', 'if', 'items', 'not', 'propertyNames', 'then', 'unevaluatedItems', 'unevaluatedProperties', 'contentSchema'])
/** Keywords whose value is a list of schemas. */
const MANY = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'])
/** Keywords whose value maps names to schemas. */
const MAP = new Set(['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties', 'dependencies'])
/** Where sub-schemas are stored rather than applied: they cost nothing until referenced. */
const STORED = new Set(['$defs', 'definitions'])

const KNOWN_REMOTE = new Set([
  'https://json-schema.org/draft/2020-12/schema', 'https://json-schema.org/draft/2019-09/schema', 'http://json-schema.org/draft-07/schema', 'http://json-schema.org/draft-07/schema#'
])

interface Walk {
  nodes: number
  ids: boolean
  problem: SchemaProblem | null
}

/** @returns the first problem, or null when the schema may be compiled */
export function lintSchema (schema: unknown): SchemaProblem | null {
  const walk: Walk = { nodes: 0, ids: false, problem: null }
  visit(schema, '', 0, walk)
  if (walk.problem !== null) return walk.problem
  return unfoldedSize(schema)
}

function fail (walk: Walk, pointer: string, message: string): void {
  walk.problem ??= { pointer, message }
}

/** Visits every value, schema or not: whatever is nested counts towards the bounds. */
function visit (value: unknown, pointer: string, depth: number, walk: Walk): void {
  if (walk.problem !== null) return
  if (++walk.nodes > SCHEMA_LIMITS.nodes) return fail(walk, pointer, `the schema has more than ${SCHEMA_LIMITS.nodes} values`)
  if (depth > SCHEMA_LIMITS.depth) return fail(walk, pointer, `the schema is nested deeper than ${SCHEMA_LIMITS.depth} levels`)
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) visit(value[i], `${pointer}/${i}`, depth + 1, walk)
    return
  }
  for (const [key, child] of Object.entries(value)) {
    const at = `${pointer}/${escapePointer(key)}`
    if (key === '$async' && child === true) fail(walk, at, 'asynchronous schemas are not supported')
    if (key === '$ref' || key === '$dynamicRef' || key === '$recursiveRef') checkReference(child, at, walk)
    if (key === 'pattern' && typeof child === 'string') checkPattern(child, at, walk)
    if (key === 'patternProperties' && typeof child === 'object' && child !== null) {
      for (const pattern of Object.keys(child)) checkPattern(pattern, `${at}/${escapePointer(pattern)}`, walk)
    }
    if (key === '$id' && typeof child === 'string' && pointer !== '') walk.ids = true
    visit(child, at, depth + 1, walk)
  }
}

function checkReference (reference: unknown, pointer: string, walk: Walk): void {
  if (typeof reference !== 'string' || reference.startsWith('#')) return
  if (KNOWN_REMOTE.has(reference)) return
  // A reference to another document resolves only to an $id inside this schema; nothing is ever fetched.
  if (!walk.ids && /^[a-z][a-z0-9+.-]*:/i.test(reference)) fail(walk, pointer, `the reference ${JSON.stringify(reference.slice(0, 200))} leads out of the schema; nothing is fetched, so copy what it names into "$defs"`)
}

function checkPattern (pattern: string, pointer: string, walk: Walk): void {
  try {
    compilePattern(pattern)
  } catch (error) {
    fail(walk, pointer, (error as Error).message)
  }
}

/**
 * Bounds what a schema unfolds to when its references are followed: thirty definitions that each name the next twice are small to
 * read and 2^30 steps to run. Cycles count once; data bounds them, because a cycle that consumes no data overflows the stack at
 * once and is refused when it runs.
 */
function unfoldedSize (root: unknown): SchemaProblem | null {
  const memo = new Map<unknown, number>()
  const active = new Set<unknown>()
  const cost = (schema: unknown): number => {
    if (typeof schema !== 'object' || schema === null || active.has(schema)) return 1
    const known = memo.get(schema)
    if (known !== undefined) return known
    active.add(schema)
    let total = 1
    for (const [key, child] of Object.entries(schema)) {
      if (STORED.has(key)) continue
      if (key === '$ref' && typeof child === 'string') total += cost(resolveLocal(root, child))
      else if (MANY.has(key) && Array.isArray(child)) for (const one of child) total += cost(one)
      else if (ONE.has(key)) total += cost(child)
      else if (MAP.has(key) && typeof child === 'object' && child !== null) for (const one of Object.values(child)) total += cost(one)
      if (total > SCHEMA_LIMITS.unfolded) break
    }
    active.delete(schema)
    memo.set(schema, total)
    return total
  }
  return cost(root) > SCHEMA_LIMITS.unfolded
    ? { pointer: '', message: `the schema unfolds to more than ${SCHEMA_LIMITS.unfolded} steps when its references are followed` }
    : null
}

function resolveLocal (root: unknown, reference: string): unknown {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  return resolvePointer(root, decodeFragment(reference.slice(1)))
}

function decodeFragment (fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

/** RFC 6901; own properties only. @returns undefined where the pointer leads nowhere */
export function resolvePointer (root: unknown, pointer: string): unknown {
  let value = root
  if (pointer === '') return value
  for (const raw of pointer.slice(1).split('/')) {
    const key = raw.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

export function escapePointer (key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

/**
 * Schemas of the operator, compiled once in a process. Most agents of a gateway have the same policies, the agents use the schemas that the
 * check of the configuration has compiled, and a reload brings most of them again. Schemas of cards are not shared: agents do not trust
 * each other.
 */
import { createHash } from 'node:crypto'
import { Patterns } from './regexp.js'
import type { CompileResult } from './schema.js'
import { compileSchema } from './schema.js'
import type { Formats } from './ajv.js'

/** By key. A schema that no agent uses any more goes away. */
const shared = new Map<string, WeakRef<CompileResult>>()
const gone = new FinalizationRegistry<string>(key => { if (shared.get(key)?.deref() === undefined) shared.delete(key) })

/** Compiles a schema of the operator, or returns the compiled form of an equal one. */
export function compileShared (schema: unknown, formats: Formats = 'assert'): CompileResult {
  const key = schemaKey(schema, formats)
  const compileResult = shared.get(key)?.deref()
  if (compileResult !== undefined) return compileResult
  const result = compileSchema(schema, new Patterns(), formats)
  shared.set(key, new WeakRef(result))
  gone.register(result, key)
  return result
}

const digests = new WeakMap<object, string>()

/** Key of a schema, from its content and its treatment of `format`. */
export function schemaKey (schema: unknown, formats: Formats): string {
  return `${formats} ${digestOf(schema)}`
}

function digestOf (schema: unknown): string {
  const isObject = typeof schema === 'object' && schema !== null
  let digest = isObject ? digests.get(schema) : undefined
  if (digest === undefined) {
    digest = createHash('sha256').update(JSON.stringify(schema) ?? 'undefined').digest('base64')
    if (isObject) digests.set(schema, digest)
  }
  return digest
}

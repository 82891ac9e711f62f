/** Compiles a schema from a file, together with the schemas of its set that it refers to. */
import type { JsonSchemaConfig, SchemaRef, SchemaSet } from '#config/model/model.js'
import type { Draft, Formats } from './ajv.js'
import type { Program } from './bytes/program.js'
import { programFor } from './bytes/program.js'
import type { CompileResult } from './schema.js'
import { formatsOf } from './format-assertion.js'
import { compileLinted } from './schema.js'
import { metaProblem } from './meta-schema.js'
import { Patterns } from './regexp.js'
import { decodeFragment, FILE_LIMITS, lintDocuments } from './lint.js'
import { resolvePointer } from '#wire/json/pointer.js'
import { isObject } from '#wire/json/object.js'
import { draftOf } from './ajv.js'

/** Compiled schemas by set. The gateway reads a set once per configuration, and all agents of the configuration share it. */
const compiled = new WeakMap<SchemaSet, Map<string, CompileResult>>()

/**
 * Compiles a schema of a set, once. Problems name the file before the pointer: `schemas/order.json#/properties/id`.
 * @param setting of the agent, for a schema whose document states its `$schema`
 */
export function compileRef ({ ref, set }: SchemaRef, setting: JsonSchemaConfig['formats'] = 'draft'): CompileResult {
  let results = compiled.get(set)
  if (results === undefined) compiled.set(set, results = new Map())
  const formats = formatsOf(set.documents.get(ref.split('#', 1)[0] ?? '')?.schema, setting, true)
  const key = `${formats} ${ref}`
  let result = results.get(key)
  if (result === undefined) results.set(key, result = compileNew(ref, set, formats))
  return result
}

/** The program of a schema that `compileRef` has compiled. @returns null when the schema has none */
export function programOfRef ({ ref, set }: SchemaRef, setting: JsonSchemaConfig['formats'] = 'draft'): Program | null {
  const [entry = '', fragment = ''] = ref.split('#', 2)
  const document = set.documents.get(entry)?.schema
  return programFor(document, formatsOf(document, setting, true), decodeFragment(fragment))
}

function compileNew (ref: string, set: SchemaSet, formats: Formats): CompileResult {
  const [entry = '', fragment = ''] = ref.split('#', 2)
  const failure = (uri: string, pointer: string, message: string): CompileResult => ({
    ok: false,
    problem: { pointer: `${set.documents.get(uri)?.file ?? uri}#${pointer}`, message }
  })
  const first = set.documents.get(entry)?.schema
  if (fragment !== '' && resolvePointer(first, decodeFragment(fragment)) === undefined) {
    return failure(entry, fragment, 'the pointer does not resolve')
  }
  const bare = new Map([...set.documents].map(([uri, { schema }]) => [uri, withoutNames(schema)]))
  const patterns = new Patterns()
  const needed = lintDocuments(entry, bare, FILE_LIMITS, patterns)
  if ('message' in needed) return failure(needed.uri, needed.pointer, needed.message)
  const draft = set.draft ?? draftOfDocument(first)
  if (draft === null) return failure(entry, '/$schema', 'the "$schema" is not one of draft-07, 2019-09 and 2020-12')
  for (const [uri, schema] of needed) {
    if (set.draft === null && draftOfDocument(set.documents.get(uri)?.schema) !== draft) {
      return failure(
        uri,
        '/$schema',
        `does not use the draft of ${set.documents.get(entry)?.file ?? entry}, ` +
          `${draft}; give the bundle a draft, or the files the same "$schema"`
      )
    }
    if (!isSchema(schema)) return failure(uri, '', 'a JSON Schema is an object or a boolean')
    const invalid = metaProblem(schema, draft)
    if (invalid !== null) return failure(uri, invalid.pointer, invalid.message)
  }
  const result = compileLinted({ $ref: ref }, draft, patterns, { documents: needed, formats })
  return result.ok ? result : failure(entry, result.problem.pointer, result.problem.message)
}

/** Removes `$id` and `$schema`. The set identifies a document by its place, not by its own name. */
function withoutNames (schema: unknown): unknown {
  if (!isObject(schema)) return schema
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== '$id' && key !== '$schema'))
}

function draftOfDocument (schema: unknown): Draft | null {
  return typeof schema === 'object' && schema !== null ? draftOf(schema) : '2020-12'
}

function isSchema (schema: unknown): boolean {
  return typeof schema === 'boolean' || isObject(schema)
}

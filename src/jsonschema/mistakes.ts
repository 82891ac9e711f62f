/**
 * Finds mistakes in a schema of the operator that JSON Schema accepts: keywords and formats that no validator knows are annotations, so a
 * misspelt keyword validates nothing. Schemas of cards and of bundles come from other authors and may contain any annotation.
 */
import { nearest } from '#wire/nearest.js'
import { escapePointer } from '#wire/json/pointer.js'
import type { Draft } from './ajv.js'
import type { Role } from './lint.js'
import { roleOf } from './lint.js'
import { draftOf } from './ajv.js'

export interface SchemaMistake {
  /** JSON Pointer from the root of the schema. */
  readonly pointer: string
  readonly message: string
  readonly hint: string
}

/**
 * Keywords of all drafts. `definitions`, `dependencies`, `$defs` and `deprecated` work in each draft. ajv-formats adds `formatMinimum` and
 * the like.
 */
const COMMON = [
  '$comment', '$defs', '$id', '$ref', '$schema', 'additionalProperties', 'allOf', 'anyOf', 'const', 'contains', 'contentEncoding',
  'contentMediaType', 'default', 'definitions', 'dependencies', 'deprecated', 'description', 'else', 'enum', 'examples',
  'exclusiveMaximum', 'exclusiveMinimum', 'format', 'formatExclusiveMaximum', 'formatExclusiveMinimum', 'formatMaximum', 'formatMinimum',
  'if', 'items', 'maxItems', 'maxLength', 'maxProperties', 'maximum', 'minItems',
  'minLength', 'minProperties', 'minimum', 'multipleOf', 'not', 'oneOf', 'pattern', 'patternProperties', 'properties', 'propertyNames',
  'readOnly', 'required', 'then', 'title', 'type', 'uniqueItems', 'writeOnly'
]

const FROM_2019 = [
  '$anchor', '$vocabulary', 'contentSchema', 'dependentRequired', 'dependentSchemas', 'maxContains', 'minContains', 'unevaluatedItems',
  'unevaluatedProperties'
]

/** Keywords by draft (JSON Schema draft-07 section 10, 2019-09 and 2020-12 Core and Validation). */
export const KEYWORDS_OF: Readonly<Record<Draft, ReadonlySet<string>>> = {
  'draft-07': new Set([...COMMON, 'additionalItems']),
  '2019-09': new Set([...COMMON, ...FROM_2019, '$recursiveAnchor', '$recursiveRef', 'additionalItems']),
  '2020-12': new Set([...COMMON, ...FROM_2019, '$dynamicAnchor', '$dynamicRef', 'prefixItems'])
}

/** Formats of JSON Schema, and those that the validator adds (ajv-formats). */
export const KNOWN_FORMATS: ReadonlySet<string> = new Set([
  'binary', 'byte', 'date', 'date-time', 'double', 'duration', 'email', 'float', 'hostname', 'idn-email', 'idn-hostname', 'int32',
  'int64', 'ipv4', 'ipv6', 'iri', 'iri-reference', 'iso-date-time', 'iso-time', 'json-pointer', 'json-pointer-uri-fragment', 'password',
  'regex', 'relative-json-pointer', 'time', 'uri', 'uri-reference', 'uri-template', 'url', 'uuid'
])

/** Keywords of OpenAPI 3.0 that JSON Schema writes differently, and other spellings that authors expect. */
const INSTEAD: Readonly<Record<string, string>> = {
  nullable: 'write type: [string, "null"]',
  example: 'write examples, a list',
  discriminator: 'write oneOf with a const in each branch',
  optional: 'a property is optional unless required lists its name',
  additionalItems: 'with prefixItems, items applies to the other items'
}

/** Maximum number of reported mistakes of one schema. */
const MAX_MISTAKES = 20

/**
 * Lists the mistakes of a schema that compiles.
 * @returns at most 20 mistakes, in the order of the schema
 */
export function mistakesIn (schema: unknown): SchemaMistake[] {
  const draft = typeof schema === 'object' && schema !== null ? draftOf(schema) : null
  const mistakes: SchemaMistake[] = []
  if (draft !== null) visit(schema, 'schema', '', draft, mistakes)
  return mistakes
}

function visit (value: unknown, role: Role, pointer: string, draft: Draft, schemaMistakes: SchemaMistake[]): void {
  if (typeof value !== 'object' || value === null || role === 'constant' || role === 'other' || schemaMistakes.length >= MAX_MISTAKES) return
  if (Array.isArray(value)) {
    if (role === 'schemas') value.forEach((schema, index) => { visit(schema, 'schema', `${pointer}/${index}`, draft, schemaMistakes) })
    return
  }
  for (const [key, child] of Object.entries(value)) {
    const at = `${pointer}/${escapePointer(key)}`
    if (role !== 'schema') visit(child, 'schema', at, draft, schemaMistakes)
    else if (!KEYWORDS_OF[draft].has(key) && !key.startsWith('x-')) schemaMistakes.push({ pointer: at, ...unknownKeyword(key, draft) })
    else if (key === 'format') schemaMistakes.push(...unknownFormat(child, at))
    else visit(child, roleOf(key, child), at, draft, schemaMistakes)
  }
}

function unknownKeyword (key: string, draft: Draft): Pick<SchemaMistake, 'message' | 'hint'> {
  const name = JSON.stringify(key.slice(0, MAX_NAME_CHARS))
  const other = (Object.keys(KEYWORDS_OF) as Draft[]).find(draft => KEYWORDS_OF[draft].has(key))
  const near = nearest(key, [...KEYWORDS_OF[draft]])
  return {
    message: `${name} is not a keyword of JSON Schema ${draft}`,
    hint:
      (Object.hasOwn(INSTEAD, key) ? INSTEAD[key] : undefined) ??
      (other === undefined ? undefined : `it belongs to ${other}: set "$schema"`) ??
      (near === null ? 'remove it; an annotation begins with "x-"' : `did you mean "${near}"?`)
  }
}

function unknownFormat (format: unknown, pointer: string): SchemaMistake[] {
  if (typeof format !== 'string' || KNOWN_FORMATS.has(format)) return []
  const near = nearest(format, [...KNOWN_FORMATS])
  return [{
    pointer,
    message: `${JSON.stringify(format.slice(0, MAX_NAME_CHARS))} is not a format that the gateway knows`,
    hint: near === null ? 'write pattern instead' : `did you mean "${near}"?`
  }]
}

/** Maximum characters of a name in a message. */
const MAX_NAME_CHARS = 60

/**
 * JSON Schema for data that strangers send against schemas that strangers wrote. Drafts 07, 2019-09 and 2020-12 by `$schema`,
 * 2020-12 where it is absent. Compiled when a card or policy is loaded, never per request.
 */
import { createRequire } from 'node:module'
import type { Ajv, AnySchema, ErrorObject, Options, ValidateFunction } from 'ajv'
import type * as Ajv07Module from 'ajv'
import type * as Ajv2019Module from 'ajv/dist/2019.js'
import type * as Ajv2020Module from 'ajv/dist/2020.js'
import type * as Formats from 'ajv-formats'
import { memberPath, visible } from '../a2a/fields.js'
import { replaceKeywords, step, TooManySteps, withSteps } from './json-keywords.js'
import type { Matcher } from './regexp.js'
import { compilePattern } from './regexp.js'
import type { SchemaProblem } from './schema-lint.js'
import { lintSchema } from './schema-lint.js'
import { parsePointer } from '../wire/json-pointer.js'

// Ajv and its formats are loaded with the first schema: a start without any does without them (measured: 56 ms of processor time, 70 imported).
const require = createRequire(import.meta.url)

export interface DataViolation {
  /** Path from the validated value, to be appended to its own path: `.a[0]["odd name"]`, '' for the value itself. */
  readonly path: string
  /** What was expected; never what was sent. */
  readonly message: string
}

export interface CompiledSchema {
  /** @returns null when the value is valid, else up to `MAX_VIOLATIONS` violations */
  validate (value: unknown): readonly DataViolation[] | null
  /** @returns null when it takes too many steps to tell */
  matches (value: unknown): boolean | null
}

export type CompileResult = { readonly ok: true, readonly schema: CompiledSchema } | { readonly ok: false, readonly problem: SchemaProblem }

export const MAX_VIOLATIONS = 20

export type Draft = '2020-12' | '2019-09' | 'draft-07'

const META: Readonly<Record<Draft, string>> = {
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
  '2019-09': 'https://json-schema.org/draft/2019-09/schema',
  'draft-07': 'http://json-schema.org/draft-07/schema'
}

const DRAFTS: ReadonlyMap<string, Draft> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'],
  ['https://json-schema.org/draft/2019-09/schema', '2019-09'],
  ['http://json-schema.org/draft-07/schema', 'draft-07'],
  ['https://json-schema.org/draft-07/schema', 'draft-07']
])

/** Microseconds for a character and an instruction of the compiled pattern, at the worst (measured: 22 for a character of 1,000 instructions). */
const PATTERN_STEP = 1 / 45

/** Linear in the text, but a pattern that counts to 500 may take a hundred times as long as another. */
const regExp = Object.assign((pattern: string): Matcher => {
  const matcher = compilePattern(pattern)
  const each = Math.max(8, matcher.size) * PATTERN_STEP
  return {
    test: text => {
      step(1 + text.length * each)
      return matcher.test(text)
    },
    toString: () => pattern
  }
}, { code: 'compilePattern' })

const OPTIONS: Options = {
  // `{required: ["constructor"]}` must not be met by Object.prototype.
  ownProperties: true,
  // Unknown keywords and formats are annotations (2020-12 §6.5): published schemas are full of them.
  strictSchema: false,
  strictTypes: false,
  strictRequired: false,
  strictTuples: false,
  strictNumbers: true,
  allowUnionTypes: true,
  // The schema is checked against its meta-schema once, by a shared instance.
  validateSchema: false,
  // Without it Ajv cannot resolve "#" in a schema that has no $id. The instance holds this one schema only.
  addUsedSchema: true,
  // Larger ones would be compiled again at every reference.
  inlineRefs: 10,
  logger: false,
  code: { regExp }
}

function create (draft: Draft, allErrors: boolean): Ajv {
  const options = { ...OPTIONS, allErrors }
  const ajv = newAjv(draft, options)
  const { default: addFormats } = require('ajv-formats') as typeof Formats
  addFormats.default(ajv as unknown as Parameters<typeof addFormats.default>[0])
  // Not JSON Schema's; its expression is quadratic (measured: 19 s for 50,000 characters, where `uri` takes 5 ms).
  ajv.addFormat('url', ajv.formats.uri ?? true)
  replaceKeywords(ajv as unknown as Ajv)
  return ajv as unknown as Ajv
}

function newAjv (draft: Draft, options: Options) {
  switch (draft) {
    case '2020-12': return new (require('ajv/dist/2020.js') as typeof Ajv2020Module).Ajv2020(options)
    case '2019-09': return new (require('ajv/dist/2019.js') as typeof Ajv2019Module).Ajv2019(options)
    case 'draft-07': return new (require('ajv') as typeof Ajv07Module).Ajv(options)
  }
}

const metaValidators = new Map<Draft, Ajv>()

function metaValidator (draft: Draft): Ajv {
  let ajv = metaValidators.get(draft)
  if (ajv === undefined) {
    ajv = create(draft, false)
    metaValidators.set(draft, ajv)
  }
  return ajv
}

/** Compiles an untrusted schema; every failure names the place in the schema. Nothing is fetched. */
export function compileSchema (schema: unknown): CompileResult {
  if (typeof schema === 'boolean') return { ok: true, schema: { validate: () => schema ? null : [{ path: '', message: 'is not allowed here' }], matches: () => schema } }
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return failure('', 'a JSON Schema is an object or a boolean')
  const draft = draftOf(schema)
  if (draft === null) return failure('/$schema', 'the "$schema" is not one of draft-07, 2019-09 and 2020-12')
  const lint = lintSchema(schema)
  if (lint !== null) return { ok: false, problem: lint }
  const invalid = metaProblem(schema, draft)
  return invalid === null ? compileLinted(schema, draft) : { ok: false, problem: invalid }
}

/** @returns where the schema breaks the rules of its draft, or null */
export function metaProblem (schema: unknown, draft: Draft): SchemaProblem | null {
  try {
    const meta = metaValidator(draft)
    if (meta.validate(META[draft], schema) === true) return null
    const error = meta.errors?.[0]
    return { pointer: error?.instancePath ?? '', message: `not valid against its meta-schema: ${clip(error?.message ?? 'unknown error')}` }
  } catch (error) {
    return { pointer: '', message: clip((error as Error).message) }
  }
}

/**
 * Compiles a schema that has been looked through.
 * @param documents what it may refer to, by URI
 */
export function compileLinted (schema: object, draft: Draft, documents: ReadonlyMap<string, unknown> = NO_DOCUMENTS): CompileResult {
  try {
    // Two validators: the first stops at the first error, so that bad data costs no more than good data; the second lists them all.
    const quick = compileWith(draft, false, schema, documents)
    const full = compileWith(draft, true, schema, documents)
    return { ok: true, schema: { validate: value => run(quick, full, value), matches: value => matches(quick, value) } }
  } catch (error) {
    return failure('', clip((error as Error).message))
  }
}

const NO_DOCUMENTS: ReadonlyMap<string, unknown> = new Map()

function failure (pointer: string, message: string): CompileResult {
  return { ok: false, problem: { pointer, message } }
}

/** @returns null for a `$schema` that is none of them */
export function draftOf (schema: object): Draft | null {
  const declared = (schema as { $schema?: unknown }).$schema
  if (declared === undefined) return '2020-12'
  return typeof declared === 'string' ? DRAFTS.get(declared.replace(/#$/, '')) ?? null : null
}

/** A fresh instance per schema: one agent's `$id` can neither clash with another's nor be reached from it. */
function compileWith (draft: Draft, allErrors: boolean, schema: object, documents: ReadonlyMap<string, unknown>): ValidateFunction {
  const ajv = create(draft, allErrors)
  for (const [uri, document] of documents) ajv.addSchema(document as AnySchema, uri)
  const validate = ajv.compile(schema)
  if ('$async' in validate && validate.$async === true) throw new Error('asynchronous schemas are not supported')
  return validate
}

/** Steps that one validation may take: far above what honest data needs, and about a second. */
export const MAX_STEPS = 1_000_000
/** Data of more values than this is not walked a second time for a longer list of errors, nor one that takes more steps than this. */
const FULL_LIST_LIMIT = 2_000
const FULL_LIST_STEPS = 20_000

function matches (validate: ValidateFunction, value: unknown): boolean | null {
  try {
    return withSteps(MAX_STEPS, () => validate(value)) === true
  } catch {
    return null
  }
}

function run (quick: ValidateFunction, full: ValidateFunction, value: unknown): readonly DataViolation[] | null {
  let first: readonly ErrorObject[]
  try {
    if (withSteps(MAX_STEPS, () => quick(value)) === true) return null
    first = quick.errors ?? []
  } catch (error) {
    // Fail closed. Anything else than too many steps is recursion that consumes no data, or deeper than the stack.
    return [{ path: '', message: error instanceof TooManySteps ? 'could not be validated: the schema takes too many steps on data like this' : 'could not be validated: the schema recurses without end, or the data is nested too deeply for it' }]
  }
  if (!smallerThan(value, FULL_LIST_LIMIT)) return describe(first)
  try {
    return withSteps(FULL_LIST_STEPS, () => full(value)) === true ? describe(first) : describe(full.errors ?? first)
  } catch {
    return describe(first)
  }
}

function describe (errors: readonly ErrorObject[]): DataViolation[] {
  const found: DataViolation[] = []
  const seen = new Set<string>()
  for (const error of errors) {
    // Follow-up errors of these say less than the errors of the branches listed beside them.
    if (error.keyword === 'if' && errors.length > 1) continue
    const violation = { path: pathOf(error), message: messageOf(error) }
    const key = `${violation.path} ${violation.message}`
    if (seen.has(key)) continue
    seen.add(key)
    found.push(violation)
    if (found.length === MAX_VIOLATIONS) break
  }
  return found.length > 0 ? found : [{ path: '', message: 'does not match its schema' }]
}

function pathOf (error: ErrorObject): string {
  let path = toPath(error.instancePath)
  const params = error.params as Record<string, unknown>
  const member = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty ?? params.propertyName ?? error.propertyName
  if (typeof member === 'string') path = memberPath(path === '' ? '\u0000' : path, member).replace('\u0000', '')
  return path
}

function toPath (pointer: string): string {
  let path = '\u0000'
  for (const key of parsePointer(pointer)) path = /^(?:0|[1-9]\d{0,9})$/.test(key) ? `${path}[${key}]` : memberPath(path, key)
  return path.replace('\u0000', '')
}

/** Ajv's words name what the schema wants, not what was sent; for closed sets the set is added. */
function messageOf (error: ErrorObject): string {
  const params = error.params as Record<string, unknown>
  if (error.propertyName !== undefined) return clip(`is a name that ${error.message ?? 'is not allowed'}`)
  switch (error.keyword) {
    case 'propertyNames': return 'is not a name the schema allows'
    case 'required': case 'dependentRequired': return 'is required'
    case 'additionalProperties': case 'unevaluatedProperties': return 'is not a property the schema allows'
    case 'enum': return `must be one of ${clip(JSON.stringify(params.allowedValues))}`
    case 'const': return `must be ${clip(JSON.stringify(params.allowedValue))}`
    case 'uniqueItems': return 'must not hold equal items'
    case 'false schema': return 'is not allowed here'
    default: return clip(error.message ?? `breaks "${error.keyword}"`)
  }
}

/** Words of the schema's author, who is a stranger too. */
function clip (text: string): string {
  return visible(text, 200)
}

function smallerThan (value: unknown, limit: number): boolean {
  const stack: unknown[] = [value]
  let seen = 0
  while (stack.length > 0) {
    const item = stack.pop()
    if (++seen > limit) return false
    if (typeof item !== 'object' || item === null) continue
    const children = Array.isArray(item) ? item : Object.values(item)
    if (seen + children.length > limit) return false
    for (let i = 0; i < children.length; i++) stack.push(children[i])
  }
  return true
}

/**
 * JSON Schema for untrusted data against untrusted schemas. `$schema` selects draft 07, 2019-09 or 2020-12; the default is 2020-12. Schemas
 * are compiled when a card or policy is loaded, never per request.
 */
import type { Ajv, AnySchema, ErrorObject, ValidateFunction } from 'ajv'
import { memberPath } from '#a2a/fields.js'
import { clip, create, draftOf, mayReadInherited } from './ajv.js'
import type { Draft, Formats } from './ajv.js'
import { errorText } from './error-text.js'
import { InexactNumber, inexactPath, infinitePath, MAX_STEPS, NOT_EXACT, stepsLeft, TooManySteps, withSteps } from './evaluation.js'
import { metaProblem } from './meta-schema.js'
import { Patterns } from './regexp.js'
import type { Role, SchemaProblem } from './lint.js'
import { lintSchema, roleOf } from './lint.js'
import { parsePointer } from '#wire/json/pointer.js'
import { isObject } from '#wire/json/object.js'

export interface DataViolation {
  /** Path from the validated value, to append to the path of that value: `.a[0]["odd name"]`, '' for the value itself. */
  readonly path: string
  /** The expected value; never the value that was sent. */
  readonly message: string
}

export interface CompiledSchema {
  /** @returns null when the value is valid, otherwise up to `MAX_VIOLATIONS` violations */
  validate (value: unknown): readonly DataViolation[] | null
  /** @returns null when the decision takes too many steps */
  matches (value: unknown): boolean | null
}

export type CompileResult = { readonly ok: true, readonly schema: CompiledSchema } | { readonly ok: false, readonly problem: SchemaProblem }

export const MAX_VIOLATIONS = 20

/**
 * Compiles an untrusted schema. Every failure names the place in the schema. The function fetches nothing.
 * @param patterns compiles the patterns of the schema, and holds them afterwards
 * @param formats treatment of `format` (`formatsOf`)
 */
export function compileSchema (schema: unknown, patterns = new Patterns(), formats: Formats = 'assert'): CompileResult {
  if (typeof schema === 'boolean') {
    return { ok: true, schema: { validate: () => (schema ? null : [{ path: '', message: 'is not allowed here' }]), matches: () => schema } }
  }
  const checked = checkSchema(schema, patterns)
  return 'message' in checked ? { ok: false, problem: checked } : compileLinted(checked.schema, checked.draft, patterns, { formats })
}

/** Checks everything that must hold before a schema, other than a boolean, can be compiled. */
export function checkSchema (schema: unknown, patterns: Patterns): SchemaProblem | { readonly schema: object, readonly draft: Draft } {
  if (!isObject(schema)) return { pointer: '', message: 'a JSON Schema is an object or a boolean' }
  const draft = draftOf(schema)
  if (draft === null) return { pointer: '/$schema', message: 'the "$schema" is not one of draft-07, 2019-09 and 2020-12' }
  return lintSchema(schema, patterns) ?? metaProblem(schema, draft) ?? { schema, draft }
}

/**
 * Compiles a schema that `lintDocuments` or `checkSchema` has accepted.
 * @param options `documents`: other schemas that it may refer to, by URI
 */
export function compileLinted (
  schema: object,
  draft: Draft,
  patterns: Patterns,
  { documents = NO_DOCUMENTS, formats }: { readonly documents?: ReadonlyMap<string, unknown>, readonly formats: Formats }
): CompileResult {
  const options = { formats, ownProperties: mayReadInherited([schema, ...documents.values()]) }
  try {
    return { ok: true, schema: validatorOf(allErrors => compileWith(create(draft, allErrors, patterns, options), schema, documents)) }
  } catch (error) {
    return failure('', clip((error as Error).message))
  }
}

const NO_DOCUMENTS: ReadonlyMap<string, unknown> = new Map()

function failure (pointer: string, message: string): CompileResult {
  return { ok: false, problem: { pointer, message } }
}

/**
 * Creates two validators. The first stops at the first error, so that bad data costs no more than good data. The second lists all errors.
 */
export function validatorOf (compile: (allErrors: boolean) => ValidateFunction): CompiledSchema {
  const quick = compile(false)
  const full = compile(true)
  return { validate: value => run(quick, full, value), matches: value => matches(quick, value) }
}

/** @param ajv a new instance per schema: the `$id` of one agent can neither clash with that of another nor be reached from it */
export function compileWith (ajv: Ajv, schema: object, documents: ReadonlyMap<string, unknown> = NO_DOCUMENTS): ValidateFunction {
  for (const [uri, document] of documents) ajv.addSchema(withoutNullable(document) as AnySchema, uri)
  const validate = ajv.compile(withoutNullable(schema) as AnySchema)
  if ('$async' in validate && validate.$async === true) throw new Error('asynchronous schemas are not supported')
  return validate
}

/**
 * Leaves out `nullable`, which is a keyword of OpenAPI 3.0 and an annotation in JSON Schema. Ajv accepts null beside it, and rejects a
 * schema that has it without `type`. Values of other unknown keywords may be schemas too: references can lead there.
 */
function withoutNullable (schema: unknown): unknown {
  return JSON.stringify(schema).includes('"nullable"') ? filtered(schema, 'schema') : schema
}

function filtered (value: unknown, role: Role): unknown {
  if (typeof value !== 'object' || value === null || role === 'constant') return value
  if (Array.isArray(value)) return value.map(element => filtered(element, 'schema'))
  const areNames = role === 'map' || role === 'patterns'
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => areNames || key !== 'nullable')
      .map(([key, child]) => [key, filtered(child, areNames ? 'schema' : roleOf(key, child))])
  )
}

/**
 * Limits for the second run that produces a longer list of errors. Larger data is not validated a second time, and the second run stops
 * after this many steps.
 */
const FULL_LIST_LIMIT = 2_000
const FULL_LIST_STEPS = 10_000

function matches (validate: ValidateFunction, value: unknown): boolean | null {
  try {
    return infinitePath(value) === null ? withSteps(MAX_STEPS, () => validate(value)) === true : null
  } catch {
    return null
  }
}

function run (quick: ValidateFunction, full: ValidateFunction, value: unknown): readonly DataViolation[] | null {
  let first: readonly ErrorObject[]
  if (stepsLeft() < 0) return NO_STEPS_LEFT
  const infinite = infinitePath(value)
  if (infinite !== null) return [{ path: pathTo(infinite), message: NOT_EXACT }]
  try {
    if (withSteps(MAX_STEPS, () => quick(value)) === true) return null
    first = quick.errors ?? []
  } catch (error) {
    return [notValidated(error, value)]
  }
  // The cost of a longer list must leave enough steps for the rules that follow.
  if (stepsLeft() < MAX_STEPS / 2 || !smallerThan(value, FULL_LIST_LIMIT)) return violationsOf(first)
  try {
    return withSteps(FULL_LIST_STEPS, () => full(value)) === true ? violationsOf(first) : violationsOf(full.errors ?? first)
  } catch {
    return violationsOf(first)
  }
}

const NO_STEPS_LEFT: readonly DataViolation[] = [
  { path: '', message: 'could not be validated: earlier checks used up the steps; send less data' }
]

/** Fail closed. Any error other than too many steps is recursion that consumes no data, or recursion deeper than the stack. */
function notValidated (error: unknown, value: unknown): DataViolation {
  if (error instanceof InexactNumber) {
    return { path: error.pointer === null ? pathTo(inexactPath(value) ?? []) : toPath(error.pointer), message: NOT_EXACT }
  }
  if (error instanceof TooManySteps) {
    return { path: '', message: 'could not be validated: the schema takes too many steps on data like this' }
  }
  return { path: '', message: 'could not be validated: the schema recurses without end, or the data is nested too deeply for it' }
}

function violationsOf (errors: readonly ErrorObject[]): DataViolation[] {
  const dataViolations: DataViolation[] = []
  const keys = new Set<string>()
  for (const error of errors) {
    // The follow-up error of `if` contains less than the errors of the branches beside it.
    if (error.keyword === 'if' && errors.length > 1) continue
    const violation = { path: pathOf(error), message: messageOf(error) }
    const key = `${violation.path} ${violation.message}`
    if (keys.has(key)) continue
    keys.add(key)
    dataViolations.push(violation)
    if (dataViolations.length === MAX_VIOLATIONS) break
  }
  return dataViolations.length > 0 ? dataViolations : [{ path: '', message: 'does not match its schema' }]
}

function pathOf (error: ErrorObject): string {
  let path = toPath(error.instancePath)
  const params = error.params as Record<string, unknown>
  const member =
    params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty ?? params.propertyName ?? error.propertyName
  if (typeof member === 'string') path = memberPath(path === '' ? '\u0000' : path, member).replace('\u0000', '')
  return path
}

function toPath (pointer: string): string {
  return pathTo(parsePointer(pointer).map(key => /^(?:0|[1-9]\d{0,9})$/.test(key) ? Number(key) : key))
}

function pathTo (keys: readonly (string | number)[]): string {
  let path = '\u0000'
  for (const key of keys) path = typeof key === 'number' ? `${path}[${key}]` : memberPath(path, key)
  return path.replace('\u0000', '')
}

/**
 * Message of an error. Ajv's text names what the schema requires, not what was sent. For `enum` and `const` the message adds the allowed
 * values.
 */
function messageOf (error: ErrorObject): string {
  const params = error.params as Record<string, unknown>
  if (error.propertyName !== undefined) return clip(`is a name that ${errorText(error)}`)
  switch (error.keyword) {
    case 'propertyNames': return 'is not a name the schema allows'
    case 'required': case 'dependentRequired': return 'is required'
    case 'additionalProperties': case 'unevaluatedProperties': return 'is not a property the schema allows'
    case 'enum': return `must be one of ${textOf(params.allowedValues)}`
    case 'const': return `must be ${textOf(params.allowedValue)}`
    case 'uniqueItems': return 'must not contain equal items'
    case 'false schema': return 'is not allowed here'
    default: return clip(errorText(error))
  }
}

/** Texts of lists and objects. A value may be as large as a card, so each text is made once. */
const texts = new WeakMap<object, string>()

function textOf (value: unknown): string {
  if (typeof value === 'string') return clip(JSON.stringify(value.slice(0, MAX_QUOTED_CHARS)))
  if (typeof value !== 'object' || value === null) return clip(JSON.stringify(value))
  let text = texts.get(value)
  if (text === undefined) texts.set(value, text = clip(JSON.stringify(value)))
  return text
}

/** Maximum characters of a text that become JSON. Messages show fewer. */
const MAX_QUOTED_CHARS = 500

function smallerThan (value: unknown, limit: number): boolean {
  const stack: unknown[] = [value]
  let count = 0
  while (stack.length > 0) {
    const item = stack.pop()
    if (++count > limit) return false
    if (typeof item !== 'object' || item === null) continue
    const children = Array.isArray(item) ? item : Object.values(item)
    if (count + children.length > limit) return false
    for (let i = 0; i < children.length; i++) stack.push(children[i])
  }
  return true
}

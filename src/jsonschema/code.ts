/**
 * Compiles schemas to code, so that another thread or process can run their validators. Most of the compile time goes into making the code
 * (measured for 1,000 values: 1,500 ms to write, 96 ms to run, on a busy machine). The code is text.
 */
import { createRequire } from 'node:module'
import { Script } from 'node:vm'
import type { Ajv, ValidateFunction } from 'ajv'
import { clip, countedPattern, create, mayReadInherited } from './ajv.js'
import type { CompileResult } from './schema.js'
import { checkSchema, compileWith, validatorOf } from './schema.js'
import type { Keywords } from './meta-schema.js'
import { KEYWORDS } from './meta-schema.js'
import { withBudget } from './evaluation.js'
import { isRegex, MAX_PATTERNS_SIZE, Patterns } from './regexp.js'
import type { SchemaProblem } from './lint.js'
import { countValues, SCHEMA_LIMITS } from './lint.js'
import type { Formats } from './ajv.js'

interface Standalone { readonly default: (ajv: Ajv, validate: ValidateFunction) => string }

const require = createRequire(import.meta.url)

/** Code of a validator, and V8's compiled form of that code; null where V8 made none. */
export interface ValidatorCode { readonly code: string, readonly compiled: Uint8Array | null }

export type SchemaCode =
  | { readonly ok: true; readonly quick: ValidatorCode; readonly full: ValidatorCode }
  | { readonly ok: false; readonly problem: SchemaProblem }

/** A schema to compile. Plain data, because it is sent to a thread. */
export interface SchemaToWrite { readonly schema: unknown, readonly formats: Formats }

/** Plain data, because it is sent between threads and processes. */
export interface WrittenSchema {
  readonly code: SchemaCode
  /** All patterns of the schema. */
  readonly patterns: readonly string[]
  readonly values: number
}

/** Maximum characters of code for one schema. A schema of 1,000 values becomes 400,000 characters. */
const MAX_CODE = 2_000_000
/** Maximum characters of code for all schemas of one card. */
const MAX_CODE_OF_CARD = 4_000_000

/**
 * Compiles the schemas of a card to code.
 * @param schemas by any key
 * @returns the reason why the card cannot be used, in plain words, when its schemas are too large together
 */
export function writeSchemas (schemas: ReadonlyMap<string, SchemaToWrite>): ReadonlyMap<string, WrittenSchema> | string {
  const all = new Patterns(MAX_PATTERNS_SIZE)
  const written = new Map<string, WrittenSchema>()
  let characters = 0
  for (const [key, schema] of schemas) {
    const patterns = new Patterns(MAX_PATTERNS_SIZE)
    const writtenSchema = writeSchema(schema, patterns)
    all.adopt(patterns)
    if (all.exceeded) return all.problem
    if (writtenSchema.code.ok) characters += writtenSchema.code.quick.code.length + writtenSchema.code.full.code.length
    if (characters > MAX_CODE_OF_CARD) return `the schemas of the card compile to more than ${MAX_CODE_OF_CARD} characters of code together`
    written.set(key, writtenSchema)
  }
  return written
}

/** Compiles an untrusted schema to code. For an unusable schema, the problem is the same as that of `compileSchema`. */
export function writeSchema ({ schema, formats }: SchemaToWrite, patterns: Patterns): WrittenSchema {
  return { code: write(schema, patterns, formats), patterns: patterns.all, values: countValues(schema, SCHEMA_LIMITS.nodes) }
}

function write (schema: unknown, patterns: Patterns, formats: Formats): SchemaCode {
  const checked = checkSchema(schema, patterns)
  if ('message' in checked) return { ok: false, problem: checked }
  try {
    const { default: standalone } = require('ajv/dist/standalone/index.js') as Standalone
    const ownProperties = mayReadInherited([checked.schema])
    const [quick, full] = [false, true].map(allErrors => {
      const ajv = create(checked.draft, allErrors, patterns, { formats, source: true, ownProperties })
      return withoutSourceUrls(standalone(ajv, compileWith(ajv, checked.schema)))
    }) as [string, string]
    const size = quick.length + full.length
    if (size <= MAX_CODE) return { ok: true, quick: { code: quick, compiled: null }, full: { code: full, compiled: null } }
    return { ok: false, problem: { pointer: '', message: `the schema compiles to ${size} characters of code, more than ${MAX_CODE}` } }
  } catch (error) {
    return { ok: false, problem: { pointer: '', message: clip((error as Error).message) } }
  }
}

const SOURCE_URL = /\/\*# sourceURL="(?:[^"\\]|\\.)*" \*\//g

/**
 * Removes the comments that hold the `$id` of a schema. Ajv writes the `$id` into a comment of the code, and an `$id` may contain the two
 * characters that end a comment. The text after them would run as code of the gateway.
 * @throws Error when a comment is left
 */
function withoutSourceUrls (code: string): string {
  const safe = code.replace(SOURCE_URL, '')
  if (safe.includes('# sourceURL="')) throw new Error('the $id of the schema cannot be written into code')
  return safe
}

/**
 * Turns a written schema into validators, in steps of a few milliseconds.
 * @param patterns compiles the patterns that the code names. They were also compiled where the code was written, so none of them is a
 *   problem
 */
export function * runSchema (written: WrittenSchema, patterns: Patterns): Generator<void, CompileResult> {
  const { code } = written
  for (const pattern of written.patterns) patterns.count(pattern)
  if (!code.ok) return code
  try {
    for (const pattern of written.patterns) {
      patterns.compile(pattern)
      yield
    }
    const keywords: Keywords = { ...KEYWORDS, pattern: pattern => countedPattern(pattern, patterns) }
    const quick = run(scriptOf(code.quick), keywords)
    yield
    const full = run(scriptOf(code.full), keywords)
    yield
    return { ok: true, schema: validatorOf(allErrors => allErrors ? full : quick) }
  } catch (error) {
    return { ok: false, problem: { pointer: '', message: clip((error as Error).message) } }
  }
}

type Runnable = (module: { exports: unknown }, require: (name: string) => unknown, keywords: Keywords) => void

/** Ajv does the same with the code that it makes. The code contains the text of a schema only as JSON. */
function scriptOf ({ code, compiled }: ValidatorCode): Script {
  return new Script(`(function (module, require, keywords) {${code}\n})`, {
    filename: 'schema-of-a-card',
    ...(compiled === null ? {} : { cachedData: compiled })
  })
}

function run (script: Script, keywords: Keywords): ValidateFunction {
  const module: { exports: unknown } = { exports: null };
  (script.runInThisContext() as Runnable)(module, runtime, keywords)
  return module.exports as ValidateFunction
}

/** One value of each JSON type: together they reach the branches of a validator. */
const SAMPLES = [null, true, 0, 'a', [0, 'a'], {}]

/**
 * Adds V8's compiled form to the code of schemas. V8 compiles a function at its first call: a validator with 700 `if` held the event loop
 * for 447 ms at the first request; from the compiled form the first call takes as long as any other. For the thread, because the call costs
 * that time.
 */
export function precompile (written: ReadonlyMap<string, WrittenSchema>): ReadonlyMap<string, WrittenSchema> {
  const result = new Map<string, WrittenSchema>()
  for (const [key, schema] of written) {
    const { code } = schema
    result.set(
      key,
      code.ok
        ? { ...schema, code: { ok: true, quick: compiled(code.quick, schema.patterns), full: compiled(code.full, schema.patterns) } }
        : schema
    )
  }
  return result
}

function compiled (validator: ValidatorCode, all: readonly string[]): ValidatorCode {
  try {
    const patterns = new Patterns(MAX_PATTERNS_SIZE)
    for (const pattern of all) patterns.count(pattern)
    const script = scriptOf(validator)
    const validate = run(script, { ...KEYWORDS, pattern: pattern => countedPattern(pattern, patterns) })
    for (const sample of SAMPLES) {
      try {
        withBudget(null, () => { validate(sample) })
      } catch {
        // A sample may exceed the budget, or recurse without end: V8 has compiled the code all the same.
      }
    }
    return { code: validator.code, compiled: script.createCachedData() }
  } catch {
    return validator
  }
}

/** Returns the modules that code written by Ajv requires, by the names that the code uses. */
function runtime (name: string): unknown {
  switch (name) {
    case 'ajv/dist/runtime/equal': return require('ajv/dist/runtime/equal.js')
    case 'ajv/dist/runtime/ucs2length': return require('ajv/dist/runtime/ucs2length.js')
    case 'ajv/dist/runtime/validation_error': return require('ajv/dist/runtime/validation_error.js')
    case 'ajv-formats/dist/formats': return { fullFormats: knownFormats() }
    default: throw new Error(`code of a schema requires ${name}`)
  }
}

type AjvFormats = Readonly<Record<string, unknown>>
let ajvFormats: AjvFormats | null = null

/**
 * Formats by name, with the same replacements as in ajv.ts: the original `url` is quadratic, and `regex` depends on the version of Node.
 * @returns expressions, functions, objects that contain one of them (`validate`), and true for formats that accept all
 */
export function knownFormats (): AjvFormats {
  if (ajvFormats === null) {
    const { fullFormats } = require('ajv-formats/dist/formats.js') as { readonly fullFormats: AjvFormats }
    ajvFormats = { ...fullFormats, url: fullFormats['uri'], regex: isRegex }
  }
  return ajvFormats
}

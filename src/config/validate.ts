import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import { validatorsOf } from './built/validators.js'
import { compile } from './compile.js'
import type { Validators } from './compile.js'
import { didYouMean, dotted, formatValue } from './diagnostics.js'
import type { Path, PathProblem } from './diagnostics.js'
import { UNKNOWN } from './yaml/document.js'
import { problemAt } from './yaml/values.js'
import { FORMATS } from './schema/formats.js'
import { forgetFaults } from './keywords.js'
import { packageVersion } from './paths.js'
import { precompiled } from './precompiled.js'
import type { Name } from './precompiled.js'
import type { Schema } from './schema/schema-builder.js'
import { configSchema } from './schema/schema.js'
import { childOf, parsePointer } from '#wire/json/pointer.js'
import type { ErrorCode } from '#operator-errors.js'
import type { Fault } from './listeners/grpc-formats.js'

const VALUE = 'A2AGW_ERR_CONFIG_VALUE'

type Params = Readonly<Record<string, unknown>>

/** Name of the policy definition in the configuration's schema. */
export const POLICY = 'policy'

let validators: Validators | null = null

/** Validates a whole configuration and fills in its defaults, in place. */
export function validateConfig (value: unknown): PathProblem[] {
  return run(compiled().whole, value, 'the configuration')
}

/** Validates one policy and fills in its defaults, in place. */
export function validatePolicy (value: unknown): PathProblem[] {
  return run(compiled().part as ValidateFunction, value, 'the policy')
}

/** Returns a validator for another file that the schema kit describes. */
export function validatorFor (schema: Schema, subject: string, name: Name): (value: unknown) => PathProblem[] {
  const { whole } = precompiled(schema, validatorsOf(name)) ?? compile(schema, null)
  return value => run(whole, value, subject)
}

function compiled (): Validators {
  validators ??= precompiled(configSchema, validatorsOf('configuration')) ?? compile(configSchema, POLICY)
  return validators
}

function run (validate: ValidateFunction, value: unknown, subject: string): PathProblem[] {
  forgetFaults()
  if (validate(value)) return []
  const errors = validate.errors ?? []
  // A value of the wrong type also fails the enum. Only the type error is reported.
  const mistyped = new Set(errors.filter(({ keyword }) => keyword === 'type').map(({ instancePath }) => instancePath))
  return errors.flatMap(error =>
    error.data === UNKNOWN || (error.keyword === 'enum' && mistyped.has(error.instancePath)) ? [] : translate(error, value, subject)
  )
}

/** Translates one Ajv error into a problem at the key or value at fault. Returns nothing for errors that other errors explain. */
function translate (error: ErrorObject, root: unknown, subject: string): PathProblem[] {
  const path = toPath(error.instancePath, root)
  const params: Params = error.params
  const schema = error.parentSchema as Schema
  const name = path.length === 0 ? subject : dotted(path)
  const at = (message: string, hint?: string, where: Path = path, side: PathProblem['at'] = 'value', code: ErrorCode = VALUE): PathProblem[] =>
    [problemAt(where, message, hint, side, code)]

  switch (error.keyword) {
    case 'if':
    case 'pattern':
      return []
    case 'propertyNames': {
      const key = String(params.propertyName)
      const format = schema.propertyNames?.['x-format']
      const wrong: Fault | null = format === undefined ? null : FORMATS[format](key)
      return at(`key ${formatValue(key)} in ${name} ${wrong?.message ?? 'is not valid'}`, wrong?.hint, [...path, key], 'key')
    }
    case 'additionalProperties': {
      const key = String(params.additionalProperty)
      const keys = Object.keys(schema.properties ?? {})
      const hint = didYouMean(key, keys) ?? `known keys: ${keys.join(', ')}`
      return at(
        `unknown key ${formatValue(key)}${path.length === 0 ? '' : ` in ${name}`}`, hint, [
          ...path, key
        ], 'key', 'A2AGW_ERR_CONFIG_UNKNOWN_KEY'
      )
    }
    case 'required': {
      const key = String(params.missingProperty)
      const [example] = schema.properties?.[key]?.examples ?? []
      const hint = example === undefined ? undefined : `such as "${key}: ${String(example)}"`
      return at(`${dotted([...path, key])} is required`, hint, path, 'value', 'A2AGW_ERR_CONFIG_MISSING_KEY')
    }
    case 'type':
      if (schema.enum !== undefined) return at(`${name} must be one of ${schema.enum.map(String).join(', ')}, not ${actual(error.data)}`)
      return at(
        `${name} must be ${expected(schema)}, not ${actual(error.data)}`,
        path.length === 0 ? undefined : typeHint(schema, error.data)
      )
    case 'enum': {
      const values = (schema.enum ?? []).map(String)
      return at(
        `${name} must be one of ${values.join(', ')}, not ${formatValue(error.data)}`,
        typeof error.data === 'string' ? didYouMean(error.data, values) : undefined
      )
    }
    case 'const':
      return at(
        `${name} must be ${formatValue(params.allowedValue)}, not ${formatValue(error.data)}`,
        name === 'version'
          ? `a2a-gateway ${packageVersion()} reads version ${formatValue(params.allowedValue)}; a file of another version needs the ` +
            'release that it was written for'
          : undefined
      )
    case 'minimum':
    case 'maximum':
      return at(`${name} must be from ${schema.minimum} to ${schema.maximum}, not ${formatValue(error.data)}`)
    case 'minLength':
    case 'maxLength':
      return at(`${name} must have from ${schema.minLength} to ${schema.maxLength} characters`)
    case 'minItems':
      return at(`${name} must have at least ${schema.minItems} entry`)
    case 'maxItems':
      return at(`${name} must have at most ${schema.maxItems} entries`)
    case 'minProperties':
      return at(
        `${name} must have at least ${schema.minProperties} key`,
        schema.properties === undefined ? undefined : `known keys: ${Object.keys(schema.properties).join(', ')}`
      )
    case 'maxProperties':
      return at(`${name} must have at most ${schema.maxProperties} ${schema.maxProperties === 1 ? 'key' : 'keys'}`)
    case 'uniqueItems': {
      const index = Math.max(Number(params.i), Number(params.j))
      const item: unknown = Array.isArray(error.data) ? error.data[index] : undefined
      return item === UNKNOWN ? [] : at(`${name} lists ${formatValue(item)} twice`, undefined, [...path, index])
    }
    default: {
      if (error.schemaPath.includes('/propertyNames/')) return []
      return at(`${name} ${error.message ?? 'is not valid'}`, typeof params.hint === 'string' ? params.hint : undefined)
    }
  }
}

/** Converts a JSON Pointer to a path. A step is a number when it indexes a list. */
function toPath (pointer: string, root: unknown): Path {
  let node: unknown = root
  return parsePointer(pointer).map((key) => {
    const inList = Array.isArray(node)
    node = childOf(node, key)
    return inList ? Number(key) : key
  })
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  number: 'a number',
  object: 'a mapping',
  array: 'a list',
  string: 'a string',
  integer: 'a whole number',
  boolean: 'true or false',
  null: 'null'
}

function expected (schema: Schema): string {
  if (schema['x-duration'] !== undefined) return 'a duration'
  if (schema['x-size'] !== undefined) return 'a size'
  const types = typeof schema.type === 'string' ? [schema.type] : schema.type ?? []
  return types.map((type) => TYPE_NAMES[type] ?? type).join(' or ')
}

function actual (value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (typeof value === 'number') return `the number ${value}`
  return typeof value === 'boolean' ? `${value}` : 'a string'
}

function typeHint (schema: Schema, value: unknown): string | undefined {
  if (typeof value === 'number') {
    if (schema['x-duration'] !== undefined) return `add a unit, such as "${value}s"`
    if (schema['x-size'] !== undefined) return `add a unit, such as "${value}B"`
    if (schema['x-format'] === 'host-port') return `write ":${value}" for every interface`
    if (schema.type === 'string') return 'put it in quotes'
  }
  if (value === null) return 'give it a value, or remove the key for the default'
  if (schema.type === 'array' && typeof value === 'string') return `write [${value}]`
  if (schema.type === 'boolean' && typeof value === 'string') return 'write true or false, without quotes'
  return undefined
}

import type { Format } from './formats.js'
import { DURATION_PATTERN, SIZE_PATTERN } from '../model/units.js'

/** The subset of JSON Schema 2020-12 that describes the configuration, and the gateway's own keywords `x-*`. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly uniqueItems?: boolean
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly propertyNames?: Schema
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly if?: Schema
  readonly then?: Schema
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly $schema?: string
  readonly title?: string
  /** The key still works and will be removed. */
  readonly deprecated?: boolean
  /** The replacement, for the warning. */
  readonly 'x-instead'?: string
  /** Name of a check in formats.ts. */
  readonly 'x-format'?: Format
  /** Bounds of a duration. */
  readonly 'x-duration'?: Bounds
  /** Bounds of a size. */
  readonly 'x-size'?: Bounds
}

export interface Bounds { readonly minimum: string, readonly maximum: string }

export function duration (description: string, initial: string, minimum: string, maximum: string): Schema {
  return {
    type: 'string',
    description: within(description, minimum, maximum),
    default: initial,
    pattern: orVariable(DURATION_PATTERN),
    'x-duration': { minimum, maximum }
  }
}

/** A duration without a default. */
export function optionalDuration (description: string, minimum: string, maximum: string): Schema {
  const { default: _, ...rest } = duration(description, '', minimum, maximum)
  return rest
}

export function size (description: string, initial: string, minimum: string, maximum: string): Schema {
  return {
    type: 'string',
    description: within(description, minimum, maximum),
    default: initial,
    pattern: orVariable(SIZE_PATTERN),
    'x-size': { minimum, maximum }
  }
}

export function count (description: string, initial: number, minimum: number, maximum: number): Schema {
  return { type: 'integer', description: within(description, minimum, maximum), default: initial, minimum, maximum }
}

/** A number from 0 to 1. */
export function fraction (description: string, initial: number): Schema {
  return { type: 'number', description: within(description, 0, 1), default: initial, minimum: 0, maximum: 1 }
}

export function flag (description: string, initial?: boolean): Schema {
  return { type: 'boolean', description, ...preset(initial) }
}

export function choice (description: string, values: readonly string[], initial?: string): Schema {
  return { type: 'string', description, enum: values, ...preset(initial) }
}

export function text (description: string, format: Format, initial?: string): Schema {
  return { type: 'string', description, ...preset(initial), 'x-format': format }
}

/** A string that may be null. */
export function nullable (description: string, format: Format): Schema {
  return { type: ['string', 'null'], description, default: null, 'x-format': format }
}

export function list (description: string, items: Schema, initial: readonly unknown[]): Schema {
  return { type: 'array', description, default: initial, items, uniqueItems: true, maxItems: 1000 }
}

/** An optional mapping. Each of its keys has a default. */
export function section (description: string, properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', description, default: {}, properties, additionalProperties: false }
}

/** A mapping with required keys. */
export function mapping (description: string, required: readonly string[], properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', description, required, properties, additionalProperties: false }
}

/**
 * A key that still works and will be removed.
 * @param since the release that deprecated the key, such as 0.3.0
 * @param instead the replacement, in the imperative: "use limits.body"
 */
export function deprecated (schema: Schema, since: string, instead: string): Schema {
  return {
    ...schema,
    description: `Deprecated since ${since}: ${instead}. ${schema.description ?? ''}`.trim(),
    deprecated: true,
    'x-instead': instead
  }
}

/** Adds the bounds to the description, because editors show the description. */
function within (description: string, minimum: number | string, maximum: number | string): string {
  return `${description} From ${minimum} to ${maximum}.`
}

/** Allows variable references, because editors validate before substitution. */
function orVariable (pattern: string): string {
  return `${pattern}|\\$\\{`
}

function preset (initial: unknown): { default?: unknown } {
  return initial === undefined ? {} : { default: initial }
}

/** The sources of a secret. */
export const SECRET_SOURCES: Readonly<Record<string, Schema>> = {
  file: text('File that contains the secret, at most 64 KiB; relative to this file. The gateway removes one final newline.', 'file'),
  env: text('Environment variable that contains the secret.', 'variable')
}

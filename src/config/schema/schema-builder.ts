import type { Format } from './formats.js'
import { DURATION_PATTERN, SIZE_PATTERN } from '../model/units.js'

/**
 * The subset of JSON Schema 2020-12 that describes the configuration, and the gateway's own keywords `x-*`.
 *
 * @typeParam T type of the values in the model: defaults are filled in, durations are milliseconds, sizes are bytes, and paths are absolute
 * (marks.ts). `unknown`: the model has a type of its own.
 */
export interface Schema<T = unknown> {
  /** Exists for the compiler only. */
  readonly '~type'?: T
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

/** Type of the values in the model. */
export type TypeOf<S> = S extends { readonly '~type'?: infer T } ? T : unknown

type Properties = Readonly<Record<string, Schema>>

/** Values by name. */
type ByName<T> = Readonly<Record<string, T>>

type SizeBounds = Pick<Schema, 'minItems' | 'maxItems' | 'uniqueItems' | 'minProperties' | 'maxProperties'>

/**
 * A key whose type includes `undefined` has no default. It is absent where the file does not have it.
 *
 * @typeParam R the required keys
 */
export type ValuesOf<P extends Properties, R = never> =
  { readonly [K in keyof P as undefined extends TypeOf<P[K]> ? K extends R ? K : never : K]: Exclude<TypeOf<P[K]>, undefined> } &
  { readonly [K in keyof P as undefined extends TypeOf<P[K]> ? K extends R ? never : K : never]?: Exclude<TypeOf<P[K]>, undefined> }

export interface Bounds { readonly minimum: string, readonly maximum: string }

export function duration (description: string, initial: string, minimum: string, maximum: string): Schema<number> {
  return {
    type: 'string',
    description: within(description, minimum, maximum),
    default: initial,
    pattern: orVariable(DURATION_PATTERN),
    'x-duration': { minimum, maximum }
  }
}

/** A duration without a default. */
export function optionalDuration (description: string, minimum: string, maximum: string): Schema<number | undefined> {
  const { default: _, ...rest } = duration(description, '', minimum, maximum)
  return rest
}

export function size (description: string, initial: string, minimum: string, maximum: string): Schema<number> {
  return {
    type: 'string',
    description: within(description, minimum, maximum),
    default: initial,
    pattern: orVariable(SIZE_PATTERN),
    'x-size': { minimum, maximum }
  }
}

export function count (description: string, initial: number, minimum: number, maximum: number): Schema<number> {
  return { type: 'integer', description: within(description, minimum, maximum), default: initial, minimum, maximum }
}

/** A number from 0 to 1. */
export function fraction (description: string, initial: number): Schema<number> {
  return { type: 'number', description: within(description, 0, 1), default: initial, minimum: 0, maximum: 1 }
}

export function flag (description: string, initial: boolean): Schema<boolean>
export function flag (description: string): Schema<boolean | undefined>
export function flag (description: string, initial?: boolean): Schema {
  return { type: 'boolean', description, ...preset(initial) }
}

export function choice<const V extends string> (description: string, values: readonly V[], initial: NoInfer<V>): Schema<V>
export function choice<const V extends string> (description: string, values: readonly V[]): Schema<V | undefined>
export function choice (description: string, values: readonly string[], initial?: string): Schema {
  return { type: 'string', description, enum: values, ...preset(initial) }
}

/** One of the values, in a list. The list has the description. */
export function oneOf<const V extends string> (values: readonly V[]): Schema<V> {
  return { type: 'string', enum: values }
}

/** One of the values, or null, which is the default. */
export function choiceOrNull<const V extends string> (description: string, values: readonly V[]): Schema<V | null> {
  return { type: ['string', 'null'], description, enum: [...values, null], default: null }
}

export function text (description: string, format: Format, initial: string): Schema<string>
export function text (description: string, format: Format): Schema<string | undefined>
export function text (description: string, format: Format, initial?: string): Schema {
  return { type: 'string', description, ...preset(initial), 'x-format': format }
}

/** A string in a list, or a name of a mapping. The list or mapping has the description. */
export function string (format: Format): Schema<string> {
  return { type: 'string', 'x-format': format }
}

/** A string without a format, in a list. */
export function boundedString (maxLength: number): Schema<string> {
  return { type: 'string', minLength: 1, maxLength }
}

/** A string that may be null. */
export function nullable (description: string, format: Format): Schema<string | null> {
  return { type: ['string', 'null'], description, default: null, 'x-format': format }
}

export function list<T> (description: string, items: Schema<T>, initial: readonly unknown[]): Schema<readonly T[]> {
  return { type: 'array', description, default: initial, items, uniqueItems: true, maxItems: 1000 }
}

/** A list with bounds of its own. Without `initial`, the key has no default. */
export function array<T> (description: string, items: Schema<T>, bounds: SizeBounds, initial: readonly unknown[]): Schema<readonly T[]>
export function array<T> (description: string, items: Schema<T>, bounds: SizeBounds): Schema<readonly T[] | undefined>
export function array (description: string, items: Schema, bounds: SizeBounds, initial?: readonly unknown[]): Schema {
  return { type: 'array', description, ...preset(initial), items, ...bounds }
}

/** A mapping whose names the file chooses. Without `initial`, the key has no default. */
export function record<T> (description: string, names: Format, values: Schema<T>, bounds: SizeBounds, initial: object): Schema<ByName<T>>
export function record<T> (description: string, names: Format, values: Schema<T>, bounds: SizeBounds): Schema<ByName<T> | undefined>
export function record (description: string, names: Format, values: Schema, bounds: SizeBounds, initial?: object): Schema {
  return { type: 'object', description, ...preset(initial), propertyNames: string(names), additionalProperties: values, ...bounds }
}

/** An optional mapping. Each of its keys has a default. */
export function section<P extends Properties> (description: string, properties: P): Schema<ValuesOf<P>> {
  return { type: 'object', description, default: {}, properties, additionalProperties: false }
}

/** A mapping with required keys. */
export function mapping<P extends Properties, const R extends keyof P & string> (
  description: string, required: readonly R[], properties: P
): Schema<ValuesOf<P, R>> {
  return { type: 'object', description, required, properties, additionalProperties: false }
}

/**
 * A key that still works and will be removed.
 * @param since the release that deprecated the key, such as 0.3.0
 * @param instead the replacement, in the imperative: "use limits.body"
 */
export function deprecated<T> (schema: Schema<T>, since: string, instead: string): Schema<T> {
  return {
    ...schema,
    description: `Deprecated since ${since}: ${instead}. ${schema.description ?? ''}`.trim(),
    deprecated: true,
    'x-instead': instead
  }
}

/** A value that may be null, and is null by default. */
export function orNull<T> (schema: Schema<T>): Schema<Exclude<T, undefined> | null> {
  return { ...schema, type: [...[schema.type ?? []].flat(), 'null'], default: null } as Schema<Exclude<T, undefined> | null>
}

/** The type of a key that the file may omit, and that has no default. The schema stays as it is. */
export function optional<T> (schema: Schema<T>): Schema<T | undefined> {
  return schema
}

/** Removes the default, for a key whose value comes from another key when the file omits it, such as `access` from `accessDefaults`. */
export function withoutDefault<T> (schema: Schema<T>): Schema<T | undefined> {
  const { default: _, ...rest } = schema
  return rest
}

/**
 * Refers to a schema in `$defs` of the configuration.
 * @param _ the schema there, which gives the type
 */
export function ref<T> (name: string, _: Schema<T>): Schema<T> {
  return { $ref: `#/$defs/${name}` }
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
export const SECRET_SOURCES = {
  file: text('File that contains the secret, at most 64 KiB; relative to this file. The gateway removes one final newline.', 'file'),
  env: text('Environment variable that contains the secret.', 'variable')
}

/** Location of a secret, never its content. Has exactly one of its members. `file` is absolute. */
export type SecretConfig = ValuesOf<typeof SECRET_SOURCES>

/** Schemas written in the configuration itself must compile before the gateway starts; those of cards may fail one by one. */
import { isObject, memberPath } from '../a2a/fields.js'
import type { PolicyConfig, SchemaSource } from '../config/model.js'
import { compileSchema } from './json-schema.js'
import { isFromCard } from './schema-source.js'

/** A schema that cannot be used. */
export interface SchemaFault {
  /** Where the schema stands, from the mapping of the policies: policy, `request`, index, `schema`. */
  readonly path: readonly (string | number)[]
  /** JSON Pointer into the schema, '' for all of it. */
  readonly pointer: string
  readonly message: string
}

/** @param policies by name; as read, so any of it may have another shape than it should */
export function inlineSchemaFaults (policies: unknown): SchemaFault[] {
  return entries(policies).flatMap(([name, policy]) => {
    const methods = entries(at(policy, 'methods')).map(([method, one]) => ({ path: [name, 'methods', method, 'params'], schema: at(one, 'params') }))
    const request = at(policy, 'request')
    const rules = (Array.isArray(request) ? request : []).flatMap((rule: unknown, index) => PLACES.map(place => ({ path: [name, 'request', index, ...place], schema: place.reduce(at, rule) })))
    return [...methods, ...rules].flatMap(({ path, schema }) => {
      // Of another type it is refused as such, by the configuration's own schema.
      if (typeof schema !== 'boolean' && (!isObject(schema) || isFromCard(schema as SchemaSource))) return []
      const result = compileSchema(schema)
      return result.ok ? [] : [{ path, ...result.problem }]
    })
  })
}

/** @returns one sentence per schema that cannot be used, with the place in it */
export function inlineSchemaProblems (policies: Readonly<Record<string, PolicyConfig>>): string[] {
  return inlineSchemaFaults(policies).map(({ path, pointer, message }) => {
    const place = path.reduce<string>((text, step) => typeof step === 'number' ? `${text}[${step}]` : memberPath(text, step), 'extensions')
    return `${place} cannot be used: ${pointer === '' ? '' : `${pointer}: `}${message}`
  })
}

/** Where a rule may hold a schema. */
const PLACES: readonly (readonly string[])[] = [['schema'], ['select', 'part', 'match'], ['when', 'match'], ['unless', 'match']]

function at (value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

function entries (value: unknown): [string, unknown][] {
  return isObject(value) ? Object.entries(value) : []
}

/**
 * The marks of the schema: quantities (`x-duration`, `x-size`) and paths (`x-format: file` and `file-or-directory`). A key with a mark
 * needs no conversion of its own, and no entry in a list of files.
 */
import { resolve } from 'node:path'
import { isObject } from '#wire/json/object.js'
import { duration, size } from './model/units.js'
import type { Schema } from './schema/schema-builder.js'
import { configSchema } from './schema/schema.js'

type Visit = (text: string, schema: Schema) => unknown

const POLICY = '#/$defs/policy'

/**
 * Returns a valid value of the configuration with durations in milliseconds, sizes in bytes, and absolute paths. Policies stay as they are:
 * their compilers read the texts.
 * @param baseDir directory that the paths are relative to
 */
export function convert (value: unknown, baseDir: string): unknown {
  return walk(value, configSchema, (text, schema) => {
    if (schema['x-duration'] !== undefined) return duration(text)
    if (schema['x-size'] !== undefined) return size(text)
    return isPath(schema) ? resolve(baseDir, text) : text
  }, POLICY)
}

const isPath = (schema: Schema): boolean => schema['x-format'] === 'file' || schema['x-format'] === 'file-or-directory'

/**
 * Returns the absolute path of each file that the gateway reads with the configuration. The value may still be wrong.
 * @param baseDir directory that the paths are relative to
 */
export function namedFiles (value: unknown, baseDir: string): string[] {
  const files: string[] = []
  walk(value, configSchema, (text, schema) => {
    if (schema['x-format'] === 'file' && text !== '' && !text.includes('\0')) files.push(resolve(baseDir, text))
    return text
  })
  return files
}

/**
 * Returns the value with the texts that a schema describes replaced by what `visit` returns. Values without a schema, such as JSON Schemas
 * and unknown keys, are not visited.
 * @param exceptIn a definition whose values stay as they are
 */
function walk (value: unknown, schema: Schema, visit: Visit, exceptIn?: string): unknown {
  if (schema.$ref !== undefined) {
    if (schema.$ref === exceptIn) return value
    return walk(value, configSchema.$defs?.[schema.$ref.slice('#/$defs/'.length)] ?? {}, visit, exceptIn)
  }
  const parts = [...schema.anyOf ?? [], ...schema.allOf ?? [], ...schema.then === undefined ? [] : [schema.then]]
  const now = parts.reduce((before, part) => walk(before, part, visit, exceptIn), value)
  if (typeof now === 'string') return visit(now, schema)
  if (Array.isArray(now)) return schema.items === undefined ? now : now.map(item => walk(item, schema.items as Schema, visit, exceptIn))
  if (!isObject(now)) return now
  const { properties = {}, additionalProperties } = schema
  const others = typeof additionalProperties === 'object' ? additionalProperties : undefined
  if (schema.properties === undefined && others === undefined) return now
  return Object.fromEntries(Object.entries(now).map(([name, member]) => {
    const own = Object.hasOwn(properties, name) ? properties[name] : others
    return [name, own === undefined ? member : walk(member, own, visit, exceptIn)]
  }))
}

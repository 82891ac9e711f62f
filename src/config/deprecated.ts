/**
 * Finds deprecated keys: they still work and will be removed. `check` and `serve` warn of them for at least one minor release
 * (docs/upgrading.md).
 */
import { dotted } from './diagnostics.js'
import type { Path, PathProblem } from './diagnostics.js'
import type { Schema } from './schema/schema-kit.js'
import { fault } from './yaml/values.js'

/**
 * Walks a value along its schema.
 * @param value the value before defaults are filled in, so that a default never causes a warning
 * @returns one warning for each deprecated key that is present, at the key
 */
export function deprecations (schema: Schema, value: unknown): PathProblem[] {
  return walk(schema, schema, value, [])
}

function walk (schema: Schema, root: Schema, value: unknown, path: Path): PathProblem[] {
  const { $ref } = schema
  if ($ref !== undefined) {
    const target = root.$defs?.[$ref.replace('#/$defs/', '')]
    return target === undefined ? [] : walk(target, root, value, path)
  }
  const branches = [...schema.anyOf ?? [], ...schema.allOf ?? []].flatMap(one => walk(one, root, value, path))
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined ? branches : [...branches, ...value.flatMap((item, index) => walk(items, root, item, [...path, index]))]
  }
  if (typeof value !== 'object' || value === null) return branches
  return [...branches, ...Object.entries(value).flatMap(([key, child]) => {
    const known =
      schema.properties !== undefined && Object.hasOwn(schema.properties, key)
        ? schema.properties[key]
        : typeof schema.additionalProperties === 'object'
          ? schema.additionalProperties
          : undefined
    if (known === undefined) return []
    const at = [...path, key]
    const here =
      known.deprecated === true
        ? [fault(at, `${dotted(at)} is deprecated and will be removed in a later release`, known['x-instead'], 'key')]
        : []
    return [...here, ...walk(known, root, child, at)]
  })]
}

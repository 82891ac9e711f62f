import type { Schema } from '#config/schema/schema-builder.js'

// Builds rows of Markdown tables from the configuration's schema.

export const TABLE_HEAD = '| key | type | default | bounds | |\n|---|---|---|---|---|'

/** @param listed objects, and items of lists, with a table of their own; the function flattens others into the rows */
export function tableRows (schema: Schema, prefix: string, listed: ReadonlySet<Schema>): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, child]) => {
    const name = `${prefix}${key}`
    if (child.properties !== undefined && !listed.has(child)) {
      // A section that may be null needs a row; any other section is only a prefix.
      const absent = schema.required?.includes(key) === true ? 'required' : child.default === undefined ? '' : code(child.default)
      const own = child.type === 'object' ? [] : [`| \`${name}\` | ${type(child)} | ${absent} |  | ${cell(child.description ?? '')} |`]
      return [...own, ...tableRows(child, `${name}.`, listed)]
    }
    const given = schema.required?.includes(key) === true ? 'required' : initial(child)
    const inner = child.items?.properties === undefined || listed.has(child.items) ? [] : tableRows(child.items, `${name}[].`, listed)
    return [`| \`${name}\` | ${type(child)} | ${given} | ${bounds(child)} | ${cell(unbounded(child.description ?? ''))} |`, ...inner]
  })
}

export function type (schema: Schema): string {
  if (schema.$ref !== undefined) return 'mapping'
  if (schema['x-duration'] !== undefined) return 'duration'
  if (schema['x-size'] !== undefined) return 'size'
  if (schema.enum !== undefined) return schema.enum.map(code).join(', ')
  if (schema.const !== undefined) return code(schema.const)
  const types = typeof schema.type === 'string' ? [schema.type] : schema.type ?? []
  return types.map((name) => name === 'array' ? `list of ${itemTypes(schema.items)}` : NAMES[name] ?? name).join(' or ')
}

function itemTypes (items: Schema | undefined): string {
  const types = typeof items?.type === 'string' ? [items.type] : items?.type ?? ['object']
  return types.map((name) => `${NAMES[name] ?? name}s`).join(' or ')
}

const NAMES: Readonly<Record<string, string>> = { object: 'mapping', integer: 'whole number' }

function initial (schema: Schema): string {
  return schema.default === undefined || schema.properties !== undefined ? '' : code(schema.default)
}

export function bounds (schema: Schema): string {
  const { minimum, maximum } = schema['x-duration'] ?? schema['x-size'] ?? schema
  if (minimum !== undefined) return `${minimum} to ${maximum}`
  if (schema.maxItems !== undefined) return `${schema.minItems ?? 0} to ${schema.maxItems} entries`
  if (schema.maxProperties !== undefined) return `${schema.minProperties ?? 0} to ${schema.maxProperties} entries`
  return schema.maxLength === undefined ? '' : `${schema.minLength ?? 0} to ${schema.maxLength} characters`
}

function code (value: unknown): string {
  if (Array.isArray(value)) return `\`[${value.map(String).join(', ')}]\``
  return `\`${typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)}\``
}

/** Removes the bounds from a description, because the table has a column for bounds. */
function unbounded (text: string): string {
  return text.replace(/ From \S+ to \S+\.$/, '')
}

function cell (text: string): string {
  return text.replaceAll('|', '\\|')
}

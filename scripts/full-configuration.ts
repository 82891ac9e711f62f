/** config/gateway.full.yaml: every key of the configuration with its default and one line about it, from the schema. */
import { stringify } from 'yaml'
import type { Schema } from '#config/schema/schema-builder.js'
import { configSchema } from '#config/schema/schema.js'

const HEAD = `# Every key of the configuration, with its default and the first sentence of its description. Generated from the schema.
#
# A key without "#" has its default value here: the gateway behaves as with version, name and url alone. A line that begins with "#" and no
# space after it is a key that has no value by default. To use such a key, remove the "#" of the line and of the keys that it belongs to.
# "a2a-gateway help KEY" prints the whole description of a key.
`

/** Values of the keys that every configuration needs, and names of the entries that an operator chooses. */
const GIVEN: Readonly<Record<string, unknown>> = { version: 1, 'agents[].name': 'eightball', 'agents[].upstream.url': 'http://127.0.0.1:9999' }
const NAME_OF_ENTRY: Readonly<Record<string, string>> = { extensions: 'consent', bundles: 'orders', 'identity.sources': 'staff' }

/** Paths of the mappings whose keys stand above, by these keys: the conditions on a caller, for example, are the same in ten places. */
const printed = new Map<string, string>()

export function fullConfiguration (): string {
  printed.clear()
  return `${HEAD}${members(configSchema, '', '', false).join('\n')}\n`
}

/**
 * The lines of all keys of a mapping.
 * @param path path of the mapping, such as `agents[].card`, with a final dot; empty for the root
 * @param indent spaces before the keys
 * @param off true when the mapping itself is not set, so that its keys are comments
 */
function members (schema: Schema, path: string, indent: string, off: boolean): string[] {
  const same = JSON.stringify(schema.properties)
  const before = off && Object.keys(schema.properties ?? {}).length > 4 ? printed.get(same) : undefined
  if (before !== undefined) return [`${indent}# The keys are those of ${before.replace(/\.$/, '')}.`]
  printed.set(same, path)
  return Object.entries(schema.properties ?? {}).flatMap(([key, raw]) => {
    const child = resolved(raw)
    const place = `${path}${key}`
    const about = `${indent}# ${firstSentence(raw.description ?? child.description ?? '')}`
    const text = (value: string, silent: boolean): string => `${silent ? `${indent}#` : indent}${key}:${value === '' ? '' : ` ${value}`}`
    const given = GIVEN[place] === undefined ? child.default : GIVEN[place]
    const inner = child.items === undefined ? child : resolved(child.items)
    if (place === 'agents') return [about, `${indent}${key}:`, ...item(members(inner, 'agents[].', `${indent}    `, false), `${indent}    `)]
    const nested = entriesOf(child, inner, place, `${indent}  `)
    if (child.properties !== undefined && child.items === undefined) {
      const absent = child.default === null || (child.default === undefined && [child.type].flat().some(type => type === 'null' || type === 'string'))
      const keys = [...members(child, `${place}.`, `${indent}  `, off || absent), ...place === 'extensions' ? nested : []]
      // A mapping whose keys have no defaults would be null.
      return [about, text('', keys.every(line => /^ *#/.test(line))), ...keys]
    }
    if (nested.length > 0) {
      const empty = given === undefined || off
      return [about, text(empty ? '' : flow(given), empty), ...nested]
    }
    return [about, text(flow(given === undefined ? sample(child) : given), off || given === undefined)]
  })
}

/** The keys of the items of a list, and of entries whose names the operator chooses, as comments. */
function entriesOf (child: Schema, inner: Schema, place: string, indent: string): string[] {
  if (child.items !== undefined && inner.properties !== undefined) {
    return item(members(inner, `${place}[].`, `${indent}  `, true), `${indent}  `)
  }
  const entry = typeof child.additionalProperties === 'object' ? resolved(child.additionalProperties) : undefined
  if (entry?.properties === undefined || (child.properties !== undefined && place !== 'extensions')) return []
  return [`${indent}#${NAME_OF_ENTRY[place] ?? 'name'}:`, ...members(entry, `${place}.<name>.`, `${indent}  `, true)]
}

/** Marks the first key as the beginning of an item. */
function item (lines: readonly string[], indent: string): string[] {
  const first = lines.findIndex(line => !line.startsWith(`${indent}# `))
  const dash = indent.slice(2)
  return lines.map((line, index) => index !== first
    ? line
    : line.startsWith(`${indent}#`) ? `${dash}#- ${line.slice(indent.length + 1)}` : `${dash}- ${line.slice(indent.length)}`)
}

function resolved (schema: Schema): Schema {
  const name = schema.$ref?.replace('#/$defs/', '')
  return name === undefined ? schema : { ...configSchema.$defs?.[name], ...schema.default === undefined ? {} : { default: schema.default } }
}

/** A value of a key that has none by default. */
function sample (schema: Schema): unknown {
  const { examples, enum: values, type, minimum } = schema
  if (examples?.[0] !== undefined) return examples[0]
  if (values?.[0] !== undefined) return values[0]
  if (schema['x-duration'] !== undefined) return schema['x-duration'].minimum
  const [first] = [type ?? 'object'].flat()
  return { string: '', integer: minimum ?? 0, number: minimum ?? 0, boolean: false, array: [], null: null }[first ?? ''] ?? {}
}

function flow (value: unknown): string {
  return stringify(value, { collectionStyle: 'flow', lineWidth: 0, flowCollectionPadding: false }).trim()
}

/** Characters of a comment. */
const WIDTH = 120

/** The first sentence, in one line; of a long one, the first clauses. A point within an address ends no sentence. */
function firstSentence (text: string): string {
  const sentence = /^.*?[^.][.](?=\s|$)/s.exec(text)?.[0].replaceAll('\n', ' ') ?? text
  if (sentence.length <= WIDTH) return sentence
  const clauses = [...sentence.slice(0, WIDTH).matchAll(/[;:,](?= )/g)].map(({ index }) => index)
  return `${sentence.slice(0, clauses.at(-1) ?? sentence.lastIndexOf(' ', WIDTH))} …`
}

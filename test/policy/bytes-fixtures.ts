/** Random schemas, documents that mostly conform to them, and their JSON text in the spellings that writers use. */
import type { Random } from '../fuzz/engine/random.js'

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

const NAMES = [
  'id', 'name', 'a longer name', 'quantity', 'é', 'constructor', '', 'sku', 'exactly8', 'sixteen letters!', 'a name of more than sixteen letters'
]
/** Texts have these names only with escapes. */
const ESCAPED_NAMES = ['a"b', 'a\\', 'a\nb', 'a\\u0062']
const TEXTS = [
  '', 'a', 'row 1', 'ünï', '😀', '😀😀', 'a text with "quotes"', 'line\nline', 'exactly sixteen!', 'more than sixteen characters of text', 'red', 'green',
  '2026-11-28', '2024-02-29', '2026-02-29', '2026-11-28T12:30:59Z', '2026-11-28t23:59:60+00:00', 'SKU-1234', 'é-1', 'a@example.com',
  '123e4567-e89b-42d3-a456-426614174000', 'https://example.com/a?b=c', '10.0.255.1'
]
const NUMBERS = [
  0, -0, 1, -1, 2, 7, 10, 1.5, -2.25, 0.1, 19.99, 100, 1e15, 123456789012345, 1234567890123456, 2 ** 53 + 2, 1e21, 1e-7, 0.1234567890123456,
  2 ** 31, 1.0000000000000002
]
const PATTERNS = [
  '^[a-z]*$', '^[A-Z]{3}-\\d+$', '^\\w', '\\S$', 'e+', '^(?:red|green)$', '^.{0,12}$', '^[^a]', '^\\p{L}+$', '^$', '-', '^(a|ab)(c|bcd)?$'
]
const FORMATS = ['date', 'date-time', 'time', 'email', 'ipv4', 'uri', 'uuid', 'duration', 'hostname', 'byte', 'int32', 'int64', 'double', 'none']
/** Keywords that no program has. */
const OTHERS: readonly (readonly [string, Json])[] = [
  ['patternProperties', { '^n': { type: 'string' } }], ['propertyNames', { maxLength: 4 }], ['contains', { type: 'string' }]
]

/** A schema. Most of its keywords are those that programs have. */
export function anySchema (random: Random): Json {
  const defs: Record<string, Json> = { node: subschema(random, 2, false), leaf: subschema(random, 0, false) }
  return { ...(subschema(random, 3, true) as Record<string, Json>), $defs: defs }
}

function subschema (random: Random, depth: number, root: boolean): Json {
  if (!root) {
    if (random.chance(12)) return random.chance(4) ? false : random.chance(2) ? true : {}
    if (random.chance(8)) return { $ref: random.pick(['#', '#/$defs/node', '#/$defs/leaf']) }
    if (random.chance(7)) {
      const alternatives = [subschema(random, depth - 1, false), random.chance(2) ? { type: 'null' } : subschema(random, depth - 1, false)]
      return { [random.pick(['anyOf', 'oneOf'])]: alternatives, ...(random.chance(3) ? { title: 'one of' } : {}) }
    }
  }
  const schema: Record<string, Json> = {}
  const scalars = ['string', 'integer', 'number', 'boolean', 'null']
  const kinds = depth > 0 ? ['object', 'object', 'array', ...scalars] : scalars
  const kind = root && random.chance(2) ? 'object' : random.pick(kinds)
  if (!random.chance(8)) schema.type = random.chance(6) ? [...new Set([kind, random.pick(kinds)])] : kind
  if (kind === 'object') objectKeywords(random, depth, schema)
  if (kind === 'array') {
    if (!random.chance(6)) schema.items = subschema(random, depth - 1, false)
    if (random.chance(4)) schema.minItems = random.below(3)
    if (random.chance(4)) schema.maxItems = 1 + random.below(5)
    if (random.chance(3)) schema.uniqueItems = !random.chance(8)
  }
  if (kind === 'string') {
    if (random.chance(3)) schema.minLength = random.below(4)
    if (random.chance(3)) schema.maxLength = 1 + random.below(20)
    if (random.chance(3)) schema.pattern = random.pick(PATTERNS)
    if (random.chance(4)) schema.format = random.pick(FORMATS)
    if (random.chance(5)) schema.enum = Array.from({ length: 1 + random.below(4) }, () => random.pick(TEXTS))
  }
  if (kind === 'integer' || kind === 'number') {
    for (const bound of ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum']) if (random.chance(5)) schema[bound] = random.pick(NUMBERS)
    if (random.chance(8)) schema.format = random.pick(FORMATS)
    if (random.chance(8)) schema.multipleOf = random.pick([1, 2, 7, 0.01])
    if (random.chance(8)) schema.enum = [random.pick(NUMBERS), random.pick(NUMBERS), random.pick(TEXTS), null]
  }
  if (!root && random.chance(5)) besideKeywords(random, depth, schema)
  if (random.chance(20)) schema.const = random.pick<Json>([...NUMBERS, ...TEXTS, true, null, {}, []])
  if (random.chance(5)) schema.description = 'a description'
  if (random.chance(25)) schema[random.pick(['x-note', 'nullable'])] = random.chance(2)
  if (random.chance(25)) {
    const [keyword, value] = random.pick(OTHERS)
    schema[keyword] = value
  }
  return schema
}

/** Keywords with schemas for the same value. */
function besideKeywords (random: Random, depth: number, schema: Record<string, Json>): void {
  const simple = (): Json => {
    if (depth > 0 && random.chance(2)) return subschema(random, depth - 1, false)
    const name = random.pick(NAMES)
    return random.pick<Json>([
      { type: random.pick(['string', 'number', 'object', 'array']) }, { const: random.pick<Json>([...NUMBERS, ...TEXTS]) }, { required: [name] },
      { properties: { [name]: { const: random.pick<Json>([...NUMBERS, ...TEXTS]) } }, required: [name] }, { maxLength: 5 }, { minimum: 3 },
      { pattern: random.pick(PATTERNS) }, { format: random.pick(FORMATS) }, { maxItems: 1 }, { items: { type: 'integer' }, uniqueItems: true },
      { properties: { [name]: false } }, { properties: { [name]: true }, additionalProperties: false }, true, false
    ])
  }
  switch (random.pick(['not', 'if', 'anyOf', 'oneOf', 'allOf', '$ref'])) {
    case 'not': schema.not = simple(); break
    case 'anyOf': schema.anyOf = [simple(), simple()]; break
    case 'oneOf': schema.oneOf = [simple(), simple(), simple()]; break
    case 'allOf': schema.allOf = [simple(), simple()]; break
    case '$ref': schema.$ref = '#/$defs/leaf'; break
    default:
      schema.if = simple()
      if (!random.chance(4)) schema.then = simple()
      if (!random.chance(4)) schema.else = simple()
  }
}

function objectKeywords (random: Random, depth: number, schema: Record<string, Json>): void {
  const names = random.shuffled(NAMES).slice(0, random.below(6))
  if (random.chance(25)) names.push(random.pick(ESCAPED_NAMES))
  schema.properties = Object.fromEntries(names.map(name => [name, subschema(random, depth - 1, false)]))
  if (random.chance(2)) schema.required = names.filter(() => random.chance(2))
  if (random.chance(12)) schema.required = [random.pick(NAMES)]
  if (random.chance(2)) schema.additionalProperties = random.chance(3) ? subschema(random, depth - 1, false) : random.chance(2)
  if (random.chance(10)) schema.minProperties = random.below(3)
  if (random.chance(10)) schema.maxProperties = random.below(6)
}

/** A document that conforms to the schema more often than not. */
export function documentFor (random: Random, root: Json, schema: Json = root, depth = 0): Json {
  if (depth > 5 || random.chance(40) || typeof schema !== 'object' || schema === null || Array.isArray(schema)) return anyValue(random, 0)
  const { $ref: reference, anyOf, oneOf, type, enum: listed } = schema
  const isAlone = type === undefined
  if (isAlone && typeof reference === 'string') {
    const defs = (root as { $defs: Record<string, Json> }).$defs
    return documentFor(random, root, reference === '#' ? root : defs[reference.slice('#/$defs/'.length)] as Json, depth + 1)
  }
  const alternatives = anyOf ?? oneOf
  if (isAlone && Array.isArray(alternatives)) return documentFor(random, root, random.pick(alternatives), depth + 1)
  if (schema.const !== undefined && !random.chance(10)) return schema.const
  if (Array.isArray(listed) && !random.chance(10)) return random.pick(listed)
  switch (Array.isArray(type) ? random.pick(type) : type) {
    case 'object': return objectFor(random, root, schema, depth)
    case 'array': {
      const count = random.chance(3) ? random.below(8) : 1 + random.below(2)
      return Array.from({ length: count }, () => documentFor(random, root, schema.items ?? true, depth + 1))
    }
    case 'string': return random.pick(TEXTS)
    case 'integer': return random.chance(3) ? random.pick(NUMBERS) : random.below(20)
    case 'number': return random.chance(2) ? random.pick(NUMBERS) : random.below(2_000) / 100
    case 'boolean': return random.chance(2)
    case 'null': return null
    default: return anyValue(random, 0)
  }
}

function objectFor (random: Random, root: Json, schema: Record<string, Json>, depth: number): Json {
  const { properties = {}, required = [], additionalProperties: more } = schema
  const found: [string, Json][] = []
  for (const [name, one] of Object.entries(properties as Record<string, Json>)) {
    const isRequired = (required as Json[]).includes(name)
    if (isRequired ? !random.chance(30) : !random.chance(4)) found.push([name, documentFor(random, root, one, depth + 1)])
  }
  if (random.chance(more === false ? 30 : 3)) found.push([anyName(random), documentFor(random, root, more ?? true, depth + 1)])
  return Object.fromEntries(random.chance(4) ? random.shuffled(found) : found)
}

const anyName = (random: Random): string => random.pick(random.chance(12) ? ESCAPED_NAMES : NAMES)

function anyValue (random: Random, depth: number): Json {
  if (depth < 3 && random.chance(4)) return Array.from({ length: random.below(4) }, () => anyValue(random, depth + 1))
  if (depth < 3 && random.chance(4)) {
    return Object.fromEntries(Array.from({ length: random.below(4) }, () => [anyName(random), anyValue(random, depth + 1)]))
  }
  return random.pick<Json>([...NUMBERS, ...TEXTS, true, false, null])
}

/** The text of a value: with or without white space, characters escaped or not, numbers in several spellings. */
export function textOf (random: Random, value: Json): string {
  const spaces = random.chance(3)
  const escapes = random.chance(8)
  const space = (): string => spaces && random.chance(3) ? random.pick([' ', '\n', '\t', '\r\n', '  ']) : ''
  const string = (text: string): string => escapes && random.chance(4)
    ? `"${[...text].map(one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`
    : JSON.stringify(text)
  const token = (one: Json): string => {
    if (typeof one === 'string') return string(one)
    if (Array.isArray(one)) return `[${space()}${one.map(token).join(`${space()},${space()}`)}${space()}]`
    if (typeof one === 'object' && one !== null) {
      const members = Object.entries(one).map(([name, each]) => `${string(name)}${space()}:${space()}${token(each)}`)
      return `{${space()}${members.join(`${space()},${space()}`)}${space()}}`
    }
    if (typeof one === 'number' && random.chance(10)) return random.pick([`${one}.0`, `${one}e0`, `${one}e-1`, `${one}00`, `-${one}`, `0${one}`])
    return Object.is(one, -0) ? '-0' : JSON.stringify(one)
  }
  return token(value)
}

/** Changes a few bytes. */
export function damaged (random: Random, bytes: Buffer): Buffer {
  const parts = ['"', ',', ':', '{', '}', '[', ']', '\\', '0', '-', '.', 'e', ' ', '\u0001', '\\u0061', 'null', '"id":1,', '']
  let text = bytes.toString('latin1')
  for (let i = 0; i < 1 + random.below(2); i++) {
    const at = random.below(text.length + 1)
    text = text.slice(0, at) + random.pick(parts) + text.slice(at + random.below(3))
  }
  return Buffer.from(text, 'latin1')
}

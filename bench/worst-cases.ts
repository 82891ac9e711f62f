/**
 * The most expensive data found for each keyword of JSON Schema and each kind of rule, within the default limits.
 * test/policy/budget.test.ts checks that each case is charged. bench/worst-case.ts measures the cost of the whole budget for each case.
 */

import { numbered, object, range } from './many.js'

/** A schema and data for it. A keyword with several entries has several ways to be expensive. */
export interface SchemaCase {
  readonly keyword: string
  readonly name: string
  readonly schema: object
  readonly data: unknown
  readonly draft?: 'draft-07' | '2019-09'
}

/** As many members as `limits.jsonMembers` allows, and a text as long as `limits.body` allows. */
const MANY = 90_000
const LONG = 3_900_000
const numbers = range(MANY, i => i)
const texts = range(MANY, i => `text ${i}`)
const keys = numbered(MANY)
/** Objects with so many shapes that V8 never caches their property access. */
const shapes = range(20_000, i => ({ [`a${i % 997}`]: 1, [`b${i}`]: 2, c: 3 }))
const objects = range(20_000, i => ({ a: i, b: String(i), c: null }))
const long = 'x'.repeat(LONG)
const tildes = { ['~'.repeat(LONG)]: 1 }
const deep = range(60, i => i).reduce<unknown>(value => ({ a: value, b: value }), 1)
const chain = range(60, i => i).reduce<unknown>(value => ({ a: value }), 1)
const TREE = { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' } } }

export const SCHEMA_CASES: readonly SchemaCase[] = [
  { keyword: 'type', name: 'items of one type', schema: { items: { type: 'number' } }, data: numbers },
  { keyword: 'type', name: 'items of a wrong type', schema: { not: { items: { type: ['string', 'number', 'null'] } } }, data: numbers },
  {
    keyword: 'enum',
    name: 'numbers',
    schema: { items: { enum: range(1_000, i => i + 0.5).concat(numbers.slice(0, 1)) } },
    data: numbers.map(() => 0)
  },
  { keyword: 'enum', name: 'objects', schema: { items: { enum: range(500, i => ({ a: 1, b: String(i), c: null, i })) } }, data: objects },
  {
    keyword: 'enum',
    name: 'long texts of one length',
    schema: { items: { enum: range(500, i => 'x'.repeat(1_000) + String(i).padStart(4, '0')) } },
    data: range(3_000, i => 'x'.repeat(1_000) + String(i + 600).padStart(4, '0'))
  },
  {
    keyword: 'const',
    name: 'a long list',
    schema: { allOf: range(10, i => ({ not: { const: [...numbers.slice(0, 400), i + 0.5] } })) },
    data: [...numbers.slice(0, 400), 0]
  },
  {
    keyword: 'const',
    name: 'a large object',
    schema: { allOf: range(80, () => ({ not: { const: { ...numbered(50), z: 2 } } })) },
    data: { ...numbered(50), z: 1 }
  },
  { keyword: 'const', name: 'small objects', schema: { items: { not: { const: { a: -1, b: 'x', c: null } } } }, data: objects },
  { keyword: 'uniqueItems', name: 'numbers', schema: { uniqueItems: true }, data: numbers },
  { keyword: 'uniqueItems', name: 'texts', schema: { uniqueItems: true }, data: texts },
  { keyword: 'uniqueItems', name: 'objects', schema: { uniqueItems: true }, data: objects },
  { keyword: 'uniqueItems', name: 'shapes', schema: { uniqueItems: true }, data: shapes },
  { keyword: 'uniqueItems', name: 'long texts', schema: { uniqueItems: true }, data: range(39, i => `${i}${'"'.repeat(100_000)}`) },
  { keyword: 'multipleOf', name: 'fractions', schema: { items: { multipleOf: 1e-300 } }, data: numbers.map(i => i + 0.1) },
  {
    keyword: 'multipleOf',
    name: 'large numbers',
    schema: { items: { multipleOf: 1.5e-300 } },
    data: numbers.map(i => 1.7e308 - i * 1e300)
  },
  { keyword: 'multipleOf', name: 'integers', schema: { items: { multipleOf: 7 } }, data: numbers.map(i => i * 7) },
  {
    keyword: 'minimum',
    name: 'items',
    schema: { items: { minimum: -1, maximum: 1e9, exclusiveMinimum: -1, exclusiveMaximum: 1e9 } },
    data: numbers
  },
  { keyword: 'maximum', name: 'a thousand of them', schema: { items: { allOf: range(1_000, i => ({ maximum: 1e6 + i })) } }, data: numbers },
  { keyword: 'exclusiveMinimum', name: 'items', schema: { items: { exclusiveMinimum: -1 } }, data: numbers },
  { keyword: 'exclusiveMaximum', name: 'items', schema: { items: { exclusiveMaximum: 1e9 } }, data: numbers },
  { keyword: 'maxLength', name: 'a long text', schema: { allOf: range(1_000, i => ({ maxLength: 9e6 + i })) }, data: long },
  { keyword: 'minLength', name: 'surrogates', schema: { allOf: range(1_000, i => ({ minLength: i })) }, data: '\u{1f600}'.repeat(900_000) },
  { keyword: 'minLength', name: 'short texts', schema: { items: { minLength: 1, maxLength: 100 } }, data: texts },
  { keyword: 'pattern', name: 'a long text', schema: { pattern: '(a|aa)+b|[a-z]{3,40}z' }, data: long },
  { keyword: 'pattern', name: 'a pattern that counts', schema: { pattern: '(?:a{1,30}){1,30}$' }, data: 'a'.repeat(100_000) },
  { keyword: 'pattern', name: 'any characters, counted', schema: { pattern: '.{900}x' }, data: 'a'.repeat(100_000) },
  { keyword: 'pattern', name: 'letters of Unicode', schema: { pattern: '^(\\p{L}|\\p{N})*$' }, data: 'Ж中é1'.repeat(100_000) },
  { keyword: 'pattern', name: 'short texts', schema: { items: { pattern: '^[a-z]+ [0-9]+$' } }, data: texts },
  { keyword: 'minItems', name: 'lists', schema: { items: { minItems: 0, maxItems: 9 } }, data: range(40_000, () => [1]) },
  {
    keyword: 'maxItems',
    name: 'a thousand of them',
    schema: { items: { allOf: range(1_000, i => ({ maxItems: 9 + i })) } },
    data: range(40_000, () => [1])
  },
  { keyword: 'maxProperties', name: 'many keys', schema: { allOf: range(1_000, i => ({ maxProperties: 1e6 + i })) }, data: keys },
  { keyword: 'minProperties', name: 'many keys', schema: { allOf: range(1_000, i => ({ minProperties: i })) }, data: keys },
  { keyword: 'minProperties', name: 'shapes', schema: { items: { minProperties: 1 } }, data: shapes },
  {
    keyword: 'required',
    name: 'shapes',
    schema: { items: { anyOf: [{ required: range(100, i => `a${i}`) }, { required: ['c'] }] } },
    data: shapes
  },
  {
    keyword: 'required',
    name: 'all of a thousand',
    schema: { items: { required: range(1_000, i => `k${i}`) } },
    data: range(90, () => numbered(1_000))
  },
  {
    keyword: 'properties',
    name: 'a thousand that are there',
    schema: { items: { properties: object(1_000, i => `k${i}`, () => ({ type: 'number' })) } },
    data: range(90, () => numbered(1_000))
  },
  {
    keyword: 'properties',
    name: 'a thousand that are not there',
    schema: { items: { properties: object(1_000, i => `z${i}`, () => ({ type: 'number' })) } },
    data: shapes
  },
  { keyword: 'properties', name: 'trees', schema: TREE, data: deep },
  { keyword: 'additionalProperties', name: 'many keys', schema: { additionalProperties: { type: 'number' } }, data: keys },
  {
    keyword: 'additionalProperties',
    name: 'none of many keys',
    schema: { anyOf: range(1_000, () => ({ additionalProperties: false })) },
    data: keys
  },
  {
    keyword: 'additionalProperties',
    name: 'a long key',
    schema: { additionalProperties: { anyOf: range(1_000, () => ({ type: 'string' })) } },
    data: tildes
  },
  {
    keyword: 'additionalProperties',
    name: 'a long key, referred to',
    schema: {
      $defs: { a: { type: 'number', ...numbered(15, 'x'), maximum: 9, minimum: 0 } },
      additionalProperties: { allOf: range(1_000, () => ({ $ref: '#/$defs/a' })) }
    },
    data: tildes
  },
  {
    keyword: 'additionalProperties',
    name: 'shapes',
    schema: { items: { properties: { c: true }, additionalProperties: { type: 'number' } } },
    data: shapes
  },
  {
    keyword: 'patternProperties',
    name: 'many keys',
    schema: { patternProperties: { '^k': { type: 'number' }, '[0-9]$': { type: 'number' } } },
    data: keys
  },
  { keyword: 'propertyNames', name: 'many keys', schema: { propertyNames: { maxLength: 9 } }, data: keys },
  {
    keyword: 'propertyNames',
    name: 'a long key',
    schema: { propertyNames: { anyOf: range(1_000, () => ({ maxLength: 1 })) } },
    data: tildes
  },
  {
    keyword: 'dependentRequired',
    name: 'lists',
    schema: { items: { dependentRequired: { c: range(1_000, i => `k${i}`) } } },
    data: range(90, () => ({ c: 1, ...numbered(1_000) }))
  },
  {
    keyword: 'dependentSchemas',
    name: 'shapes',
    schema: {
      items: { dependentSchemas: object(500, i => (i === 0 ? 'c' : `z${i}`), () => ({ minProperties: 1 })) }
    },
    data: shapes
  },
  {
    keyword: 'dependencies',
    name: 'lists',
    draft: 'draft-07',
    schema: { items: { dependencies: { c: range(1_000, i => `k${i}`) } } },
    data: range(90, () => ({ c: 1, ...numbered(1_000) }))
  },
  {
    keyword: 'items',
    name: 'nested lists',
    schema: { items: { items: { items: { type: 'number' } } } },
    data: range(30, () => range(50, () => range(50, i => i)))
  },
  {
    keyword: 'prefixItems',
    name: 'a thousand',
    schema: { items: { prefixItems: range(1_000, () => ({ type: 'number' })) } },
    data: range(90, () => range(1_000, i => i))
  },
  {
    keyword: 'additionalItems',
    name: 'many',
    draft: 'draft-07',
    schema: { items: [{ type: 'number' }], additionalItems: { type: 'number' } },
    data: numbers
  },
  { keyword: 'contains', name: 'nothing', schema: { contains: { type: 'string' } }, data: numbers },
  { keyword: 'contains', name: 'nothing, often', schema: { anyOf: range(500, () => ({ contains: { const: -1 } })) }, data: numbers },
  { keyword: 'unevaluatedItems', name: 'many', schema: { unevaluatedItems: { type: 'number' } }, data: numbers },
  {
    keyword: 'unevaluatedProperties',
    name: 'many keys',
    schema: { patternProperties: { '^a': true }, unevaluatedProperties: { type: 'number' } },
    data: keys
  },
  {
    keyword: 'unevaluatedProperties',
    name: 'copied up a chain of references',
    schema: {
      $defs: object(300, i => `d${i}`, i =>
        i === 299 ? { patternProperties: { k: true } } : { $ref: `#/$defs/d${i + 1}`, minProperties: 0 }),
      $ref: '#/$defs/d0',
      unevaluatedProperties: false
    },
    data: numbered(20_000)
  },
  {
    keyword: '$ref',
    name: 'to itself',
    schema: { $ref: '#/$defs/a', $defs: { a: { type: ['object', 'number'], properties: { a: { $ref: '#/$defs/a' } } } } },
    data: chain
  },
  {
    keyword: '$ref',
    name: 'items',
    schema: {
      items: { $ref: '#/$defs/a' },
      $defs: { a: { type: 'number', ...numbered(15, 'x'), minimum: 0 } }
    },
    data: numbers
  },
  {
    keyword: '$dynamicRef',
    name: 'to itself',
    schema: { $dynamicAnchor: 'n', type: ['object', 'number'], properties: { a: { $dynamicRef: '#n' }, b: { $dynamicRef: '#n' } } },
    data: deep
  },
  {
    keyword: '$recursiveRef',
    name: 'to itself',
    draft: '2019-09',
    schema: { $recursiveAnchor: true, properties: { a: { $recursiveRef: '#' }, b: { $recursiveRef: '#' } } },
    data: deep
  },
  { keyword: 'allOf', name: 'a thousand', schema: { items: { allOf: range(1_000, () => ({ type: 'number' })) } }, data: numbers },
  {
    keyword: 'anyOf',
    name: 'the last of a thousand',
    schema: { items: { anyOf: [...range(999, () => ({ type: 'string' })), { type: 'number' }] } },
    data: numbers
  },
  {
    keyword: 'anyOf',
    name: 'objects',
    schema: { items: { anyOf: [...range(500, i => ({ properties: { a: { const: `x${i}` } }, required: ['a', 'b'] })), {}] } },
    data: objects
  },
  {
    keyword: 'oneOf',
    name: 'one of a thousand',
    schema: { items: { oneOf: [...range(999, () => ({ type: 'string' })), { type: 'number' }] } },
    data: numbers
  },
  {
    keyword: 'oneOf',
    name: 'of two, recursively',
    schema: {
      $ref: '#/$defs/x',
      $defs: {
        x: {
          oneOf: [
            { properties: { a: { $ref: '#/$defs/x' }, z: { const: 1 } }, required: ['z'] },
            { properties: { a: { $ref: '#/$defs/x' } } }
          ]
        }
      }
    },
    data: chain
  },
  { keyword: 'not', name: 'items', schema: { items: { not: { type: 'string' } } }, data: numbers },
  { keyword: 'if', name: 'items', schema: { items: { if: { type: 'number' }, then: { minimum: 0 }, else: false } }, data: numbers },
  {
    keyword: 'if',
    name: 'hundreds',
    schema: { items: { allOf: range(700, () => ({ if: { minimum: 5 }, then: { minimum: 0 } })) } },
    data: numbers
  },
  ...[
    'date',
    'time',
    'date-time',
    'iso-time',
    'iso-date-time',
    'duration',
    'uri',
    'uri-reference',
    'uri-template',
    'url',
    'email',
    'hostname',
    'ipv4',
    'ipv6',
    'regex',
    'uuid',
    'json-pointer',
    'json-pointer-uri-fragment',
    'relative-json-pointer',
    'byte',
    'password'
  ].flatMap(format => [
    { keyword: 'format', name: `${format}: short texts`, schema: { items: { anyOf: [{ format }, true] } }, data: texts },
    ...[
      'a',
      '1',
      'http://a',
      '%41',
      'a.',
      'a@',
      '1:',
      '(',
      '[',
      '/~0',
      'AAAA',
      '{a}',
      '-',
      'P1D',
      'a-',
      'http://a:1/',
      '~',
      "'",
      'a%20'
    ].map(text => ({
      keyword: 'format',
      name: `${format}: ${text}...`,
      schema: { anyOf: [{ format }, true] },
      data: `${text.length > 4 ? text : ''}${text.slice(-2).repeat(100_000)}!`
    }))
  ])
]

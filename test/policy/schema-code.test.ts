/** A schema that another thread has compiled gives the same results as a schema that is compiled in this thread. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import type { CompileResult } from '#jsonschema/schema.js'
import { compileSchema } from '#jsonschema/schema.js'
import { Patterns } from '#jsonschema/regexp.js'
import { runSchema, writeSchema } from '#jsonschema/code.js'

const require = createRequire(import.meta.url)

/** What JSON.parse makes of 1e400. */
const HUGE = Number.POSITIVE_INFINITY

/** As it arrives from another thread. */
const elsewhere = (schema: unknown, patterns = new Patterns()): CompileResult => {
  const steps = runSchema(structuredClone(writeSchema({ schema, formats: 'assert' }, new Patterns())), patterns)
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

const told = (result: CompileResult, value: unknown): unknown =>
  result.ok ? [result.schema.matches(value), result.schema.validate(value)] : result.problem

const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  0.06,
  19.99,
  20,
  HUGE,
  '',
  'a',
  'ab',
  'A',
  'aé',
  '😀😀',
  '2026-11-22',
  'https://example.com/a',
  'http://[',
  '127.0.0.1',
  'a@b.c',
  'P1D',
  '/a/~1',
  '550e8400-e29b-41d4-a716-446655440000',
  [],
  [1],
  [1, 1],
  [1, 2, 3],
  ['a', 1],
  [[1], [1]],
  [
    { a: 1, b: 2 },
    { b: 2, a: 1 }
  ],
  {},
  { a: 1 },
  { a: 'x', b: 2 },
  { a: { a: { a: 1 } } },
  { value: 1, left: { value: 2, right: { value: 'x' } } },
  { constructor: 1 },
  { toString: 1, b: 1 },
  JSON.parse('{"__proto__": {"a": 1}, "a": 1}'),
  { kind: 'circle', radius: 1 },
  { kind: 'square', radius: 1 },
  { 'x-a': 1, y: 2 },
  { list: ['a', 'b', 'a'] }
]

const SCHEMAS: readonly unknown[] = [
  true,
  false,
  {},
  [],
  7,
  null,
  { $schema: 'urn:x' },
  ...['string', 'number', 'integer', 'object', 'array', 'null', 'boolean', ['string', 'null']].map(type => ({ type })),
  { minLength: 2 },
  { maxLength: 1 },
  { pattern: '^a' },
  { type: 'string', pattern: '^\\p{L}+$' },
  { pattern: '(?=a)' },
  { pattern: '(' },
  { minimum: 1 },
  { exclusiveMaximum: 1.5 },
  { multipleOf: 0.01 },
  { multipleOf: 3 },
  ...[
    'date',
    'date-time',
    'time',
    'duration',
    'uri',
    'url',
    'uri-reference',
    'email',
    'hostname',
    'ipv4',
    'ipv6',
    'uuid',
    'json-pointer',
    'regex',
    'unknown',
    'int32',
    'float',
    'byte',
    'password',
    'iso-time'
  ].map(format => ({ format })),
  { enum: ['a', 1, null, { a: 1 }, [1]] },
  { const: { a: 1 } },
  { const: null },
  { enum: Array.from({ length: 300 }, (_, i) => `k${i}`) },
  { enum: [HUGE] },
  { items: { type: 'integer' } },
  { prefixItems: [{ type: 'string' }], items: false },
  { contains: { const: 1 }, minContains: 2, maxContains: 2 },
  { minItems: 1, maxItems: 2, uniqueItems: true },
  { unevaluatedItems: false, prefixItems: [true] },
  { required: ['a'] },
  { required: ['constructor'] },
  { required: ['', 'a'] },
  { dependentRequired: { a: [''] } },
  { properties: { a: { type: 'integer' }, constructor: false } },
  { patternProperties: { '^x-': { type: 'string' } }, additionalProperties: { type: 'integer' } },
  { additionalProperties: false, properties: { a: true } },
  { propertyNames: { pattern: '^[a-z]$' } },
  { minProperties: 1, maxProperties: 1 },
  { dependentRequired: { a: ['b'] } },
  { dependentSchemas: { a: { required: ['c'] } } },
  { unevaluatedProperties: false, properties: { a: true } },
  {
    unevaluatedProperties: { type: 'integer' },
    allOf: [{ properties: { a: true } }],
    if: { required: ['b'] },
    then: { properties: { b: true } }
  },
  { allOf: [{ type: 'object' }, { required: ['a'] }] },
  { anyOf: [{ type: 'string' }, { minimum: 1 }] },
  { oneOf: [{ type: 'number' }, { type: 'integer' }] },
  { not: { type: 'string' } },
  { if: { type: 'string' }, then: { minLength: 2 }, else: { type: 'object' } },
  { $defs: { tree: { type: 'object', properties: { a: { $ref: '#/$defs/tree' } }, additionalProperties: false } }, $ref: '#/$defs/tree' },
  { type: 'object', properties: { value: { type: 'number' }, left: { $ref: '#' }, right: { $ref: '#' } } },
  {
    $id: 'https://example.com/a',
    $defs: { b: { $id: 'b', type: 'object', properties: { a: { $ref: 'a' } } } },
    anyOf: [{ $ref: 'b' }, { type: 'string' }]
  },
  { $id: 'https://example.com/tree', $dynamicAnchor: 'node', type: 'object', properties: { a: { $dynamicRef: '#node' } } },
  {
    $schema: 'https://json-schema.org/draft/2019-09/schema',
    $recursiveAnchor: true,
    type: 'object',
    properties: { a: { $recursiveRef: '#' } }
  },
  {
    $schema: 'http://json-schema.org/draft-07/schema#',
    definitions: { s: { type: 'string' } },
    items: [{ $ref: '#/definitions/s' }],
    additionalItems: false,
    dependencies: { a: ['b'], b: { required: ['a'] } }
  },
  { $defs: { s: { $anchor: 'short', maxLength: 1 } }, $ref: '#short' },
  { $ref: '#/$defs/none' },
  { $ref: 'https://elsewhere.example/x' },
  { $async: true },
  { properties: JSON.parse('{"__proto__": false}') },
  {
    discriminator: { propertyName: 'kind' },
    oneOf: [
      { properties: { kind: { const: 'circle' } }, required: ['kind'] },
      { properties: { kind: { const: 'square' } }, required: ['kind'] }
    ]
  },
  {
    properties: { 'a"b\n\u2028`$\\': { const: '"; process.exit(7); //\u2028*/' } },
    required: ['a"b\n\u2028`$\\'],
    description: '*/ process.exit(7)'
  },
  { pattern: '^"\\);process\\.exit\\(7\\)//' },
  { type: 'nothing' },
  { minimum: 'a' },
  { properties: 7 }
]

t.test('every keyword', async t => {
  const different: unknown[] = []
  for (const schema of SCHEMAS) {
    const [here, there] = [compileSchema(schema), typeof schema === 'boolean' ? compileSchema(schema) : elsewhere(schema)]
    if (there.ok !== here.ok) different.push({ schema, here: here.ok, elsewhere: there.ok })
    for (const value of VALUES) {
      const [one, other] = [told(here, value), told(there, value)].map(found => JSON.stringify(found))
      if (one !== other) different.push({ schema, value, here: one, elsewhere: other })
    }
  }
  t.same(different, [])
})

t.test('the meta-schemas, on schemas', async t => {
  const different: unknown[] = []
  for (const file of [
    'ajv/dist/refs/json-schema-draft-07.json',
    'ajv/dist/refs/json-schema-2020-12/meta/validation.json',
    'ajv/dist/refs/json-schema-2019-09/meta/applicator.json'
  ]) {
    const { $id, ...schema } = JSON.parse(readFileSync(require.resolve(file), 'utf8')) as Record<string, unknown>
    const [here, there] = [compileSchema(schema), elsewhere(schema)]
    t.equal(here.ok && there.ok, true, file)
    for (const value of [...SCHEMAS, ...VALUES]) {
      if (JSON.stringify(told(here, value)) !== JSON.stringify(told(there, value))) different.push({ file, value })
    }
  }
  t.same(different, [])
})

t.test('steps are counted, and the format that is quadratic is not used', async t => {
  const value = ['a'.repeat(3_000_000)]
  const slow = elsewhere({ items: { pattern: '(?:a?){900}b' } })
  t.match(told(slow, value), [null, [{ message: /too many steps/ }]])
  const url = elsewhere({ format: 'url' })
  t.same(told(url, 'http://a'.repeat(20_000)), told(compileSchema({ format: 'url' }), 'http://a'.repeat(20_000)))
})

t.test('patterns of both validators are compiled once', async t => {
  const patterns = new Patterns()
  const schema = { pattern: '^a+$', properties: { a: { pattern: '^a+$' } }, patternProperties: { '^a+$': true, b: true } }
  elsewhere(schema, patterns)
  t.same(patterns.all, ['^a+$', 'b'])
})

t.test('text of a schema never runs as code', async t => {
  const target = globalThis as { injected?: string }
  const run: string[] = []
  const ends = ['*/', '*/}', '"*/', '\\"*/', "'*/", '`*/', '\u2028', '\n', '"]', '")', "')", '`', '${']
  const texts = ends.map(end => `urn:x:${end};globalThis.injected=1;//`).concat(ends.map(end => `${end};globalThis.injected=1;/*`))
  const places: Readonly<Record<string, (text: string) => object>> = {
    $id: text => ({ $id: text, type: 'string' }),
    'inner $id': text => ({ $defs: { a: { $id: text, type: 'string' } }, properties: { a: { $ref: '#/$defs/a' } } }),
    'id of draft 07': text => ({
      $schema: 'http://json-schema.org/draft-07/schema#',
      $id: text,
      definitions: { a: { $id: text, type: 'string' } },
      properties: { a: { $ref: '#/definitions/a' } }
    }),
    $anchor: text => ({ $anchor: text, type: 'string' }),
    $comment: text => ({ $comment: text, type: 'string' }),
    title: text => ({ title: text, description: text, default: text, examples: [text], type: 'string' }),
    property: text => ({
      properties: { [text]: { type: 'string' } },
      required: [text],
      dependentRequired: { [text]: [text] },
      additionalProperties: { const: text }
    }),
    definition: text => ({ $defs: { [text]: { type: 'string' } }, $ref: `#/$defs/${text.replaceAll('~', '~0').replaceAll('/', '~1')}` }),
    pattern: text => ({ pattern: text, patternProperties: { [text]: { minLength: 3 } } }),
    format: text => ({ format: text }),
    enum: text => ({ enum: [text, { [text]: text }] }),
    unknown: text => ({ [text]: text, type: 'string' })
  }
  for (const [place, schemaOf] of Object.entries(places)) {
    for (const text of texts) {
      const compiled = elsewhere(schemaOf(text))
      for (const value of ['a', { a: 1 }, { [text]: 1 }, { [text]: 'a' }, text]) told(compiled, value)
      if (target.injected !== undefined) run.push(`${place}: ${text}`)
      delete target.injected
    }
  }
  t.same(run, [])
})

t.test('only a schema that names an inherited property asks for own properties', async t => {
  const asks = (schema: unknown): boolean => {
    const { code } = writeSchema({ schema, formats: 'assert' }, new Patterns())
    return code.ok && code.quick.code.includes('hasOwnProperty')
  }
  t.equal(asks({ required: ['a'], properties: { a: { type: 'string' } }, additionalProperties: false }), false)
  for (const name of Object.getOwnPropertyNames(Object.prototype).filter(name => name !== '__proto__')) {
    t.equal(asks({ required: [name] }), true, name)
    t.equal(asks({ properties: { a: { items: { properties: { [name]: { type: 'string' } } } } } }), true, name)
    t.equal(asks({ dependentRequired: { a: [name] } }), true, name)
  }
})

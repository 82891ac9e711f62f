import t from 'tap'
import fc from 'fast-check'
import { isDeepStrictEqual } from 'node:util'
import type { CompiledSchema, DataViolation } from '#jsonschema/schema.js'
import { compileSchema, MAX_VIOLATIONS } from '#jsonschema/schema.js'
import { SCHEMA_LIMITS } from '#jsonschema/lint.js'
import { check } from '../helpers/seed.js'

const D07 = 'http://json-schema.org/draft-07/schema#'
const D19 = 'https://json-schema.org/draft/2019-09/schema'
const D20 = 'https://json-schema.org/draft/2020-12/schema'

/** Parses the value from JSON, as in cards and requests. `__proto__` is then an ordinary member. */
const json = (value: unknown): unknown =>
  typeof value === 'string' && /^[[{]/.test(value) ? JSON.parse(value) : JSON.parse(JSON.stringify(value))
const compiled = (schema: unknown): CompiledSchema => {
  const result = compileSchema(json(schema))
  if (!result.ok) throw new Error(`${result.problem.pointer}: ${result.problem.message}`)
  return result.schema
}
const refused = (schema: unknown): { pointer: string, message: string } => {
  const result = compileSchema(json(schema))
  if (result.ok) throw new Error('the schema was accepted')
  return result.problem
}
const violations = (schema: unknown, value: unknown): readonly DataViolation[] => compiled(schema).validate(json(value)) ?? []
const valid = (schema: unknown, value: unknown): boolean => violations(schema, value).length === 0

t.test('nullable, a keyword of OpenAPI, is an annotation', async t => {
  const rows: [object, boolean][] = [
    [{ nullable: true }, true], [{ type: 'string', nullable: true }, false], [{ enum: ['a'], nullable: true }, false],
    [{ type: ['string', 'null'], nullable: false }, true], [{ type: 'string', nullable: 'yes' }, false],
    [{ $ref: '#/components/a', components: { a: { type: 'string', nullable: true } } }, false],
    [{ anyOf: [{ type: 'null' }], nullable: true }, true], [{ $schema: D07, type: 'string', nullable: true }, false]
  ]
  for (const [schema, isNullValid] of rows) t.equal(valid(schema, null), isNullValid, JSON.stringify(schema))
  const named = { type: 'object', properties: { nullable: { type: 'string', nullable: true } }, required: ['nullable'], additionalProperties: false }
  t.same([{ nullable: 'a' }, { nullable: null }, {}].map(value => valid(named, value)), [true, false, false], 'a member may have this name')
  t.same([{ nullable: true }, {}].map(value => valid({ const: { nullable: true } }, value)), [true, false], 'and a constant')
  const dependent = { dependentRequired: { nullable: ['a'] }, nullable: true }
  t.same([{ nullable: 1 }, { nullable: 1, a: 1 }].map(value => valid(dependent, value)), [false, true], 'and a member that requires others')
})

t.test('a member with the empty name is required as any other', async t => {
  const row = (schema: object, accepted: readonly object[], rejected: readonly object[]): void => {
    for (const value of accepted) t.same(violations(schema, value), [], `${JSON.stringify(schema)} accepts ${JSON.stringify(value)}`)
    for (const value of rejected) t.equal(valid(schema, value), false, `${JSON.stringify(schema)} rejects ${JSON.stringify(value)}`)
  }
  row({ required: [''] }, [{ '': 1 }], [{}, { a: 1 }])
  row({ required: ['', 'a'], maxProperties: 2 }, [{ '': 1, a: 1 }], [{ '': 1 }, { a: 1 }, { '': 1, a: 1, b: 1 }])
  row({ not: { required: [''] } }, [{}, { a: 1 }], [{ '': 1 }])
  row({ if: { required: [''] }, then: false }, [{}], [{ '': 1 }])
  row({ anyOf: [{ required: [''] }, { required: ['a'] }] }, [{ '': 1 }, { a: 1 }], [{}])
  row({ not: { dependentRequired: { constructor: ['', 'a'] } } }, [{ constructor: 1 }, { constructor: 1, '': 1 }], [{}, { constructor: 1, '': 1, a: 1 }])
  row({ $schema: D07, not: { dependencies: { a: [''], b: false } } }, [{ a: 1 }, { b: 1 }], [{}, { a: 1, '': 1 }])
  t.same(violations({ required: [''] }, { a: 1 }), [{ path: '[""]', message: 'is required' }])
})

t.test('each draft by its $schema, 2020-12 if it is absent', async t => {
  const tuple07 = { items: [{ type: 'string' }], additionalItems: false }
  const tuple20 = { prefixItems: [{ type: 'string' }], items: false }
  for (const $schema of [
    D07,
    'http://json-schema.org/draft-07/schema',
    'https://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft-07/schema',
    D19,
    `${D19}#`
  ]) {
    t.equal(valid({ $schema, ...tuple07 }, ['a']), true, $schema)
    t.equal(valid({ $schema, ...tuple07 }, ['a', 1]), false, $schema)
  }
  for (const $schema of [D20, `${D20}#`, undefined]) {
    t.equal(valid({ $schema, ...tuple20 }, ['a']), true, String($schema))
    t.equal(valid({ $schema, ...tuple20 }, ['a', 1]), false, String($schema))
    t.match(
      refused({ $schema, items: [{ type: 'string' }] }),
      { pointer: '/items', message: /^not valid against its meta-schema/ },
      'items is one schema since 2020-12'
    )
  }
  t.equal(valid({ $schema: D07, prefixItems: [{ type: 'string' }] }, [1]), true, 'a keyword of a later draft is none in draft-07')
  t.equal(valid({ $schema: D07, dependencies: { a: ['b'] } }, { a: 1 }), false)
  for (const $schema of [D19, D20]) {
    t.equal(valid({ $schema, dependentRequired: { a: ['b'] } }, { a: 1 }), false)
    t.equal(valid({ $schema, allOf: [{ properties: { a: true } }], unevaluatedProperties: false }, { a: 1 }), true)
    t.equal(valid({ $schema, allOf: [{ properties: { a: true } }], unevaluatedProperties: false }, { a: 1, b: 1 }), false)
  }
  t.equal(valid({ $schema: D07, dependentRequired: { a: ['b'] }, unevaluatedProperties: false }, { a: 1 }), true)
  const recursive = {
    $schema: D19,
    $recursiveAnchor: true,
    type: 'object',
    properties: { child: { $recursiveRef: '#' } },
    unevaluatedProperties: false
  }
  t.equal(valid(recursive, { child: { child: {} } }), true)
  t.equal(valid(recursive, { child: { other: {} } }), false)
  const dynamic = { $schema: D20, $dynamicAnchor: 'node', properties: { child: { $dynamicRef: '#node' } }, unevaluatedProperties: false }
  t.equal(valid(dynamic, { child: { child: {} } }), true)
  t.equal(valid(dynamic, { child: { other: {} } }), false)
})

t.test('an unusable schema is rejected with the place', async t => {
  const rows: readonly (readonly [string, unknown, string, RegExp])[] = [
    ['draft-04', { $schema: 'http://json-schema.org/draft-04/schema#' }, '/$schema', /not one of draft-07, 2019-09 and 2020-12/],
    ['odd $schema', { $schema: 7 }, '/$schema', /not one of/],
    ['a list', [], '', /a JSON Schema is an object or a boolean/],
    ['null', null, '', /a JSON Schema is an object or a boolean/],
    ['a string', 'x', '', /a JSON Schema is an object or a boolean/],
    [
      'bad type',
      { properties: { a: { type: 'strin' } } },
      '/properties/a/type',
      /^not valid against its meta-schema: must be equal to one of the allowed values$/
    ],
    ['$async', { properties: { a: { $async: true } } }, '/properties/a/$async', /asynchronous/],
    [
      'remote $ref',
      { properties: { 'a/b': { $ref: 'https://x.test/s.json' } } },
      '/properties/a~1b/$ref',
      /^the reference "https:\/\/x\.test\/s\.json" points outside the schema; the gateway fetches nothing, so copy the target into "\$defs"$/
    ],
    ['relative $ref', { allOf: [{ $ref: 'other.json#/a' }] }, '/allOf/0/$ref', /points outside the schema/],
    ['file $ref', { $ref: 'file:///etc/passwd' }, '/$ref', /points outside/],
    ['a $ref to nothing here', { $ref: '#/$defs/x' }, '', /can't resolve reference/],
    ['look-ahead', { properties: { a: { pattern: '(?=x)' } } }, '/properties/a/pattern', /cannot run in linear time/],
    ['look-ahead in a name', { patternProperties: { '(?!x)': true } }, '/patternProperties/(?!x)', /cannot run in linear time/],
    ['no regular expression', { pattern: '(' }, '/pattern', /not a valid ECMA-262/],
    ['$data', { minimum: { $data: '1/a' } }, '/minimum', /must be a number/],
    ['__proto__ as a property', '{"properties":{"__proto__":{"type":"string"}}}', '/properties/__proto__', /"__proto__" is not supported/],
    [
      '__proto__ as a dependency',
      '{"dependentRequired":{"__proto__":["a"]}}',
      '/dependentRequired/__proto__',
      /"__proto__" is not supported/
    ],
    [
      'constructor in a constant',
      { const: { constructor: { a: 1 } } },
      '/const/constructor',
      /"constructor" inside "const" or "enum" is not supported/
    ],
    ['valueOf in an enum', { enum: [{ a: { valueOf: 1 } }] }, '/enum/0/a/valueOf', /is not supported/],
    [
      'duplicate $id',
      { $defs: { a: { $id: 'https://x.test/a', type: 'string' }, b: { $id: 'https://x.test/a', type: 'number' } } },
      '',
      /resolves to more than one schema/
    ]
  ]
  for (const [name, schema, pointer, message] of rows) t.match(refused(schema), { pointer, message }, name)
})

t.test('a name like a keyword where no keyword can be is data', async t => {
  for (const name of ['pattern', '$ref', '$id', '$async', 'patternProperties', '$schema', 'required', '$dynamicRef']) {
    const schema = {
      type: 'object',
      properties: { [name]: { type: 'string', enum: ['(?=x)', 'https://x.test/remote', 'ok'] } },
      required: [name],
      additionalProperties: false
    }
    t.equal(valid(schema, { [name]: 'ok' }), true, name)
    t.equal(valid(schema, { [name]: 1 }), false, name)
    t.equal(valid(schema, {}), false, name)
  }
  const inert = { pattern: '(?=x)', $ref: 'https://x.test/remote', $async: true, patternProperties: { '(?!a)': 1 } }
  for (const keyword of ['const', 'default']) t.equal(valid({ properties: { a: { [keyword]: inert } } }, { a: inert }), true, keyword)
  for (const keyword of ['enum', 'examples']) t.equal(valid({ properties: { a: { [keyword]: [inert] } } }, { a: inert }), true, keyword)
  t.equal(valid({ dependentSchemas: { pattern: { required: ['b'] } } }, { pattern: 1 }), false)
  t.equal(valid({ $defs: { pattern: { type: 'string' } }, properties: { a: { $ref: '#/$defs/pattern' } } }, { a: 1 }), false)
})

t.test('references inside the schema work, wherever its $id is', async t => {
  const id = 'https://x.test/item'
  const inside = [
    { properties: { a: { $ref: id } }, $defs: { item: { $id: id, type: 'string' } } },
    { $defs: { item: { $id: id, type: 'string' } }, properties: { a: { $ref: id } } },
    { $id: 'https://x.test/root', $defs: { item: { $id: 'item', type: 'string' } }, properties: { a: { $ref: 'item' } } },
    { $id: 'https://x.test/root', $defs: { s: { type: 'string' } }, properties: { a: { $ref: 'https://x.test/root#/$defs/s' } } },
    { $id: 'urn:uuid:1', $defs: { s: { type: 'string' } }, properties: { a: { $ref: 'urn:uuid:1#/$defs/s' } } },
    { $defs: { s: { $anchor: 'here', type: 'string' } }, properties: { a: { $ref: '#here' } } },
    { $schema: D07, definitions: { s: { $id: '#here', type: 'string' } }, properties: { a: { $ref: '#here' } } },
    { components: { schemas: { S: { type: 'string' } } }, properties: { a: { $ref: '#/components/schemas/S' } } }
  ]
  for (const schema of inside) {
    t.equal(valid(schema, { a: 'x' }), true, JSON.stringify(schema))
    t.equal(valid(schema, { a: 1 }), false)
  }
  t.equal(valid({ $ref: D20 }, { type: 'strin' }), false, 'the meta-schema is at hand')
  t.match(refused({ $id: D20, type: 'string' }), { message: /already exists/ }, 'and cannot be replaced')
  t.equal(valid({ $id: 'https://x.test/same', type: 'string' }, 'a'), true)
  t.equal(valid({ $id: 'https://x.test/same', type: 'number' }, 'a'), false, 'one schema\'s $id is nothing to the next')
})

t.test('names of Object.prototype are ordinary names', async t => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty', 'valueOf', 'isPrototypeOf', '__defineGetter__', '__proto__']) {
    const own = `{${JSON.stringify(name)}:1}`
    t.equal(valid({ required: [name] }, {}), false, `${name} is required`)
    t.equal(valid({ required: [name] }, own), true)
    t.equal(valid({ additionalProperties: false }, own), false, `${name} is additional`)
    t.equal(valid({ properties: { a: true }, additionalProperties: { type: 'string' } }, own), false)
    t.equal(valid({ dependentRequired: { a: [name] } }, { a: 1 }), false)
    t.equal(valid({ propertyNames: { const: 'a' } }, own), false)
    t.equal(valid({ maxProperties: 0 }, own), false)
    t.equal(valid({ patternProperties: { '.': { type: 'string' } } }, own), false)
    for (const schema of [
      { unevaluatedProperties: false },
      { properties: { a: true }, unevaluatedProperties: false },
      { anyOf: [{ properties: { a: true } }, { properties: { b: true } }], unevaluatedProperties: false },
      { patternProperties: { '^x': true }, unevaluatedProperties: false },
      { if: { required: ['a'] }, then: { properties: { a: true } }, unevaluatedProperties: { type: 'string' } }
    ]) {
      t.equal(valid(schema, own), false, `${name} is unevaluated under ${JSON.stringify(schema)}`)
      t.equal(valid(schema, {}), true)
    }
    if (name === '__proto__') continue
    t.equal(valid({ properties: { [name]: { type: 'string' } } }, {}), true)
    t.equal(valid({ properties: { [name]: { type: 'string' } } }, own), false)
    t.equal(valid({ properties: { [name]: { type: 'number' } }, additionalProperties: false }, own), true)
    t.equal(valid({ anyOf: [{ properties: { [name]: true } }], unevaluatedProperties: false }, own), true)
    t.equal(valid({ patternProperties: { [`^${name}$`]: true }, unevaluatedProperties: false }, own), true)
    t.equal(valid({ dependentRequired: { [name]: ['a'] } }, {}), true)
    t.equal(valid({ dependentRequired: { [name]: ['a'] } }, own), false)
    t.equal(valid({ const: { a: 1 } }, own), false)
  }
})

t.test('annotations do not matter: unknown keywords and formats', async t => {
  t.equal(
    valid(
      { 'x-ui': { widget: 1 }, format: 'no-such-format', contentMediaType: 'a/b', discriminator: { propertyName: 'a' }, example: 1 },
      'x'
    ),
    true
  )
  t.equal(valid({ format: 'date' }, '2026-02-30'), false, 'known formats are checked')
  t.equal(valid({ const: { $data: '/a' } }, { $data: '/a' }), true, '$data is data')
  t.equal(valid(true, 1), true)
  t.same(violations(false, 1), [{ path: '', message: 'is not allowed here' }])
})

t.test('patterns run in linear time and mean what ECMA-262 says', async t => {
  const text = `${'a'.repeat(100_000)}!`
  t.equal(valid({ pattern: '^(a+)+$' }, text), false)
  t.equal(valid({ patternProperties: { '^(a|a)*$': { type: 'string' } }, additionalProperties: false }, { [text]: '' }), false)
  t.equal(valid({ pattern: '^\\S+$' }, 'a\u00a0b'), false)
})

t.test('formats are quick on long texts', async t => {
  const nasty = [
    'a',
    '1',
    '-',
    '.',
    'a.',
    '@',
    'a@',
    '/',
    '%41',
    ':',
    '{',
    '{a}',
    '0:',
    'T',
    'P1',
    ' ',
    'é',
    '~0',
    'a-',
    '1.1.',
    'http://a',
    '::',
    '[',
    'A+/='
  ].flatMap(unit => ['', 'http://', 'a@', '{'].map(start => start + unit.repeat(50_000 / unit.length) + '\u0000'))
  for (const format of [
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
    'byte'
  ]) {
    const schema = compiled({ format })
    const start = performance.now()
    for (const text of nasty) schema.validate(text)
    const took = performance.now() - start
    t.ok(took < 5_000, `${format} ${took.toFixed(0)} ms`)
  }
})

t.test('uniqueItems by value', async t => {
  const unique = { uniqueItems: true }
  const rows: readonly (readonly [string, boolean])[] = [
    ['[]', true],
    ['[1,"1"]', true],
    ['[1,true]', true],
    ['[0,false]', true],
    ['[0,-0]', false],
    ['[0,-0.0]', false],
    ['[1,1.0]', false],
    ['[1e400,null]', true],
    ['[{"a":1,"b":2},{"b":2,"a":1}]', false],
    ['[[1],[1]]', false],
    ['[[1,2],[2,1]]', true],
    ['[{"a":[{}]},{"a":[{}]}]', false],
    ['["a","a"]', false],
    ['[null,null]', false],
    ['[{},[]]', true],
    ['[{"__proto__":1},{}]', true],
    ['[{"__proto__":1},{"__proto__":1}]', false],
    ['["1,2",[1,2]]', true],
    ['[["a,b"],["a","b"]]', true],
    ['[{"a":"b"},"{\\"a\\":\\"b\\"}"]', true]
  ]
  for (const [items, expected] of rows) t.equal(valid(unique, items), expected, items)
  t.equal(valid({ uniqueItems: false }, [1, 1]), true)
  t.equal(valid(unique, 'aa'), true)
  const validator = compiled(unique)
  const item = fc.oneof(
    fc.constantFrom<unknown>(0, -0, 1, true, false, null, '1', '', [], {}),
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom<unknown>({ a: 1, b: 2 }, { b: 2, a: 1 }, [1, [2]], [[1], 2])
  )
  const plus = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) // -0 is 0 in JSON Schema
  t.ok(check('policy/json-schema/unique-items', fc.property(fc.array(item, { maxLength: 6 }), items => {
    const oracle = !items.some((a, i) => items.slice(i + 1).some(b => isDeepStrictEqual(plus(a), plus(b))))
    return (validator.validate(items) === null) === oracle
  }), { numRuns: 1_000 }) > 0, 'inputs')
})

t.test('multipleOf by the digits that were written', async t => {
  const rows: readonly (readonly [number, number, boolean])[] = [
    [19.99, 0.01, true],
    [0.3, 0.1, true],
    [1234567.89, 0.01, true],
    [0.0075, 0.0001, true],
    [1.1, 0.1, true],
    [4.35, 0.01, true],
    [1e22, 1e-3, true],
    [19.995, 0.01, false],
    [0.35, 0.1, false],
    [7, 2, false],
    [-6, 3, true],
    [0, 0.7, true],
    [-0.02, 0.01, true],
    [1e308, 0.123456789, false],
    [12, 1.5, true]
  ]
  for (const [value, multipleOf, expected] of rows) t.equal(valid({ multipleOf }, value), expected, `${value} of ${multipleOf}`)
  t.same(violations({ multipleOf: 0.05 }, 0.06), [{ path: '', message: 'must be a multiple of 0.05' }])
  t.equal(violations({ multipleOf: 1 }, '[1e400]').length, 0, 'not a number')
  t.equal(valid({ type: 'number', multipleOf: 1 }, '[1e400]'), false)
  t.match(refused({ multipleOf: 0 }), { pointer: '/multipleOf' })
})

t.test('schemas that cost more than their size are rejected', async t => {
  const chain = (length: number, link: (next: object) => object): object => ({
    $ref: '#/$defs/d0',
    $defs: Object.fromEntries(
      Array.from({ length }, (_, i) => [`d${i}`, i === length - 1 ? { type: 'string' } : link({ $ref: `#/$defs/d${i + 1}` })])
    )
  })
  t.match(refused(chain(30, next => ({ allOf: [next, next] }))), { pointer: '', message: /^the schema unfolds to more than 50000 steps/ })
  t.match(refused(chain(2_000, next => next)), { pointer: '', message: /form a chain longer than 500/ })
  t.equal(valid(chain(200, next => next), 1), false, 'an honest chain works')
  t.equal(valid(chain(6, next => ({ allOf: [next, next] })), 1), false)
  let deep: object = {}
  for (let i = 0; i < 70; i++) deep = { not: deep }
  t.match(refused(deep), { message: /nested deeper than 64 levels/, pointer: '/not'.repeat(65) })
  t.match(refused({ enum: Array.from({ length: SCHEMA_LIMITS.nodes }, (_, i) => i) }), { message: /more than 5000 values/ })
})

t.test('endless recursion, also caused by data, fails closed', async t => {
  const endless = { path: '', message: 'could not be validated: the schema recurses without end, or the data is nested too deeply for it' }
  t.same(violations({ $ref: '#' }, 1), [endless])
  t.same(violations({ allOf: [{ $ref: '#' }] }, 1), [endless])
  t.same(violations({ $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { anyOf: [{ $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' }, 1), [
    endless
  ])
  const nested = (depth: number, leaf: unknown): unknown => {
    let value = leaf
    for (let i = 0; i < depth; i++) value = { op: 'or', args: [value] }
    return value
  }
  const list = { type: 'object', properties: { args: { items: { $ref: '#' } } } }
  t.equal(valid(list, nested(5, {})), true)
  t.same(compiled(list).validate(nested(50_000, {})), [endless])
  // Two branches into one member take 2^depth steps.
  const branch = (op: string): object => ({ properties: { args: { items: { $ref: '#/$defs/x' } }, op: { const: op } }, required: ['op'] })
  const expression = { $ref: '#/$defs/x', $defs: { x: { type: 'object', anyOf: [branch('and'), branch('or')] } } }
  t.equal(valid(expression, nested(8, { op: 'and' })), true)
  t.same(violations(expression, nested(26, { op: 'and' })), [
    { path: '', message: 'could not be validated: the schema takes too many steps on data like this' }
  ])
  t.ok(violations(expression, nested(12, { op: 'none' })).length > 0, 'and the longer list of errors is given up in time')
})

t.test('the list of violations is limited and each is reported once', async t => {
  t.equal(violations({ items: { type: 'string' } }, Array.from({ length: 1_000 }, () => 1)).length, MAX_VIOLATIONS)
  t.equal(violations({ items: { type: 'string' } }, Array.from({ length: 5_000 }, () => 1)).length, 1, 'large data is walked once')
  t.same(violations({ anyOf: [{ type: 'string' }, { type: 'string' }] }, 1), [
    { path: '', message: 'must be a string' },
    { path: '', message: 'must match a schema in anyOf' }
  ])
})

t.test('a violation has the path and the expected value', async t => {
  const schema = {
    type: 'object',
    properties: {
      a: { type: 'string', maxLength: 2, pattern: '^x' },
      list: { items: { enum: ['red', 'green'] }, uniqueItems: true },
      n: { const: 7 },
      'odd name': { type: 'number', minimum: 3 },
      map: { propertyNames: { pattern: '^[a-z]+$' } },
      never: false,
      date: { format: 'date' }
    },
    required: ['gone', 'a b'],
    additionalProperties: false
  }
  t.same(
    violations(schema, {
      a: 'secret',
      list: ['blue', 'blue'],
      n: 'secret',
      'odd name': 1,
      map: { A1: 'secret' },
      never: 'secret',
      date: 'secret',
      more: 'secret',
      '/~': 1
    }),
    [
      { path: '.gone', message: 'is required' },
      { path: '["a b"]', message: 'is required' },
      { path: '.more', message: 'is not a property the schema allows' },
      { path: '["/~"]', message: 'is not a property the schema allows' },
      { path: '.a', message: 'must have at most 2 characters' },
      { path: '.a', message: 'must match the pattern "^x"' },
      { path: '.list[0]', message: 'must be one of ["red","green"]' },
      { path: '.list[1]', message: 'must be one of ["red","green"]' },
      { path: '.list', message: 'must not contain equal items' },
      { path: '.n', message: 'must be 7' },
      { path: '["odd name"]', message: 'must be at least 3' },
      { path: '.map.A1', message: 'is a name that must match the pattern "^[a-z]+$"' },
      { path: '.map.A1', message: 'is not a name the schema allows' },
      { path: '.never', message: 'is not allowed here' },
      { path: '.date', message: 'must match the format "date"' }
    ]
  )
  t.same(violations({ type: 'object' }, 1), [{ path: '', message: 'must be an object' }])
  t.same(violations({ items: { items: { required: ['x'] } } }, [[{}]]), [{ path: '[0][0].x', message: 'is required' }])
  t.match(
    violations({ pattern: `\u202e\u009b${'x'.repeat(500)}` }, 'a')[0]?.message,
    /^must match the pattern "\\u202e\\u009bx{100,}\.\.\.$/,
    "the schema's author is a stranger too"
  )
  t.match(violations({ additionalProperties: false }, { '\u202e"\n': 1 })[0]?.path, '["\\u202e\\"\\u000a"]')
})

t.test('values never appear in messages', async t => {
  const MARK = 'Zq7Secret'
  const schemas = [
    {
      type: 'object',
      properties: {
        a: { type: 'number' },
        b: { type: 'array', items: { enum: ['x', 1] }, uniqueItems: true, maxItems: 1, contains: { const: 3 } }
      },
      required: ['c'],
      additionalProperties: { type: 'string', pattern: '^x', maxLength: 3, format: 'date' }
    },
    {
      anyOf: [
        { const: 1 },
        { type: 'array', prefixItems: [{ format: 'email' }], unevaluatedItems: false },
        { oneOf: [{ type: 'string', maxLength: 1 }, { type: 'null' }] }
      ]
    },
    {
      if: { type: 'object' },
      then: {
        unevaluatedProperties: false,
        properties: { a: { not: { type: 'string' } } },
        dependentRequired: { a: ['zz'] },
        propertyNames: { maxLength: 1 }
      },
      else: { type: 'boolean' }
    },
    {
      $schema: D07,
      items: [{ multipleOf: 7 }],
      additionalItems: false,
      minProperties: 9,
      dependencies: { a: { required: ['q'] }, b: ['r'] }
    }
  ].map(compiled)
  const leaf = fc.oneof(
    fc.constantFrom(MARK, `${MARK}1`),
    fc.string().map(text => MARK + text),
    fc.integer(),
    fc.boolean(),
    fc.constant(null)
  )
  const { value } = fc.letrec(tie => ({
    value: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'c', 'long', '__proto__', 'x y'), tie('value'))
    )
  }))
  t.ok(check('policy/json-schema/values-stay-secret', fc.property(value, data => {
    for (const schema of schemas) {
      const text = JSON.stringify(schema.validate(data))
      if (text.includes(MARK)) throw new Error(text)
    }
  }), { numRuns: 1_000 }) > 0, 'inputs')
})

t.test('every pattern of a schema is compiled separately', async t => {
  const check = (schema: unknown, value: unknown): boolean => {
    const result = compileSchema(schema)
    if (!result.ok) throw new Error(result.problem.message)
    return result.schema.validate(value) === null
  }
  t.equal(check({ allOf: [{ pattern: '^a' }, { pattern: 'z$' }] }, 'a'), false)
  t.equal(check({ allOf: [{ pattern: '^a' }, { pattern: 'z$' }] }, 'az'), true)
  const properties = { a: { pattern: '^a$' }, b: { pattern: '^b$' } }
  t.equal(check({ properties }, { a: 'a', b: 'b' }), true)
  t.equal(check({ properties }, { a: 'a', b: 'a' }), false)
  const patternProperties = { '^s': { type: 'string' }, '^n': { type: 'number' } }
  t.equal(check({ patternProperties, additionalProperties: false }, { s: 'x', n: 1 }), true)
  t.equal(check({ patternProperties }, { n: 'x' }), false)
})

/** Programs that validate data on its bytes never accept data that Ajv rejects, or that the strict parser rejects. */
import { ok, strictEqual as equal } from 'node:assert'
import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import t from 'tap'
import { withChecker } from '#jsonschema/bytes/checker.js'
import type { CheckedValue } from '#jsonschema/bytes/checker.js'
import type { Program } from '#jsonschema/bytes/program.js'
import { ANYTHING, programOf } from '#jsonschema/bytes/program.js'
import { withBudget, withSteps } from '#jsonschema/evaluation.js'
import type { CompiledSchema } from '#jsonschema/schema.js'
import { compileSchema } from '#jsonschema/schema.js'
import { parseStrict } from '#wire/json/json.js'
import { Random } from '../fuzz/engine/random.js'
import { check } from '../helpers/seed.js'
import { anySchema, damaged, documentFor, textOf } from './bytes-fixtures.js'

const LIMITS = { depth: 64, members: 100_000 }

const run = (program: Program, text: string | Buffer, depth = LIMITS.depth): CheckedValue | null => {
  const bytes = Buffer.from(text as string)
  const found = withChecker(bytes, checker => checker.check(program, 0, depth))
  return found?.end === bytes.length ? found : null
}

/** Members and elements in all objects and arrays, and the depth. */
function measured (value: unknown): { members: number, depth: number } {
  if (typeof value !== 'object' || value === null) return { members: 0, depth: 0 }
  const children = Object.values(value).map(measured)
  return {
    members: children.reduce((sum, child) => sum + child.members, children.length),
    depth: 1 + Math.max(0, ...children.map(child => child.depth))
  }
}

/** @returns true when the program accepts the text */
function compare (bytes: Buffer, program: Program, schema: CompiledSchema | null): boolean {
  const found = run(program, bytes)
  if (found === null || !isUtf8(bytes)) return false
  const text = bytes.toString()
  const parsed = parseStrict(bytes, LIMITS, 0, Infinity)
  ok(parsed.ok, `the parser rejects ${text}`)
  equal(JSON.stringify({ members: found.members, depth: found.depth }), JSON.stringify(measured(parsed.value)), text)
  equal(
    JSON.stringify(found.numbers),
    JSON.stringify(parsed.inexact === undefined ? null : Reflect.get(parsed.inexact, 'tokens')),
    `numbers of ${text}`
  )
  // Programs that compare numbers are not asked about documents with inexact numbers.
  if (schema === null || (program.compares && parsed.inexact !== undefined)) return true
  equal(withBudget(parsed.inexact ?? null, () => schema.matches(parsed.value)), true, `Ajv rejects ${text}`)
  return true
}

t.test('what a program accepts, the parser and Ajv accept', async t => {
  let [programs, schemas, accepted, valid, damagedAccepted] = [0, 0, 0, 0, 0]
  t.ok(check('policy/bytes-checker/never-wider', fc.property(fc.nat(), seed => {
    const random = new Random(seed)
    const schema = anySchema(random)
    const compiled = compileSchema(schema)
    if (!compiled.ok) return
    schemas++
    const program = programOf(schema)
    if (program === null) return
    programs++
    for (let i = 0; i < 25; i++) {
      const document = documentFor(random, schema)
      const bytes = Buffer.from(textOf(random, document))
      try {
        if (compare(bytes, program, compiled.schema)) accepted++
        if (withBudget(null, () => compiled.schema.matches(document)) === true) valid++
        for (let k = 0; k < 4; k++) if (compare(damaged(random, bytes), program, compiled.schema)) damagedAccepted++
      } catch (error) {
        throw new Error(`${(error as Error).message}\nschema: ${JSON.stringify(schema)}`, { cause: error })
      }
    }
  }), { numRuns: 100, endOnFailure: true }) > 0, 'inputs')
  t.comment({ schemas, programs, valid, accepted, damagedAccepted })
  t.ok(programs > schemas * 0.6, `${programs} of ${schemas} schemas have a program`)
  t.ok(accepted > valid * 0.6, `${accepted} of ${valid} valid documents are accepted`)
  t.ok(damagedAccepted > 100, 'damage is not always fatal')
})

const ROWS: readonly (readonly [schema: object | boolean, accepted: readonly string[], left: readonly string[]])[] = [
  [true, ['1', '-0', '0.5', '1e5', '"a"', '"\\u00e9\\n"', '[]', '{}', '[ 1 , {} ]', '{"a":{"a":1}}', 'null', 'true', 'false'],
    ['', '01', '1.', '.5', '+1', '1e', 'tru', '"', '"\\x"', '"\\u12g4"', '"\n"', '[1,]', '{"a":1,}', '{"a" 1}', '{"a":1,"a":2}', '{"\\u0061":1}', '[1 2]', '1e400',
      '[', '{', '{"a"', '{"a":', '[1', 'nulL', '-', '\ufeff1']],
  [false, [], ['1', 'null', '{}', '"a"']],
  [{ type: 'string', minLength: 2, maxLength: 3 }, ['"ab"', '"abc"', '"éé"', '"😀😀😀"'], ['"a"', '"abcd"', '"é"', '"😀"', '"\\n\\n"', '1']],
  [{ enum: ['red', 1, null, true] }, ['"red"', '1', '1.0', 'null', 'true'], ['"green"', '"r\\u0065d"', '2', 'false', '[]', '{}', '1e0']],
  [{ const: -0 }, ['0', '-0', '0.0'], ['1', 'null']],
  [{ type: 'integer' }, ['1', '1.0', '-0', '12345678901234567'], ['1.5', '1e2', '1.00000000000000001']],
  [{ exclusiveMinimum: 1, maximum: 3 }, ['1.1', '3', '3.0', '"any"', '[]'], ['1', '3.1', '2.0000000000000001', '1e0']],
  [{ minimum: 1, exclusiveMinimum: 1 }, ['1.5'], ['1', '0']],
  [{ minimum: 2, exclusiveMinimum: 1 }, ['2'], ['1', '1.5']],
  [{ multipleOf: 3 }, ['3', '-6', '0', '3.0'], ['4', '3.5', '1e400']],
  [{ type: ['string', 'null'] }, ['"a"', 'null'], ['1', 'true']],
  [{ anyOf: [{ type: 'string', maxLength: 1 }, { type: 'null' }] }, ['"a"', 'null'], ['"ab"', '1']],
  [{ allOf: [{ $ref: '#/$defs/a' }], $defs: { a: { type: 'null' } } }, ['null'], ['1']],
  [{ required: ['a'], properties: { b: { type: 'null' } } }, ['{"a":1}', '{"b":null,"a":1}', '{"c":1,"a":[]}', '1'], ['{}', '{"b":1,"a":1}', '{"a":1,"a":1}']],
  [{ required: ['a'], properties: {}, additionalProperties: false, type: 'object' }, [], ['{"a":1}', '{}']],
  [{ properties: { a: false }, additionalProperties: { type: 'null' } }, ['{"b":null}', '{}'], ['{"a":1}', '{"b":1}']],
  [{ minProperties: 1, maxProperties: 2 }, ['{"a":1}', '{"a":1,"b":1}'], ['{}', '{"a":1,"b":1,"c":1}']],
  [{ items: { type: 'null' }, minItems: 1, maxItems: 2 }, ['[null]', '[ null , null ]', '{}'], ['[]', '[null,null,null]', '[1]']],
  [{ type: 'object', properties: { next: { $ref: '#' }, 'a/b': { $ref: '#/properties/a~1b/$defs/x', $defs: { x: true } } } },
    ['{"next":{"next":{}}}'], ['{"next":1}']],
  [{ $ref: '#/$defs/a%20b', $defs: { 'a b': { type: 'null' } } }, ['null'], ['1']],
  [{ format: 'date', 'x-any': 1, title: 'a' }, ['"a"'], []],
  [{ pattern: '^[A-Z]+-\\d{2,3}$' }, ['"AB-12"', '"A-123"', '1', '"\\u0041-12"'], ['"AB-1"', '"ab-12"', '"AB-1234"', '""', '"É-12"']],
  [{ pattern: '^\\p{Lu}' }, ['"É"', '"A"'], ['"é"', '"a"']],
  [{ uniqueItems: true }, ['[]', '[1]', '[1,2,"1","2",true,null]', '[{},[]]', '[{"a":1},{"a":2}]', '["\\u0061","b"]', '["a",1.5]', '[-0,1]'],
    ['[1,1]', '["a","a"]', '[null,null]', '[{"a":1,"b":2},{"b":2,"a":1}]', '[1,1.0]', '["\\u0061","a"]', '[0,-0]', '[[1],[1]]']],
  [{ uniqueItems: false }, ['[1,1]'], []],
  [{ type: 'string', nullable: true }, ['"a"'], ['null']],
  [{ not: { type: 'string' } }, ['1', '{}', 'null'], ['"a"', 'tru', '']],
  [{ type: 'string', not: { enum: ['a', 'b'] } }, ['"c"', '""'], ['"a"', '"\\u0061"', '"\\u0063"', '1']],
  [{ not: { required: ['a'] } }, ['{"b":1}', '{}'], ['1', '{"a":1}', '{"b":1,"b":1}', '{"\\u0061":1}']],
  [{ not: { properties: { a: true }, additionalProperties: false } }, ['{"b":1}', '{"a":1,"b":1}'], ['{"a":1}', '{}', '1', '{"\\u0061":1}']],
  [{ oneOf: [{ type: 'object', properties: { a: true }, additionalProperties: false }, { type: 'object', maxProperties: 1 }] },
    ['{"b":1}'], ['{"a":1}', '{"\\u0061":1}', '{"a":1,"b":1}']],
  [{ if: { properties: { k: { const: 'x' } }, required: ['k'] }, then: { required: ['v'] }, else: { required: ['w'] } },
    ['{"k":"x","v":1}', '{"k":"y","w":1}', '{"w":1}', '1'], ['{"k":"x","w":1}', '{"k":"y","v":1}', '{"k":"x","v":1,"k":"y"}', '{"k":"\\u0078","w":1,"v":1}']],
  [{ then: false }, ['1'], []],
  [{ if: { type: 'string' }, else: false }, ['"a"'], ['1']],
  [{ anyOf: [{ type: 'string' }, { minLength: 1 }] }, ['"a"', '""', '1'], ['tru']],
  [{ anyOf: [{ maxLength: 2 }, { pattern: '^b' }], minLength: 1 }, ['"ab"', '"bcd"'], ['""', '"acd"']],
  [{ oneOf: [{ type: 'integer' }, { type: 'number', minimum: 3 }] }, ['1', '3.5'], ['3', '1.5', '1e1']],
  [{ oneOf: [{ properties: { k: { const: 1 } }, required: ['k'] }, { properties: { k: { const: 2 } }, required: ['k'] }] },
    ['{"k":1}', '{"k":2,"a":[1,{"b":2}]}'], ['{"k":3}', '{}', '1', '{"k":1,"a":[1,]}']],
  [{ allOf: [{ minLength: 1 }, { maxLength: 2 }], type: 'string' }, ['"a"', '"ab"'], ['""', '"abc"', '1']],
  [{ $ref: '#/$defs/a', maxLength: 2, $defs: { a: { type: 'string' } } }, ['"ab"'], ['"abc"', '1']],
  [{ type: 'object', properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } } }, ['{"next":{"next":null}}'], ['{"next":1}']]
]

/** `format` is asserted. */
const FORMAT_ROWS: readonly (readonly [format: string, accepted: readonly string[], left: readonly string[]])[] = [
  ['date', ['"2026-11-28"', '"2024-02-29"', '"2026-01-31"', '1'], ['"2026-02-29"', '"2026-11-31"', '"2026-13-01"', '"x"', '""']],
  ['date-time', ['"2026-11-28T12:00:00Z"', '"2026-11-28 12:00:00.5+01:00"', '"2026-12-31T23:59:60Z"'], ['"2026-11-28T24:00:00Z"', '"2026-11-28"']],
  ['time', ['"12:00:00Z"', '"12:00:00-0130"'], ['"12:00"', '"12:00:00"']],
  ['email', ['"a.b+c@example.com"', '"!@a.b"'], ['"a@b"', '"a@b-.c"', '"é@b.c"']],
  ['ipv4', ['"10.0.0.255"'], ['"10.0.0.256"', '"10.0.0"']],
  ['uri', ['"https://example.com:80/a/b?c=d#e"', '"urn:a:b"'], ['"example"', '"http://a b"', '"http://é"']],
  ['uuid', ['"123e4567-E89B-42d3-a456-426614174000"', '"urn:uuid:123e4567-e89b-42d3-a456-426614174000"'], ['"123e4567"', '"g23e4567-e89b-42d3-a456-426614174000"']],
  ['hostname', ['"a-b.example"'], ['"-"']],
  ['int32', ['1', '-2147483648', '"a"', '1.0'], ['2147483648', '1.5', '1e0']],
  ['int64', ['1', '12345678901'], ['1.5']],
  ['password', ['""', '1'], []],
  ['no-format', ['"\\u0061"', '1'], []]
]

t.test('each keyword: data that a program accepts, and data that it leaves to Ajv', async t => {
  for (const [schema, accepted, left] of ROWS) {
    const program = programOf(schema, 'annotate')
    if (program === null) {
      t.fail(`no program for ${JSON.stringify(schema)}`)
      continue
    }
    const compiled = compileSchema(schema, undefined, 'annotate')
    for (const text of accepted) t.not(run(program, text), null, `${JSON.stringify(schema)} accepts ${text}`)
    for (const text of left) t.equal(run(program, text), null, `${JSON.stringify(schema)} leaves ${text}`)
    for (const text of accepted) compare(Buffer.from(text), program, compiled.ok ? compiled.schema : null)
  }
})

t.test('each format', async t => {
  for (const [format, accepted, left] of FORMAT_ROWS) {
    const program = programOf({ format })
    const compiled = compileSchema({ format })
    if (program === null || !compiled.ok) {
      t.fail(`no program for ${format}`)
      continue
    }
    for (const text of accepted) t.ok(compare(Buffer.from(text), program, compiled.schema), `${format} accepts ${text}`)
    for (const text of left) t.equal(run(program, text), null, `${format} leaves ${text}`)
  }
})

t.test('a test that takes too many steps leaves the value', async t => {
  const program = programOf({ items: { pattern: '^\\p{L}+$' } }) as Program
  const text = JSON.stringify(Array.from({ length: 50 }, () => 'é'.repeat(2_000)))
  t.not(run(program, text), null, 'without a limit')
  const bytes = Buffer.from(text)
  t.equal(withSteps(10_000, () => withChecker(bytes, checker => checker.check(program, 0, 64))), null)
})

t.test('several readings of a value end after a number of steps that is linear in the text', async t => {
  let schema: object = { const: 1 }
  for (let i = 0; i < 24; i++) schema = { anyOf: [{ items: schema, maxItems: 1 }, { items: schema, minItems: 1, title: 'again' }] }
  const program = programOf(schema)
  t.not(program, null)
  const begin = performance.now()
  t.equal(run(program as Program, '['.repeat(24) + '2' + ']'.repeat(24)), null)
  t.ok(performance.now() - begin < 500, 'of 2 ** 24 readings')
})

t.test('schemas without a program', async t => {
  const many = Object.fromEntries(Array.from({ length: 65 }, (_none, i) => [`p${i}`, true]))
  for (const schema of [
    { items: [{}] }, { prefixItems: [{}] }, { contains: {} }, { unknown: 1 }, { enum: [[]] }, { enum: ['\ud800'] },
    { not: { $ref: '#' } }, { allOf: [{ properties: { a: { $ref: '#' } } }], minProperties: 1 },
    { enum: Object.keys(many) }, { const: {} }, { multipleOf: 0.01 }, { minLength: 2 ** 30 }, { properties: many },
    { $ref: '#' }, { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }, { $ref: 'other.json' }, { $ref: '#name' },
    { $ref: '#/$defs/a', $defs: { a: { $id: 'x' } } }, { properties: { '\ud800': {} } }, { required: ['__proto__'] },
    { properties: { 'a"b': {} } }, { properties: { 'a\\b': {} } }, { required: ['line\nline'] }, { properties: { 'a\\': {} } },
    { items: { $schema: 'https://json-schema.org/draft/2020-12/schema' } }, { minimum: true }, null, 7
  ]) t.equal(programOf(schema), null, JSON.stringify(schema))
  let deep: object = {}
  for (let i = 0; i < 20_000; i++) deep = { items: deep }
  t.equal(programOf(deep), null, 'a schema that nests too deeply')
})

t.test('values at every place of a block, names and objects at their limits', async t => {
  for (let size = 0; size < 40; size++) {
    const text = JSON.stringify({ ['n'.repeat(size)]: 'x'.repeat(size), list: ['é'.repeat(size), `${'y'.repeat(size)}\n`] })
    t.ok(compare(Buffer.from(text), ANYTHING, null), text)
    const schema = { properties: { ['n'.repeat(size)]: { type: 'string', minLength: size, maxLength: size } }, required: ['n'.repeat(size)] }
    const program = programOf(schema) as Program
    t.not(run(program, text), null, `a name of ${size} bytes`)
    t.equal(run(program, text.replace('"x', '"xx').replace('""', '"x"')), null)
    t.equal(run(program, text.replace('{"n', '{"m').replace('{""', '{"m"')), null)
  }
  const object = (count: number): string => JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_none, i) => [`n${i}`, i])))
  t.not(run(ANYTHING, object(64)), null)
  t.equal(run(ANYTHING, object(65)), null, 'more names are compared by the exact parser')
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  t.not(run(ANYTHING, nested(512), 512), null)
  t.equal(run(ANYTHING, nested(513), 512), null)
  t.not(run(ANYTHING, `[${'1e5,'.repeat(2_047)}1e5]`), null)
  t.equal(run(ANYTHING, `[${'1e5,'.repeat(2_048)}1e5]`), null, 'more numbers that may be inexact')
  t.not(run(ANYTHING, `[${'"x",'.repeat(300_000)}1]`), null, 'a text of more than a megabyte')
})

/** Programs that validate data on its bytes never accept data that Ajv rejects, or that the strict parser rejects. */
import { ok, strictEqual as equal } from 'node:assert'
import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import t from 'tap'
import { withChecker } from '#jsonschema/bytes/checker.js'
import type { CheckedValue } from '#jsonschema/bytes/checker.js'
import type { Program } from '#jsonschema/bytes/program.js'
import { ANYTHING, programOf } from '#jsonschema/bytes/program.js'
import { evaluate } from '#jsonschema/evaluation.js'
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
  equal(evaluate(parsed.inexact ?? null, () => schema.matches(parsed.value)), true, `Ajv rejects ${text}`)
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
        if (evaluate(null, () => compiled.schema.matches(document)) === true) valid++
        for (let k = 0; k < 4; k++) if (compare(damaged(random, bytes), program, compiled.schema)) damagedAccepted++
      } catch (error) {
        throw new Error(`${(error as Error).message}\nschema: ${JSON.stringify(schema)}`, { cause: error })
      }
    }
  }), { numRuns: 100, endOnFailure: true }) > 0, 'inputs')
  t.comment({ schemas, programs, valid, accepted, damagedAccepted })
  t.ok(programs > schemas * 0.3, `${programs} of ${schemas} schemas have a program`)
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
  [{ format: 'date', 'x-any': 1, title: 'a' }, ['"a"'], []]
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

t.test('schemas without a program', async t => {
  const many = Object.fromEntries(Array.from({ length: 65 }, (_none, i) => [`p${i}`, true]))
  for (const schema of [
    { format: 'date' }, { pattern: 'a' }, { nullable: true, type: 'string' }, { uniqueItems: true }, { items: [{}] }, { prefixItems: [{}] }, { not: {} },
    { if: {}, then: {} }, { unknown: 1 }, { enum: [[]] },
    { enum: Object.keys(many) }, { const: {} }, { multipleOf: 0.01 }, { minLength: 2 ** 30 }, { properties: many },
    { $ref: '#' }, { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }, { $ref: 'other.json' }, { $ref: '#name' },
    { $ref: '#/$defs/a', $defs: { a: { $id: 'x' } } }, { $ref: '#/$defs/a', type: 'string', $defs: { a: {} } }, { anyOf: [{ type: 'string' }, { minLength: 1 }] },
    { anyOf: [{ type: 'integer' }, { type: 'number' }] }, { allOf: [{}, {}] }, { properties: { '\ud800': {} } }, { required: ['__proto__'] },
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

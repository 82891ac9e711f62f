/** Programs that validate data on its bytes. What a program accepts, the strict parser and Ajv accept, with the same counts. */
import { ok, strictEqual as equal } from 'node:assert'
import { isUtf8 } from 'node:buffer'
import { withChecker } from '#jsonschema/bytes/checker.js'
import type { Program } from '#jsonschema/bytes/program.js'
import { programOf } from '#jsonschema/bytes/program.js'
import { withBudget } from '#jsonschema/evaluation.js'
import type { CompiledSchema } from '#jsonschema/schema.js'
import { compileSchema } from '#jsonschema/schema.js'
import { parseStrict } from '#wire/json/json.js'
import type { Reader, Target } from '../engine/target.js'

const LIMITS = { depth: 20, members: 10_000 }

const NODE = {
  type: 'object',
  required: ['id'],
  properties: {
    id: { type: 'integer', minimum: 1, maximum: 99 },
    name: { type: ['string', 'null'], minLength: 1, maxLength: 5 },
    kind: { enum: ['a', 'b c', 7, 0.5, null] },
    nodes: { type: 'array', items: { $ref: '#' }, maxItems: 3 },
    'a longer name': { anyOf: [{ type: 'boolean' }, { type: 'number', exclusiveMinimum: 0, multipleOf: 2 }] }
  }
}
const BESIDE = {
  type: 'object',
  properties: {
    id: { type: 'string', pattern: '^[A-Z]{2}-\\d+$', not: { const: 'AB-7' } },
    day: { format: 'date' },
    name: { pattern: '^\\p{L}', anyOf: [{ maxLength: 3 }, { pattern: 'x$' }] },
    nodes: { type: 'array', uniqueItems: true },
    kind: { oneOf: [{ type: 'integer' }, { minimum: 3 }, { const: 'a' }] }
  },
  if: { properties: { kind: { const: 7 } }, required: ['kind'] },
  then: { required: ['day'] },
  else: { not: { required: ['day'] } }
}
const ALL = [true, NODE, { ...NODE, additionalProperties: false }, { additionalProperties: NODE, minProperties: 1 }, BESIDE]
const SCHEMAS = ALL.map(schema => {
  const compiled = compileSchema(schema)
  ok(compiled.ok)
  return { program: programOf(schema) as Program, schema: compiled.schema }
})

export const data: Target & Reader = {
  name: 'data',
  maxBytes: 512,
  seeds: [
    '{"id":1,"name":"é","kind":"b c","nodes":[{"id":2},{"id":3,"nodes":[]}],"a longer name":4}',
    '{"id":1.0,"name":null,"kind":0.50,"a longer name":true,"more":[{},"\\u00e9\\n",1e5,12345678901234567]}',
    ' { "x" : {"id":1} ,\n"y":{ "id" : 99 }}',
    '{"id":"AB-12","name":"éb","nodes":[1,"1",{"a":1},{"a":2}],"kind":7,"day":"2026-11-28"}',
    '{"id":"AB-7","nodes":[1,1.0]}',
    '{"kind":"a","day":""}',
    '{"id":1,"id":2}', '{"id":1,"x":1,"x":2}', '{"id":01}', '{"id":1,"name":"abcdef"}', '{"nodes":[]}'
  ],
  dictionary: [
    '{"id":1}', '"name":"', '"kind":', '"a longer name":', '"nodes":[', ',', '\\u0061', '\\"', '\\\\', '1e5', '-0', '.5', '0', '1234567890123456',
    'true', 'null', '😀', '"id":"AB-1"', '"day":"2024-02-29"', '"kind":7', '"nodes":[1,2]', '"a"'
  ],
  read: bytes => SCHEMAS.map(({ program }) => endOf(program, bytes)),
  check: bytes => { for (const { program, schema } of SCHEMAS) check(bytes, program, schema) }
}

function endOf (program: Program, bytes: Buffer): number | null {
  return withChecker(bytes, checker => checker.check(program, 0, LIMITS.depth))?.end ?? null
}

function check (bytes: Buffer, program: Program, schema: CompiledSchema): void {
  const end = endOf(program, bytes)
  if (end === null || !isUtf8(bytes)) return
  const parsed = parseStrict(bytes.subarray(0, end), LIMITS)
  ok(parsed.ok, 'accepts what the parser rejects')
  if (program.compares && parsed.inexact !== undefined) return
  equal(withBudget(parsed.inexact ?? null, () => schema.matches(parsed.value)), true, 'accepts what Ajv rejects')
}

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ValidateFunction } from 'ajv'
import t from 'tap'
import { metaSchemasModule } from '../../scripts/meta-schemas.js'
import { packageRoot } from '#config/paths.js'
import { configSchema } from '#config/schema/schema.js'
import type { Draft } from '#jsonschema/ajv.js'
import { metaSchemas } from '#jsonschema/built/meta-schemas.js'
import { KEYWORDS, META, compileMeta, metaProblem, problemBy } from '#jsonschema/meta-schema.js'
import type { MetaSchemas } from '#jsonschema/meta-schema.js'
import { compilePattern } from '#jsonschema/regexp.js'

// What the build has compiled of the meta-schemas says what compiling them says.

const require = createRequire(import.meta.url)
const directory = mkdtempSync(join(tmpdir(), 'meta-schemas-'))
t.teardown(() => { rmSync(directory, { recursive: true }) })
const text = metaSchemasModule()
const file = join(directory, 'drafts.cjs')
writeFileSync(file, text.replaceAll('require("', `require("${packageRoot()}/node_modules/`))
const made = require(file) as MetaSchemas

const DRAFTS = Object.keys(META) as Draft[]
const both = Object.fromEntries(DRAFTS.map(draft => [draft, { built: made[draft](KEYWORDS), compiled: compileMeta(draft) }])) as Record<
  Draft,
  Record<'built' | 'compiled', ValidateFunction>
>

/** Values of all kinds, for each keyword of every draft, and for deeper places. */
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  Infinity,
  '',
  'a',
  '#',
  '#a',
  'a#b',
  'a b',
  '%',
  '%zz',
  '(',
  '[a-',
  '\\d',
  'https://example.com/a',
  'urn:x',
  'ä',
  '-a',
  '_a',
  'a.b',
  'a:b',
  '1a',
  'string',
  'object',
  'any',
  'draft-07',
  [],
  [1],
  ['a'],
  ['a', 'a'],
  ['string', 'string'],
  ['string', 'number'],
  [{}, {}],
  [
    { a: 1, b: 2 },
    { b: 2, a: 1 }
  ],
  [true],
  [null],
  [['a'], ['a']],
  {},
  { a: 1 },
  { a: true },
  { a: ['b'] },
  { a: ['b', 'b'] },
  { a: [] },
  { a: { type: 'nothing' } },
  { '(': true },
  { a: 'b' },
  { a: null },
  JSON.parse('{"__proto__": 1, "constructor": 2}'),
  { type: 7 },
  { items: [] },
  { $ref: 7 }
]
const KEYS = [
  '$schema', '$id', 'id', '$ref', '$anchor', '$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$recursiveAnchor', '$vocabulary',
  '$comment', '$defs', 'definitions', 'type', 'enum', 'const', 'multipleOf',
  'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum', 'maxLength', 'minLength', 'pattern', 'maxItems', 'minItems', 'uniqueItems',
  'maxContains', 'minContains', 'maxProperties', 'minProperties', 'required',
  'dependentRequired', 'dependencies', 'dependentSchemas', 'prefixItems', 'items', 'additionalItems', 'contains', 'additionalProperties',
  'properties', 'patternProperties', 'propertyNames', 'if', 'then', 'else',
  'allOf', 'anyOf', 'oneOf', 'not', 'unevaluatedItems', 'unevaluatedProperties', 'title', 'description', 'default', 'deprecated',
  'readOnly', 'writeOnly', 'examples', 'format', 'contentMediaType', 'contentEncoding', 'contentSchema',
  '__proto__', 'constructor', 'nothing'
]
const own = (key: string, value: unknown): object => Object.fromEntries([[key, value]])

function * schemas (): Generator<unknown> {
  yield * VALUES
  yield configSchema
  for (const meta of [
    'ajv/dist/refs/json-schema-draft-07.json',
    'ajv/dist/refs/json-schema-2020-12/schema.json',
    'ajv/dist/refs/json-schema-2019-09/schema.json'
  ]) { yield JSON.parse(readFileSync(require.resolve(meta), 'utf8')) }
  for (const key of KEYS) {
    for (const value of VALUES) {
      yield own(key, value)
      yield { properties: { 'a/b': own(key, value) } }
      yield { type: 'object', allOf: [true, { if: { not: own(key, value) } }] }
    }
  }
  // Two faults: which is told is the same one.
  for (const key of KEYS) for (const other of KEYS) yield Object.fromEntries([[key, { a: 1 }], [other, ['a', 'a']]])
}

/** All that a validator leaves behind. */
const outcome = (validate: ValidateFunction, schema: unknown): string => JSON.stringify([problemBy(validate, schema), validate.errors])

t.test('valid and invalid schemas', async t => {
  const refused: Record<string, number> = {}
  let count = 0
  for (const schema of schemas()) {
    count++
    for (const draft of DRAFTS) {
      const expected = outcome(both[draft].compiled, schema)
      const found = outcome(both[draft].built, schema)
      if (found !== expected) t.equal(found, expected, `${draft}: ${JSON.stringify(schema)}`)
      if (!expected.startsWith('[null')) refused[draft] = (refused[draft] ?? 0) + 1
    }
  }
  t.ok(
    count > 9_000 && DRAFTS.every(draft => (refused[draft] ?? 0) > 1_000),
    `${count} schemas, all alike; refused: ${JSON.stringify(refused)}`
  )
})

t.test('steps are counted, and uniqueItems is the gateway\'s own', async t => {
  let steps = 0
  const counting = made['draft-07']({ ...KEYWORDS, step: cost => { steps += cost } })
  t.equal(counting({ type: ['string', 'number'], properties: { a: { $ref: '#' } } }), true)
  t.ok(steps > 5, `${steps} steps`)
  t.match(text, /keywords\.areUnique/)
  t.notMatch(text, /require\("ajv\/dist\/runtime\/(?:equal|uri)"\)/, 'none of what Ajv has for unique items')
})

t.test('patterns of the meta-schemas are few, linear, and mean the same in RE2', async t => {
  const patterns = [
    ...new Set(
      [...text.matchAll(/keywords\.pattern|func\d+\(("(?:[^"\\]|\\.)*"), "u"\)/g)].flatMap(([, pattern]) =>
        pattern === undefined ? [] : [JSON.parse(pattern) as string]
      )
    )
  ]
  t.strictSame(patterns.sort(), ['^[A-Za-z][-A-Za-z0-9.:_]*$', '^[A-Za-z_][-A-Za-z0-9._]*$', '^[^#]*#?$'], 'no repetition within another')
  for (const pattern of patterns) {
    for (const value of VALUES) {
      if (typeof value === 'string') {
        t.equal(KEYWORDS.pattern(pattern).test(value), compilePattern(pattern).test(value), `${pattern} ${value}`)
      }
    }
  }
})

t.test('the build has installed its meta-schemas', async t => {
  t.not(metaSchemas(), null)
  t.strictSame(metaProblem({ type: 'nothing' }, '2020-12'), problemBy(both['2020-12'].built, { type: 'nothing' }))
})

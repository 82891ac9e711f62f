/** Mistakes in schemas of the operator that JSON Schema accepts as annotations. */
import t from 'tap'
import { create } from '#jsonschema/ajv.js'
import { KEYWORDS_OF, KNOWN_FORMATS, mistakesIn } from '#jsonschema/mistakes.js'
import { META } from '#jsonschema/meta-schema.js'
import { Patterns } from '#jsonschema/regexp.js'

const DRAFTS = ['draft-07', '2019-09', '2020-12'] as const
const told = (schema: unknown): string[] => mistakesIn(schema).map(({ pointer, message, hint }) => `${pointer}: ${message} (${hint})`)

t.test('misspelt keywords and formats, at every place that holds a schema', async t => {
  const schema = { type: 'string', formt: 'uri' }
  const places: Record<string, unknown> = {
    '': schema,
    '/properties/a': { properties: { a: schema } },
    '/items': { items: schema },
    '/prefixItems/0': { prefixItems: [schema] },
    '/allOf/1': { allOf: [{}, schema] },
    '/if': { if: schema },
    '/not': { not: schema },
    '/$defs/x~1y': { $defs: { 'x/y': schema } },
    '/patternProperties/^a': { patternProperties: { '^a': schema } },
    '/dependentSchemas/a': { dependentSchemas: { a: schema } },
    '/unevaluatedProperties': { unevaluatedProperties: schema }
  }
  for (const [pointer, whole] of Object.entries(places)) {
    t.same(told(whole), [`${pointer}/formt: "formt" is not a keyword of JSON Schema 2020-12 (did you mean "format"?)`])
  }
  t.same(told({ format: 'datetime' }), ['/format: "datetime" is not a format that the gateway knows (did you mean "date-time"?)'])
  t.same(told({ format: 'price' }), ['/format: "price" is not a format that the gateway knows (write pattern instead)'])
})

t.test('keywords of another draft, of OpenAPI, and of nobody', async t => {
  t.same(told({ items: [], additionalItems: false, $schema: 'http://json-schema.org/draft-07/schema#' }), [])
  t.same(told({ additionalItems: false }), [
    '/additionalItems: "additionalItems" is not a keyword of JSON Schema 2020-12 (with prefixItems, items applies to the other items)'
  ])
  t.same(told({ $schema: 'http://json-schema.org/draft-07/schema#', minContains: 2 }), [
    '/minContains: "minContains" is not a keyword of JSON Schema draft-07 (it belongs to 2019-09: set "$schema")'
  ])
  t.same(told({ type: 'string', nullable: true }), [
    '/nullable: "nullable" is not a keyword of JSON Schema 2020-12 (write type: [string, "null"])'
  ])
  t.same(told({ '': 1 }), ['/: "" is not a keyword of JSON Schema 2020-12 (remove it; an annotation begins with "x-")'])
})

t.test('annotations, and names that only look like keywords', async t => {
  t.same(told({ 'x-unit': 'ms', title: 't', $comment: 'c', deprecated: true }), [])
  t.same(
    told({ properties: { formt: {}, $reff: true }, const: { formt: 1 }, enum: [{ requird: [] }], default: { a: 1 }, examples: [{ b: 1 }] }),
    []
  )
  t.same(told({ dependencies: { a: ['b'], c: { requird: [] } } }).length, 1)
  t.same(told(true), [])
  t.equal(mistakesIn({ properties: Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`p${at}`, { nope: 1 }])) }).length, 20)
})

t.test('the lists agree with the validator', async t => {
  for (const draft of DRAFTS) {
    const ajv = create(draft, false, new Patterns())
    t.same([...KEYWORDS_OF[draft]].filter(name => !Object.hasOwn(ajv.RULES.keywords, name) && !ajv.RULES.all[name]).filter(isAssertion), [])
    t.same(told(ajv.getSchema(META[draft])?.schema), [], `the meta-schema of ${draft}`)
  }
  t.same(Object.keys(create('2020-12', false, new Patterns()).formats).filter(name => !KNOWN_FORMATS.has(name)), [])
})

/** Names that Ajv resolves without a keyword, and the formats that JSON Schema only annotates. */
function isAssertion (name: string): boolean {
  return !['$anchor', '$recursiveAnchor', '$dynamicAnchor', '$recursiveRef', '$dynamicRef', 'deprecated', 'contentSchema', 'examples'].includes(name)
}

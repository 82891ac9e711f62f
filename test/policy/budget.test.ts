/**
 * One budget for each request: the charged operations, and the behaviour when the budget is spent. The tests count steps, never time;
 * bench/worst-case.ts measures time.
 */
import t from 'tap'
import { SCHEMA_CASES } from '../../bench/worst-cases.js'
import type { PolicyConfig, RuleConfig } from '#config/model/model.js'
import { create } from '#jsonschema/ajv.js'
import { Patterns } from '#jsonschema/regexp.js'
import { withBudget, MAX_STEPS, spendBudget, stepsLeft, withSteps } from '#jsonschema/evaluation.js'
import { compileSchema } from '#jsonschema/schema.js'
import type { CompiledSchema } from '#jsonschema/schema.js'
import { ask, judge, outcome, policyFor, V1 } from './responses.js'
import { declaring, message, policyOf, send } from './fixtures.js'

const URI = 'https://x.test/ext'
const DRAFTS = { 'draft-07': 'http://json-schema.org/draft-07/schema#', '2019-09': 'https://json-schema.org/draft/2019-09/schema' } as const

function compiled (schema: object): CompiledSchema {
  const result = compileSchema(schema)
  if (!result.ok) throw new Error(result.problem.message)
  return result.schema
}

/** Steps of one validation. */
function stepsOf (schema: object, data: unknown): number {
  const { matches } = compiled(schema)
  return withBudget(null, () => {
    matches(data)
    return MAX_STEPS - stepsLeft()
  })
}

t.test('every keyword that runs code is charged, on its worst known data', async t => {
  const uncharged: string[] = []
  const tried = new Set<string>()
  for (const { keyword, name, schema, data, draft } of SCHEMA_CASES) {
    // Small schemas are enough here: all of them take minutes.
    if (tried.has(keyword) || JSON.stringify(schema).length > 3_000) continue
    tried.add(keyword)
    const steps = stepsOf(draft === undefined ? schema : { $schema: DRAFTS[draft], ...schema }, data)
    if (!(steps >= 5)) uncharged.push(`${keyword}: ${name}: ${steps}`)
  }
  t.same(uncharged, [])
  const known = new Set<string>([
    ...SCHEMA_CASES.map(one => one.keyword),
    'formatMinimum',
    'formatMaximum',
    'formatExclusiveMinimum',
    'formatExclusiveMaximum',
    'minContains',
    'maxContains',
    'then',
    'else',
    'id',
    '$id',
    '$schema',
    '$vocabulary',
    '$comment'
  ])
  for (const draft of ['draft-07', '2019-09', '2020-12'] as const) {
    const rules = create(draft, false, new Patterns()).RULES.all
    const missing = Object.keys(rules).filter(
      keyword =>
        typeof rules[keyword] === 'object' && 'code' in (rules[keyword] as { definition: object }).definition && !known.has(keyword)
    )
    t.same(
      missing,
      ['$anchor', '$dynamicAnchor', '$recursiveAnchor', 'discriminator'].filter(one => missing.includes(one)),
      `${draft}: bench/worst-cases.ts has data for every keyword`
    )
  }
})

t.test('steps grow with the data, keyword by keyword', async t => {
  const list = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
  const object = (count: number): object => Object.fromEntries(list(count).map(i => [`k${i}`, i]))
  const rows: readonly (readonly [string, object, (count: number) => unknown])[] = [
    ['items', { items: { type: 'number' } }, list],
    ['contains', { contains: { type: 'string' } }, list],
    ['uniqueItems', { uniqueItems: true }, list],
    ['unevaluatedItems', { unevaluatedItems: { type: 'number' } }, list],
    ['additionalProperties', { additionalProperties: { type: 'number' } }, object],
    ['propertyNames', { propertyNames: { minLength: 1 } }, object],
    ['patternProperties', { patternProperties: { k: { type: 'number' } } }, object],
    ['unevaluatedProperties', { unevaluatedProperties: { type: 'number' } }, object],
    ['minProperties', { minProperties: 1 }, object],
    ['maxProperties', { maxProperties: 1e9 }, object],
    ['const', { const: list(1_000) }, list],
    ['enum', { enum: [object(1_000)] }, object],
    ['maxLength', { maxLength: 1e9 }, count => 'x'.repeat(count * 1_000)],
    ['format', { format: 'uri' }, count => 'x'.repeat(count * 1_000)],
    ['pattern', { pattern: '^x*$' }, count => 'x'.repeat(count)],
    ['a long key', { additionalProperties: { type: 'string' } }, count => ({ ['~'.repeat(count * 100)]: 1 })]
  ]
  const wrong: string[] = []
  for (const [name, schema, make] of rows) {
    const one = stepsOf(schema, make(1_000))
    const ten = stepsOf(schema, make(name === 'const' || name === 'enum' ? 1_000 : 10_000))
    if (name === 'const' || name === 'enum' ? one < 100 : !(ten > 8 * one || ten > MAX_STEPS)) wrong.push(`${name}: ${one} and ${ten}`)
  }
  t.same(wrong, [])
})

t.test('keys in paths are clipped, in every loop', async t => {
  // Each error and each reference would escape the key again.
  const alternatives = Array.from({ length: 100 }, () => ({ type: 'string', minLength: 3 }))
  const schema = { additionalProperties: { properties: { b: { anyOf: alternatives } } } }
  const text = create('2020-12', false, new Patterns(), { source: true }).compile(schema)
  const source = String((text as unknown as { source: { validateCode: string } }).source.validateCode)
  t.equal(source.match(/key\d+\.replace/g)?.length ?? 0, 0, 'no key is escaped whole')
  t.match(source, /\.slice\(0, 65\)\.replace/)
  t.match(compiled(schema).validate({ ['~/'.repeat(100)]: { b: 1 } }), [{ path: /^\["~\/~\/.*\.\.\."\]\.b$/ }])
})

t.test('a part of an evaluation takes from the whole', async t => {
  withBudget(null, () => {
    t.throws(() => withSteps(10, () => spendBudget(11)), { message: 'too many steps' })
    t.equal(stepsLeft(), MAX_STEPS - 11)
    withSteps(1e9, () => spendBudget(MAX_STEPS - 11))
    t.equal(stepsLeft(), 0)
    t.throws(() => withSteps(1e9, () => spendBudget(1)), { message: 'too many steps' })
  })
  t.equal(stepsLeft(), Number.POSITIVE_INFINITY)
})

const TREE = {
  type: 'object',
  properties: { a: { $ref: '#' }, b: { $ref: '#' } },
  anyOf: [{ required: ['z'] }, { not: { required: ['y'] } }]
}
const tree = (depth: number): object => depth === 0 ? {} : { a: tree(depth - 1), b: tree(depth - 1) }
const DATA = { part: { data: true } } as const
const policy = (...request: RuleConfig[]): PolicyConfig => ({ uri: URI, request })

t.test('values, rules and policies share the budget of a request', async t => {
  const steps = stepsOf(TREE, tree(6))
  const fits = Math.floor(MAX_STEPS / steps / 2)
  const parts = (count: number): object[] => Array.from({ length: count }, () => ({ data: tree(6) }))
  const one = policyOf(declaring(URI), { ext: policy({ id: 'r', select: DATA, schema: TREE }) })
  t.equal(send(one, message(...parts(fits))).rejection, null, `${fits} values fit`)
  const many = send(one, message(...parts(fits * 3)))
  t.match(many.rejection, {
    reason: 'EXTENSION_DATA_INVALID',
    rule: 'ext/r',
    message: /parts\[\d+\]\.data could not be validated: the schema takes too many steps on data like this \(the schema of the rule\)/
  })
  const rules = policyOf(declaring(URI), { ext: policy(...['a', 'b', 'c', 'd', 'e'].map(id => ({ id, select: DATA, schema: TREE }))) })
  t.match(send(rules, message(...parts(fits))).rejection, { rule: /^ext\/[b-e]$/, message: /too many steps/ }, 'several rules share it')
  const policies = Object.fromEntries(
    ['a', 'b', 'c', 'd', 'e'].map(name => [name, { uri: `${URI}/${name}`, request: [{ id: 'r', select: DATA, schema: TREE }] }])
  )
  t.match(
    send(policyOf(declaring(...['a', 'b', 'c', 'd', 'e'].map(name => `${URI}/${name}`)), policies), message(...parts(fits))).rejection,
    { rule: /^[b-e]\/r$/, message: /too many steps/ },
    'several policies share it'
  )
  t.equal(send(one, message(...parts(fits))).rejection, null, 'the next request has a budget of its own')
  const observed = send(
    policyOf(declaring(URI), { ext: policy({ id: 'r', select: DATA, schema: TREE }) }, { mode: 'observe' }),
    message(...parts(fits * 3))
  )
  t.equal(observed.rejection, null)
  t.match(observed.violations[0], { mode: 'observe', message: /too many steps/ })
})

t.test('the cost of rules other than schemas is charged too', async t => {
  const keys = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${i}`, i]))
  const repeated = (rule: Omit<RuleConfig, 'id'>): RuleConfig[] => Array.from({ length: 60 }, (_, i) => ({ id: `r${i}`, ...rule }))
  const rows: readonly (readonly [string, PolicyConfig, object])[] = [
    [
      'patterns of metadata keys',
      policy(...repeated({ select: { metadata: { key: '*a*b*c*' } }, count: { max: 0 } })),
      { message: { parts: [], metadata: keys(30_000) } }
    ],
    [
      'pointers',
      policy(...repeated({ select: { pointer: '/message/metadata/x' }, count: { max: 0 } })),
      { message: { parts: [], ...keys(30_000) } }
    ],
    [
      'parts',
      policy(...repeated({ select: { part: { mediaType: 'application/x' } }, count: { max: 0 } })),
      message(...Array.from({ length: 10_000 }, () => ({ data: 1, mediaType: 'application/y' })))
    ],
    [
      'metadata of parts',
      policy(...repeated({ select: { metadata: { in: ['part'], key: 'x' } }, count: { max: 0 } })),
      message(...Array.from({ length: 10_000 }, () => ({ data: 1 })))
    ],
    ['keys of data', policy(...repeated({ select: { part: { dataKey: 'a*' } }, count: { max: 0 } })), message({ data: keys(30_000) })]
  ]
  for (const [name, rules, body] of rows) {
    const { rejection: refusal } = send(policyOf(declaring(URI), { ext: rules }), body)
    t.match(refusal, { reason: 'EXTENSION_DATA_INVALID', message: /cannot be checked: it takes too many steps/ }, name)
  }
  const listing = send(
    policyOf(declaring(...Array.from({ length: 60 }, (_, i) => `${URI}/${i}`)), {
      ext: { uri: `${URI}/1`, request: [{ id: 'r', select: DATA, schema: {} }] }
    }),
    { message: { parts: [], extensions: Array.from({ length: 90_000 }, (_, i) => `${URI}/x${i}`) } }
  )
  t.match(listing.rejection, { rule: 'gateway/steps', message: /takes too many steps/ }, 'lists of URIs')
})

t.test('a response, and each event, has one budget', async t => {
  const parts = (count: number): object[] => Array.from({ length: count }, () => V1.part(tree(6)))
  const fits = Math.floor(MAX_STEPS / stepsOf(TREE, tree(6)) / 2)
  const rule = { id: 'r', select: DATA, schema: TREE, verdict: 'reject' as const }
  const enforced = policyFor({ response: [rule] })
  t.equal(outcome(judge(enforced, V1.task_('completed', { artifacts: [parts(fits)] }))), '')
  const refused = judge(enforced, V1.task_('completed', { artifacts: [parts(fits), parts(fits), parts(fits)] }))
  t.match(refused.rejection, { reason: 'INVALID_AGENT_RESPONSE', message: /too many steps on data like this \(the schema of the rule\)/ })
  const observed = judge(
    policyFor({ response: [rule] }, { responses: 'observe' }),
    V1.task_('completed', { artifacts: [parts(fits), parts(fits), parts(fits)] })
  )
  t.equal(observed.rejection, null)
  t.match(observed.violations[0], { mode: 'observe', message: /too many steps/ })
  const { review } = ask(enforced, { operation: 'SendStreamingMessage' })
  for (let event = 0; event < 5; event++) t.equal(review?.evaluate(V1.artifact(parts(fits)), true).rejection, null, `event ${event}`)
})

t.test('lists that were quadratic are linear', async t => {
  const artifacts = Array.from({ length: 15_000 }, (_, i) => ({ artifactId: String(i), parts: [], extensions: [`urn:${i}`] }))
  t.doesNotThrow(() =>
    judge(
      policyFor({ response: [{ id: 'r', select: DATA, when: { listed: true }, schema: {}, verdict: 'reject' }] }),
      V1.body('task', { ...V1.taskOf('completed'), artifacts })
    )
  )
  const stripped = send(
    policyOf(declaring(URI), { ext: policy({ id: 'r', select: DATA, schema: false, verdict: 'strip' }) }),
    message(...Array.from({ length: 30_000 }, () => ({ data: 1 })))
  )
  t.match(stripped.rejection, { reason: 'EXTENSION_DATA_INVALID' })
  // A list of allowed values is written once, however many values break it.
  const { validate } = compiled({ enum: ['x'.repeat(500_000), 'y'] })
  t.match(validate(1)?.[0], { message: /^must be one of \["xxx.{100,200}\.\.\.$/ })
})

/** `format`: an assertion or an annotation, by draft, vocabulary, setting of the agent, and origin of the schema. */
import t from 'tap'
import type { AgentConfig, JsonSchemaConfig, SchemaSource } from '#config/model/model.js'
import { runSchema, writeSchema } from '#jsonschema/code.js'
import { formatsOf } from '#jsonschema/format-assertion.js'
import { SchemaCache } from '#policy/compile/schema-source.js'
import { Patterns } from '#jsonschema/regexp.js'
import { declaring, message, OBJECT_SCHEMAS, objectSchemas, part10, policyOf, send } from './fixtures.js'
import { judge, outcome, policyFor, rule, V1 } from './responses.js'

const D07 = 'http://json-schema.org/draft-07/schema#'
const D19 = 'https://json-schema.org/draft/2019-09/schema'
const D20 = 'https://json-schema.org/draft/2020-12/schema'
const ASSERTION = 'https://json-schema.org/draft/2020-12/vocab/format-assertion'
const ANNOTATION = 'https://json-schema.org/draft/2020-12/vocab/format-annotation'
const FORMAT = 'https://json-schema.org/draft/2019-09/vocab/format'
const SETTINGS: readonly JsonSchemaConfig['formats'][] = ['draft', 'assert', 'annotate']

/** What a schema says besides `format`, whether a card's schema asserts by default, and whether a policy's does. */
const ROWS: readonly (readonly [object, boolean, boolean])[] = [
  [{}, false, true],
  [{ $schema: D07 }, true, true],
  [{ $schema: 'https://json-schema.org/draft-07/schema' }, true, true],
  [{ $schema: D19 }, false, false],
  [{ $schema: D20 }, false, false],
  [{ $vocabulary: { [ASSERTION]: true } }, true, true],
  [{ $schema: D20, $vocabulary: { [ASSERTION]: true } }, true, true],
  [{ $schema: D20, $vocabulary: { [ASSERTION]: false } }, true, true],
  [{ $schema: D20, $vocabulary: { [ANNOTATION]: true } }, false, false],
  [{ $schema: D19, $vocabulary: { [FORMAT]: true } }, true, true],
  [{ $schema: D19, $vocabulary: { [FORMAT]: false } }, false, false]
]

const stamped = (more: object): object => ({ ...more, type: 'object', properties: { at: { format: 'date-time' } } })
const agentOf = (formats: JsonSchemaConfig['formats']): Partial<AgentConfig> => ({ jsonSchema: { formats } })

t.test('schemas of a card', async t => {
  for (const [more, asserts] of ROWS) {
    for (const formats of SETTINGS) {
      const card = { ...declaring(OBJECT_SCHEMAS), schemas: { s: stamped(more) } }
      const policy = policyOf(card, { 'object-schemas': objectSchemas }, agentOf(formats))
      const rejects = (data: object): boolean =>
        send(policy, message(part10(data, 'application/json;schema=s'))).rejection !== null
      const name = JSON.stringify([more, formats])
      t.equal(rejects({ at: 'noon' }), formats === 'draft' ? asserts : formats === 'assert', name)
      t.equal(rejects({ at: '2026-01-01T00:00:00Z' }), false, name)
      t.equal(rejects([]), true, `${name}: other keywords are asserted`)
    }
  }
})

t.test('schemas of a policy: inline, from a bundle, in requests and responses', async t => {
  const ofBundle = (schema: object, draft: '2020-12' | null): SchemaSource =>
    ({ ref: 'https://x.test/s.json', set: { draft, documents: new Map([['https://x.test/s.json', { file: 's.json', schema }]]) } })
  for (const [more, , asserts] of ROWS) {
    for (const formats of SETTINGS) {
      const schema = stamped(more)
      const expected = '$schema' in more && formats !== 'draft' ? formats === 'assert' : !('$schema' in more) || asserts
      for (const source of [schema as SchemaSource, ofBundle(schema, null), ...('$schema' in more ? [] : [ofBundle(schema, '2020-12')])]) {
        const name = JSON.stringify([more, formats, source])
        const policy = policyOf(
          declaring('urn:x'),
          { x: { uri: 'urn:x', request: [{ id: 'r', select: { part: { data: true } }, schema: source }] } },
          agentOf(formats)
        )
        t.equal(send(policy, message(part10({ at: 'noon' }, 'application/json'))).rejection !== null, expected, name)
        const responding = policyFor({ response: [rule({ schema: source })] }, agentOf(formats))
        const bytes = V1.task_('completed', { artifacts: [[V1.part({ at: 'noon' })]] })
        t.equal(outcome(judge(responding, bytes)).startsWith('refused'), expected, name)
      }
    }
  }
})

t.test('code that another thread writes treats format alike', async t => {
  for (const formats of ['assert', 'annotate'] as const) {
    const steps = runSchema(structuredClone(writeSchema({ schema: stamped({}), formats }, new Patterns())), new Patterns())
    let step = steps.next()
    while (step.done !== true) step = steps.next()
    const result = step.value
    if (!result.ok) throw new Error(result.problem.message)
    t.equal(result.schema.matches({ at: 'noon' }), formats === 'annotate')
    t.equal(result.schema.validate({ at: 'noon' }) === null, formats === 'annotate')
  }
  t.equal(formatsOf(true, 'draft', false), 'assert', 'nothing to decide')
})

t.test('one card may hold the same schema as a policy: each keeps its own treatment', async t => {
  const schema = stamped({})
  const policy = policyOf({ ...declaring(OBJECT_SCHEMAS, 'urn:x'), schemas: { s: schema } }, {
    'object-schemas': objectSchemas,
    x: { uri: 'urn:x', request: [{ id: 'r', select: { part: { mediaType: 'application/x' } }, schema: schema as SchemaSource }] }
  })
  t.equal(send(policy, message(part10({ at: 'noon' }, 'application/json;schema=s'))).rejection, null)
  t.match(send(policy, message(part10({ at: 'noon' }, 'application/x'))).rejection, { rule: 'x/r' })
})

t.test('a new setting of the agent applies to schemas that were compiled before', async t => {
  const before = new SchemaCache()
  const of = (cache: SchemaCache): boolean | null => {
    const result = cache.compile(stamped({}), true)
    if (!result.ok) throw new Error(result.problem.message)
    return result.schema.matches({ at: 'noon' })
  }
  t.equal(of(before), true)
  t.equal(of(new SchemaCache({ previous: before, formats: 'assert' })), false)
  t.equal(of(new SchemaCache({ previous: before })), true)
})

t.test('a schema that cannot be used lists why: every problem, with its place', async t => {
  const bad = {
    properties: { a: { pattern: '(?=x)' }, b: { pattern: '(a)\\1' }, c: { $ref: 'https://elsewhere.test/c' }, d: { $async: true } }
  }
  const policy = policyOf({ ...declaring(OBJECT_SCHEMAS), schemas: { bad, good: {} } }, { 'object-schemas': objectSchemas })
  t.match(policy.unusable, [
    { pointer: '/schemas/bad/properties/a/pattern', message: /look-ahead/ },
    { pointer: '/schemas/bad/properties/b/pattern', message: /linear time/ },
    { pointer: '/schemas/bad/properties/d/$async', message: /asynchronous/ },
    { pointer: '/schemas/bad/properties/c/$ref', message: /copy the target/ }
  ])
  t.equal(policy.unusable.length, 4)
  t.match(send(policy, message(part10({}, 'application/json;schema=bad'))).rejection, {
    customReason: 'SCHEMA_UNUSABLE',
    message: /properties\/a\/pattern: .*look-ahead/
  })
  t.equal(send(policy, message(part10({}, 'application/json;schema=good'))).rejection, null)
  const many = { anyOf: Array.from({ length: 30 }, () => ({ pattern: '(?=x)' })) }
  t.equal(policyOf({ ...declaring(OBJECT_SCHEMAS), schemas: { many } }, { 'object-schemas': objectSchemas }).unusable.length, 10)
})

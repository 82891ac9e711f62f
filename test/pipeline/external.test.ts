/** Questions and answers of policy servers: the vectors of docs/reference/authzen-a2a.md, their JSON Schemas, and bad answers. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import t from 'tap'
import { MAX_QUESTION } from '#pipeline/external/question.js'
import { readAnswer } from '#pipeline/external/answer.js'
import { fulfil, noEffects, placesOf, withoutPlaces } from '#pipeline/external/obligations.js'
import type { QuestionSubject, CallFacts } from '#pipeline/external/question.js'
import { questionOf } from '#pipeline/external/question.js'
import type { Asking } from '#pipeline/external/settle.js'
import { settle } from '#pipeline/external/settle.js'
import { editJson } from '#wire/json/edit.js'
import { ROOT } from '../helpers/paths.js'
import { check } from '../helpers/seed.js'

interface Vector {
  readonly name: string
  readonly facts: CallFacts
  readonly asked: Omit<QuestionSubject, 'message'> & { readonly message?: unknown }
  readonly body: unknown
  readonly question: object
  readonly answer: object
  readonly expected: {
    readonly outcome: string
    readonly reasonUser?: string | null
    readonly changed?: object
    readonly headers?: Record<string, string>
    readonly notices?: object[]
  }
}

const read = (name: string): unknown => JSON.parse(readFileSync(join(ROOT, 'config', name), 'utf8'))
const { vectors } = read('authzen-vectors.json') as { vectors: Vector[] }
const ajv = new Ajv2020({ allowUnionTypes: true, strict: false })
const isQuestion = ajv.compile(read('authzen-question.schema.json') as object)
const isAnswer = ajv.compile(read('authzen-answer.schema.json') as object)

const asking = (phase: 'request' | 'response'): Asking => ({ rule: 'r', policy: null, use: 'corp', phase, mode: 'enforce', body: '{}', unaskable: null })

t.test('the vectors', t => {
  t.equal(vectors.length, 10)
  for (const { name, facts, asked, body, question, answer, expected } of vectors) {
    t.test(name, t => {
      t.same(JSON.parse(JSON.stringify(questionOf(facts, { message: undefined, ...asked }))), question)
      t.ok(isQuestion(question), JSON.stringify(isQuestion.errors))
      const read = readAnswer(answer)
      t.equal(isAnswer(answer), typeof read !== 'string', JSON.stringify(isAnswer.errors))
      const found = typeof read === 'string'
        ? ({ kind: 'failed', failure: 'malformed', problem: read, forward: false } as const)
        : { ...read, cached: false }
      const target = { phase: asked.phase, value: body, root: [], fixed: null, reads: true }
      const { settled, violations, effects } = settle([{ asking: asking(asked.phase), answer: found }], target)
      t.equal(settled[0]?.outcome, expected.outcome)
      t.equal(violations.length, expected.outcome === 'allow' ? 0 : 1)
      if (expected.reasonUser !== undefined && typeof read !== 'string') t.equal(read.reasonUser, expected.reasonUser)
      t.same(effects.notices, expected.notices ?? [])
      if (expected.outcome === 'allow') {
        t.same(JSON.parse(editJson(Buffer.from(JSON.stringify(body)), effects.edits).toString()), expected.changed ?? body)
        t.same(Object.fromEntries(effects.headers), expected.headers ?? {})
      }
      t.end()
    })
  }
  t.end()
})

t.test('answers that are not valid', t => {
  const rows: readonly [unknown, string][] = [
    [null, 'answered with JSON that is not an object'],
    [[true], 'answered with JSON that is not an object'],
    [{}, 'answered without the boolean "decision"'],
    [{ decision: 1 }, 'answered without the boolean "decision"'],
    [{ decision: true, context: [] }, 'answered with a "context" that is not an object'],
    [{ decision: true, context: { obligations: {} } }, 'answered with "obligations" that are not a list'],
    [{ decision: true, context: { obligations: [1] } }, 'answered with an obligation without "type"'],
    [{ decision: true, context: { obligations: Array(65).fill({ type: 'x' }) } }, 'answered with more than 64 obligations']
  ]
  for (const [value, problem] of rows) t.equal(readAnswer(value), problem)
  t.end()
})

t.test('reasons are bounded, visible text', t => {
  t.match(readAnswer({ decision: false, context: { reason_user: 'a\u202eb\n', reason_admin: { en: 'x'.repeat(500) }, id: 7 } }), { reasonUser: 'a\\u202eb', id: null })
  const long = readAnswer({ decision: false, context: { reason: 'x'.repeat(500) } })
  t.equal(typeof long === 'string' ? 0 : long.reasonAdmin?.length, 300)
  t.end()
})

t.test('any JSON is an answer, or a problem in words; any obligations have effects, or a problem', t => {
  const count = check('pipeline/external/answers', fc.property(fc.jsonValue(), fc.jsonValue(), (value, properties) => {
    const read = readAnswer({ decision: true, context: { obligations: [{ type: 'custom', properties }, value] } })
    if (typeof read === 'string') return /^answered with/.test(read)
    const effects = noEffects()
    const refused = fulfil(read.obligations, { phase: 'request', value, root: [], fixed: null, reads: true }, effects)
    return refused === null || refused.startsWith('the obligation')
  }))
  t.ok(count > 0)
  t.end()
})

t.test('places and redactions agree', t => {
  const value = JSON.parse('{"a": [{"x": 1, "y": 2}, {"x": 3}], "b": {"x": {"y": 1}}, "__proto__": {"x": 1}}') as unknown
  t.same(placesOf(value, ['a', '*', 'x']), [['a', 0, 'x'], ['a', 1, 'x']])
  t.same(placesOf(value, ['*', '*', 'y']), [['a', 0, 'y'], ['b', 'x', 'y']])
  t.same(placesOf(value, ['a', '01', 'x']), [])
  t.equal(JSON.stringify(withoutPlaces(value, [['a', '*', 'x'], ['b'], ['__proto__', 'x']])), '{"a":[{"y":2},{}],"__proto__":{}}')
  t.equal(JSON.stringify(withoutPlaces(value, [['a', '0']])), '{"a":[null,{"x":3}],"b":{"x":{"y":1}},"__proto__":{"x":1}}')
  t.equal(placesOf({ a: Array(10_001).fill(1) }, ['a', '*']), null)
  t.ok(MAX_QUESTION > 0)
  t.end()
})

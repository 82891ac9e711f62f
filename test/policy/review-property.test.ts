/** For any response and any rules, the response keeps its parts, and a response that is only observed stays unchanged. */
import fc from 'fast-check'
import { deepStrictEqual as same, ok, strictEqual as equal } from 'node:assert'
import t from 'tap'
import type { PolicyConfig, ResponseRuleConfig } from '#config/model/model.js'
import { MAX_VIOLATIONS } from '#policy/violation.js'
import { parseStrict } from '#wire/json/json.js'
import { editJson } from '#wire/json/edit.js'
import { check } from '../helpers/seed.js'
import { ask, LIMITS, policyFor, STYLES, URI } from './responses.js'

const KEYS = ['a', 'b.1', 'b.2', '__proto__', 'é', '']
const json = fc.oneof(fc.constant(1), fc.constant('x'), fc.constant(null), fc.constant([1, { a: 2 }]), fc.constant({ a: { a: 1 } }))
const object = fc.uniqueArray(fc.tuple(fc.constantFrom(...KEYS), json), { maxLength: 3, selector: ([key]) => key })
  .map(members => JSON.parse(`{${members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`) as object)
const style = fc.constantFrom(...STYLES)
const kind = fc.constantFrom('task', 'message', 'statusUpdate', 'artifactUpdate', 'list')
const piece = fc.record({ data: fc.option(object), type: fc.constantFrom('a/b', 'application/x', 'broken'), metadata: object })
const lists = fc.array(fc.array(piece, { maxLength: 4 }), { minLength: 1, maxLength: 3 })
const state = fc.constantFrom('working', 'completed', 'input-required')

const answer = fc.tuple(style, kind, lists, state, object, fc.boolean()).map(([style, kind, lists, state, metadata, append]) => {
  const parts = (list: (typeof lists)[number]): object[] =>
    list.map(one => (one.data === null ? style.text('t') : style.part(one.data, one.type, one.metadata)))
  const [first = [], ...others] = lists
  const message = style.message(parts(first), { metadata })
  const more = { message, artifacts: others.map(parts), metadata, history: [style.message(parts(first), { metadata }, 'user')] }
  if (kind === 'task') return { style, operation: 'SendMessage' as const, bytes: style.task_(state, more) }
  if (kind === 'message') return { style, operation: 'SendMessage' as const, bytes: style.body('message', message) }
  if (kind === 'list') {
    return { style, operation: 'ListTasks' as const, bytes: style.raw({ tasks: [style.taskOf(state, more), style.taskOf(state, more)] }) }
  }
  return {
    style,
    operation: 'SendStreamingMessage' as const,
    bytes: kind === 'statusUpdate' ? style.status(state, { message }) : style.artifact(parts(first), { append })
  }
})

const glob = fc.constantFrom('a', 'b.*', '__proto__', 'é', '*')
const select: fc.Arbitrary<ResponseRuleConfig['select']> = fc.oneof(
  glob.map(key => ({ metadata: { in: ['message', 'status', 'artifact', 'part', 'task', 'event'] as const, key } })),
  glob.map(key => ({ metadata: { in: ['part', 'task'] as const, key, path: '/a' } })),
  fc.constant({ part: { data: true } }),
  fc.constant({ part: { mediaType: 'application/x' } }),
  fc.constant({ part: {} }),
  glob.map(dataKey => ({ part: { dataKey } })),
  fc.constantFrom('first', 'terminal', 'last').map(event => ({ event: event as 'first' }))
)
const rules = fc.array(
  fc.tuple(
    select,
    fc.constantFrom('strip', 'strip', 'annotate', 'warn', 'reject'),
    fc.constantFrom({ schema: false }, { count: { max: 0 } }, { count: { max: 1 } }, { count: { min: 2 } }, { schema: { type: 'object' } }),
    fc.boolean()
  ),
  { maxLength: 4 }
)
const policy = fc
  .tuple(rules, fc.subarray(['a', 'b.*', '*']), fc.boolean(), fc.subarray(['a', 'b.*', 'é', '*#/a']))
  .map(([rules, owned, strips, redact]): PolicyConfig => ({
    uri: URI,
    ...(owned.length === 0 ? {} : { owns: { metadata: owned, dataKeys: owned, mediaTypes: ['application/x'] } }),
    ...(strips ? { inactive: { response: 'strip' } } : {}),
    ...(redact.length === 0 ? {} : { redact }),
    response: rules.map(([select, verdict, what, chunked], i) => ({ id: `r${i}`, select, verdict: verdict as 'strip', chunked, ...what }))
  }))

/** How many parts each list of parts holds, wherever it is. */
function sizes (value: unknown): number[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [
    ...((key === 'parts' || key === 'content') && Array.isArray(inner) ? [inner.length] : []),
    ...sizes(inner)
  ])
}

t.test('enforced: no list of parts is emptied, and forwarded data is JSON', async t => {
  let changed = 0
  let refused = 0
  check('policy/review-property/enforced', fc.property(policy, answer, fc.boolean(), (config, { style, operation, bytes }, asked) => {
    const { review } = ask(policyFor(config), { style, operation, requested: asked ? [URI] : [] })
    if (review === null) return
    const stream = operation === 'SendStreamingMessage'
    const verdict = review.evaluate(bytes, stream)
    ok(verdict.violations.length <= 2 * MAX_VIOLATIONS)
    if (verdict.rejection !== null) {
      refused++
      same([verdict.edits, verdict.annotations, verdict.remember], [[], [], null])
      ok(review.enforces)
      return
    }
    equal(verdict.edits.length === 0, verdict.edited.length === 0)
    const after = editJson(bytes, verdict.edits)
    const read = parseStrict(after, LIMITS)
    ok(read.ok)
    const before = sizes(JSON.parse(bytes.toString()))
    const left = sizes(read.value)
    equal(left.length, before.length)
    for (let i = 0; i < before.length; i++) equal(left[i] === 0, before[i] === 0)
    if (verdict.edits.length > 0) {
      changed++
      ok(review.buffersBody)
    }
  }), { numRuns: 900 })
  t.ok(changed > 100, `${changed} answers were changed`)
  t.ok(refused > 100, `${refused} answers were refused`)
})

t.test('observed: nothing is rejected, changed, annotated or held', async t => {
  let broken = 0
  check(
    'policy/review-property/observed',
    fc.property(policy, answer, fc.boolean(), fc.boolean(), (config, { style, operation, bytes }, asked, byPolicy) => {
      const observed = byPolicy ? policyFor({ ...config, mode: 'observe' }) : policyFor(config, { responses: 'observe' })
      const { review } = ask(observed, { style, operation, requested: asked ? [URI] : [] })
      if (review === null) return
      equal(review.buffersBody, false)
      const verdicts = [review.evaluate(bytes, operation === 'SendStreamingMessage'), review.end()]
      for (const verdict of verdicts) {
        if (verdict === null) continue
        same([verdict.rejection, verdict.edits, verdict.edited, verdict.annotations], [null, [], [], []])
        ok(verdict.violations.every(found => found.mode === 'observe'))
        broken += verdict.violations.length
      }
    }),
    { numRuns: 900 }
  )
  t.ok(broken > 100)
})

t.test('any bytes get a decision', async t => {
  const policies = [
    policyFor({ response: [{ id: 'r', select: { part: {} }, schema: false, verdict: 'reject' }] }),
    policyFor({ response: [{ id: 'r', select: { part: {} }, schema: false }] }, { responses: 'observe' })
  ]
  t.ok(check(
    'policy/review-property/any-bytes',
    fc.property(
      fc.constantFrom(...policies),
      style,
      fc.oneof(
        fc.uint8Array().map(bytes => Buffer.from(bytes)),
        fc.json().map(text => Buffer.from(text))
      ),
      fc.boolean(),
      (on, style, bytes, stream) => {
        const verdict = ask(on, { style, operation: stream ? 'SendStreamingMessage' : 'SendMessage' }).review?.evaluate(bytes, stream)
        ok(verdict !== undefined && (on.responses === 'enforce' || verdict.rejection === null))
      }
    ),
    { numRuns: 500 }
  ) > 0, 'inputs')
})

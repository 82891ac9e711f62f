/** `select.result`: rules on the results of JSON-RPC methods that an extension adds. */
import t from 'tap'
import type { PolicyConfig, ResponseRuleConfig } from '#config/model/model.js'
import { ask, policyFor } from './responses.js'

const METHODS = { 'x/get': { need: 'declared' }, 'x/other': { need: 'declared' } } as const
const RULE: ResponseRuleConfig = {
  id: 'r',
  on: ['x/get'],
  select: { result: '/records/*' },
  schema: { required: ['key'] },
  verdict: 'reject'
}
const rpc = (result: unknown): Buffer => Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))

function outcome (rule: Partial<ResponseRuleConfig>, result: unknown, method = 'x/get', more: Partial<PolicyConfig> = {}): unknown {
  const { review } = ask(policyFor({ methods: METHODS, response: [{ ...RULE, ...rule }], ...more }), { method })
  if (review === null) return 'not read'
  const { rejection, violations, edits } = review.evaluate(rpc(result), false)
  if (rejection !== null) return `rejected: ${rejection.message}`
  return { violations: violations.map(({ path, message }) => `${path} ${message}`), edits: edits.map(({ path }) => path) }
}

const CLEAN = { violations: [], edits: [] }

t.test('values in the result, whatever its shape', async t => {
  t.same(outcome({}, { records: [{ key: 1 }, { key: 2 }] }), CLEAN)
  t.match(outcome({}, { records: [{ key: 1 }, {}] }), /result\.records\[1\]\.key is required/)
  t.same(outcome({}, {}), CLEAN)
  t.match(outcome({ required: true }, {}), /must contain at least 1 of the values/)
  for (const result of [null, 1, 'text', [], true]) t.match(outcome({ select: { result: '' }, schema: { type: 'object' } }, result), /result must be an object/)
  t.match(outcome({ select: { result: '/*' }, schema: { type: 'string' } }, ['a', 1]), /result\[1\] must be a string/)
  t.match(
    outcome({ select: { result: '/id' }, schema: { type: 'number' } }, { id: 't', status: { state: 'TASK_STATE_WORKING' } }),
    /result\.id must be a number/,
    'also when the result looks like a task'
  )
})

t.test('only the methods in on, with the verdicts of all rules', async t => {
  t.equal(outcome({}, { records: [{}] }, 'x/other'), 'not read')
  t.same(outcome({ verdict: 'warn' }, { records: [{}] }), {
    violations: ['result.records[0].key is required (the schema of the rule)'],
    edits: []
  })
  t.match(outcome({ verdict: 'strip' }, { records: [{ key: 1 }, {}] }), { edits: [['result', 'records', 1]] })
  t.match(
    outcome({}, { records: [{}] }, 'x/get', { activation: { signals: ['header'] } }),
    /is required/,
    'a call of the method uses the extension, without activation'
  )
})

t.test('rules on messages and tasks do not select from the result, and an error is not a result', async t => {
  const { review } = ask(
    policyFor({ methods: METHODS, response: [RULE, { id: 'p', select: { part: { data: true } }, count: { min: 1 }, verdict: 'reject' }] }),
    { method: 'x/get' }
  )
  t.equal(review?.evaluate(rpc({ records: [] }), false).rejection, null)
  const error = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'no' } }))
  t.equal(review?.evaluate(error, false).rejection, null)
  t.match(review?.evaluate(rpc({ records: [{}] }), true).rejection, { rule: 'ext/r' }, 'events of a stream too')
})

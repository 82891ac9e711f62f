/** The stored state of a task from request to response to request, and the evaluation with this state. */
import t from 'tap'
import type { PolicyConfig } from '#config/model/model.js'
import type { ResponseEvaluator, ResponseDecision } from '#policy/response/evaluator.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import type { TaskRecord } from '#policy/task/memory.js'
import type { Asking } from './responses.js'
import { ask, judge, outcome, policyFor, rule, EVERY_STYLE, URI, V1 } from './responses.js'

const pay: Partial<PolicyConfig> = {
  state: {
    from: { metadata: { in: ['message', 'status'], key: 'pay' } },
    transitions: { '': ['required'], required: ['submitted'], submitted: ['done'] },
    taskStates: { required: ['input-required'] },
    onViolation: 'reject'
  }
}
const said = (pay: string): object => ({ metadata: { pay } })
const record = (fields: Readonly<Record<string, string>>): TaskRecord => new Map(Object.entries(fields))
const fieldsOf = (verdict: ResponseDecision): unknown =>
  verdict.remember === null ? null : { taskId: verdict.remember.taskId, ...Object.fromEntries(verdict.remember.fields) }

for (const style of EVERY_STYLE) {
  t.test(style.name, async t => {
    const policy = policyFor(pay)
    const answer = (state: string, value: string): Buffer => style.task_(state, { message: style.message([style.text('x')], said(value)) })
    const run = (bytes: Buffer, asking: Asking = {}): ResponseDecision => judge(policy, bytes, { style, ...asking })

    t.same(
      fieldsOf(run(answer('input-required', 'required'))),
      { taskId: 't1', state: 'input-required', 's:ext': 'required', b: 'ext' },
      "the first task answered is the request's"
    )
    t.match(
      outcome(run(answer('completed', 'done'))),
      /^refused: The agent's response violates the rule "ext\/state": .* must begin with "required"/
    )
    t.match(run(answer('completed', 'done')), { rejection: { reason: 'INVALID_AGENT_RESPONSE' }, remember: null })
    t.match(outcome(run(answer('completed', 'required'))), /is not allowed in the state that the task has/)

    const known = record({ state: 'input-required', 's:ext': 'required' })
    const submitting: Asking = { taskId: 't1', record: known, message: said('submitted') }
    t.same(
      fieldsOf(run(answer('completed', 'done'), submitting)),
      { taskId: 't1', state: 'completed', 's:ext': 'done' },
      'what the request says counts too'
    )
    t.match(ask(policy, { style, taskId: 't1', record: known, message: said('done') }).decision, { rejection: { rule: 'ext/state' } })
    t.equal(fieldsOf(run(style.task_('working', { id: 't2' }), submitting)), null, 'another task')
    t.equal(
      ask(policy, { style, taskId: 't1', record: null, message: said('done') }).decision.rejection,
      null,
      'unknown: a healthy call is not blocked'
    )
    t.match(ask(policy, { style, message: said('done') }).decision, { rejection: { rule: 'ext/state' } }, 'a new task is known to be new')
  })
}

t.test('streams: new fields after each event; the request\'s own with the first', async t => {
  const { review } = ask(policyFor(pay), {
    operation: 'SendStreamingMessage',
    taskId: 't1',
    record: record({ 's:ext': 'required' }),
    message: said('submitted')
  })
  const next = (bytes: Buffer): unknown => fieldsOf((review as ResponseEvaluator).evaluate(bytes, true))
  t.match(review, { buffersBody: true })
  t.same(next(V1.status('working')), { taskId: 't1', state: 'working', 's:ext': 'submitted' })
  t.equal(next(V1.status('working')), null)
  t.equal(next(V1.artifact([V1.text('x')])), null)
  t.same(next(V1.status('completed', { message: V1.message([], said('done')) })), { taskId: 't1', state: 'completed', 's:ext': 'done' })
})

t.test('an error, a list and an invalid response do not change the task record', async t => {
  const policy = policyFor(pay)
  t.equal(judge(policy, Buffer.from('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}')).remember, null)
  t.equal(judge(policy, Buffer.from('x')).remember, null)
  t.equal(ask(policy, { operation: 'ListTasks' }).review, null)
  const list = V1.raw({ tasks: [V1.taskOf('completed', { message: V1.message([], said('done')) })] })
  const both = policyFor({ ...pay, response: [rule()] })
  t.match(judge(both, list, { operation: 'ListTasks' }), { rejection: null, violations: [], remember: null })
})

t.test('GetTask: reads update the task record too', async t => {
  t.same(fieldsOf(judge(policyFor(pay), V1.raw(V1.taskOf('working')), { operation: 'GetTask', taskId: 't1' })), {
    taskId: 't1',
    state: 'working'
  })
})

t.test('conditions of request rules on the last known state', async t => {
  const config = (more: object = {}): AgentPolicy =>
    policyFor({
      request: [
        {
          id: 'paused',
          select: { metadata: { key: 'decision' } },
          unless: { taskState: ['input-required'] },
          count: { max: 0 },
          error: { class: 'conflict' },
          ...more
        }
      ]
    })
  const policy = config()
  t.match(policy, { remembers: true })
  const decides = (asking: Asking, on = policy): unknown =>
    ask(on, { message: { metadata: { decision: 1 } }, ...asking }).decision.rejection?.rule ?? null
  t.equal(decides({ taskId: 't1', record: record({ state: 'input-required' }) }), null)
  t.equal(decides({ taskId: 't1', record: record({ state: 'working' }) }), 'ext/paused')
  t.equal(decides({ taskId: 't1', record: null }), null, 'unknown')
  t.equal(decides({ taskId: 't1', record: null }, config({ onUnknown: 'reject' })), 'ext/paused')
  t.equal(decides({}), 'ext/paused', 'no task at all is not paused')
  t.match(ask(policy).review, { buffersBody: true, readsBody: true, enforces: false }, 'answers are read for their state')
  t.same(fieldsOf(judge(policy, V1.task_('input-required'))), { taskId: 't1', state: 'input-required' })
  t.match(policyFor({ request: [{ id: 'r', select: { metadata: { key: 'm' } } }] }), { remembers: false })
  t.match(policyOff(), { remembers: false, reads: false })
})

function policyOff (): AgentPolicy {
  return policyFor(
    { ...pay, request: [{ id: 'r', select: { metadata: { key: 'm' } }, when: { taskState: ['working'] } }] },
    { responses: 'off' }
  )
}

t.test('correlation', async t => {
  const policy = policyFor({
    correlate: [
      {
        id: 'once',
        remember: { on: 'response', select: { metadata: { in: ['status'], key: '$uri' } }, pick: '/ids' },
        check: { on: 'request', select: { metadata: { key: '$uri' } }, pick: '/ids', relation: 'equalSet' }
      }
    ]
  })
  const offered = judge(policy, V1.task_('input-required', { message: V1.message([], { metadata: { [URI]: { ids: ['a', 'b'] } } }) }))
  const remembered = offered.remember?.fields ?? null
  t.ok(remembered)
  const next = (ids: unknown): unknown =>
    ask(policy, { taskId: 't1', record: remembered, message: { metadata: { [URI]: { ids } } } }).decision.rejection?.rule ?? null
  t.equal(next(['a', 'b']), null)
  t.equal(next(['a']), 'ext/once')
})

t.test('counters count the increase of a task', async t => {
  const policy = policyFor({ observe: { metrics: [{ name: 'tokens', type: 'counter', from: { metadata: { in: ['task'], key: 'n' } } }] } })
  t.match(policy, { remembers: true })
  const bytes = V1.task_('working', { metadata: { n: 5 } })
  const first = judge(policy, bytes)
  t.match(first, { measures: [{ metric: 'tokens', value: 5 }], remember: { taskId: 't1' } })
  t.same(judge(policy, bytes, { taskId: 't1', record: first.remember?.fields ?? null }).measures, [])
})

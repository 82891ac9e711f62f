/** One policy server: discovery, batches, remembered answers, credentials, bounds, and the breaker. */
import t from 'tap'
import { answersOf } from '#offline/recorded-answers.js'
import { Breaker } from '#upstream/decisions/breaker.js'
import { Gate } from '#upstream/decisions/decision-point.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { MESSAGE, rpc } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { DENY, PERMIT, pointLine, policyServer } from './kit.js'

const REST = { message: MESSAGE }

t.test('discovery, batches and credentials', async t => {
  const agent = await fakeAgent(t)
  const server = await policyServer(t, (question, _, { path }) => {
    if (path === '/.well-known/authzen-configuration') {
      return { policy_decision_point: server.origin, access_evaluation_endpoint: `${server.origin}/one`, access_evaluations_endpoint: `${server.origin}/many` }
    }
    return path === '/many' ? { evaluations: (question['evaluations'] as unknown as object[]).map((_, i) => ({ decision: i === 0 })) } : PERMIT
  })
  const two = 'external: [{id: a, use: corp}, {id: b, use: corp, operations: [messages]}]'
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [two], [pointLine(server.origin, 'timeout: 10s, headers: {authorization: {env: TOKEN, prefix: "Bearer "}}')]), env: { TOKEN: 'secret' } })
  t.match((await rpc(`${gateway.url}/rpc`, 'GetTask', { id: 't' })).json(), { result: {} })
  t.match((await rpc(`${gateway.url}/rpc`, 'SendMessage', REST)).json(), { error: { code: -32004, data: [{}, { metadata: { decision: 'b' } }] } })
  t.same(server.received.map(one => one.path), ['/.well-known/authzen-configuration', '/one', '/many'])
  t.equal(server.received.every(one => one.headers.authorization === 'Bearer secret'), true)
  t.match(server.received[2]?.body, { evaluations: [{ action: { name: 'SendMessage' } }, { action: { name: 'SendMessage' } }] })
})

t.test('contextIn: resource copies the context to the properties of the resource', async t => {
  const agent = await fakeAgent(t)
  const server = await policyServer(t, () => PERMIT)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['external: [{id: a, use: corp}]'], [pointLine(server.url, 'timeout: 10s, contextIn: resource, cache: {ttl: 1h}')]) })
  for (let i = 0; i < 3; i++) t.match((await rpc(`${gateway.url}/rpc`, 'GetTask', { id: 't' })).json(), { result: {} })
  t.equal(server.received.length, 1, 'the answer is remembered by the question that was sent')
  const { context, resource } = server.received[0]?.body ?? {}
  t.match(resource, { type: 'task', id: 't', properties: { agent: 'agent', binding: 'JSONRPC' } })
  t.match(context, { phase: 'request', taskId: 't' })
  t.same(resource?.['properties']?.['context'], context)
})

t.test('metadata of another server are not used', async t => {
  const agent = await fakeAgent(t)
  let document: object = {}
  const server = await policyServer(t, () => document)
  for (const one of [{ policy_decision_point: 'https://other.example.com' }, { policy_decision_point: server.origin, access_evaluation_endpoint: 'https://other.example.com/x' }, {}]) {
    document = one
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['external: [{id: a, use: corp}]'], [pointLine(server.origin, 'timeout: 10s')]) })
    t.equal((await rpc(`${gateway.url}/rpc`, 'SendMessage', REST)).status, 503)
  }
  t.equal(agent.received.length, 0)
})

t.test('an answer is used again for an equal question, of the same caller only', async t => {
  const agent = await fakeAgent(t)
  let answer: object = PERMIT
  const server = await policyServer(t, () => answer)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['external: [{id: a, use: corp}]'], [pointLine(server.url, 'timeout: 10s, cache: {ttl: 1h}')]) })
  for (let i = 0; i < 5; i++) t.match((await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: { ...MESSAGE, messageId: `m${i}` } })).json(), { result: {} })
  t.equal(server.received.length, 1, 'ids of messages are not part of the question')
  answer = DENY
  t.match((await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: { ...MESSAGE, taskId: 't1' } })).json(), { error: { code: -32004 } }, 'another task is another question')
  t.match((await rpc(`${gateway.url}/rpc`, 'GetTask', { id: 't1' })).json(), { error: { code: -32004 } })
  t.equal(server.received.length, 3)
  t.equal(await gateway.metric('a2a_gateway_external_decisions_total{agent="agent",rule="a",outcome="allow"}'), 5, 'remembered answers count')
})

t.test('the breaker', t => {
  let now = 0
  const breaker = new Breaker(() => now)
  for (let i = 0; i < 5; i++) {
    t.ok(breaker.enter())
    breaker.failed()
  }
  t.notOk(breaker.enter(), 'open after five failures in a row')
  now = 1_000
  t.ok(breaker.enter(), 'one attempt')
  t.notOk(breaker.enter(), 'and no other')
  breaker.failed()
  now = 2_500
  t.notOk(breaker.enter(), 'the pause has doubled')
  now = 3_000
  t.ok(breaker.enter())
  breaker.left()
  t.ok(breaker.enter(), 'an attempt without news does not count')
  breaker.succeeded()
  t.notOk(breaker.open)
  for (let i = 0; i < 4; i++) breaker.failed()
  breaker.succeeded()
  breaker.failed()
  t.ok(breaker.enter(), 'failures in a row')
  t.end()
})

t.test('the gate', async t => {
  const gate = new Gate(1, 1)
  const controller = new AbortController()
  t.equal(gate.enter(controller.signal), true)
  const waiting = gate.enter(controller.signal)
  t.equal(gate.enter(controller.signal), false, 'too many wait')
  controller.abort()
  t.equal(await waiting, false)
  const next = gate.enter(new AbortController().signal)
  gate.leave()
  t.equal(await next, true)
  t.same([gate.open, gate.queued], [1, 0])
})

t.test('recorded answers', t => {
  const asking = { rule: 'r', policy: null, use: 'corp', phase: 'request', mode: 'enforce', body: '{}', unaskable: null } as const
  t.equal(answersOf(undefined), undefined)
  t.match(answersOf({ corp: DENY as Record<string, unknown> })?.(asking), { kind: 'decided', decision: false })
  t.match(answersOf({ corp: 'error' })?.(asking), { kind: 'failed', forward: false })
  t.equal(answersOf({ other: 'error' })?.(asking), null)
  t.end()
})

/** The stored state of tasks, with agents and clients that use several connections, and with gateways that have not seen every message. */
import type { ServerResponse } from 'node:http'
import t from 'tap'
import type { Target } from './responses-kit.js'
import { behind, EVENTS, rpcResult, URI } from './responses-kit.js'
import { until } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'

const POLICY = [
  'extensions:',
  '  ext:',
  `    uri: ${URI}`,
  '    activation: {signals: [always]}',
  '    state:',
  '      from: {metadata: {in: [message, status], key: s}}',
  '      transitions: {"": [a], a: [b], b: [c], c: []}',
  '      onViolation: reject',
  '    observe:',
  '      metrics: [{name: tokens, type: counter, from: {metadata: {in: [task, event], key: tokens}}}]'
]
const said = (s: string | null): string => s === null ? '{}' : `{"s":"${s}"}`
const task = (s: string | null, id = 't1', state = 'TASK_STATE_INPUT_REQUIRED'): string =>
  `{"id":"${id}","contextId":"c","status":{"state":"${state}","message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"x"}],"metadata":${said(s)}}}}`
const update = (s: string | null, more = ''): string =>
  `data: ${rpcResult(`{"statusUpdate":{"taskId":"t1","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"x"}],"metadata":${said(s)}}}${more}}}`)}\n\n`
const message = (s: string | null, taskId = 't1'): unknown => ({
  message: { messageId: 'm', role: 'ROLE_USER', taskId, parts: [{ text: 'x' }], ...(s === null ? {} : { metadata: { s } }) }
})
const passes = (answer: Answer): boolean => !('error' in answer.json())
const send = async ({ ask }: Target, s: string | null, answered: string | null, taskId?: string): Promise<boolean> =>
  passes(await ask({ params: message(s, taskId) }, { body: rpcResult(`{"task":${task(answered, taskId === '' ? 't1' : taskId)}}`) }))

t.test('a gateway that did not see the beginning of a task never treats it as new', async t => {
  const target = await behind(t, 'enforce', POLICY)
  t.ok(passes(await target.ask({ method: 'GetTask', params: { id: 't1' } }, { body: rpcResult(task(null)) })))
  t.ok(await send(target, 'b', null), 'nobody knows what it said before')
  t.notOk(await send(target, 'a', null), 'now it is known')
  t.ok(await send(target, 'c', null))
  t.ok(passes(await target.ask({ params: message(null, '') }, { body: rpcResult(`{"task":${task(null, 't2')}}`) })))
  t.notOk(await send(target, 'b', null, 't2'), 'this one began here')
  t.ok(await send(target, 'a', 'b', 't2'))
  t.notOk(await send(target, 'a', null, 't2'))
})

t.test('other clients, rejected requests and rejected responses do not change a task', async t => {
  const target = await behind(t, 'enforce', POLICY)
  t.ok(passes(await target.ask({ params: message('a', '') }, { body: rpcResult(`{"task":${task('a')}}`) })))
  const no = { body: '{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no"}}' }
  t.notOk(passes(await target.ask({ params: message('b') }, no)), 'a stranger, whom the agent refuses')
  t.notOk(passes(await target.ask({ params: message('b') }, { status: 403, body: no.body })))
  t.notOk(passes(await target.ask({ method: 'GetTask', params: { id: 't1' } }, no)))
  t.notOk(await send(target, 'c', null), 'what comes too early')
  t.notOk(await send(target, null, 'c'), 'the agent too')
  t.ok(passes(await target.ask({ method: 'ListTasks', params: {} }, { body: rpcResult(`{"tasks":[${task('c')}]}`) })), 'a list is no move')
  t.ok(
    passes(await target.ask({ params: message('a', '') }, { body: rpcResult(`{"task":${task('a', '__proto__')}}`) })),
    'another task, of an odd name'
  )
  t.ok(
    passes(await target.ask({ params: { ...(message('b') as object), tenant: 'other' } }, { body: rpcResult(`{"task":${task('c')}}`) })),
    'of the same name, of another tenant'
  )
  t.ok(await send(target, 'b', 'b'), 'still where it was')
})

/** A stream that the test writes to. */
async function stream (target: Target, method: string, params: unknown): Promise<{ out: ServerResponse, answer: Promise<Answer> }> {
  const began: ServerResponse[] = []
  const answer = target.ask({ method, params }, response => { began.push(response.writeHead(200, [...EVENTS])) })
  await until(() => began.length > 0)
  return { out: began[0] as ServerResponse, answer }
}

t.test('a task continues over two connections', async t => {
  for (const [moved, forwarded] of [[true, true], [false, false]]) {
    const target = await behind(t, 'enforce', POLICY)
    await target.ask({ params: message('a', '') }, { body: rpcResult(`{"task":${task('a')}}`) })
    const { out, answer } = await stream(target, 'SubscribeToTask', { id: 't1' })
    out.write(update('a'))
    if (moved === true) t.ok(await send(target, 'b', null), 'on a connection of its own')
    out.end(update('c'))
    t.equal((await answer).text.includes('-32006'), !forwarded)
  }
})

t.test('two streams of one task, one after the other, are both valid', async t => {
  const target = await behind(t, 'enforce', POLICY)
  const first = await stream(target, 'SendStreamingMessage', message('a', ''))
  first.out.write(update('a'))
  await until(async () => await target.gateway.metric('a2a_gateway_task_writes_total{agent="agent",outcome="kept"}') === 1)
  const second = await stream(target, 'SubscribeToTask', { id: 't1' })
  const rest = update('b', ',"metadata":{"tokens":40}') + update('c', ',"metadata":{"tokens":100}')
  first.out.end(rest)
  t.ok((await first.answer).text.endsWith(rest))
  second.out.end(update('a') + rest)
  t.equal((await second.answer).text, update('a') + rest)
  t.equal(
    await target.gateway.metric('a2a_gateway_observed_total{agent="agent",extension="ext",metric="tokens",by=""}'),
    100,
    'counted once'
  )
})

t.test('an agent that continues a task that the request did not name', async t => {
  const target = await behind(t, 'enforce', POLICY)
  t.ok(await send(target, 'a', 'a', ''))
  t.ok(passes(await target.ask({ params: message(null, '') }, { body: rpcResult(`{"task":${task('b')}}`) })), 'it goes on where it was')
  t.ok(passes(await target.ask({ params: message(null, '') }, { body: rpcResult(`{"task":${task(null)}}`) })))
  t.ok(await send(target, 'c', null), 'and does not begin again')
})

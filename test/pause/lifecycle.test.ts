/** What becomes of a request that waits: its task, the message that has the evidence, and everything that may come between them. */
import { gzipSync } from 'node:zlib'
import type { Test } from 'tap'
import t from 'tap'
import type { TestAgent } from '../helpers/agents.js'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { TestGateway } from '../helpers/gateway.js'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, freePort, JSON_TYPE, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import { startRedis } from '../helpers/redis.js'
import { as, keyDirectory, ownedYaml, rpcCall } from '../helpers/task-owners.js'
import { APPROVAL, approvalPolicy, CARD, QUESTION } from './kit.js'

quietSdk()

interface Task {
  readonly id: string
  readonly contextId: string
  readonly status: { readonly state: string, readonly message?: { readonly parts: readonly { readonly text?: string }[] } }
}
interface Response {
  readonly result?: { readonly task?: Task } & Partial<Task>
  readonly error?: { readonly code: number, readonly message: string }
}

const ORDER = { messageId: 'order', role: 'ROLE_USER', parts: [{ text: 'order' }, { data: { type: 'order', amount: 5_000 } }] }
const YES = { metadata: { [APPROVAL]: { approved: true } } }
const NO = { metadata: { [APPROVAL]: { approved: false } } }

interface Keys { readonly agent?: readonly string[], readonly root?: readonly string[], readonly pause?: readonly string[] }

interface Started { readonly upstream: TestAgent, readonly gateway: TestGateway, readonly yaml: string }

async function started (t: Test, { agent = [], root = [], pause = [] }: Keys = {}): Promise<Started> {
  const upstream = await startAgent({ kind: 'v1', card: CARD })
  t.teardown(() => upstream.close())
  const yaml = oneAgent(upstream.url, ['extensions: [approval]', ...agent], [...approvalPolicy(pause), ...root])
  return { upstream, gateway: await gatewayFor(t, { yaml }), yaml }
}

async function rpcTo (url: string, method: string, params: unknown): Promise<Response> {
  return JSON.parse((await rpc(`${url}/a2a/jsonrpc`, method, params)).text) as Response
}

function send (url: string, message: object): Promise<Response> {
  return rpcTo(url, 'SendMessage', { message })
}

function decision (taskId: string, more: object): object {
  return { messageId: 'decision', role: 'ROLE_USER', taskId, parts: [{ text: 'my decision' }], ...more }
}

/** Id of the task that waits. */
async function waiting (url: string, message: object = ORDER): Promise<string> {
  const { result } = await send(url, message)
  if (result?.task?.status.state !== 'TASK_STATE_INPUT_REQUIRED') throw new Error(JSON.stringify(result))
  return result.task.id
}

t.test('the agent gets the request as it was, and the client the response to its own call', async t => {
  const { gateway, upstream } = await started(t)
  const id = await waiting(gateway.url)
  const answer = await rpc(`${gateway.url}/a2a/jsonrpc`, 'SendMessage', { message: decision(id, YES) }, [], '"the second"')
  t.match(answer.text, /"id":"the second"/)
  t.equal(upstream.calls().length, 1)
  const sent = JSON.parse(upstream.calls()[0]?.body.toString() ?? '') as { params: { message: unknown } }
  t.same(sent.params.message, ORDER)
  t.same(gateway.audits().map(one => one.decision), ['paused', 'resumed'])
  t.ok(gateway.audits().every(one => one.task_id === id), 'both lines name the task')
  t.equal(await gateway.metric('a2a_gateway_paused_requests_total{agent="agent",outcome="paused"}'), 1)
  t.equal(await gateway.metric('a2a_gateway_paused_requests_total{agent="agent",outcome="resumed"}'), 1)
  t.equal(await gateway.metric('a2a_gateway_refusals_total{agent="agent",rule="approval/large-order"}'), 1)
})

t.test('the head of the response', async t => {
  const { gateway } = await started(t)
  const { status, headers } = await rpc(`${gateway.url}/a2a/jsonrpc`, 'SendMessage', { message: ORDER }, ['a2a-extensions', APPROVAL])
  t.equal(status, 200)
  t.match(headers, {
    'content-type': 'application/json',
    'gateway-decision': 'pause;rule="approval/large-order"',
    'a2a-extensions': APPROVAL,
    'cache-control': 'no-store'
  })
})

t.test('streams: one event, and then the events of the agent', async t => {
  const { gateway } = await started(t)
  const first = await rpc(`${gateway.url}/a2a/jsonrpc`, 'SendStreamingMessage', { message: ORDER })
  t.equal(first.headers['content-type'], 'text/event-stream')
  t.equal(first.text.match(/^data: /gm)?.length, 1)
  const id = /"task":\{"id":"([^"]+)"/.exec(first.text)?.[1] ?? ''
  const seen = await rpc(`${gateway.url}/a2a/jsonrpc`, 'SubscribeToTask', { id })
  t.match(seen.text, /^data: .*TASK_STATE_INPUT_REQUIRED/)
  const events = await rpc(`${gateway.url}/a2a/jsonrpc`, 'SendStreamingMessage', { message: decision(id, YES) })
  t.match(events.text, /TASK_STATE_COMPLETED/)
  t.match((await rpc(`${gateway.url}/a2a/jsonrpc`, 'SubscribeToTask', { id })).text, /"code":-32004/, 'the task has ended')
})

t.test('a person declines', async t => {
  const { gateway, upstream } = await started(t)
  const id = await waiting(gateway.url)
  t.match(await send(gateway.url, decision(id, NO)), { result: { task: { id, status: { state: 'TASK_STATE_REJECTED' } } } })
  t.match(await send(gateway.url, decision(id, YES)), { error: { code: -32004, message: /has ended/ } })
  t.match(await rpcTo(gateway.url, 'GetTask', { id }), { result: { id, status: { state: 'TASK_STATE_REJECTED' } } })
  t.equal(upstream.calls().length, 0)
  t.match(gateway.audits().at(-1), { decision: 'declined', task_id: id, paused_rules: ['approval/large-order'] })
  t.equal(await gateway.metric('a2a_gateway_paused_requests_total{agent="agent",outcome="declined"}'), 1)
})

t.test('the client cancels', async t => {
  const { gateway, upstream } = await started(t)
  const id = await waiting(gateway.url)
  t.match(await rpcTo(gateway.url, 'CancelTask', { id }), { result: { id, status: { state: 'TASK_STATE_CANCELED' } } })
  t.equal(gateway.audits().at(-1)?.decision, 'canceled')
  t.equal(await gateway.metric('a2a_gateway_paused_requests_total{agent="agent",outcome="canceled"}'), 1)
  t.match(await rpcTo(gateway.url, 'CancelTask', { id }), { error: { code: -32004 } })
  t.match(await send(gateway.url, decision(id, YES)), { error: { code: -32004 } })
  t.match(await rpcTo(gateway.url, 'ListTaskPushNotificationConfigs', { taskId: id }), { error: { code: -32004, message: /waits at the gateway/ } })
  t.equal(upstream.calls().length, 0)
})

t.test('of 20 decisions and cancellations at once, one counts', async t => {
  const { gateway, upstream } = await started(t)
  const id = await waiting(gateway.url)
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) =>
    i % 4 === 3 ? rpcTo(gateway.url, 'CancelTask', { id }) : send(gateway.url, decision(id, YES))))
  t.equal(answers.filter(one => one.error === undefined).length, 1)
  t.ok(upstream.calls().length <= 1)
})

t.test('evidence that is not the evidence', async t => {
  const { gateway, upstream } = await started(t)
  const id = await waiting(gateway.url)
  for (const [what, more] of [
    ['none', {}],
    ['another value', { metadata: { [APPROVAL]: { approved: 'true' } } }],
    ['another extension', { metadata: { 'https://example.com/ext/approval/v2': { approved: true } } }],
    ['another place', { parts: [{ text: 'yes', metadata: { [APPROVAL]: { approved: true } } }] }],
    ['another order', { ...YES, parts: ORDER.parts }]
  ] as const) {
    t.match(await send(gateway.url, decision(id, more)), { result: { task: { id, status: { state: 'TASK_STATE_INPUT_REQUIRED' } } } }, what)
  }
  t.equal(upstream.calls().length, 0)
  t.match(await send(gateway.url, { ...ORDER, ...YES }), { result: { task: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } } }, 'without the task')
  t.match(await send(gateway.url, decision('no-task-of-the-gateway', YES)), { error: { code: -32001 } }, 'the agent does not know the task')
  t.match(await send(gateway.url, decision(id, YES)), { result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } } })
})

t.test('all other rules apply to the request that has waited', async t => {
  const { gateway, upstream } = await started(t, {
    root: [
      '      - {id: no-secret, select: {part: {where: {path: /type, equals: secret}}}, count: {max: 0}}',
      '      - id: gift',
      '        select: {part: {where: {path: /type, equals: gift}}}',
      '        count: {max: 0}',
      '        pause: {state: auth-required, text: A gift?, evidence: {select: {pointer: /message/metadata/gift}}}'
    ]
  })
  t.match(await send(gateway.url, { ...ORDER, parts: [...ORDER.parts, { data: { type: 'secret' } }] }), { error: { code: -32602 } }, 'an error comes first')
  const both = await send(gateway.url, { ...ORDER, parts: [...ORDER.parts, { data: { type: 'gift' } }] })
  const id = both.result?.task?.id ?? ''
  t.equal(both.result?.task?.status.message?.parts[0]?.text, QUESTION, 'the first rule asks')
  t.match(await send(gateway.url, decision(id, YES)), { result: { task: { id } } }, 'evidence of one rule of two')
  t.match(await send(gateway.url, decision(id, { metadata: { ...YES.metadata, gift: 1 } })), { result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } } })
  t.equal(upstream.calls().length, 1)
})

t.test('a compressed message lets a request pass, without the headers of that message', async t => {
  const { gateway, upstream } = await started(t)
  const id = await waiting(gateway.url)
  const body = gzipSync(rpcBody('SendMessage', { message: decision(id, YES) }))
  const answer = await call(`${gateway.url}/a2a/jsonrpc`, { method: 'POST', headers: [...JSON_TYPE, ...V1, 'content-encoding', 'gzip'], body })
  t.match(answer.text, /TASK_STATE_COMPLETED/)
  t.equal(upstream.calls()[0]?.headers['content-encoding'], undefined)
})

t.test('the same binding', async t => {
  const { gateway } = await started(t)
  const id = await waiting(gateway.url)
  const headers = [...JSON_TYPE, ...V1]
  const rest = await call(`${gateway.url}/a2a/rest/message:send`, { method: 'POST', headers, body: JSON.stringify({ message: decision(id, YES) }) })
  t.match(rest.text, /sent over JSONRPC 1\.0; send the message the same way/)
})

t.test('a request that is too large is rejected, and says so', async t => {
  const { gateway } = await started(t)
  const { error } = await send(gateway.url, { ...ORDER, parts: [...ORDER.parts, { text: 'x'.repeat(21_000) }] })
  t.match(error, { code: -32602, message: /must be at most 1000.*could wait for a person if it had at most 20480 bytes/ })
})

t.test('observe: nobody is asked', async t => {
  const { gateway, upstream } = await started(t, { agent: ['mode: observe'] })
  t.match(await send(gateway.url, ORDER), { result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } } })
  t.equal(upstream.calls().length, 1)
})

t.test('a reload without the rule: the task waits for nothing that exists', async t => {
  const { gateway, upstream, yaml } = await started(t)
  const id = await waiting(gateway.url)
  await gateway.reload(configOf({ yaml: yaml.replace('maximum: 1000', 'maximum: 9000') }))
  t.match(await send(gateway.url, decision(id, YES)), { result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } } }, 'the rule accepts the request now')
  t.equal(upstream.calls().length, 1)
})

t.test('the task belongs to the caller who sent the request', async t => {
  const upstream = await startAgent({ kind: 'v1', card: CARD })
  t.teardown(() => upstream.close())
  const yaml = ownedYaml(upstream.url, { agent: ['extensions: [approval]'], root: approvalPolicy() })
  const gateway = await gatewayFor(t, { yaml, baseDir: keyDirectory(t) })
  const { text } = await as(gateway.url, 'ada')(rpcCall('SendMessage', { message: ORDER }))
  const { result: { task: { id } } } = JSON.parse(text) as { result: { task: Task } }
  for (const [method, params] of [
    ['SendMessage', { message: decision(id, YES) }], ['GetTask', { id }], ['CancelTask', { id }], ['SubscribeToTask', { id }]
  ] as const) t.match((await as(gateway.url, 'bob')(rpcCall(method, params))).text, /"code":-32001/, `${method} of a stranger`)
  t.match((await as(gateway.url, 'ada')(rpcCall('GetTask', { id }))).text, /TASK_STATE_INPUT_REQUIRED/)
  t.match((await as(gateway.url, 'ada')(rpcCall('SendMessage', { message: decision(id, YES) }))).text, /TASK_STATE_COMPLETED/)
})

t.test('the caller is the evidence', async t => {
  const upstream = await startAgent({ kind: 'v1', card: CARD })
  t.teardown(() => upstream.close())
  const policy = approvalPolicy().join('\n').replace(/evidence:\n[^]*approved: \{const: true\}\}\}\n[^\n]*/, 'evidence: {caller: {groups: [support]}}').replace('input-required', 'auth-required')
  const yaml = ownedYaml(upstream.url, { tasks: '{shared: {groups: [support]}}', agent: ['extensions: [approval]'], root: [policy] })
  const gateway = await gatewayFor(t, { yaml, baseDir: keyDirectory(t) })
  const { text } = await as(gateway.url, 'ada')(rpcCall('SendMessage', { message: ORDER }))
  t.match(text, /TASK_STATE_AUTH_REQUIRED/)
  const { result: { task: { id } } } = JSON.parse(text) as { result: { task: Task } }
  t.match((await as(gateway.url, 'ada')(rpcCall('SendMessage', { message: decision(id, {}) }))).text, /must come from a caller who may agree/)
  t.equal(upstream.calls().length, 0)
  t.match((await as(gateway.url, 'support')(rpcCall('SendMessage', { message: decision(id, {}) }))).text, /TASK_STATE_COMPLETED/)
})

t.test('two gateways with one store, and a store that is away', async t => {
  const redis = await startRedis(t, await freePort())
  const root = [`state: {store: "redis://127.0.0.1:${redis.port}", timeout: 5s}`]
  const { gateway, upstream, yaml } = await started(t, { root })
  const other = await gatewayFor(t, { yaml })
  for (const { url } of [gateway, other]) await until(async () => (await send(url, ORDER)).result !== undefined, 'a connection to the store')
  const id = await waiting(gateway.url)
  const answers = await Promise.all([gateway, other, gateway, other].map(({ url }) => send(url, decision(id, YES))))
  t.equal(answers.filter(one => one.result?.task?.status.state === 'TASK_STATE_COMPLETED').length, 1)
  t.equal(upstream.calls().length, 1)
  await redis.kill()
  await until(async () => (await send(gateway.url, ORDER)).error !== undefined, 'the end of the store')
  t.match(await send(gateway.url, ORDER), { error: { message: /cannot reach its store/ } })
  t.equal(upstream.calls().length, 1, 'the agent gets nothing')
})

t.test('an agent that does not respond: the request is over', async t => {
  const { gateway, upstream } = await started(t)
  const id = await waiting(gateway.url)
  await upstream.close()
  t.match((await rpc(`${gateway.url}/a2a/jsonrpc`, 'SendMessage', { message: decision(id, YES) })).status, 502)
  t.match(await send(gateway.url, decision(id, YES)), { error: { code: -32004 } })
})

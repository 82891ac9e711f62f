/** `budgets` through a real gateway: what agents report is charged, and the next message is rejected when a budget is spent. */
import type { ServerResponse } from 'node:http'
import t from 'tap'
import type { Test } from 'tap'
import type { TestGateway } from '../helpers/gateway.js'
import { MESSAGE, rpc, until } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import type { FakeAgent, RawRequest } from '../helpers/raw.js'
import { plainCard } from '../helpers/raw.js'
import { ACME, guarded, OLD, USER, basicOf } from '../identity/kit.js'

const USAGE = 'urn:usage'
const KEY = ['x-api-key', ACME]

/** Responds with the usage that the message asks for, as JSON text: of a message, or of a task. */
function answer (request: RawRequest, response: ServerResponse): void {
  const body = request.body.toString()
  const tokens = decodeURIComponent(/usage=([\w%.+-]+)/.exec(body)?.[1] ?? '0')
  const task = /task=(\w+)/.exec(body)?.[1]
  const metadata = `{"tokens":${tokens}}`
  const result = task === undefined
    ? `{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}],"metadata":${metadata}}}`
    : `{"task":{"id":"${task}","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"metadata":${metadata}}}`
  if (!body.includes('SendStreamingMessage')) {
    response.setHeader('content-type', 'application/json').end(`{"jsonrpc":"2.0","id":1,"result":${body.includes('GetTask') ? result.slice(8, -1) : result}}`)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (let i = 0; i < 3; i++) response.write(`data: {"jsonrpc":"2.0","id":1,"result":${result}}\n\n`)
  response.end()
}

interface Budgeted { readonly gateway: TestGateway, readonly agent: FakeAgent }

async function budgeted (t: Test, budget: string, root: readonly string[] = []): Promise<Budgeted> {
  return await guarded(t, {
    agent: { card: url => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: USAGE }] } }), answer },
    extra: ['extensions: [usage]'],
    root: [
      `extensions: {usage: {uri: "${USAGE}", activation: {signals: [always]}, observe: {metrics: [{name: tokens, type: counter, from: {metadata: {key: tokens}}}]}}}`,
      `budgets: [{id: tokens, of: usage/tokens, ${budget}}]`,
      ...root
    ]
  })
}

const send = (gateway: TestGateway, text: string, headers: readonly string[] = KEY, method = 'SendMessage'): Promise<Answer> =>
  rpc(`${gateway.url}/rpc`, method, { message: { ...MESSAGE, parts: [{ text }] } }, headers)
const spent = (gateway: TestGateway): Promise<number> => gateway.metric('a2a_gateway_budget_spent_total{budget="tokens"}')

t.test('the next message is rejected, and no response is cut', async t => {
  const { gateway, agent } = await budgeted(t, 'by: [caller], limit: 100, window: 1h')
  t.equal((await send(gateway, 'usage=60')).status, 200)
  const over = await send(gateway, 'usage=60')
  t.match([over.status, over.json()], [200, { result: { message: { metadata: { tokens: 60 } } } }], 'a response is never cut')
  const rejected = await send(gateway, 'usage=1')
  t.match([rejected.status, rejected.json()], [429, { id: 1, error: { code: -32603, data: [{ reason: 'BUDGET_EXHAUSTED', metadata: { limit: 'tokens' } }] } }])
  const wait = Number(rejected.headers['retry-after'])
  t.ok(wait > 3_500 && wait <= 3_600, String(wait))
  t.match(rejected.text, `The budget \\"tokens\\" is spent: wait ${wait} s before the next message.`)
  t.equal((await send(gateway, 'usage=1', ['x-api-key', OLD])).status, 429, 'another key of the caller')
  t.equal((await send(gateway, 'usage=1', KEY, 'SendStreamingMessage')).status, 429)
  t.equal((await send(gateway, 'usage=1', ['authorization', basicOf('ada', USER)])).status, 200, 'another caller')
  for (const method of ['GetTask', 'CancelTask']) t.equal((await rpc(`${gateway.url}/rpc`, method, { id: 't' }, KEY)).status, 200, 'what was paid for can be fetched')
  t.equal(await spent(gateway), 121)
  t.equal(await gateway.metric('a2a_gateway_rate_limited_total{agent="agent",limit="tokens"}'), 3)
  t.equal(agent.received.length, 5)
  t.ok(gateway.audits().some(line => line.reason === 'BUDGET_EXHAUSTED' && line.rule === 'budget' && line.limit === 'tokens'))
})

t.test('one report counts at most `max`; reports that are no amounts count nothing', async t => {
  const { gateway } = await budgeted(t, 'by: [caller], limit: 100, window: 1h, max: 30')
  for (const [report, total] of [['-1', 0], ['1e308', 0], ['1e400', 0], ['%225%22', 0], ['null', 0], ['-1e308', 0], ['9007199254740991', 30], ['5', 35], ['0', 35], ['0.5', 35.5]] as const) {
    t.equal((await send(gateway, `usage=${report}`)).status, 200, report)
    t.equal(await spent(gateway), total, report)
  }
  await send(gateway, 'usage=40')
  t.equal((await send(gateway, 'usage=40')).status, 200)
  await send(gateway, 'usage=40')
  t.equal((await send(gateway, 'usage=0')).status, 429)
})

t.test('a sum that no number can hold stays spent', async t => {
  const { gateway } = await budgeted(t, 'by: [agent], limit: 1000000000000000, window: 1h')
  for (let i = 0; i < 3; i++) await send(gateway, 'usage=9007199254740991')
  t.equal((await send(gateway, 'usage=0')).status, 429)
})

t.test('what a task reports counts once, in streams and later responses too', async t => {
  const { gateway } = await budgeted(t, 'by: [tenant], limit: 100, window: 1h')
  t.equal((await send(gateway, 'usage=40 task=t1', KEY, 'SendStreamingMessage')).status, 200)
  await until(async () => await spent(gateway) === 40, 'three events of one amount')
  for (let i = 0; i < 3; i++) await rpc(`${gateway.url}/rpc`, 'GetTask', { id: 't1', metadata: { x: 'usage=40 task=t1' } }, KEY)
  t.equal(await spent(gateway), 40)
  await rpc(`${gateway.url}/rpc`, 'GetTask', { id: 't1', metadata: { x: 'usage=70 task=t1' } }, KEY)
  t.equal(await spent(gateway), 70, 'the increase only')
  await send(gateway, 'usage=30 task=t2')
  t.equal((await send(gateway, 'usage=1')).status, 429)
})

t.test('a window ends', async t => {
  const { gateway } = await budgeted(t, 'by: [caller], limit: 10, window: 2s')
  await send(gateway, 'usage=10')
  const rejected = await send(gateway, 'usage=1')
  t.equal(rejected.status, 429)
  await until(async () => (await send(gateway, 'usage=1')).status === 200, 'the end of the window')
})

t.test('with a limit too: a rejected request counts in none', async t => {
  const { gateway } = await budgeted(t, 'by: [caller], limit: 1, window: 1h', ['rates: [{id: sends, by: [caller], rate: 3/1h, on: [messages]}]'])
  await send(gateway, 'usage=1')
  for (let i = 0; i < 5; i++) t.match((await send(gateway, 'usage=1')).text, /BUDGET_EXHAUSTED/)
  t.match((await send(gateway, 'usage=1')).headers.ratelimit, /"sends";r=2/, 'the limit has not counted rejected requests')
})

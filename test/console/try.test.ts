/**
 * Test calls from the console's page: only when they are enabled, only from the page, only to agents, and through the main listener like
 * the calls of any client.
 */
import t from 'tap'
import type { TryResult } from '../../src/console/try-call.js'
import { readTry } from '../../src/console/try-call.js'
import { call, MESSAGE, rpcBody } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { gatewayFor } from '../helpers/gateway.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { consoleFor, REQUIRED, SERVER } from './kit.js'

const BODY = rpcBody('SendMessage', { message: MESSAGE })
const CALL = { agent: 'agent', binding: 'JSONRPC', version: '1.0', operation: 'send', extensions: [] as string[], headers: [], body: BODY }

async function send (adminUrl: string, value: unknown, headers: readonly string[] = ['origin', adminUrl]): Promise<Answer> {
  return await call(`${adminUrl}/console/api/try`, {
    method: 'POST',
    headers: [...(headers.includes('content-type') ? [] : ['content-type', 'application/json']), ...headers],
    body: typeof value === 'string' ? value : JSON.stringify(value)
  })
}

t.test('a rejected and a forwarded call, each with the gateway\'s decision', async t => {
  const { gateway, agent } = await consoleFor(t, '{tryIt: true}')
  const refused = (await send(gateway.adminUrl, CALL)).json() as unknown as TryResult
  t.match(refused.answer, { status: 200, body: /EXTENSION_SUPPORT_REQUIRED/ })
  t.match(refused.answer?.headers.find(([name]) => name === 'gateway-decision'), ['gateway-decision', /^reject/])
  t.match(refused.decision, {
    outcome: 'rejected',
    rule: `${REQUIRED}/required`,
    correction: { headers: [{ name: 'A2A-Extensions', value: REQUIRED }] }
  })
  t.equal(agent.received.length, 0)
  const forwarded = (
    await send(gateway.adminUrl, { ...CALL, extensions: [REQUIRED], headers: [['X-Note', 'hello']] })
  ).json() as unknown as TryResult
  t.match(forwarded, {
    problem: null,
    answer: { status: 200 },
    decision: { outcome: 'forwarded', agent: 'agent' },
    request: { method: 'POST', path: '/rpc' }
  })
  t.equal(agent.received.length, 1)
  t.match(
    agent.received[0]?.headers,
    { 'a2a-extensions': REQUIRED, 'a2a-version': '1.0', 'x-note': 'hello', via: /./ },
    'it came through the gateway'
  )
  t.equal(agent.received[0]?.body.toString(), BODY)
  const rest = (
    await send(gateway.adminUrl, { ...CALL, binding: 'HTTP+JSON', extensions: [REQUIRED], body: JSON.stringify({ message: MESSAGE }) })
  ).json() as unknown as TryResult
  t.match(
    rest,
    { request: { path: '/rest/message:send' }, decision: { outcome: 'observed', binding: 'HTTP+JSON' } },
    'the answer is not what that binding demands'
  )
  const broken = (await send(gateway.adminUrl, { ...CALL, body: '{"broken' })).json() as unknown as TryResult
  t.match(broken.decision, { outcome: 'rejected', reason: 'PARSE_ERROR' })
  t.equal(
    await gateway.metric(
      'a2a_gateway_requests_total{agent="agent",operation="SendMessage",binding="JSONRPC",version="1.0",outcome="forwarded"}'
    ),
    1
  )
})

t.test('off by default', async t => {
  const { gateway, agent, api } = await consoleFor(t)
  const answer = await send(gateway.adminUrl, CALL)
  t.equal(answer.status, 403)
  t.match(answer.json(), { error: /server\.console\.tryIt/ })
  t.equal(agent.received.length, 0)
  t.match((await api('api/form?name=agent')).json(), { tryIt: false })
})

t.test('other sites\' pages cannot send', async t => {
  const { gateway, agent } = await consoleFor(t, '{tryIt: true}')
  const { adminUrl } = gateway
  const value = { ...CALL, extensions: [REQUIRED] }
  for (const [name, headers, status] of [
    ['no origin', [], 403],
    ['another origin', ['origin', 'http://evil.example'], 403],
    ['an opaque origin', ['origin', 'null'], 403],
    ['another port', ['origin', 'http://127.0.0.1:1'], 403],
    ['its own word', ['origin', adminUrl, 'sec-fetch-site', 'cross-site'], 403],
    ['another site of the same domain', ['origin', adminUrl, 'sec-fetch-site', 'same-site'], 403],
    ['a rebound name', ['host', 'evil.example', 'origin', 'http://evil.example'], 403],
    ['a form', ['origin', adminUrl, 'content-type', 'text/plain'], 415],
    ['a form with a body like JSON', ['origin', adminUrl, 'content-type', 'application/x-www-form-urlencoded'], 415]
  ] as const) {
    t.equal((await send(adminUrl, value, headers)).status, status, name)
  }
  t.equal(agent.received.length, 0)
  t.equal((await send(adminUrl, value, ['origin', adminUrl, 'sec-fetch-site', 'same-origin'])).status, 200)
  t.equal(agent.received.length, 1)
})

t.test('only to agents and their interfaces, without control of framing and routing', async t => {
  const { gateway, agent } = await consoleFor(t, '{tryIt: true}')
  t.equal((await send(gateway.adminUrl, { ...CALL, agent: 'nobody' })).status, 404)
  t.equal((await send(gateway.adminUrl, { ...CALL, version: '2.0' })).status, 404)
  t.equal((await send(gateway.adminUrl, 'no JSON')).status, 400)
  t.equal((await send(gateway.adminUrl, { ...CALL, body: 'x'.repeat(1024 * 1024) })).status, 413)
  t.equal(agent.received.length, 0)
  for (const name of [
    'Host',
    'content-length',
    'Transfer-Encoding',
    'Connection',
    'X-Forwarded-For',
    'forwarded',
    'Via',
    'Proxy-Authorization',
    'Cookie',
    'Upgrade'
  ]) {
    t.match(readTry({ ...CALL, headers: [[name, 'x']] }), /leave it out/, name)
  }
  for (const wrong of [
    null,
    1,
    [],
    { ...CALL, body: 1 },
    { ...CALL, operation: 'delete' },
    { ...CALL, binding: 'GRPC' },
    { ...CALL, extensions: ['a\r\nb'] },
    { ...CALL, extensions: 'x' },
    { ...CALL, headers: [['a', 'b\r\nc']] },
    { ...CALL, headers: [['a b', 'c']] },
    { ...CALL, headers: [['a']] }
  ]) {
    t.type(readTry(wrong), 'string', JSON.stringify(wrong))
  }
  t.end()
})

t.test('an endless response is read up to a limit', async t => {
  const endless = await fakeAgent(t, {
    card: url => plainCard(url),
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const write = (): void => { if (!response.destroyed) response.write('x'.repeat(65_536), () => setImmediate(write)) }
      write()
    }
  })
  const gateway = await gatewayFor(t, {
    yaml: `${SERVER.replace('console: {}', 'console: {tryIt: true}')}\nagents: [{name: agent, upstream: {url: "${endless.url}"}, responses: "off"}]`
  })
  const { problem, answer, decision } = (await send(gateway.adminUrl, CALL)).json() as unknown as TryResult
  t.match(problem, /longer than 1048576 bytes|aborted/)
  t.ok((answer?.body.length ?? 0) < 2_000_000)
  t.match(decision, { outcome: 'client_aborted' })
})

/**
 * Test calls from the console's page: only when they are enabled, only from the page, only to agents, and through the main listener like
 * the calls of any client.
 */
import t from 'tap'
import type { TryResult } from '#console/try/call.js'
import { readTry } from '#console/try/call.js'
import { call, MESSAGE, rpcBody, until } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { gatewayFor } from '../helpers/gateway.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { consoleFor, REQUIRED, SERVER } from './kit.js'
import { escapedNames, poisonEngine } from '../wire/fixtures/escaped-names.js'

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

const NOTES = 'https://example.com/ext/notes/v1'

t.test('methods and routes of extensions', async t => {
  const agent = await fakeAgent(t, { card: url => plainCard(url, { capabilities: { extensions: [{ uri: NOTES }] } }) })
  const gateway = await gatewayFor(t, {
    yaml: `${SERVER.replace('console: {}', 'console: {tryIt: true}')}
agents: [{name: agent, path: /a, upstream: {url: "${agent.url}"}, extensions: [notes]}]
extensions:
  notes:
    uri: ${NOTES}
    methods:
      notes/list: {params: {type: object, properties: {limit: {type: integer}}}}
    routes:
      - {verb: GET, path: "/notes/{id}"}
      - {verb: POST, path: /notes, base: interface, need: none, body: {type: object, required: [text]}}`
  })
  const form = (await call(`${gateway.adminUrl}/console/api/form?name=agent`)).json()
  t.match(form, {
    base: gateway.url,
    methods: [{ name: 'notes/list', policy: 'notes', uri: NOTES, needsActive: true, schema: { properties: { limit: {} } } }],
    routes: [
      { id: 'GET /a/notes/{id}', verb: 'GET', needsActive: true, schema: null },
      { id: 'POST /a/rest/notes', needsActive: false, schema: { required: ['text'] } }
    ]
  })
  const route = { ...CALL, operation: 'route', binding: 'HTTP+JSON', body: '' }
  const of = async (extra: object): Promise<TryResult> =>
    (await send(gateway.adminUrl, { ...route, ...extra })).json() as unknown as TryResult
  const get = { route: 'GET /a/notes/{id}', parameters: { id: 'b c' }, query: 'limit=1' }
  t.match(await of({ ...get, extensions: [NOTES] }), {
    request: { method: 'GET', path: '/a/notes/b%20c?limit=1' },
    decision: { operation: 'GET /notes/{id}', outcome: 'forwarded', extensions: [NOTES] }
  })
  t.match(agent.received[0], { method: 'GET', url: '/notes/b%20c?limit=1' })
  t.match(await of(get), { decision: { outcome: 'rejected', rule: 'notes/route' } })
  t.match(await of({ route: 'POST /a/rest/notes', body: '{}' }), {
    request: { method: 'POST', path: '/a/rest/notes' },
    decision: { outcome: 'rejected', violations: [{ rule: 'route-body', path: 'text' }] }
  })
  for (const [extra, words] of [
    [{ route: 'GET /a/notes/{id}', parameters: {} }, /the route needs a value for id/],
    [{ route: 'GET /a/notes/{id}', parameters: { id: '..' } }, /the route needs a value for id/],
    [{ route: 'GET /metrics' }, /no such interface/]
  ] as const) {
    const answer = await send(gateway.adminUrl, { ...route, ...extra })
    t.equal(answer.status, 404)
    t.match(answer.json(), { error: words })
  }
  for (const wrong of [{ query: 'a b' }, { query: 'x#y' }, { parameters: { id: 1 } }, { route: 1 }]) {
    t.type(readTry({ ...route, ...wrong }), 'string', JSON.stringify(wrong))
  }
})

t.test('a stream is shown while it runs, and ends with its viewer', async t => {
  let ended = false
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { streaming: true } }),
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"é"}]}}}\n\n')
      response.on('close', () => { ended = true })
    }
  })
  const gateway = await gatewayFor(t, {
    yaml: `${SERVER.replace('console: {}', 'console: {tryIt: true}')}\nagents: [{name: agent, upstream: {url: "${agent.url}"}}]`
  })
  const abort = new AbortController()
  const response = await fetch(`${gateway.adminUrl}/console/api/try`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: gateway.adminUrl, accept: 'application/x-ndjson' },
    body: JSON.stringify({ ...CALL, operation: 'stream', body: rpcBody('SendStreamingMessage', { message: MESSAGE }) }),
    signal: abort.signal
  })
  t.equal(response.headers.get('content-type'), 'application/x-ndjson')
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true })
    if (text.includes('é')) break
  }
  const lines = text.trim().split('\n').map(line => JSON.parse(line) as { head?: { status: number }, data?: string })
  t.match(lines[0], { head: { status: 200 } })
  t.match(lines.map(one => one.data ?? '').join(''), /"text":"é"/)
  t.notOk(ended, 'the stream is open')
  abort.abort()
  await until(() => ended, 'the gateway to let the agent go')
})

t.test('a name of the body has the same effect, escaped or not', async t => {
  const { gateway, agent } = await consoleFor(t, '{tryIt: true}')
  const sent = { ...CALL, extensions: [REQUIRED], headers: [['X-Note', 'hello']] }
  const names = escapedNames(JSON.stringify(sent))
  for (const name of names) {
    poisonEngine(name)
    agent.received.length = 0
    const { answer } = (await send(gateway.adminUrl, name.text)).json() as unknown as TryResult
    t.equal(answer?.status, 200, name.label)
    t.match(agent.received, [{ headers: { 'a2a-extensions': REQUIRED, 'x-note': 'hello' } }], name.label)
  }
  t.equal(names.length, Object.keys(sent).length)
})

/** `rates` through a real gateway: which requests count, and what a client gets that sends too many. */
import t from 'tap'
import { keyDigest } from '#identity/api-keys.js'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, MESSAGE_03, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { fakeAgent, plainCard, rawExchange } from '../helpers/raw.js'
import { connect } from '../helpers/sdk-clients.js'
import { ACME, guarded, OLD, yamlOf } from '../identity/kit.js'

const REST = { message: MESSAGE }
const KEY = ['x-api-key', ACME]
const send = (url: string, headers: readonly string[] = []): Promise<Answer> => rpc(`${url}/rpc`, 'SendMessage', REST, headers)
const statuses = async (n: number, one: (i: number) => Promise<Answer>): Promise<number[]> => {
  const found: number[] = []
  for (let i = 0; i < n; i++) found.push((await one(i)).status)
  return found
}
const PROXY = 'server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", trustedProxies: [127.0.0.1/32]}'
/** Nothing becomes available while a test runs. */
const FEW = '2/1h'

t.test('a rejection in every binding and version, with the exact time to wait', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], [`rates: [{id: narrow, by: [address], rate: ${FEW}}]`]) })
  const { url } = gateway
  t.same(await statuses(2, () => send(url)), [200, 200])
  const body = rpcBody('SendMessage', REST)
  const forms: readonly [string, Promise<Answer>, object][] = [
    ['JSON-RPC 1.0', send(url), { id: null, error: { code: -32603, data: [{ reason: 'RATE_LIMITED', domain: 'a2a-extension-gateway', metadata: { limit: 'narrow' } }] } }],
    ['JSON-RPC 0.3', call(`${url}/rpc`, { headers: JSON_TYPE, body: rpcBody('message/send', { message: MESSAGE_03 }) }), { error: { code: -32603, data: { error: /narrow/ } } }],
    ['JSON-RPC stream', call(`${url}/rpc`, { headers: [...JSON_TYPE, ...V1, 'accept', 'text/event-stream'], body: rpcBody('SendStreamingMessage', REST) }), { error: { code: -32603 } }],
    ['HTTP+JSON 1.0', call(`${url}/rest/message:send`, { headers: [...JSON_TYPE, ...V1], body: JSON.stringify(REST) }), { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } }],
    ['HTTP+JSON 0.3', call(`${url}/rest/v1/message:send`, { headers: JSON_TYPE, body: JSON.stringify(REST) }), { code: -32603, error: { code: 429 } }],
    ['GET', call(`${url}/rest/tasks/1`, { headers: V1 }), { error: { code: 429 } }]
  ]
  for (const [name, pending, expected] of forms) {
    const answer = await pending
    t.equal(answer.status, 429, name)
    t.match(answer.json(), expected, name)
    const wait = Number(answer.headers['retry-after'])
    t.ok(wait > 1_700 && wait <= 1_800, `${name}: ${wait}`)
    t.match(answer.text, `The limit \\"narrow\\" is reached: wait ${wait} s before the next request.`, name)
    t.equal(answer.headers['gateway-decision'], 'reject;rule="gateway/rate-limit"', name)
    t.equal(answer.headers.ratelimit, undefined, 'a limit that is not of the caller is not shown')
  }
  t.equal(agent.received.length, 2)
  const early = await rawExchange(url, `POST /rpc HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n{`, { until: 'close', timeout: 10_000 }).catch(String)
  t.match(early, /429/, 'before the body is there')
  t.equal(await gateway.metric('a2a_gateway_rate_limited_total{agent="agent",limit="narrow"}'), forms.length + 1)
  t.equal((await call(`${url}/.well-known/agent-card.json`)).status, 200, 'the card is free')
  t.equal((await call(`${url}/nowhere`)).status, 404)
})

t.test('passthrough, and an agent without a card', async t => {
  const agent = await fakeAgent(t)
  const limit = `rates: [{id: narrow, by: [address], rate: ${FEW}}]`
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['passthrough: [/docs]'], [limit]) })
  t.same(await statuses(3, () => call(`${gateway.url}/docs/x`)), [200, 200, 429])
  const bare = await fakeAgent(t, { card: () => ({}) })
  for (const [mode, expected] of [['forward', [200, 200, 429, 429]], ['reject', [503, 503, 429, 429]]] as const) {
    const open = await gatewayFor(t, { yaml: oneAgent(bare.url, [`card: {onUnavailable: ${mode}}`], [limit]) }, false)
    t.same(await statuses(4, i => call(`${open.url}/rpc`, { method: i % 2 === 0 ? 'GET' : 'POST', ...(i % 2 === 0 ? {} : { body: '{}' }) })), expected)
    t.equal((await call(`${open.url}/.well-known/agent-card.json`)).status, 503)
  }
})

t.test('by operation, tenant and extension', async t => {
  const uri = 'urn:pay'
  const card = (url: string): unknown => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri }, { uri: 'urn:x' }, { uri: 'urn:tool' }] } })
  const agent = await fakeAgent(t, { card })
  const yaml = oneAgent(agent.url, ['extensions: [payments, tool]', 'unknownMethods: forward'], [
    'extensions:',
    `  payments: {uri: "${uri}", methods: {pay/now: {need: none}}}`,
    '  tool: {uri: "urn:tool", activation: {signals: [header]}, routes: [{verb: GET, path: /listCommands, need: declared}]}',
    'rates:',
    `  - {id: sends, by: [agent], rate: ${FEW}, on: [messages]}`,
    '  - {id: each, by: [operation], rate: 3/1h, on: [GetTask, CancelTask, Extension]}',
    '  - {id: pay, by: [agent], rate: 1/1h, extension: payments}',
    '  - {id: any, by: [extension], rate: 4/1h}'
  ])
  const gateway = await gatewayFor(t, { yaml })
  const { url } = gateway
  const rule = (answer: Answer): string => answer.status === 429 ? String(/"limit":"(\w+)"/.exec(answer.text)?.[1]) : String(answer.status)
  const rules = async (n: number, one: () => Promise<Answer>): Promise<string[]> => {
    const found: string[] = []
    for (let i = 0; i < n; i++) found.push(rule(await one()))
    return found
  }
  const with1 = (...uris: string[]): string[] => ['a2a-extensions', uris.join()]
  t.same(await rules(2, () => send(url, with1(uri))), ['200', 'pay'], 'a request that one limit rejects counts in none')
  t.equal(rule(await rpc(`${url}/rpc`, 'pay/now', {})), 'pay', 'a method of the extension')
  t.same(await rules(2, () => send(url)), ['200', 'sends'])
  t.same(await rules(4, () => rpc(`${url}/rpc`, 'GetTask', { id: '1' })), ['200', '200', '200', 'each'])
  t.same(await rules(1, () => rpc(`${url}/rpc`, 'CancelTask', { id: '1' })), ['200'], 'each operation for itself')
  const route = (): Promise<Answer> => call(`${url}/listCommands`, { headers: [...V1, ...with1('urn:tool')] })
  t.same(await rules(4, route), ['200', '200', '200', 'each'], 'a route of an extension')
  t.same(await rules(5, () => rpc(`${url}/rpc`, 'ListTasks', {}, with1('urn:x'))), ['200', '200', '200', '200', 'any'])
  t.equal(rule(await rpc(`${url}/rpc`, 'ListTasks', {}, with1('urn:x', 'urn:other'))), 'any')
  t.same(await rules(5, () => rpc(`${url}/rpc`, 'ListTasks', {}, with1('urn:made-up'))), Array(5).fill('200'), 'an extension that nothing names is not active')
  t.equal(rule(await rpc(`${url}/rpc`, 'ListTasks', {})), '200', 'no extension')
  t.match((await rpc(`${url}/rpc`, 'GetTask', { id: '1' })).json(), { id: 1 }, 'after the body the id is known')
})

t.test('a call that the rules reject does not count in limits that need its body', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['untaggedData: reject'], [`rates: [{id: sends, by: [operation], rate: ${FEW}}]`]) })
  for (let i = 0; i < 5; i++) {
    t.match((await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: { ...MESSAGE, parts: [{ data: {} }] } })).json(), { error: { code: -32005 } })
  }
  t.same(await statuses(3, () => send(gateway.url)), [200, 200, 429])
})

t.test('callers: their own limits and headers', async t => {
  const { gateway, agent } = await guarded(t, {
    root: [
      'telemetry: {logs: {level: silent}, traces: {enabled: true}}',
      'rates:',
      '  - {id: per-caller, by: [caller], rate: 60/1m, burst: 3}',
      '  - {id: wide, by: [client, agent], rate: 6000/1m}',
      '  - {id: hidden, by: [caller], rate: 1000/1h, burst: 2, headers: none, on: [GetTask]}'
    ],
    env: { OTEL_TRACES_EXPORTER: 'console' },
    extra: ['cors: {origins: ["https://page.example"]}']
  })
  const first = await send(gateway.url, [...KEY, 'origin', 'https://page.example'])
  t.match([first.headers['ratelimit-policy'], first.headers.ratelimit], ['"per-caller";q=60;w=60', '"per-caller";r=2;t=1'])
  t.match(first.headers['access-control-expose-headers'], /RateLimit-Policy, RateLimit/)
  // Another key of the same caller does not help.
  const found = await Promise.all(Array.from({ length: 20 }, (_, i) => send(gateway.url, ['x-api-key', i % 2 === 0 ? ACME : OLD])))
  const limited = found.filter(({ status }) => status === 429)
  t.ok(limited.length >= 12, String(limited.length))
  t.match(limited[0]?.headers, { ratelimit: /^"per-caller";r=0;t=[23]$/, 'retry-after': '1', 'gateway-decision': 'reject;rule="gateway/rate-limit"' })
  await until(() => gateway.audits().some(line => line.limit === 'per-caller'), 'an audit line')
  t.ok(gateway.audits().every(line => line.reason === 'RATE_LIMITED' && line.extension === 'gateway' && line.rule === 'rate-limit'))
  t.match(gateway.audits()[0], { caller: { source: 'partners' }, decision: 'rejected' })
  await until(() => gateway.spans().some(span => (span.attributes as Record<string, unknown>)['a2a_gateway.limit'] === 'per-caller'), 'a span')
  await until(() => gateway.audits().some(line => Number(line.lines_omitted) > 0), 'the count of further lines')
  const before = agent.received.length
  t.equal((await send(gateway.url)).status, 401, 'a stranger')
  t.equal(agent.received.length, before)
  const none = await rpc(`${gateway.url}/rpc`, 'GetTask', { id: '1' }, KEY)
  t.notMatch(String(none.headers.ratelimit), /hidden/)
})

t.test('addresses: a /64 is one, and proxies say who calls', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], [PROXY, `rates: [{id: narrow, by: [address], rate: ${FEW}}]`]) })
  const from = (address: string): Promise<Answer> => send(gateway.url, ['x-forwarded-for', address])
  t.same(await statuses(20, i => from(`2001:db8:0:7::${i.toString(16)}`)), [200, 200, ...Array<number>(18).fill(429)])
  t.equal((await from('2001:db8:0:8::1')).status, 200)
  t.same(await statuses(3, i => from(`203.0.113.${i}, 192.0.2.1`)), [200, 200, 429], 'a made-up first address does not help')
})

t.test('agents: a limit of some, shared or for each', async t => {
  const agent = await fakeAgent(t)
  const entry = (name: string): string => `  - {name: ${name}, path: /${name}, upstream: {url: "${agent.url}"}}`
  const gateway = await gatewayFor(t, {
    yaml: ['agents:', entry('a'), entry('b'), entry('c'), 'rates:', `  - {id: some, by: [address], rate: ${FEW}, agents: [a, b]}`, '  - {id: each, by: [agent], rate: 3/1h}'].join('\n')
  })
  const limits = async (name: string, n: number): Promise<number[]> => await statuses(n, () => send(`${gateway.url}/${name}`))
  t.same(await limits('a', 1), [200])
  t.same(await limits('b', 2), [200, 429], 'the agents share the limit')
  t.same(await limits('c', 4), [200, 200, 200, 429], 'each agent for itself')
})

t.test('a reload keeps the counts', async t => {
  const agent = await fakeAgent(t)
  const yaml = (rates: string): string => oneAgent(agent.url, [], rates === '' ? [] : [`rates: [${rates}]`])
  const gateway = await gatewayFor(t, { yaml: yaml(`{id: narrow, by: [address], rate: ${FEW}}`) })
  const reload = async (rates: string): Promise<void> => {
    t.match(await gateway.reload(configOf({ yaml: yaml(rates) })), { ok: true, settings: ['rates'] })
  }
  t.same(await statuses(3, () => send(gateway.url)), [200, 200, 429])
  await reload(`{id: narrow, by: [address], rate: ${FEW}, burst: 3}`)
  t.same(await statuses(2, () => send(gateway.url)), [200, 429], 'one more at once')
  await reload(`{id: other, by: [address], rate: ${FEW}}`)
  t.same(await statuses(3, () => send(gateway.url)), [200, 200, 429])
  await reload('')
  t.same(await statuses(3, () => send(gateway.url)), [200, 200, 200])
})

t.test('on: failures replaces the built-in brake', async t => {
  const { gateway, agent } = await guarded(t, { root: ['rates: [{id: strangers, by: [address], rate: 1/1h, burst: 3, on: failures}]'] })
  const failing = await Promise.all(Array.from({ length: 10 }, (_, i) => send(gateway.url, ['x-api-key', `a2agw_wrong-${i}`])))
  t.equal(failing.filter(({ status }) => status === 401).length, 3, 'whatever the key')
  const limited = failing.find(({ status }) => status === 429)
  t.match(limited?.json(), { error: { data: [{ reason: 'RATE_LIMITED', metadata: { limit: 'strangers' } }] } })
  t.ok(Number(limited?.headers['retry-after']) > 3_500)
  t.equal((await send(gateway.url, KEY)).status, 200, 'callers behind the same address')
  t.equal(await gateway.metric('a2a_gateway_rate_limited_total{agent="agent",limit="strangers"}'), 7)
  t.ok(gateway.audits().some(line => line.limit === 'strangers'))
  t.ok((await gateway.reload(configOf({ yaml: yamlOf(agent.url), baseDir: t.testdirName }))).ok)
  t.equal((await send(gateway.url, ['x-api-key', 'wrong'])).status, 401, 'the built-in limit counts anew')
})

t.test('rotating API keys does not help where keys belong to one client', async t => {
  const keys = Array.from({ length: 20 }, (_, i) => `a2agw_rotated-key-${i}`)
  const { gateway } = await guarded(t, {
    files: { 'partners.yaml': keys.map((key, i) => `- {id: k${i}, sha256: ${keyDigest(key)}, client: acme}`).join('\n') },
    root: [`rates: [{id: narrow, by: [client], rate: ${FEW}}]`]
  })
  t.same(await statuses(20, i => send(gateway.url, ['x-api-key', keys[i] as string])), [200, 200, ...Array<number>(18).fill(429)])
})

t.test('the official client shows the message', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], ['rates: [{id: narrow, by: [address], rate: 1/1h}]']) })
  await send(gateway.url)
  for (const transport of ['JSONRPC', 'HTTP+JSON'] as const) {
    const client = await connect({ client: 'v1', cardUrl: `${gateway.url}/.well-known/agent-card.json`, transport })
    const problem = await client.send('hello').then(() => null, (error: unknown) => error as Error)
    t.match(problem?.message, /The limit "narrow" is reached: wait \d+ s before the next request\./, transport)
  }
})

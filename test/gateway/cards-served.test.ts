/** The agent's card at the gateway's address. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { startAgent } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'

const CARD = '/.well-known/agent-card.json'
const AGENT_JSON = '/.well-known/agent.json'

/** An agent whose card, or none, is the test's to change. */
async function changing (
  t: Test,
  port = 0
): Promise<{ url: string; server: Server; card: string | null; calls: number; answer: RequestListener }> {
  const self = {
    url: '',
    server: null as unknown as Server,
    card: null as string | null,
    calls: 0,
    answer: ((_request, response) => {
      response.end('{}')
    }) as RequestListener
  }
  self.server = createServer((request, response) => {
    if (request.url?.includes('/.well-known/') === true) {
      if (self.card === null) response.writeHead(503).end()
      else response.setHeader('content-type', 'application/json').end(self.card)
      return
    }
    self.calls++
    request.resume()
    self.answer(request, response)
  })
  self.server.listen(port, '127.0.0.1')
  await once(self.server, 'listening')
  self.url = `http://127.0.0.1:${(self.server.address() as AddressInfo).port}`
  t.teardown(() => {
    self.server.closeAllConnections()
    self.server.close()
  })
  return self
}

t.test('URLs are the gateway\'s, everything else is the agent\'s', async t => {
  const extra = {
    signatures: [{ protected: 'x', signature: 'y' }],
    provider: { url: 'https://provider.example', organization: 'é😀' },
    documentationUrl: 'https://docs.example',
    iconUrl: 'https://icons.example/x.png',
    schemas: { a: { type: 'object' } },
    version: '1.2.3'
  }
  const agent = await fakeAgent(t, {
    card: url => {
      const card = plainCard(url, extra)
      ;(card['supportedInterfaces'] as object[]).push(
        { url: `${url}/grpc`, protocolBinding: 'GRPC', protocolVersion: '1.0' },
        { url: `${url}/next`, protocolBinding: 'JSONRPC', protocolVersion: '2.0' }
      )
      return card
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  for (const path of [CARD, AGENT_JSON, `${CARD}?x=y`]) {
    const got = await call(gateway.url + path, { headers: V1 })
    t.equal(got.status, 200)
    t.equal(got.headers['content-type'], 'application/json')
    t.match(got.headers['cache-control'], /^public, max-age=\d+$/)
    const { signatures, ...rest } = extra
    t.same(got.json(), plainCard(gateway.url, rest), 'without GRPC, without versions nobody carries, without signatures')
    t.ok(signatures)
  }
})

t.test('validators are the gateway\'s own: ETag, If-None-Match, Last-Modified, HEAD, Vary', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const got = await call(gateway.url + CARD)
  const etag = got.headers.etag ?? ''
  t.match(etag, /^"[\w-]{20,}"$/)
  t.equal(got.headers.vary?.toLowerCase(), 'a2a-version, origin')
  t.ok(Number.isFinite(Date.parse(got.headers['last-modified'] ?? '')))
  for (const value of [etag, `W/${etag}`, `"a", ${etag}`, `"a",W/"b" , W/${etag},"c"`, '*', ` ${etag} `]) {
    const same = await call(gateway.url + CARD, { headers: ['if-none-match', value] })
    t.equal(same.status, 304, value)
    t.equal(same.bytes.length, 0)
    t.equal(same.headers.etag, etag)
    t.ok(same.headers['cache-control'])
    t.ok(same.headers.vary)
  }
  for (const value of ['"other"', 'W/"other"', etag.slice(1, -1), '', `"${etag}"`]) {
    t.equal((await call(gateway.url + CARD, { headers: ['if-none-match', value] })).status, 200, value)
  }
  const head = await call(gateway.url + CARD, { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(head.headers.etag, etag)
  t.equal(head.headers['content-length'], String(got.bytes.length))
  t.equal(head.bytes.length, 0)
  t.equal((await call(gateway.url + CARD, { method: 'HEAD', headers: ['if-none-match', etag] })).status, 304)
  const { result } = await fetch(gateway.url + CARD, { headers: { 'if-none-match': etag } }).then(async response => ({
    result: response.status
  }))
  t.equal(result, 304)
})

t.test('callers with A2A-Version 1.0 and without a version get the card of their version', async t => {
  const agent = await startAgent({ kind: 'dual' })
  t.teardown(() => agent.close())
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const modern = await call(gateway.url + CARD, { headers: V1 })
  const plain = await call(gateway.url + CARD)
  t.not(modern.headers.etag, plain.headers.etag)
  t.match(modern.json(), { supportedInterfaces: [{ url: `${gateway.url}/a2a/jsonrpc`, protocolVersion: '1.0' }] })
  t.match(plain.json(), { url: `${gateway.url}/a2a/jsonrpc`, protocolVersion: /^0\.3/ })
  for (const got of [modern, plain]) t.notMatch(got.text, agent.url)
  t.equal(
    (await call(gateway.url + CARD, { headers: ['if-none-match', modern.headers.etag ?? ''] })).status,
    200,
    "one's validator is not the other's"
  )
  t.equal((await call(`${gateway.url + CARD}?A2A-Version=1.0`)).headers.etag, modern.headers.etag)
})

t.test('sub-paths, hosts and a public URL with a path', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, {
    yaml: [
      'server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, publicUrl: "https://agents.example.com/gw"}',
      'agents:',
      `  - {name: x, path: /agents/x, upstream: {url: "${agent.url}"}, card: {interfaces: [/rest]}}`,
      `  - {name: y, path: /agents/x, host: y.example, upstream: {url: "${agent.url}/rest"}, card: {interfaces: [/rpc]}}`
    ].join('\n')
  })
  const x = await call(`${gateway.url}/agents/x${CARD}`)
  t.match(x.json(), {
    supportedInterfaces: [{ url: 'https://agents.example.com/gw/agents/x/rpc' }, { url: 'https://agents.example.com/gw/agents/x/rest' }]
  })
  const y = await call(`${gateway.url}/agents/x${CARD}`, { headers: ['host', 'y.example'] })
  t.match(
    y.json(),
    { supportedInterfaces: [{ url: 'https://agents.example.com/gw/agents/x/rpc' }, { url: 'https://agents.example.com/gw/agents/x' }] },
    'paths are relative to that of upstream.url'
  )
  t.equal((await call(gateway.url + CARD)).status, 404)
})

t.test('verbatim serves the agent\'s own bytes, including signatures', async t => {
  const bytes =
    '{ "name":"x",  "version":"1", "capabilities":{}, "skills":[], "signatures":[{"protected":"a","signature":"b"}],\n"supportedInterfaces":[{"url":"https://public.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}], "n":1.10 }'
  const agent = await changing(t)
  agent.card = bytes
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['card: {signature: verbatim}']) })
  const got = await call(gateway.url + CARD, { headers: V1 })
  t.equal(got.text, bytes)
  t.ok(got.headers.etag)
  t.equal((await rpc(`${gateway.url}/rpc`)).status, 200)
})

t.test('while there is no card, calls wait with 503 and Retry-After; the agent may start later', async t => {
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const { port } = free.address() as AddressInfo
  await new Promise(resolve => { free.close(resolve) })
  const gateway = await gatewayFor(
    t,
    { yaml: oneAgent(`http://127.0.0.1:${port}`, ['card: {refresh: 100ms}'], ['telemetry: {logs: {level: info}}']) },
    false
  )
  for (const [path, body] of [
    ['/rpc', rpcBody('SendMessage', { message: MESSAGE })],
    ['/rest/message:send', '{}'],
    [CARD, undefined],
    ['/anything', undefined]
  ] as const) {
    const got = await call(gateway.url + path, { headers: [...JSON_TYPE, ...V1], ...(body === undefined ? {} : { body }) })
    t.equal(got.status, 503, path)
    t.match(got.headers['retry-after'], /^\d+$/)
    t.match(got.text, 'AGENT_NOT_READY')
    t.equal(got.headers['gateway-decision'], 'reject;rule="gateway/no-card"')
  }
  const asked = await rpc(`${gateway.url}/rpc`, 'GetTask', { id: '1' }, [], '12345678901234567890')
  t.ok(
    asked.text.startsWith('{"jsonrpc":"2.0","id":12345678901234567890,"error":{"code":-32603,'),
    'a JSON-RPC caller is told so in JSON-RPC'
  )
  t.match((await call(`${gateway.url}/rpc`, { headers: JSON_TYPE, body: rpcBody('message/send', {}, '"x"') })).json(), {
    id: 'x',
    error: { code: -32603 }
  })
  t.match((await call(`${gateway.url}/rest/message:send`, { headers: [...JSON_TYPE, ...V1], body: '{}' })).json(), {
    error: { code: 503, status: 'UNAVAILABLE' }
  })
  t.equal((await fetch(`${gateway.adminUrl}/readyz`)).status, 503)
  const agent = await changing(t, port)
  agent.card = JSON.stringify(plainCard(agent.url))
  await until(async () => (await rpc(`${gateway.url}/rpc`)).status === 200, 'the agent to be found')
  t.equal((await fetch(`${gateway.adminUrl}/readyz`)).status, 200)
  t.equal(gateway.logs().filter(line => /has no card/.test(String(line.msg))).length, 1, 'and all the while it was said once')
})

t.test('a gateway with one agent of two is ready for any of them, and not for all', async t => {
  const there = await changing(t)
  there.card = JSON.stringify(plainCard(there.url))
  const gateway = await gatewayFor(
    t,
    {
      yaml: `agents:\n  - {name: there, path: /there, upstream: {url: "${there.url}"}}\n  - {name: away, path: /away, upstream: {url: "http://127.0.0.1:1"}}\n`
    },
    false
  )
  await until(async () => (await fetch(`${gateway.adminUrl}/readyz?agents=any`)).status === 200, 'the gateway to be ready for any agent')
  t.match(await (await fetch(`${gateway.adminUrl}/readyz`)).json(), { status: 'not ready', reasons: { length: 1, 0: /agent away/ } })
})

t.test('a broken card is one log line and 503', async t => {
  for (const card of ['{"name":', '[]', '{}', '{"name":"x","supportedInterfaces":[]}', '<html>', JSON.stringify(plainCard('ftp://x'))]) {
    const agent = await changing(t)
    agent.card = card
    const gateway = await gatewayFor(
      t,
      { yaml: oneAgent(agent.url, ['card: {refresh: 20ms}'], ['telemetry: {logs: {level: warn}}']) },
      false
    )
    await until(
      async () => (await gateway.metric('a2a_gateway_card_refreshes_total{agent="agent",outcome="invalid"}')) > 3,
      'the card to be loaded again and again'
    )
    t.equal((await rpc(`${gateway.url}/rpc`)).status, 503, card)
    t.equal(gateway.logs().length, 1, JSON.stringify(gateway.logs()))
    t.equal(agent.calls, 0)
    const readyz = await fetch(`${gateway.adminUrl}/readyz`)
    t.equal(readyz.status, 503)
    t.match(await readyz.text(), /card/)
  }
})

t.test('onUnavailable: forward forwards calls without checks, and never the agent\'s own card', async t => {
  const agent = await changing(t)
  agent.answer = (request, response) => {
    response.end(JSON.stringify({ url: request.url, method: request.method, extensions: request.headers['a2a-extensions'] }))
  }
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['card: {refresh: 10s, onUnavailable: forward}']) })
  const got = await call(`${gateway.url}/rpc?x=1`, { headers: [...JSON_TYPE, 'a2a-extensions', 'urn:a,urn:b'], body: 'not even JSON' })
  t.same(got.json(), { url: '/rpc?x=1', method: 'POST', extensions: 'urn:a,urn:b' })
  t.equal((await call(`${gateway.url}/elsewhere`)).status, 200)
  t.equal((await call(gateway.url + CARD)).status, 503)
  t.equal(agent.calls, 2)
})

t.test('a card that could not be fetched for maxStale expires, and is loaded again later', async t => {
  const agent = await changing(t)
  const card = JSON.stringify(plainCard(agent.url))
  agent.card = card
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['card: {refresh: 50ms, maxStale: 1s}']) })
  t.equal((await rpc(`${gateway.url}/rpc`)).status, 200)
  agent.card = null
  await until(async () => await gateway.metric('a2a_gateway_card_refreshes_total{agent="agent",outcome="unreachable"}') > 0)
  t.equal((await rpc(`${gateway.url}/rpc`)).status, 200, 'stale is better than nothing')
  await until(async () => (await rpc(`${gateway.url}/rpc`)).status === 503, 'the card to expire')
  t.equal((await call(gateway.url + CARD)).status, 503)
  t.equal((await fetch(`${gateway.adminUrl}/readyz`)).status, 503)
  agent.card = card
  await until(async () => (await rpc(`${gateway.url}/rpc`)).status === 200, 'the card to come back')
  t.equal((await fetch(`${gateway.adminUrl}/readyz`)).status, 200)
})

t.test('calls keep working while cards change, and a call keeps its initial card', async t => {
  const agent = await changing(t)
  const cardOf = (n: number, required: boolean): string =>
    JSON.stringify(
      plainCard(agent.url, { version: String(n), capabilities: { extensions: required ? [{ uri: 'urn:x', required: true }] : [] } })
    )
  agent.card = cardOf(0, false)
  let release: () => void = () => {}
  agent.answer = (request, response) => {
    if (request.headers['x-slow'] !== undefined) release = () => { response.end('{"slow":true}') }
    else response.end('{}')
  }
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['card: {refresh: 10ms}']) })
  const slow = rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['x-slow', '1'])
  await until(() => agent.calls === 1)
  let failures = 0
  const etags = new Set<string>()
  for (let n = 1; n <= 10; n++) {
    agent.card = cardOf(n, false)
    await until(async () => {
      if ((await rpc(`${gateway.url}/rpc`)).status !== 200) failures++
      const got = await call(gateway.url + CARD)
      etags.add(got.headers.etag ?? '')
      return got.text.includes(`"version":"${n}"`)
    })
  }
  t.equal(failures, 0)
  t.ok(etags.size >= 10)
  agent.card = cardOf(11, true)
  await until(async () => (await rpc(`${gateway.url}/rpc`)).text.includes('-32008'), 'the new card to be enforced')
  release()
  t.equal((await slow).text, '{"slow":true}')
  agent.card = 'broken'
  await until(async () => await gateway.metric('a2a_gateway_card_refreshes_total{agent="agent",outcome="invalid"}') > 0)
  t.match((await rpc(`${gateway.url}/rpc`)).text, '-32008', 'a broken card leaves the last good one in force')
})

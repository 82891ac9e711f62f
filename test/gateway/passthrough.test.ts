/** Prefixes that the gateway forwards without inspection, and requests below them that stay inspected. */
import { once } from 'node:events'
import t from 'tap'
import type { Test } from 'tap'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, JSON_TYPE, lines, MESSAGE, open, rawAgent, readAnswer, rpcBody, until, untilSame, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard, rawExchange } from '../helpers/raw.js'
import type { FakeAgent, RawRequest } from '../helpers/raw.js'
import { random } from '../helpers/seed.js'

type Responder = NonNullable<NonNullable<Parameters<typeof fakeAgent>[1]>['answer']>

const REQUIRED = 'https://example.com/ext/required/v1'

async function behind (
  t: Test,
  prefixes: string,
  options: { answer?: Responder; path?: string; root?: string; agent?: string } = {}
): Promise<{ agent: FakeAgent; gateway: TestGateway; url: string }> {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { extensions: [{ uri: REQUIRED, required: true }] } }),
    ...(options.answer === undefined ? {} : { answer: options.answer })
  })
  const gateway = await gatewayFor(t, {
    yaml: `agents: [{name: agent, path: "${options.path ?? '/'}", upstream: {url: "${agent.url}"}, passthrough: [${prefixes}]${options.agent ?? ''}}]\n${options.root ?? ''}`
  })
  return { agent, gateway, url: gateway.url + (options.path ?? '') }
}

const chance = random('gateway/passthrough')
const outcome = (name: string): string =>
  `a2a_gateway_requests_total{agent="agent",operation="Passthrough",binding="HTTP+JSON",version="1.0",outcome="${name}"}`

t.test('everything below a prefix reaches the agent unchanged', async t => {
  const bytes = chance.bytes(300_000)
  const { agent, gateway, url } = await behind(t, '/docs, /api/v2', {
    answer: (request, response) => {
      response.writeHead(203, { 'content-type': 'image/png', 'x-method': request.method }).end(bytes)
    }
  })
  for (const [method, target] of [
    ['GET', '/docs'],
    ['GET', '/docs/'],
    ['GET', '/docs/a%20b;c=d/%E2%82%AC?x=%2F..&y=[1]&z=a+b'],
    ['POST', '/docs/x'],
    ['PUT', '/api/v2/y?z'],
    ['PATCH', '/docs/x'],
    ['DELETE', '/docs/x'],
    ['OPTIONS', '/docs/x'],
    ['HEAD', '/docs/x']
  ] as const) {
    const got = await rawExchange(url, `${method} ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\naccept: image/*\r\n\r\n`)
    t.match(got, /^HTTP\/1\.1 203 /, `${method} ${target}`)
    t.equal(agent.received.at(-1)?.method, method)
    t.equal(agent.received.at(-1)?.url, target)
    t.equal(agent.received.at(-1)?.headers.accept, 'image/*')
    const body = Buffer.from(got.slice(got.indexOf('\r\n\r\n') + 4), 'latin1')
    if (method === 'HEAD') t.equal(body.length, 0)
    else t.ok(body.includes(bytes.subarray(0, 1000)), 'the body')
  }
  await until(async () => await gateway.metric(outcome('forwarded')) === 9)
})

t.test('bodies of any kind and size arrive whole, also on a cold connection', async t => {
  const { agent, url } = await behind(t, '/up', { answer: (request, response) => { response.end(request.body) } })
  for (let i = 0; i < 5; i++) {
    for (const size of [0, 1, 65_536, 2_500_000]) {
      const body = chance.bytes(size)
      const whole = await call(`${url}/up/x`, { method: 'PUT', headers: ['content-type', 'application/octet-stream'], body })
      t.ok(whole.bytes.equals(body), `${size} bytes with Content-Length`)
      t.equal(agent.received.at(-1)?.headers['content-length'], String(size), 'which stays')
      const pieces: Buffer[] = []
      for (let at = 0; at < size; at += 100_000) pieces.push(body.subarray(at, at + 100_000))
      const chunked = await call(`${url}/up/x`, { method: 'POST', body: pieces })
      t.ok(chunked.bytes.equals(body), `${size} bytes in chunks`)
    }
    // The pool's connections are given up, so that the next round dials again while the body already flows.
    for (const socket of agent.sockets) socket.destroy()
  }
})

t.test('JSON keeps its bytes, and unknown or missing types pass', async t => {
  const { agent, url } = await behind(t, '/up')
  for (const type of [
    'application/json',
    'application/json; charset=latin1',
    'application/vnd.x+json;a="b"',
    'text/plain',
    'multipart/form-data; boundary=x',
    null
  ]) {
    const body = '{"a" :1,"a":2, broken'
    const got = await call(`${url}/up`, { headers: type === null ? [] : ['content-type', type], body })
    t.equal(got.status, 200, String(type))
    t.equal(agent.received.at(-1)?.body.toString(), body)
    t.equal(agent.received.at(-1)?.headers['content-type'], type ?? undefined)
  }
})

t.test('paths outside of all prefixes are 404 in the caller\'s binding', async t => {
  const { agent, url } = await behind(t, '/docs')
  for (const target of ['/', '/doc', '/docsx', '/docs.html', '/Docs', '/x/docs']) {
    const got = await call(url + target, { headers: V1 })
    t.equal(got.status, 404, target)
    t.match(got.json(), { error: { code: 404, status: 'NOT_FOUND', details: [{ reason: 'ROUTE_NOT_FOUND' }] } })
  }
  t.equal(agent.received.length, 0)
})

t.test('prefixes are counted below the agent\'s path', async t => {
  const { agent, url, gateway } = await behind(t, '/docs', { path: '/agents/x' })
  t.equal((await call(`${url}/docs/y`)).status, 200)
  t.equal(agent.received[0]?.url, '/docs/y')
  t.equal((await call(`${gateway.url}/docs/y`)).status, 404)
})

t.test('operations below a prefix are inspected in every spelling', async t => {
  await t.rejects(behind(t, '/'), { message: /name the prefixes to forward/ }, 'a prefix of everything is no configuration')
  for (const prefixes of ['/rpc, /rest', '/RPC, /REST, /rest, /rpc']) {
    const { agent, url } = await behind(t, prefixes)
    const rpc = rpcBody('SendMessage', { message: MESSAGE })
    const rest = JSON.stringify({ message: MESSAGE })
    const ways: Array<[string, string]> = [
      ['/rpc', rpc],
      ['/rpc/', rpc],
      ['/rpc?x=1', rpc],
      ['/RPC', rpc],
      ['/rpc;a=b', rpc],
      ['/rpc;', rpc],
      ['/rest/message:send', rest],
      ['/rest/message%3Asend', rest],
      ['/rest/message%3asend', rest],
      ['/rest/message:send/', rest],
      ['/rest/message:stream', rest],
      ['/rest/tenant/message:send', rest],
      ['/rest/v1/message:send', rest],
      ['/REST/message:send', rest],
      ['/rest/Message:Send', rest],
      ['/rest/message:send;x', rest]
    ]
    for (const [target, body] of ways) {
      const got = await call(url + target, { headers: [...JSON_TYPE, ...V1], body })
      t.notMatch(got.text, '"ok"', `${prefixes}: ${target} does not pass`)
      t.ok(got.headers['gateway-decision'], got.text.slice(0, 100))
    }
    t.match((await call(`${url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: rpc })).json(), { error: { code: -32008 } })
    for (const target of ['/rpc', '/rpc/', '/rest/message:send']) {
      const chunked = await call(url + target, { headers: [...JSON_TYPE, ...V1], body: [target.startsWith('/rpc') ? rpc : rest] })
      t.match(chunked.text, 'EXTENSION_SUPPORT_REQUIRED', target)
    }
    t.equal(agent.received.length, 0)
    t.notMatch((await call(`${url}/.well-known/agent-card.json`)).text, agent.url, 'the card is the rewritten one')
    t.notMatch((await call(`${url}/.well-known/agent.json`)).text, agent.url)
  }
})

t.test('before the first card, no path counts as free of operations', async t => {
  const agent = await fakeAgent(t, { card: () => 'broken' })
  const gateway = await gatewayFor(t, { yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"}, passthrough: [/docs]}]` }, false)
  t.equal((await call(`${gateway.url}/docs/x`)).status, 503)
  t.equal(agent.received.length, 0)
})

t.test('upgrades are rejected and targets validated before the agent is called', async t => {
  const { agent, url } = await behind(t, '/ws, /docs')
  agent.server.on('upgrade', () => { t.fail('an upgrade reached the agent') })
  t.match(
    await rawExchange(
      url,
      'GET /ws/x HTTP/1.1\r\nhost: x\r\nconnection: Upgrade, close\r\nupgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n'
    ),
    /^HTTP\/1\.1 400 /
  )
  for (const target of [
    '/docs/../rpc',
    '/docs/%2e%2e/rpc',
    '/docs/..;/rpc',
    '/docs/..;x/admin',
    '/docs/%2E./x',
    '/docs//x',
    '//docs/x',
    '/docs/a%2fb',
    '/docs/a%5cb',
    '/docs/a\\b',
    '/docs/%00',
    '/docs/%252e%252e/x',
    '/%64ocs/x',
    '/docs/%zz',
    'http://evil.example/docs/x',
    '/docs/x#y',
    '*'
  ]) {
    t.match(await rawExchange(url, `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`), /^HTTP\/1\.1 40[04] /, target)
  }
  t.equal(agent.received.length, 0)
})

t.test('limits.body applies: declared and counted', async t => {
  const { agent, url, gateway } = await behind(t, '/up', {
    root: 'limits: {body: 64KiB}',
    answer: (request, response) => {
      response.end(String(request.body.length))
    }
  })
  t.equal((await call(`${url}/up`, { body: Buffer.alloc(65_536) })).text, '65536')
  t.equal((await call(`${url}/up`, { body: [Buffer.alloc(65_536)] })).text, '65536')
  const declared = await call(`${url}/up`, { body: Buffer.alloc(65_537) })
  t.equal(declared.status, 413)
  t.equal(declared.headers['gateway-decision'], 'reject;rule="gateway/body-size"')
  const counted = await call(`${url}/up`, { body: [Buffer.alloc(65_536), Buffer.alloc(1)] })
  t.equal(counted.status, 413)
  const much = await call(`${url}/up`, { body: new Array(40).fill(Buffer.alloc(100_000)) as Buffer[] })
  t.equal(much.status, 413)
  t.equal(agent.received.length, 2, 'the agent never gets a whole request of it')
  await until(async () => await gateway.metric(outcome('rejected')) === 3)
})

t.test('headers end at the gateway as for operations', async t => {
  const { agent, url } = await behind(t, '/docs', {
    answer: (_request, response) => {
      response
        .writeHead(200, [
          'connection',
          'keep-alive, x-named',
          'x-named',
          '1',
          'gateway-decision',
          'fake',
          'set-cookie',
          'a=1',
          'set-cookie',
          'b=2'
        ] as unknown as string[])
        .end()
    }
  })
  const got = await call(`${url}/docs`, {
    headers: [
      'x-forwarded-for',
      '1.2.3.4',
      'connection',
      'x-mine',
      'x-mine',
      '1',
      'te',
      'trailers',
      'authorization',
      'Bearer x',
      'a2a-extensions',
      'urn:a, urn:b',
      'a2a-version',
      '9.9',
      'x-http-method-override',
      'DELETE'
    ]
  })
  const [request] = agent.received as [RawRequest]
  t.same(lines(request.rawHeaders, 'x-forwarded-for'), ['127.0.0.1'])
  t.match(
    request.headers,
    { authorization: 'Bearer x', 'a2a-extensions': 'urn:a, urn:b', 'a2a-version': '9.9' },
    'nothing is negotiated here'
  )
  for (const name of ['x-mine', 'te', 'x-http-method-override']) t.equal(request.headers[name], undefined, name)
  t.equal(request.headers.host, new URL(agent.url).host)
  t.same(lines(got.rawHeaders, 'set-cookie'), ['a=1', 'b=2'])
  for (const name of ['x-named', 'gateway-decision']) t.equal(got.headers[name], undefined, name)
})

t.test('nothing is retried', async t => {
  const { agent, url } = await behind(t, '/docs', {
    answer: (_request, response) => {
      response.writeHead(503, { 'retry-after': '0' }).end('busy')
    }
  })
  for (const method of ['GET', 'POST', 'HEAD', 'PUT']) {
    agent.received.length = 0
    const got = await call(`${url}/docs`, { method })
    t.equal(got.status, 503)
    t.equal(agent.received.length, 1, method)
  }
  const dying = await rawAgent(t, socket => { socket.resetAndDestroy() })
  const gateway = await gatewayFor(t, { yaml: `agents: [{name: agent, upstream: {url: "${dying.url}"}, passthrough: [/docs]}]` })
  t.equal((await call(`${gateway.url}/docs`)).status, 502)
  t.equal(dying.requests.length, 1)
})

t.test('redirects and HTML pages are the agent\'s responses, forwarded and not followed', async t => {
  const { agent, url } = await behind(t, '/docs', {
    answer: (request, response) => {
      if (request.url === '/docs') response.writeHead(301, { location: '/docs/' }).end()
      else response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>no such page</h1>')
    }
  })
  const moved = await call(`${url}/docs`)
  t.equal(moved.status, 301)
  t.equal(moved.headers.location, '/docs/')
  const page = await call(`${url}/docs/x`)
  t.equal(page.status, 404)
  t.equal(page.text, '<h1>no such page</h1>')
  t.equal(agent.received.length, 2)
})

t.test('an agent can reject an upload early', async t => {
  const agent = await fakeAgent(t)
  agent.server.removeAllListeners('request')
  agent.server.on('request', (request, response) => {
    if (request.url?.includes('well-known') === true) response.end(JSON.stringify(plainCard(agent.url)))
    else response.writeHead(507, { connection: 'close' }).end('full')
  })
  const gateway = await gatewayFor(t, { yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"}, passthrough: [/up]}]` })
  const outgoing = open(`${gateway.url}/up`, { method: 'POST', body: [] })
  outgoing.on('error', () => {})
  outgoing.write(Buffer.alloc(1000))
  const [incoming] = await once(outgoing, 'response')
  t.equal((await readAnswer(incoming)).status, 507)
  outgoing.destroy()
})

t.test('a client that disconnects mid-upload aborts the agent\'s request', async t => {
  const agent = await fakeAgent(t)
  let aborted = false
  agent.server.removeAllListeners('request')
  agent.server.on('request', (request, response) => {
    if (request.url?.includes('well-known') === true) return response.end(JSON.stringify(plainCard(agent.url)))
    request.on('error', () => { aborted = true }).resume()
  })
  const gateway = await gatewayFor(t, { yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"}, passthrough: [/up]}]` })
  const outgoing = open(`${gateway.url}/up`, { method: 'POST', body: [] })
  outgoing.on('error', () => {})
  outgoing.write(Buffer.alloc(1000))
  await new Promise(resolve => setTimeout(resolve, 200))
  outgoing.destroy()
  await untilSame(t, () => aborted, true, 'the request to the agent is aborted')
  await untilSame(t, () => gateway.metric(outcome('client_aborted')), 1)
})

t.test('a reload adds the first prefix: its first requests arrive together, and all reach the agent', async t => {
  const agent = await fakeAgent(t)
  const yaml = (prefixes: string): string => `agents: [{name: agent, upstream: {url: "${agent.url}"}, passthrough: [${prefixes}]}]`
  const gateway = await gatewayFor(t, { yaml: yaml('') })
  t.equal((await call(`${gateway.url}/docs/x`)).status, 404)
  t.ok((await gateway.reload(configOf({ yaml: yaml('/docs') }))).ok)
  const found = await Promise.all(['a', 'b', 'c'].map(name => call(`${gateway.url}/docs/${name}`)))
  t.strictSame(found.map(one => one.status), [200, 200, 200])
  t.strictSame(agent.received.map(one => one.url).sort(), ['/docs/a', '/docs/b', '/docs/c'])
})

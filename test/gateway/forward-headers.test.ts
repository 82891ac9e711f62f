/** Headers that the gateway forwards, headers that it drops, and headers that it writes itself. */
import { once } from 'node:events'
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, JSON_TYPE, lines, MESSAGE, open, rawAgent, readAnswer, rpc, rpcBody, V1 } from '../helpers/http.js'
import { fakeAgent, rawExchange } from '../helpers/raw.js'
import type { FakeAgent, RawRequest } from '../helpers/raw.js'

const BODY = rpcBody('SendMessage', { message: MESSAGE })

async function sent (gateway: TestGateway, agent: FakeAgent, headers: readonly string[]): Promise<RawRequest> {
  const got = await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)
  if (got.status !== 200) throw new Error(`${got.status} ${got.text}`)
  return agent.received.at(-1) as RawRequest
}

t.test('headers about one connection do not reach the agent', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const got = await sent(gateway, agent, [
    'Connection', 'keep-alive, X-Named, x-other , , AUTHORIZATION, cookie, a2a-extensions, x-forwarded-for, traceparent',
    'Connection', 'X-Third',
    'X-Named', '1', 'x-other', '2', 'X-THIRD', '3', 'X-Kept', '4',
    'Keep-Alive', 'timeout=5', 'Proxy-Connection', 'keep-alive', 'Proxy-Authorization', 'Basic eA==', 'Proxy-Authenticate', 'Basic',
    'TE', 'trailers, deflate', 'Alt-Svc', 'h2=":1"', 'HTTP2-Settings', 'AAAA',
    'Authorization', 'Bearer secret', 'Cookie', 'a=1; b=2', 'A2A-Extensions', 'urn:x', 'traceparent',
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  ])
  for (const name of [
    'x-named',
    'x-other',
    'x-third',
    'keep-alive',
    'proxy-connection',
    'proxy-authorization',
    'proxy-authenticate',
    'te',
    'alt-svc',
    'http2-settings',
    'upgrade',
    'expect',
    'trailer'
  ]) {
    t.equal(got.headers[name], undefined, name)
  }
  t.equal(got.headers['x-kept'], '4')
  t.equal(got.headers.authorization, 'Bearer secret', 'a Connection header cannot take the credentials away')
  t.equal(got.headers.cookie, 'a=1; b=2')
  t.equal(got.headers['a2a-extensions'], 'urn:x')
  t.equal(got.headers['x-forwarded-for'], '127.0.0.1')
  t.match(got.headers.traceparent, /^00-0af7651916cd43dd8448eb211c80319c/)
})

t.test('headers about the agent\'s connection do not reach the client', async t => {
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.writeHead(200, [
        'Content-Type', 'application/json', 'Connection', 'keep-alive, X-Named, content-type, www-authenticate', 'X-Named', '1',
        'Keep-Alive', 'timeout=99', 'Proxy-Authenticate', 'Basic', 'Alt-Svc', 'h3=":1"', 'Trailer', 'x-end', 'TE', 'x', 'Upgrade', 'h2c',
        'Gateway-Decision', 'reject;rule="faked"', 'X-Kept', 'a', 'X-Kept', 'b', 'WWW-Authenticate', 'Bearer',
        'Set-Cookie', 'a=1; Path=/', 'Set-Cookie', 'b=2, x; Path=/', 'Set-Cookie', 'a=1; Path=/', 'X-Latin', 'caf\u00e9'
      ] as unknown as string[])
      response.addTrailers({ 'x-end': '1' })
      response.end('{}')
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const got = await rpc(`${gateway.url}/rpc`)
  for (const name of ['x-named', 'proxy-authenticate', 'alt-svc', 'trailer', 'te', 'upgrade', 'gateway-decision']) {
    t.equal(got.headers[name], undefined, name)
  }
  t.not(got.headers['keep-alive'], 'timeout=99')
  t.equal(got.headers['content-type'], 'application/json')
  t.equal(got.headers['www-authenticate'], 'Bearer')
  t.same(lines(got.rawHeaders, 'set-cookie'), ['a=1; Path=/', 'b=2, x; Path=/', 'a=1; Path=/'], 'cookies stay lines of their own')
  t.same(lines(got.rawHeaders, 'x-kept'), ['a', 'b'])
  t.equal(got.headers['x-latin'], 'caf\u00e9')
  t.equal(lines(got.rawHeaders, 'date').length, 1)
})

t.test('a client cannot set the origin of its request', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const got = await sent(gateway, agent, [
    'Host', 'public.example:8443', 'X-Forwarded-For', '10.0.0.1', 'x-forwarded-for', '10.0.0.2', 'X-Forwarded-Proto', 'https',
    'X-Forwarded-Host', 'evil.example',
    'X-Forwarded-Port', '1', 'X-Forwarded-Prefix', '/x', 'X-Forwarded-Client-Cert', 'By=spiffe://evil', 'X-Forwarded-User', 'root',
    'Forwarded', 'for=10.0.0.1', 'X-Real-IP', '10.0.0.1'
  ])
  t.same(lines(got.rawHeaders, 'x-forwarded-for'), ['127.0.0.1'])
  t.same(lines(got.rawHeaders, 'x-forwarded-proto'), ['http'])
  t.same(lines(got.rawHeaders, 'x-forwarded-host'), ['public.example:8443'])
  for (const name of ['x-forwarded-port', 'x-forwarded-prefix', 'x-forwarded-client-cert', 'x-forwarded-user', 'forwarded', 'x-real-ip']) {
    t.equal(got.headers[name], undefined, name)
  }
  t.equal(got.headers.host, new URL(agent.url).host, 'the agent is asked by its own name')
})

t.test('a trusted proxy can', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, {
    yaml: oneAgent(
      agent.url,
      [],
      ['server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", trustedProxies: [127.0.0.1], drainTimeout: 200ms}']
    )
  })
  const got = await sent(gateway, agent, [
    'X-Forwarded-For',
    '203.0.113.7',
    'X-Forwarded-For',
    '10.1.1.1',
    'X-Forwarded-Proto',
    'https',
    'X-Forwarded-Host',
    'a.example',
    'Forwarded',
    'for=203.0.113.7',
    'X-Real-IP',
    '203.0.113.7',
    'X-Forwarded-Port',
    '443'
  ])
  t.same(lines(got.rawHeaders, 'x-forwarded-for'), ['203.0.113.7, 10.1.1.1, 127.0.0.1'])
  t.same(lines(got.rawHeaders, 'x-forwarded-proto'), ['https'])
  t.same(lines(got.rawHeaders, 'x-forwarded-host'), ['a.example'])
  t.same(lines(got.rawHeaders, 'forwarded'), ['for=203.0.113.7'])
  t.same(lines(got.rawHeaders, 'x-real-ip'), ['203.0.113.7'])
  const partly = await sent(gateway, agent, ['X-Forwarded-For', '203.0.113.7'])
  t.same(lines(partly.rawHeaders, 'x-forwarded-proto'), ['http'], 'what it leaves unsaid is filled in')
  t.same(lines(partly.rawHeaders, 'x-forwarded-host'), [new URL(gateway.url).host])
})

t.test('end-to-end headers keep their values, their lines and their order', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const got = await sent(gateway, agent, [
    'X-Api-Key', 'k', 'Accept', 'application/json, text/event-stream', 'Accept-Language', 'de', 'Accept-Encoding', 'gzip, br', 'User-Agent',
    'test/1', 'X-Empty', '',
    'X-Twice', 'a', 'X-Twice', 'b', 'Cookie', 'a=1', 'Cookie', 'b=2', 'tracestate', 'x=y', 'baggage', 'k=v', 'Range', 'bytes=0-1',
    'If-None-Match', '"x"', 'Origin', 'https://x', 'Via', '1.1 front', 'X-Latin', 'caf\u00e9'
  ])
  t.same(got.rawHeaders.filter((_, i) => i % 2 === 1 && /^x-twice$/i.test(got.rawHeaders[i - 1] ?? '')), ['a', 'b'])
  t.match(got.headers, {
    'x-api-key': 'k',
    accept: 'application/json, text/event-stream',
    'accept-language': 'de',
    'accept-encoding': 'gzip, br',
    'user-agent': 'test/1',
    'x-empty': '',
    cookie: 'a=1; b=2',
    tracestate: 'x=y',
    baggage: 'k=v',
    range: 'bytes=0-1',
    'if-none-match': '"x"',
    origin: 'https://x',
    'x-latin': 'caf\u00e9'
  })
  t.same(lines(got.rawHeaders, 'content-length'), [String(Buffer.byteLength(BODY))], 'one Content-Length, that of the bytes')
  t.equal(got.headers['transfer-encoding'], undefined)
})

t.test('headers that reroute a request in some frameworks are dropped', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const got = await sent(gateway, agent, [
    'X-HTTP-Method-Override', 'DELETE', 'X-HTTP-Method', 'PUT', 'x-method-override', 'GET', 'X-Original-URL', '/admin', 'X-Rewrite-URL',
    '/admin', 'Gateway-Decision', 'reject;rule="x"'
  ])
  for (const name of [
    'x-http-method-override',
    'x-http-method',
    'x-method-override',
    'x-original-url',
    'x-rewrite-url',
    'gateway-decision'
  ]) { t.equal(got.headers[name], undefined, name) }
})

t.test('the gateway responds to expect: 100-continue', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const outgoing = open(`${gateway.url}/rpc`, {
    method: 'POST',
    headers: [...JSON_TYPE, ...V1, 'content-length', String(BODY.length), 'expect', '100-continue']
  })
  outgoing.flushHeaders()
  await once(outgoing, 'continue')
  t.equal(agent.received.length, 0)
  outgoing.end(BODY)
  const [incoming] = await once(outgoing, 'response')
  t.equal((await readAnswer(incoming)).status, 200)
  t.equal(agent.received[0]?.headers.expect, undefined)
  t.equal(agent.received[0]?.body.toString(), BODY)
  const refused = await rawExchange(
    gateway.url,
    `POST /rpc HTTP/1.1\r\nhost: x\r\nexpect: something\r\nconnection: close\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`
  )
  t.match(refused, /^HTTP\/1\.1 417 /, 'another expectation cannot be met')
})

t.test('an agent\'s interim responses are not mistaken for the final response', async t => {
  const agent = await rawAgent(t, socket => {
    socket.write(
      'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}'
    )
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const got = await rpc(`${gateway.url}/rpc`)
  t.equal(got.status, 200)
  t.equal(got.text, '{}')
  t.equal(got.headers.link, undefined)
})

t.test('an offer of h2c is ignored, every other upgrade is rejected, and none reaches the agent', async t => {
  const agent = await fakeAgent(t)
  agent.server.on('upgrade', () => { t.fail('an upgrade reached the agent') })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['passthrough: [/ws]']) })
  const ask = (target: string, upgrade: string, method = 'POST'): Promise<string> => {
    const body = method === 'POST' ? BODY : ''
    return rawExchange(
      gateway.url,
      `${method} ${target} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\na2a-version: 1.0\r\nconnection: upgrade, http2-settings, close\r\nupgrade: ${upgrade}\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n${method === 'POST' ? `content-length: ${body.length}\r\n` : ''}\r\n${body}`
    )
  }
  for (const offer of ['h2c', 'H2C']) {
    t.match(await ask('/rpc', offer), /^HTTP\/1\.1 200 /, offer)
    t.equal(agent.received.at(-1)?.headers.upgrade, undefined)
    t.equal(agent.received.at(-1)?.headers['http2-settings'], undefined)
  }
  const before = agent.received.length
  for (const offer of ['websocket', 'h2c, websocket', 'TLS/1.0', 'WebSocket']) {
    for (const target of ['/rpc', '/ws/socket', '/rest/tasks', '/.well-known/agent-card.json']) {
      t.match(
        await ask(target, offer, 'GET'),
        /^HTTP\/1\.1 400 [^]*gateway-decision: reject;rule="gateway\/upgrade"/i,
        `${offer} at ${target}`
      )
    }
  }
  t.match(
    await rawExchange(gateway.url, `CONNECT ${new URL(agent.url).host} HTTP/1.1\r\nhost: x\r\n\r\n`, { until: 'close' }),
    /^(?!HTTP\/1\.1 2)/,
    'CONNECT is no way through'
  )
  t.equal(agent.received.length, before)
})

t.test('trailers end at the gateway, both ways', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const hex = BODY.length.toString(16)
  const got = await rawExchange(
    gateway.url,
    `POST /rpc HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\na2a-version: 1.0\r\nte: trailers\r\ntrailer: authorization\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n${hex}\r\n${BODY}\r\n0\r\nauthorization: Bearer late\r\na2a-extensions: urn:late\r\n\r\n`
  )
  t.match(got, /^HTTP\/1\.1 200 /)
  const [request] = agent.received
  t.equal(request?.body.toString(), BODY)
  t.equal(request?.headers.authorization, undefined)
  t.equal(request?.headers.trailer, undefined)
  t.equal(request?.headers['a2a-extensions'], undefined)
})

t.test('requests that two readers could frame or attribute differently are rejected', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['passthrough: [/docs]']) })
  const post = (extra: string, target = '/rpc', body = BODY): string =>
    `POST ${target} HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\nconnection: close\r\n${extra}\r\n${body}`
  const length = `content-length: ${BODY.length}\r\n`
  const type = 'content-type: application/json\r\n'
  const table: Array<[string, string]> = [
    ['Content-Length twice', post(`${type}${length}${length}`)],
    ['two different lengths', post(`${type}${length}content-length: 3\r\n`)],
    ['length and chunks', post(`${type}${length}transfer-encoding: chunked\r\n`)],
    ['chunked twice', post(`${type}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n`, '/rpc', '0\r\n\r\n')],
    ['identity after chunked', post(`${type}transfer-encoding: chunked, identity\r\n`)],
    ['two types', post(`${type}content-type: text/plain\r\n${length}`)],
    ['two credentials', post(`${type}authorization: a\r\nauthorization: b\r\n${length}`)],
    ['two hosts', post(`${type}host: y\r\n${length}`)],
    ['two versions', post(`${type}a2a-version: 0.3\r\n${length}`)],
    ['two trace parents', post(`${type}traceparent: a\r\ntraceparent: b\r\n${length}`)],
    ['a GET with a body', `GET /rest/tasks HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\nconnection: close\r\n${length}\r\n${BODY}`],
    ['a chunked GET', 'GET /docs/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['no host', `POST /rpc HTTP/1.1\r\n${type}${length}\r\n${BODY}`],
    ['an absolute target', post(`${type}${length}`, 'http://evil.example/rpc')],
    ['a folded line', post(`${type}x-a: 1\r\n 2\r\n${length}`)],
    ['a bare line feed', post(`${type}x-a: 1\n${length}`)]
  ]
  for (const [name, bytes] of table) t.match(await rawExchange(gateway.url, bytes), /^HTTP\/1\.1 400 /, name)
  t.equal(agent.received.length, 0)
})

t.test('a header that breaks Node\'s writer does not break the response', async t => {
  const agent = await rawAgent(t, socket => {
    socket.write(
      Buffer.from(
        'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-raw: caf\xe9\x80\r\nx-fine: yes\r\ncontent-length: 2\r\n\r\n{}',
        'latin1'
      )
    )
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const got = await rpc(`${gateway.url}/rpc`)
  t.equal(got.status, 200)
  t.equal(got.headers['x-fine'], 'yes')
  t.equal(got.headers['x-raw'], 'caf\xe9\x80')
})

t.test('a HEAD of the card has the headers of a GET and no body', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const text = await rawExchange(gateway.url, 'HEAD /.well-known/agent-card.json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  t.match(text, /^HTTP\/1\.1 200 /)
  t.match(text, /content-length: [1-9]/)
  t.ok(text.endsWith('\r\n\r\n'))
  const got = await call(`${gateway.url}/rest/tasks/1`, { method: 'HEAD', headers: V1 })
  t.equal(got.status, 405, 'HEAD is no operation')
  t.equal(got.bytes.length, 0)
  t.equal(got.headers.allow, 'GET')
})

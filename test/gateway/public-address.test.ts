/** The address in served cards: `server.publicUrl`, or the address that the client used. */
import t from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import type { Json } from '../helpers/http.js'
import { fakeAgent, rawExchange } from '../helpers/raw.js'
import { connect } from '../helpers/sdk-clients.js'

quietSdk()

const CARD = '/.well-known/agent-card.json'
const server = (more: string): string => `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, ${more}}`
const urlOf = (text: string): unknown => (JSON.parse(text) as Json).supportedInterfaces?.[0]?.url

t.test('an SDK client at an address that the gateway does not know follows the card', async t => {
  const agent = await startAgent({ kind: 'v1' })
  t.teardown(() => agent.close())
  const gateway = await gatewayFor(t, {
    yaml: oneAgent(agent.url, [], ['server: {listen: "0.0.0.0:0", admin: "127.0.0.1:0", drainTimeout: 200ms}'])
  })
  const { port } = new URL(gateway.url)
  // An address of this machine, like that of a remote client: the name localhost in the card would lead the client elsewhere.
  const url = `http://127.0.0.2:${port}`
  const called: string[] = []
  const client = await connect({
    client: 'v1',
    transport: 'JSONRPC',
    cardUrl: url + CARD,
    fetch: (input, init) => {
      called.push(new URL(String(input instanceof Request ? input.url : input)).host)
      return fetch(input, init)
    }
  })
  t.ok(await client.send('hello'))
  t.same([...new Set(called)], [`127.0.0.2:${port}`])
})

t.test('the card names the host of the request, and has its own ETag for each host', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: `agents: [{name: a, path: /a, upstream: {url: "${agent.url}"}}]` })
  const ask = (host: string, ...headers: string[]): ReturnType<typeof call> =>
    call(`${gateway.url}/a${CARD}`, { headers: ['host', host, ...V1, ...headers] })
  const etags = new Set<string>()
  for (const host of ['one.example', 'one.example:8443', 'two.example', '[::1]:8080', '192.0.2.7:80', 'a_b.internal']) {
    const got = await ask(host)
    t.equal(got.status, 200)
    t.equal(urlOf(got.text), `http://${host}/a/rpc`)
    t.equal(Number(got.headers['content-length']), got.bytes.length)
    t.equal(got.headers.vary, 'A2A-Version, Origin')
    t.equal((await ask(host, 'if-none-match', got.headers.etag ?? '')).status, 304)
    etags.add(got.headers.etag ?? '')
  }
  t.equal(etags.size, 6)
  const [first = ''] = etags
  t.equal((await ask('two.example', 'if-none-match', first)).status, 200, 'the ETag of another host is not valid')
  t.equal(urlOf((await ask('ONE.Example')).text), 'http://one.example/a/rpc', 'in lower case')
  t.match(await rawExchange(gateway.url, `GET /a${CARD} HTTP/1.0\r\na2a-version: 1.0\r\n\r\n`), `"${gateway.url}/a/rpc"`, 'without Host')
  for (const host of ["it's", 'a;b', 'a%41', 'x:123456']) {
    const got = await ask(host)
    t.equal(got.status, 400, host)
    t.equal(got.headers['gateway-decision'], 'reject;rule="gateway/host"')
  }
})

t.test('headers of a proxy count only from trusted proxies', async t => {
  const agent = await fakeAgent(t)
  const forwarded = ['x-forwarded-host', 'evil.example, agents.example', 'x-forwarded-proto', 'https', 'x-forwarded-proto', 'HTTPS']
  const open = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const untrusted = await call(open.url + CARD, { headers: [...V1, ...forwarded] })
  t.equal(urlOf(untrusted.text), `${open.url}/rpc`)
  t.equal(untrusted.headers.vary, 'A2A-Version, Origin')

  const behind = await gatewayFor(t, { yaml: `${server('trustedProxies: ["127.0.0.1"]')}\n${oneAgent(agent.url)}` })
  const ask = (headers: readonly string[]): ReturnType<typeof call> => call(behind.url + CARD, { headers: [...V1, ...headers] })
  const got = await ask(forwarded)
  t.equal(urlOf(got.text), 'https://agents.example/rpc', 'the last value of each')
  t.equal(got.headers.vary, 'A2A-Version, Origin, X-Forwarded-Host, X-Forwarded-Proto')
  t.equal((await ask([])).headers.vary, got.headers.vary, 'also without the headers')
  t.equal(urlOf((await ask(['x-forwarded-proto', 'https'])).text), behind.url.replace('http:', 'https:') + '/rpc')
  t.equal(urlOf((await ask(['x-forwarded-proto', 'gopher'])).text), `${behind.url}/rpc`)
  t.equal((await ask(['x-forwarded-host', 'evil.example/x'])).status, 400)
})

t.test('an extended card names the host of the request', async t => {
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        result: { name: 'x', supportedInterfaces: [{ url: `${agent.url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }
      }))
    }
  })
  const gateway = await gatewayFor(t, { yaml: `agents: [{name: a, path: /a, upstream: {url: "${agent.url}"}}]` })
  const ask = (host: string): ReturnType<typeof call> =>
    call(`${gateway.url}/a/rpc`, { headers: ['host', host, ...JSON_TYPE, ...V1], body: rpcBody('GetExtendedAgentCard') })
  for (const host of ['one.example', 'two.example:81']) t.equal((await ask(host)).json().result?.supportedInterfaces?.[0]?.url, `http://${host}/a/rpc`)
  t.equal((await ask('a;b')).status, 400)
})

t.test('server.hosts rejects every other host, before anything reaches the agent', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, {
    yaml: [
      server('hosts: [agents.example, "[::1]"], publicUrl: "https://public.example/x", trustedProxies: ["127.0.0.2"]'),
      'agents:',
      `  - {name: a, path: /a, upstream: {url: "${agent.url}"}, passthrough: [/docs]}`,
      `  - {name: b, path: /b, host: b.example, upstream: {url: "${agent.url}"}}`
    ].join('\n')
  })
  const ask = (path: string, host: string, ...headers: string[]): ReturnType<typeof call> =>
    call(gateway.url + path, { headers: ['host', host, ...V1, ...headers] })
  for (const host of ['agents.example', 'AGENTS.example:8080', 'agents.example.', '[::1]:1', 'public.example', 'b.example']) {
    t.equal((await ask(`/a${CARD}`, host)).status, 200, host)
  }
  for (const host of ['evil.example', 'evil.agents.example', '127.0.0.1', '']) {
    for (const path of [`/a${CARD}`, '/a/docs/x', '/a/rpc', '/a/nothing']) {
      const got = await ask(path, host, 'x-forwarded-host', 'agents.example')
      t.equal(got.status, 421, `${host} ${path}`)
      t.equal(got.headers['gateway-decision'], 'reject;rule="gateway/host-not-served"')
      t.match(got.text, 'HOST_NOT_SERVED')
    }
  }
  const called = await rpc(`${gateway.url}/a/rpc`, 'SendMessage', {}, ['host', 'evil.example'])
  t.equal(called.status, 421)
  t.match(called.json(), { jsonrpc: '2.0', error: { data: [{ reason: 'HOST_NOT_SERVED' }] } })
  t.equal(agent.received.length, 0)
})

t.test('server.hosts looks at the host that the client of a trusted proxy used', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, {
    yaml: `${server('hosts: [agents.example], trustedProxies: ["127.0.0.1"]')}\n${oneAgent(agent.url)}`
  })
  const status = async (...headers: string[]): Promise<number> => (await call(gateway.url + CARD, { headers })).status
  t.equal(await status('x-forwarded-host', 'agents.example'), 200)
  t.equal(await status('host', 'agents.example', 'x-forwarded-host', 'evil.example'), 421)
  t.equal(await status('host', 'agents.example'), 200)
})

t.test('server.hosts and server.publicUrl change with a reload', async t => {
  const { configOf } = await import('../helpers/gateway.js')
  const agent = await fakeAgent(t)
  const yaml = (more: string): string => `${server(more)}\n${oneAgent(agent.url)}`
  const gateway = await gatewayFor(t, { yaml: yaml('hosts: [agents.example]') })
  t.equal((await call(gateway.url + CARD)).status, 421)
  t.match(await gateway.reload(configOf({ yaml: yaml('hosts: []') })), { ok: true, settings: ['server.hosts'] })
  t.equal(urlOf((await call(gateway.url + CARD, { headers: V1 })).text), `${gateway.url}/rpc`)
  await gateway.reload(configOf({ yaml: yaml('publicUrl: "https://p.example"') }))
  t.equal(urlOf((await call(gateway.url + CARD, { headers: V1 })).text), 'https://p.example/rpc')
})

t.test('the log says at start what the cards show', async t => {
  const agent = await fakeAgent(t)
  const start = async (more: string): Promise<string[]> => {
    const gateway = await gatewayFor(t, {
      yaml: `${server(more)}\n${oneAgent(agent.url, [], ['telemetry: {logs: {level: info}}'])}`
    })
    await until(() => gateway.logs().some(line => /served cards/.test(String(line.msg))))
    return gateway.logs().map(line => String(line.msg)).filter(line => /served cards/.test(line))
  }
  t.match(await start('workers: 1'), [/^served cards name the host that the client used, such as http:\/\/127\.0\.0\.1:\d+; set server\.publicUrl/])
  t.match(await start('publicUrl: "https://p.example"'), [/^served cards name https:\/\/p\.example$/])
  t.match(await start('hosts: [x.example]'), [/; the gateway rejects requests for hosts outside server\.hosts$/])
})

t.test('the log warns at start about listeners on every interface, if nobody is authenticated', async t => {
  const agent = await fakeAgent(t)
  const start = async (listeners: string, root = ''): Promise<string[]> => {
    const gateway = await gatewayFor(t, {
      yaml: `server: {admin: "127.0.0.1:0", drainTimeout: 200ms, ${listeners}}\n${oneAgent(agent.url, [], ['telemetry: {logs: {level: info}}'])}\n${root}`
    })
    await until(() => gateway.logs().some(line => /served cards/.test(String(line.msg))))
    return gateway.logs().filter(line => /authenticates nobody/.test(String(line.msg))).map(({ level, msg }) => `${String(level)} ${String(msg)}`)
  }
  const open = (settings: string): RegExp =>
    new RegExp(`^(warn|40) the gateway accepts calls on every network interface \\(${settings}\\) and authenticates nobody: configure identity, or listen`)
  t.match(await start('listen: "0.0.0.0:0"'), [open('server\\.listen: 0\\.0\\.0\\.0:0')])
  t.match(await start('listen: "[::]:0"'), [open('server\\.listen: \\[::\\]:0')])
  t.match(await start('listen: "127.0.0.1:0", grpc: {listen: "0.0.0.0:0", publicAddress: "a.test:1"}'), [open('server\\.grpc\\.listen: 0\\.0\\.0\\.0:0')])
  t.same(await start('listen: "127.0.0.1:0"'), [])
  const sources = 'identity: {sources: {mesh: {certificate: {from: xfcc, proxies: [127.0.0.1], san: dns}}}}'
  t.same(await start('listen: "0.0.0.0:0"', sources), [])
})

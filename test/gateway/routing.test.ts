/** Routing to agent, interface and operation, and the response when one of them does not exist. */
import t from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, rpc, rpcBody, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard, rawExchange } from '../helpers/raw.js'

quietSdk()

t.test('unknown addresses are 404 in the caller\'s binding, known ones with another verb 405 with Allow', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  for (const path of [
    '/',
    '/rest',
    '/rest/',
    '/rest/task',
    '/rest/message:sen',
    '/rpc/x',
    '/RPC',
    '/rest/tasks/1/x',
    '/.well-known/agent',
    '/.well-known/agent-card.json/',
    '/livez',
    '/readyz',
    '/metrics',
    '/agents'
  ]) {
    for (const method of ['GET', 'POST', 'PUT']) {
      const got = await call(gateway.url + path, { method, headers: [...JSON_TYPE, ...V1], ...(method === 'GET' ? {} : { body: '{}' }) })
      t.equal(got.status, 404, `${method} ${path}`)
      t.match(got.json(), {
        error: { code: 404, status: 'NOT_FOUND', message: /agent-card\.json/, details: [{ reason: 'ROUTE_NOT_FOUND' }] }
      })
    }
  }
  t.match(
    (await call(`${gateway.url}/x`, {})).json(),
    { code: -32601, message: /not an operation/ },
    'in the shape of 0.3 to a caller of 0.3'
  )
  const verbs: Array<[string, string, string]> = [
    ['GET', '/rpc', 'POST'],
    ['PUT', '/rpc', 'POST'],
    ['HEAD', '/rpc/', 'POST'],
    ['GET', '/rest/message:send', 'POST'],
    ['POST', '/rest/tasks', 'GET'],
    ['DELETE', '/rest/tasks/1', 'GET'],
    ['PUT', '/rest/tasks/1:cancel', 'POST'],
    ['PUT', '/rest/tasks/1:subscribe', 'GET, POST'],
    ['PATCH', '/rest/tasks/1/pushNotificationConfigs', 'GET, POST'],
    ['POST', '/rest/tasks/1/pushNotificationConfigs/2', 'GET, DELETE'],
    ['POST', '/.well-known/agent-card.json', 'GET, HEAD'],
    ['POST', '/rest/extendedAgentCard', 'GET']
  ]
  for (const [method, path, allow] of verbs) {
    const got = await call(gateway.url + path, { method, headers: V1 })
    t.equal(got.status, 405, `${method} ${path}`)
    t.equal(got.headers.allow, allow)
    if (method === 'HEAD') t.equal(got.bytes.length, 0)
    else if (path.startsWith('/rpc')) t.match(got.json(), { jsonrpc: '2.0', id: null, error: { code: -32600 } })
    else t.match(got.json(), { error: { code: 405, details: [{ reason: 'METHOD_NOT_ALLOWED' }] } })
  }
  for (const method of ['PROPFIND', 'TRACE', 'QUERY', 'LINK']) {
    t.match(
      await rawExchange(gateway.url, `${method} /rpc HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`),
      /^HTTP\/1\.1 40[045] /,
      method
    )
  }
  t.equal(agent.received.length, 0)
})

t.test('the RPC address works with and without a trailing slash, and calls the address in the card', async t => {
  for (const slash of ['', '/']) {
    const agent = await fakeAgent(t, {
      card: url =>
        plainCard(url, { supportedInterfaces: [{ url: `${url}/rpc${slash}`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] })
    })
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
    for (const path of ['/rpc', '/rpc/', '/rpc?a=b']) {
      t.equal((await rpc(gateway.url + path)).status, 200, path)
      t.equal(agent.received.at(-1)?.url, `/rpc${slash}${path.slice(4).replace('/', '')}`)
    }
  }
})

t.test('an interface at the agent\'s root is served at the agent\'s path', async t => {
  const agent = await fakeAgent(t, {
    card: url =>
      plainCard(url, {
        supportedInterfaces: [
          { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
          { url: `${url}/`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }
        ]
      })
  })
  const gateway = await gatewayFor(t, { yaml: `agents: [{name: a, path: /agents/a, upstream: {url: "${agent.url}"}}]` })
  for (const path of ['/agents/a', '/agents/a/']) {
    t.equal((await rpc(gateway.url + path)).status, 200, path)
    t.equal(agent.received.at(-1)?.url, '/')
  }
  t.equal((await call(`${gateway.url}/agents/a/tasks/1`, { headers: V1 })).status, 200)
  t.equal(agent.received.at(-1)?.url, '/tasks/1')
  t.equal((await call(`${gateway.url}/agents/ax/tasks/1`, { headers: V1 })).status, 404)
})

t.test('tenants are one segment in front, and must not contradict the body', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const body = (tenant?: string): string => JSON.stringify({ message: MESSAGE, ...(tenant === undefined ? {} : { tenant }) })
  const send = (path: string, text: string): ReturnType<typeof call> =>
    call(`${gateway.url}/rest${path}`, { headers: [...JSON_TYPE, ...V1], body: text })
  t.equal((await send('/acme/message:send', body())).status, 200)
  t.equal(agent.received.at(-1)?.url, '/rest/acme/message:send')
  t.equal((await send('/acme/message:send', body('acme'))).status, 200)
  t.equal((await send('/a%C3%A9%20b/message:send', body('aé b'))).status, 200)
  const before = agent.received.length
  const differs = await send('/acme/message:send', body('other'))
  t.equal(differs.status, 400)
  t.match(differs.json(), { error: { status: 'INVALID_ARGUMENT', details: [{}, { fieldViolations: [{ field: 'tenant' }] }] } })
  t.notMatch(differs.text, 'other')
  t.equal((await send('/a/b/message:send', body())).status, 404, 'two segments are none')
  t.equal(agent.received.length, before)
  for (const tenant of ['v2', 'tasks', 'extendedAgentCard']) t.equal((await send(`/${tenant}/message:send`, body())).status, 200, tenant)
  const twice = await call(`${gateway.url}/rest/tasks/extendedAgentCard`, { headers: V1 })
  t.equal(twice.status, 400, 'a task, or a tenant')
  t.match(twice.json(), { error: { message: /two different operations/, details: [{ reason: 'INVALID_PARAMS' }, { reason: 'BAD_REQUEST_TARGET' }] } })
})

t.test('an encoded colon and a final slash reach every agent as the plain path', async t => {
  // A real agent, whose router (Express) does not decode paths.
  const agent = await startAgent({ kind: 'v1' })
  t.teardown(() => agent.close())
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  for (const path of ['message%3Asend', 'message:send/', 'message%3asend/', 'acme/message%3Asend/', 'v1/message:send', 'tasks/message:send']) {
    const got = await call(`${gateway.url}/a2a/rest/${path}`, {
      headers: [...JSON_TYPE, ...V1],
      body: JSON.stringify({ message: MESSAGE })
    })
    t.equal(got.status, 200, `${path}: ${got.text}`)
  }
})

t.test('unsupported versions are -32009 with the id and the supported versions', async t => {
  const one = async (version: string, list: readonly object[]): Promise<{ url: string, received: readonly unknown[] }> => {
    const agent = await fakeAgent(t, {
      card: url =>
        plainCard(url, {
          supportedInterfaces: list.map(entry => ({ ...entry, url: url + (entry as { url: string }).url, protocolVersion: version }))
        })
    })
    return { url: (await gatewayFor(t, { yaml: oneAgent(agent.url) })).url, received: agent.received }
  }
  const both = [{ url: '/rpc', protocolBinding: 'JSONRPC' }, { url: '/rest', protocolBinding: 'HTTP+JSON' }]
  const modern = await one('1.0', both)
  const legacy = await one('0.3', both)
  const id = '98765432109876543210'
  const table: Array<[string, { url: string, received: readonly unknown[] }, readonly string[], string, string]> = [
    ['no header at a 1.0 agent', modern, [], 'message/send', '1.0'],
    ['no header and a 1.0 method', modern, [], 'SendMessage', '1.0'],
    ['0.3 at a 1.0 agent', modern, ['a2a-version', '0.3'], 'message/send', '1.0'],
    ['99.0', modern, ['a2a-version', '99.0'], 'SendMessage', '1.0'],
    ['nonsense', modern, ['a2a-version', 'latest'], 'SendMessage', '1.0'],
    ['2.1', modern, ['a2a-version', '2.1'], 'SendMessage', '1.0'],
    ['1.0 at a 0.3 agent', legacy, ['a2a-version', '1.0'], 'SendMessage', '0.3']
  ]
  for (const [name, agent, headers, method, supported] of table) {
    const got = await call(`${agent.url}/rpc`, { headers: [...JSON_TYPE, ...headers], body: rpcBody(method, { message: MESSAGE }, id) })
    t.equal(got.status, 200, name)
    t.ok(got.text.startsWith(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32009,`), got.text)
    const details = [{ reason: 'VERSION_NOT_SUPPORTED', domain: 'a2a-protocol.org', metadata: { supportedVersions: supported } }]
    t.match(got.json(), { error: { message: /A2A-Version/, data: headers.length === 0 ? { details } : details } })
    t.equal(agent.received.length, 0)
  }
  const rest = await call(`${modern.url}/rest/tasks/1`)
  t.equal(rest.status, 400)
  t.match(rest.json(), {
    error: { status: 'FAILED_PRECONDITION', details: [{ reason: 'VERSION_NOT_SUPPORTED', metadata: { supportedVersions: '1.0' } }] }
  })
  const method = await rpc(`${(await one('1.0', both)).url}/rpc`, 'message/send', { message: MESSAGE })
  t.match(method.json(), { error: { code: -32601, message: /1\.0 method name/ } }, 'a 0.3 method with the 1.0 header')
})

t.test('twenty agents by host and by the longest path', async t => {
  const agents = await Promise.all(Array.from({ length: 20 }, () => fakeAgent(t)))
  const places = agents.map((_, i) => i === 0
    ? { path: '/', host: null }
    : i < 8
      ? { path: `/agents/a${i}`, host: null }
      : i < 12
        ? { path: `/agents/a1/sub${i}`, host: null }
        : i < 16
          ? { path: '/', host: `a${i}.example` }
          : { path: `/agents/a${i - 15}`, host: 'a12.example' })
  const gateway = await gatewayFor(t, {
    yaml: `agents:\n${agents.map((agent, i) => `  - {name: "agent-${i}", path: "${places[i]?.path}", host: ${places[i]?.host ?? 'null'}, upstream: {url: "${agent.url}"}}`).join('\n')}`
  })
  const reached = async (host: string, path: string): Promise<number> => {
    for (const agent of agents) agent.received.length = 0
    const got = await rpc(gateway.url + path, 'GetTask', { id: '1' }, ['host', host])
    t.equal(got.status, 200, `${host} ${path}`)
    return agents.findIndex(agent => agent.received.length === 1)
  }
  for (const [i, { path, host }] of places.entries()) t.equal(await reached(host ?? 'any.example', `${path === '/' ? '' : path}/rpc`), i)
  t.equal(await reached('A13.EXAMPLE:8080', '/rpc'), 13, 'hosts in any case, with any port')
  t.equal(
    (await rpc(`${gateway.url}/agents/a2/rpc`, 'GetTask', {}, ['host', 'a13.example'])).status,
    404,
    "a host with an agent at its root is that agent's"
  )
  t.equal(await reached('a12.example', '/agents/a1/rpc'), 16)
  t.equal(await reached('a12.example', '/rpc'), 12)
  t.equal((await rpc(`${gateway.url}/agents/a10/rpc`)).status, 404, 'whole segments only')
  t.equal((await rpc(`${gateway.url}/agents/a1/sub8x/rpc`)).status, 404)
})

t.test('an address without an agent is not found', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: `agents: [{name: a, path: /a, host: h.example, upstream: {url: "${agent.url}"}}]` })
  for (const [host, path] of [['h.example', '/rpc'], ['other.example', '/a/rpc'], ['h.example', '/A/rpc'], ['h.example.', '/b']] as const) {
    const got = await rpc(gateway.url + path, 'GetTask', {}, ['host', host])
    t.equal(got.status, 404, `${host}${path}`)
    t.match(got.text, 'No agent is served')
  }
  t.equal(agent.received.length, 0)
  t.equal(
    await gateway.metric(
      'a2a_gateway_requests_total{agent="other",operation="Other",binding="HTTP+JSON",version="1.0",outcome="rejected"}'
    ),
    4
  )
})

t.test('the agent responds to a CORS preflight of an operation', async t => {
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.writeHead(204, { 'access-control-allow-origin': '*' }).end()
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  for (const path of ['/rpc', '/rest/message:send', '/rest/tasks/1']) {
    const got = await call(gateway.url + path, {
      method: 'OPTIONS',
      headers: ['origin', 'https://x', 'access-control-request-method', 'POST']
    })
    t.equal(got.status, 204)
    t.equal(got.headers['access-control-allow-origin'], '*')
    t.equal(agent.received.at(-1)?.url, path)
  }
  t.equal((await call(`${gateway.url}/x`, { method: 'OPTIONS' })).status, 404)
})

t.test('a rejection other than HTTP 200 has its message in the status line too, because some SDKs read nothing else', async t => {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { extensions: [{ uri: 'https://x.test/ext/v1', required: true }] } })
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const body = JSON.stringify({ message: MESSAGE })
  const answer = await rawExchange(
    gateway.url,
    `POST /rest/message:send HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
  )
  t.match(
    answer.split('\r\n')[0],
    'HTTP/1.1 400 This agent requires an extension that the request does not activate: https://x.test/ext/v1. Send the header "A2A-Extensions: https://x.test/ext/v1"'
  )
})

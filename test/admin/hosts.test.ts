/**
 * DNS rebinding: the admin listener serves its pages only under host names that a stranger cannot point to it. Probes and metrics respond
 * under any name, and contain no address.
 */
import { createServer } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { adminNames, hostProblem } from '#server/admin/host-guard.js'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, freePort, rpc } from '../helpers/http.js'
import { fakeAgent, rawExchange } from '../helpers/raw.js'

const SERVER = (more: string): string => `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms${more}}`
const REBOUND = [
  'evil.example',
  'evil.example:9901',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  'EVIL.example.',
  '0x7f000001',
  '127.1',
  'ops.example.com.evil.example',
  'xlocalhost',
  'localhost:9901:80',
  'a@localhost',
  'localhost/',
  '[::1',
  '[::1%25lo]',
  '',
  '2130706433',
  'ops-example-com',
  '_.ops.example.com'
]
const OWN = [
  '127.0.0.1',
  '127.0.0.1:9901',
  '[::1]:9901',
  '10.1.2.3',
  'localhost',
  'LocalHost:1',
  'localhost.',
  'gateway.localhost',
  'ops.example.com',
  'OPS.example.com:9901',
  'ops.example.com.',
  'old.example.com'
]

t.test('names', async t => {
  const config = configOf({
    yaml: `${SERVER(', adminHosts: [Ops.example.com], console: {hosts: [old.example.com]}')}\n${oneAgent('http://127.0.0.1:1')}`
  })
  const known = adminNames(config.server)
  t.same(REBOUND.filter(host => hostProblem(host, known) === null), [])
  t.same(OWN.filter(host => hostProblem(host, known) !== null), [])
  t.match(hostProblem('evil.example', known), { status: 403, error: /add the name to server.adminHosts/ })
  t.match(hostProblem(undefined, known), { status: 400 })
})

t.test('/agents and every route of the console check the name; probes and metrics do not, and contain no address', async t => {
  const agent = await fakeAgent(t)
  const gone = `127.0.0.1:${await freePort()}`
  const gateway = await gatewayFor(
    t,
    {
      yaml: `${SERVER(', adminHosts: [ops.example.com], console: {tryIt: true}')}\nagents:\n  - {name: agent, upstream: {url: "${agent.url}"}}\n  - {name: gone, path: /gone, upstream: {url: "http://${gone}"}}`
    },
    false
  )
  await rpc(`${gateway.url}/rpc`)
  const guarded = [
    '/agents',
    '/agents?x=1',
    '/',
    '/console',
    '/console/',
    '/console/app.js',
    ...[
      'status',
      'overview',
      'extensions',
      'series',
      'agent?name=agent',
      'card?name=agent',
      'policy?name=agent',
      'form?name=agent',
      'decisions'
    ].map(one => `/console/api/${one}`)
  ]
  const shown: string[] = []
  for (const path of guarded) {
    for (const method of ['GET', 'HEAD']) {
      const got = await call(gateway.adminUrl + path, { method, headers: ['host', 'evil.example'] })
      if (got.status !== 403 || got.text.includes('127.0.0.1')) shown.push(`${method} ${path}: ${got.status}`)
    }
  }
  const tried = await call(`${gateway.adminUrl}/console/api/try`, {
    method: 'POST',
    headers: ['host', 'evil.example', 'origin', 'http://evil.example', 'content-type', 'application/json'],
    body: '{}'
  })
  t.equal(tried.status, 403)
  t.same(shown, [], 'nothing is shown')
  for (const host of ['ops.example.com', 'localhost']) {
    t.equal((await call(`${gateway.adminUrl}/agents`, { headers: ['host', host] })).status, 200, host)
  }

  for (const path of ['/livez', '/readyz', '/readyz?agents=any', '/metrics']) {
    const got = await call(gateway.adminUrl + path, { headers: ['host', 'gateway.monitoring.svc'] })
    t.not(got.status, 403, path)
    t.notOk(
      got.text.includes(gone) || got.text.includes(new URL(agent.url).host) || /https?:\/\/(?:127|localhost)/.test(got.text),
      `${path} names no address`
    )
  }
  t.match(
    (await call(`${gateway.adminUrl}/readyz`, { headers: ['host', 'x.example'] })).text,
    'agent gone: not ready; /agents on the admin listener says why'
  )
  t.match((await call(`${gateway.adminUrl}/readyz`)).text, gone, 'an operator learns more')
  const bare = await rawExchange(gateway.adminUrl, 'GET /agents HTTP/1.0\r\n\r\n')
  t.match(bare, /^HTTP\/1\.[01] 400 /, 'no Host at all')
  for (const [request, message] of [
    ['GET /livez HTTP/2.0\r\nHost: localhost\r\n\r\n', /another version; send HTTP\/1\.1/],
    ['GET /livez HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', /"error":/]
  ] as const) {
    const rejected = await rawExchange(gateway.adminUrl, request)
    t.match(rejected, /^HTTP\/1\.[01] 400 /, request)
    t.match(rejected, message)
    t.match(rejected, /connection: close/i, 'the end of the request is uncertain')
  }
})

t.test('server.metrics serves metrics and probes, and nothing else', async t => {
  const agent = await fakeAgent(t)
  const port = await freePort()
  const gateway = await gatewayFor(t, { yaml: `${SERVER(`, metrics: "127.0.0.1:${port}"`)}\n${oneAgent(agent.url)}` })
  const at = `http://127.0.0.1:${port}`
  t.equal(gateway.metricsUrl, at)
  for (const host of ['127.0.0.1', 'any.example']) {
    for (const [path, status] of [
      ['/livez', 200],
      ['/readyz', 200],
      ['/metrics', 200],
      ['/agents', 404],
      ['/', 404],
      ['/console/', 404],
      ['/console/api/status', 404],
      ['/console/api/try', 404]
    ] as const) {
      t.equal((await call(at + path, { headers: ['host', host] })).status, status, `${host} ${path}`)
    }
  }
  t.match((await call(`${at}/nowhere`)).json(), { endpoints: ['/livez', '/readyz', '/metrics'] })
  t.equal((await call(`${gateway.adminUrl}/metrics`)).status, 200, 'the admin listener keeps them')
  const report = await gateway.reload(configOf({ yaml: `${SERVER(', adminHosts: [a.example]')}\n${oneAgent(agent.url)}` }))
  t.match(report, { ok: true, needsRestart: ['server.metrics', 'server.adminHosts'] })
  await gateway.close()
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  server.close()
})

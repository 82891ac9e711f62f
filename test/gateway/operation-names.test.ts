/** Methods and routes that a policy declares have their own names, everywhere; names that clients make up appear nowhere. */
import t from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import { call, JSON_TYPE, rpc, until, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'

const URI = 'urn:memory:v1'
const POLICIES = `extensions:
  memory:
    uri: ${URI}
    methods:
      memory/get: {need: none}
      memory/set: {params: {type: object, required: [key]}}
    routes:
      - {verb: GET, path: "/memories/{id}", need: none}
      - {verb: POST, path: /memories}
  second:
    uri: urn:second
    routes:
      - {verb: GET, path: "/memories/{name}", need: none}
      - {verb: GET, path: /hidden, need: declared}
    methods:
      second/hidden: {need: declared}
`

t.test('metrics, spans, log lines, audit lines and the console', async t => {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { extensions: [{ uri: URI }] } }),
    answer: (request, response) => {
      response.setHeader('content-type', 'application/json').end(request.url === '/rpc' ? '{"jsonrpc":"2.0","id":1,"result":{}}' : '{}')
    }
  })
  const gateway = await gatewayFor(t, {
    yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"}, unknownMethods: forward, extensions: [memory, second]}]\n${POLICIES}\ntelemetry: {logs: {level: debug}, audit: {forwarded: true}}`,
    env: { OTEL_TRACES_EXPORTER: 'console' }
  })
  const at = `${gateway.url}/rpc`
  await rpc(at, 'memory/get', {})
  await rpc(at, 'memory/set', {}, ['a2a-extensions', URI])
  await rpc(at, 'MADE-UP', {})
  await rpc(at, 'second/hidden', {})
  await call(`${gateway.url}/memories/MADE-UP`, { headers: V1 })
  await call(`${gateway.url}/memories`, { headers: [...V1, ...JSON_TYPE], body: '{}' })
  await call(`${gateway.url}/hidden`, { headers: V1 })
  await rpc(at, 'GetTask', { id: '1' })
  const rows: [operation: string, binding: string, outcome: string][] = [
    ['memory/get', 'JSONRPC', 'forwarded'],
    ['memory/set', 'JSONRPC', 'rejected'],
    ['Other', 'JSONRPC', 'forwarded'],
    ['Other', 'JSONRPC', 'forwarded'],
    ['GET /memories/{id}', 'HTTP+JSON', 'forwarded'],
    ['POST /memories', 'HTTP+JSON', 'rejected'],
    ['Other', 'HTTP+JSON', 'rejected'],
    ['GetTask', 'JSONRPC', 'forwarded']
  ]
  const servers = (): Record<string, unknown>[] => gateway.spans().filter(span => span.kind === 'SERVER')
  await until(() => servers().length === rows.length, 'all spans')
  const lines = gateway.logs().filter(line => line.msg === 'request')
  t.same(lines.map(line => [line.operation, line.binding, line.outcome]), rows, 'log lines')

  const found: Record<string, number> = {}
  const expected: Record<string, number> = {}
  const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  for (const [, operation = '', binding = '', outcome = '', value] of text.matchAll(
    /^a2a_gateway_requests_total\{agent="agent",operation="([^"]+)",binding="([^"]+)",version="1.0",outcome="(\w+)",front="http"\} (\d+)/gm
  )) found[`${operation} ${binding} ${outcome}`] = Number(value)
  for (const row of rows) expected[row.join(' ')] = (expected[row.join(' ')] ?? 0) + 1
  t.same(found, expected, 'requests_total')
  t.match(text, /a2a_gateway_upstream_duration_seconds_count\{agent="agent",operation="GET \/memories\/\{id\}"\} 1/)
  t.match(text, /a2a_gateway_request_duration_seconds_count\{agent="agent",operation="memory\/set",outcome="rejected"\} 1/)

  t.same(
    servers().map(({ name, attributes }) => [name, (attributes as Record<string, unknown>)['rpc.method']]),
    [
      ['memory/get', 'memory/get'],
      ['memory/set', 'memory/set'],
      ['Other', '_OTHER'],
      ['Other', '_OTHER'],
      ['GET /memories/{id}', undefined],
      ['POST /memories', undefined],
      ['request', undefined],
      ['GetTask', 'GetTask']
    ],
    'spans'
  )
  const clients = gateway.spans().filter(span => span.kind === 'CLIENT').map(({ name }) => name)
  t.same(clients, ['memory/get', 'Other', 'Other', 'GET /memories/{id}', 'GetTask'])
  t.same(
    gateway.audits().map(line => [line.phase, line.operation, line.rule]),
    [
      ['call', 'memory/get', null],
      ['request', 'memory/set', 'method-params'],
      ['call', 'Other', null],
      ['call', 'Other', null],
      ['call', 'GET /memories/{id}', null],
      ['request', 'POST /memories', 'route'],
      ['call', 'GetTask', null]
    ],
    'audit lines'
  )
  const page = await fetch(`${gateway.adminUrl}/console/api/decisions`)
  const reader = (page.body as ReadableStream<Uint8Array>).getReader()
  let shown = ''
  while (!shown.includes('"entries":[{')) shown += Buffer.from((await reader.read()).value ?? []).toString()
  await reader.cancel()
  t.match(shown, '"operation":"memory/set"')
  t.match(shown, '"operation":"POST /memories"')
  // The path of a request is on its span; names that clients make up are nowhere else.
  t.notMatch(JSON.stringify([text, gateway.logs(), gateway.audits(), servers().map(({ name }) => name)]), /MADE-UP/)
})

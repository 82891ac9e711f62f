/** The telemetry of a running gateway: metrics, spans, logs and audit lines, and the data that none of them may ever contain. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, open, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import type { RawRequest } from '../helpers/raw.js'

const REQUIRED = 'https://example.com/ext/required/v1'
const OBSERVED = 'https://example.com/ext/observed/v1'
const SCHEMAS = 'https://example.com/ext/data/v1'

interface OtlpValue {
  stringValue?: string
  intValue?: number
  boolValue?: boolean
  doubleValue?: number
  arrayValue?: { values: OtlpValue[] }
}
interface OtlpSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: Array<{ key: string; value: OtlpValue }>
  status: { code: number }
}
interface Collector { readonly url: string, readonly texts: string[], spans (): Span[] }
interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parent: string
  readonly name: string
  readonly kind: number
  readonly attributes: Record<string, unknown>
  /** 0 unset, 2 error */
  readonly status: number
}

const SERVER = 2
const CLIENT = 3

async function collector (t: Test): Promise<Collector> {
  const texts: string[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      texts.push(Buffer.concat(chunks).toString())
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const value = (v: OtlpValue): unknown =>
    v.arrayValue !== undefined ? v.arrayValue.values.map(value) : (v.stringValue ?? v.intValue ?? v.boolValue ?? v.doubleValue)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    texts,
    spans: () =>
      texts
        .flatMap(text => (JSON.parse(text) as { resourceSpans: Array<{ scopeSpans: Array<{ spans: OtlpSpan[] }> }> }).resourceSpans)
        .flatMap(resource => resource.scopeSpans)
        .flatMap(scope => scope.spans)
        .map(span => ({
          traceId: span.traceId,
          spanId: span.spanId,
          parent: span.parentSpanId ?? '',
          name: span.name,
          kind: span.kind,
          status: span.status.code,
          attributes: Object.fromEntries(span.attributes.map(one => [one.key, value(one.value)]))
        }))
  }
}

const traced = (url: string): NodeJS.ProcessEnv => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_BSP_SCHEDULE_DELAY: '50'
})

t.test('every outcome is counted once, under labels of closed sets', async t => {
  const agent = await fakeAgent(t, {
    answer: (request, response) => {
      if (request.url.includes('die')) response.socket?.resetAndDestroy()
      else if (request.url.includes('wait')) response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      else response.setHeader('content-type', 'application/json').end('{}')
    },
    card: url => plainCard(url, { capabilities: { extensions: [{ uri: REQUIRED, required: true }] } })
  })
  const dead = await fakeAgent(t, { card: () => 'broken' })
  const gateway = await gatewayFor(
    t,
    {
      yaml: `agents:\n  - {name: agent, upstream: {url: "${agent.url}"}, enforceOn: messages, passthrough: [/docs]}\n  - {name: dead, path: /dead, upstream: {url: "${dead.url}"}}`
    },
    false
  )
  await until(async () => (await rpc(`${gateway.url}/rpc`, 'GetTask', {})).status === 200)
  await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['a2a-extensions', REQUIRED])
  await rpc(`${gateway.url}/rpc`)
  await rpc(`${gateway.url}/rpc`, 'client-made-name')
  await call(`${gateway.url}/rest/v1/tasks/1`)
  await call(`${gateway.url}/rest/tasks/die`, { headers: V1 })
  await call(`${gateway.url}/nowhere/client-made-path`, { headers: [...V1, 'x', 'y'] })
  await call(`${gateway.url}/.well-known/agent-card.json`)
  await call(`${gateway.url}/docs/x`)
  await call(`${gateway.url}/rpc`, { method: 'OPTIONS', headers: V1 })
  await call(`${gateway.url}/dead/rpc`, { headers: [...JSON_TYPE, 'a2a-version', '99.99'], body: '{}' })
  const outgoing = open(`${gateway.url}/rest/tasks/wait:subscribe`, { headers: V1 })
  outgoing.on('error', () => {})
  outgoing.end()
  const [incoming] = await once(outgoing, 'response')
  incoming.on('error', () => {})
  outgoing.destroy()
  const expected = [
    'agent="agent",operation="GetTask",binding="JSONRPC",version="1.0",outcome="forwarded"',
    'agent="agent",operation="SendMessage",binding="JSONRPC",version="1.0",outcome="forwarded"',
    'agent="agent",operation="SendMessage",binding="JSONRPC",version="1.0",outcome="rejected"',
    'agent="agent",operation="Other",binding="JSONRPC",version="1.0",outcome="rejected"',
    'agent="agent",operation="GetTask",binding="HTTP+JSON",version="0.3",outcome="forwarded"',
    'agent="agent",operation="GetTask",binding="HTTP+JSON",version="1.0",outcome="upstream_error"',
    'agent="agent",operation="Other",binding="HTTP+JSON",version="1.0",outcome="rejected"',
    'agent="agent",operation="AgentCard",binding="HTTP+JSON",version="0.3",outcome="forwarded"',
    'agent="agent",operation="Passthrough",binding="HTTP+JSON",version="1.0",outcome="forwarded"',
    'agent="agent",operation="Preflight",binding="HTTP+JSON",version="1.0",outcome="forwarded"',
    'agent="dead",operation="Other",binding="HTTP+JSON",version="1.0",outcome="upstream_error"',
    'agent="agent",operation="SubscribeToTask",binding="HTTP+JSON",version="1.0",outcome="client_aborted"'
  ]
  for (const labels of expected) {
    await until(async () => await gateway.metric(`a2a_gateway_requests_total{${labels}}`) >= 1, labels)
    t.ok(await gateway.metric(`a2a_gateway_requests_total{${labels}}`) >= 1, labels)
  }
  const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  t.equal(text.split('\n').filter(line => line.startsWith('a2a_gateway_requests_total{')).length, expected.length, 'and nothing else')
  t.notMatch(text, /client-made|99\.99|127\.0\.0\.1|nowhere/)
  t.match(text, /a2a_gateway_request_duration_seconds_count\{agent="agent",operation="SendMessage",outcome="rejected"\} 1/)
  t.match(text, /a2a_gateway_decision_duration_seconds_count\{agent="agent"\} \d/)
  t.match(text, /a2a_gateway_upstream_duration_seconds_count\{agent="agent",operation="SendMessage"\} 1/)
  t.match(text, /a2a_gateway_upstream_errors_total\{agent="agent",kind="reset"\} 1/)
  t.match(
    text,
    new RegExp(`a2a_gateway_violations_total\\{agent="agent",extension="${REQUIRED}",rule="required",phase="request",mode="enforce"\\} 1`)
  )
  t.match(text, /a2a_gateway_card_age_seconds\{agent="agent"\} /)
  t.match(text, /a2a_gateway_card_refreshes_total\{agent="dead",outcome="invalid"\} [1-9]/)
  t.match(text, /a2a_gateway_config_info\{hash="[^"]+"\} 1/)
  t.match(text, /a2a_gateway_streams_active\{agent="agent"\} 0/)
})

const POLICIES = `extensions:
  mine: {uri: "${OBSERVED}", activation: {default: inject}}
  data: {uri: "${SCHEMAS}", request: [{id: shape, select: {part: {data: true}}, schema: {type: object, required: [total], properties: {total: {type: number}}}}]}`

async function observable (t: Test): Promise<{ agent: Awaited<ReturnType<typeof fakeAgent>>, gateway: TestGateway, collected: Collector }> {
  const collected = await collector(t)
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { extensions: [{ uri: REQUIRED, required: true }, { uri: OBSERVED }, { uri: SCHEMAS }] } }),
    answer: (request, response) => {
      if (request.url.includes('die')) response.socket?.resetAndDestroy()
      else {
        response
          .setHeader('content-type', 'application/json')
          .end(
            `{"jsonrpc":"2.0","id":${/"id":("[^"]*"|\d+)/.exec(request.body.toString())?.[1] ?? 1},"result":{"message":{"role":"ROLE_AGENT","messageId":"a","parts":[{"text":"MARKER-answer"}],"metadata":{"k":"MARKER-answer-metadata"}}}}`
          )
      }
    }
  })
  const gateway = await gatewayFor(t, {
    yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"}, extensions: [mine, data], passthrough: [/docs]}]\n${POLICIES}\ntelemetry: {logs: {level: trace}, traces: {enabled: true}}`,
    env: traced(collected.url)
  })
  return { agent, gateway, collected }
}

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

t.test('a call is a SERVER and a CLIENT span in the caller\'s trace, and the agent continues the trace', async t => {
  const { agent, gateway, collected } = await observable(t)
  await rpc(
    `${gateway.url}/rpc`,
    'SendMessage',
    { message: MESSAGE },
    ['traceparent', `00-${TRACE}-${PARENT}-01`, 'tracestate', 'a=b', 'a2a-extensions', `${REQUIRED},urn:unknown`],
    '"id-7"'
  )
  const refused = await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['traceparent', `00-${TRACE}-${PARENT}-01`])
  t.match(refused.json(), { error: { code: -32008 } })
  await gateway.close()
  const spans = collected.spans().filter(span => span.traceId === TRACE)
  const servers = spans.filter(span => span.kind === SERVER)
  t.equal(servers.length, 2)
  const [forwarded, rejected] = [
    servers.find(span => span.attributes['a2a_gateway.decision'] === 'forward'),
    servers.find(span => span.attributes['a2a_gateway.decision'] === 'reject')
  ]
  t.match(forwarded, { name: 'SendMessage', parent: PARENT })
  t.match(forwarded?.attributes, {
    'a2a.method.name': 'SendMessage',
    'rpc.system.name': 'jsonrpc',
    'rpc.method': 'SendMessage',
    'jsonrpc.protocol.version': '2.0',
    'http.request.method': 'POST',
    'url.path': '/rpc',
    'url.scheme': 'http',
    'server.address': '127.0.0.1',
    'server.port': new URL(gateway.url).port,
    'jsonrpc.request.id': 'id-7',
    'a2a_gateway.agent': 'agent',
    'a2a.extension.requested': [REQUIRED, 'urn:unknown'],
    'a2a.extension.active': [REQUIRED],
    'a2a.extension.injected': [OBSERVED]
  })
  t.match(rejected?.attributes, {
    'a2a.extension.missing': [REQUIRED],
    'a2a_gateway.rule': `${REQUIRED}/required`,
    'rpc.response.status_code': '-32008',
    'error.type': '-32008'
  })
  t.equal(rejected?.status, 2, 'an error object is an error, by the semantic conventions of JSON-RPC')
  t.equal(forwarded?.status, 0)
  const clients = spans.filter(span => span.kind === CLIENT)
  t.match(clients[0]?.attributes, {
    'rpc.system.name': 'jsonrpc',
    'rpc.method': 'SendMessage',
    'http.request.method': 'POST',
    'url.path': '/rpc',
    'url.scheme': 'http',
    'server.address': '127.0.0.1',
    'server.port': new URL(agent.url).port
  })
  t.equal(clients.length, 1, 'nothing was dialled for the refused one')
  t.equal(clients[0]?.parent, forwarded?.spanId)
  t.equal(agent.received.length, 1)
  t.equal(agent.received[0]?.headers.traceparent, `00-${TRACE}-${clients[0]?.spanId}-01`)
  t.equal(agent.received[0]?.headers.tracestate, 'a=b')
  t.match(gateway.audits(), [{ trace_id: TRACE, decision: 'rejected' }])
})

t.test('a span has the decision about the response, and values that policies report', async t => {
  const collected = await collector(t)
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { extensions: [{ uri: REQUIRED }, { uri: OBSERVED }] } }),
    answer: (_request, response) => {
      response
        .setHeader('content-type', 'application/json')
        .end(
          '{"jsonrpc":"2.0","id":1,"result":{"message":{"role":"ROLE_AGENT","messageId":"a","parts":[{"text":"x"}],"metadata":{"cost":3,"note":"MARKER"}}}}'
        )
    }
  })
  const policy = `  mine: {uri: "${OBSERVED}", mode: enforce, owns: {metadata: [cost]}, observe: {spanAttributes: {answer.cost: {metadata: {key: cost}}}}, response: [{id: note, select: {metadata: {key: note}}, count: {max: 0}, verdict: strip}]}`
  for (const responses of ['enforce', 'observe']) {
    const gateway = await gatewayFor(t, {
      yaml: `agents: [{name: ${responses}, responses: ${responses}, upstream: {url: "${agent.url}"}, extensions: [mine]}]\nextensions:\n${policy}\ntelemetry: {logs: {level: silent}, traces: {enabled: true}}`,
      env: traced(collected.url)
    })
    await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['a2a-extensions', `${REQUIRED},${OBSERVED}`])
    await gateway.close()
    const span = collected.spans().find(span => span.kind === SERVER && span.attributes['a2a_gateway.agent'] === responses)
    t.match(span?.attributes, {
      'a2a_gateway.decision': 'forward',
      'a2a_gateway.answer': responses === 'enforce' ? 'edit' : 'observe',
      'answer.cost': 3,
      'a2a.extension.confirmed': [OBSERVED],
      'a2a.extension.absent': [REQUIRED]
    })
    t.same(span?.attributes['a2a_gateway.answer.edited'], responses === 'enforce' ? ['mine/note'] : undefined)
  }
  t.notMatch(collected.texts.join(''), /MARKER/)
})

t.test('without tracing the caller\'s trace passes unchanged', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"}}]` })
  await rpc(`${gateway.url}/rpc`, 'GetTask', {}, ['traceparent', `00-${TRACE}-${PARENT}-01`, 'tracestate', 'a=b'])
  t.match(agent.received[0]?.headers, { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'a=b' })
  await rpc(`${gateway.url}/rpc`, 'GetTask', {})
  t.equal(agent.received[1]?.headers.traceparent, undefined)
})

t.test('telemetry contains no content, no metadata and no credential', async t => {
  const { agent, gateway, collected } = await observable(t)
  const secret = [
    'authorization',
    'Bearer MARKER-token-1234567890',
    'cookie',
    'session=MARKER-cookie',
    'x-api-key',
    'MARKER-key',
    'proxy-authorization',
    'Basic TUFSS0VS',
    'x-custom',
    'MARKER-custom'
  ]
  const ok = ['a2a-extensions', REQUIRED]
  const message = (data: unknown): object => ({
    message: {
      messageId: 'MARKER-mid',
      role: 'ROLE_USER',
      parts: [
        { text: 'MARKER-text' },
        { data, mediaType: 'application/json', filename: 'MARKER-file' },
        { raw: 'TUFSS0VS', filename: 'MARKER-raw' },
        { url: 'https://x.example/MARKER-url' }
      ],
      metadata: { 'MARKER-key': 'MARKER-value' }
    },
    metadata: { k: 'MARKER-meta' },
    configuration: { taskPushNotificationConfig: { url: 'https://hook.example/MARKER-hook', token: 'MARKER-hook-token' } }
  })
  t.match(
    (await rpc(`${gateway.url}/rpc`, 'SendMessage', message({ total: 1, note: 'MARKER-data' }), [...secret, ...ok])).text,
    'MARKER-answer',
    'forwarded'
  )
  t.match(
    (await rpc(`${gateway.url}/rpc`, 'SendMessage', message({ total: 'MARKER-data' }), [...secret, ...ok])).json(),
    { error: { code: -32602 } },
    'refused for its data'
  )
  t.match(
    (await rpc(`${gateway.url}/rpc`, 'SendMessage', message({ total: 1 }), secret)).json(),
    { error: { code: -32008 } },
    'refused for its headers'
  )
  const broken = await call(`${gateway.url}/rpc`, {
    headers: [...JSON_TYPE, ...V1, ...secret],
    body: '{"MARKER-broken": "MARKER-broken", '
  })
  t.notMatch(broken.text, 'MARKER')
  for (const body of [
    rpcBody('MARKER-method', {}),
    rpcBody('SendMessage', 'MARKER-params'),
    '{"jsonrpc":"MARKER","id":1,"method":"SendMessage"}',
    '["MARKER"]',
    '"MARKER"'
  ]) {
    const got = await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1, ...secret, ...ok], body })
    t.notMatch(got.text, 'MARKER', body)
  }
  await call(`${gateway.url}/rest/message:send?key=MARKER-query`, {
    headers: [...JSON_TYPE, ...V1, ...secret, ...ok],
    body: JSON.stringify(message({ total: 2 }))
  })
  await call(`${gateway.url}/rest/tasks/die?key=MARKER-query`, { headers: [...V1, ...secret] })
  await call(`${gateway.url}/docs/x?key=MARKER-query`, { headers: secret, body: 'MARKER-body' })
  await call(`${gateway.url}/rest/tasks/1`, { headers: [...V1, ...secret, 'upgrade', 'MARKER', 'connection', 'upgrade'] }).catch(() => {})
  t.ok(agent.received.length >= 3)
  await gateway.close()
  const logs = JSON.stringify(gateway.logs())
  const audits = JSON.stringify(gateway.audits())
  t.ok(logs.length > 500 && gateway.audits().length >= 7 && collected.spans().length >= 10, 'there is something to look through')
  for (const [name, text] of [['logs', logs], ['audit lines', audits], ['spans', collected.texts.join('\n')]] as const) {
    const at = text.search(/MARKER|TUFSS0VS/)
    t.equal(at === -1 ? '' : text.slice(Math.max(0, at - 200), at + 60), '', name)
  }
})

t.test('a request is one log line, at the level of its outcome', async t => {
  const agent = await fakeAgent(t, {
    answer: (request, response) => {
      if (request.url.includes('die')) response.socket?.resetAndDestroy()
      else response.end('{}')
    }
  })
  const gateway = await gatewayFor(t, {
    yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"}}]\ntelemetry: {logs: {level: debug}}`
  })
  await rpc(`${gateway.url}/rpc`, 'GetTask', {})
  await call(`${gateway.url}/nowhere`, { headers: V1 })
  await call(`${gateway.url}/rest/tasks/die`, { headers: V1 })
  await until(() => gateway.logs().filter(line => line.msg === 'request').length === 3)
  t.match(
    gateway.logs().filter(line => line.msg === 'request'),
    [
      {
        level: 'debug',
        agent: 'agent',
        operation: 'GetTask',
        binding: 'JSONRPC',
        version: '1.0',
        status: 200,
        outcome: 'forwarded',
        duration_ms: Number,
        request_id: String
      },
      { level: 'info', operation: 'Other', status: 404, outcome: 'rejected' },
      { level: 'info', operation: 'GetTask', status: 502, outcome: 'upstream_error' }
    ]
  )
  t.equal(gateway.logs().filter(line => line.level === 'error').length, 0)
})

t.test('an unreachable collector changes nothing for callers', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, {
    yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"}}]\ntelemetry: {logs: {level: silent}, traces: {enabled: true}}`,
    env: traced('http://127.0.0.1:1')
  })
  for (let i = 0; i < 20; i++) t.equal((await rpc(`${gateway.url}/rpc`)).status, 200)
  await gateway.close()
})

/** Responds with a task in the next of some states: to a call with one, to a stream with all. */
function working (states: readonly string[]): (request: RawRequest, response: ServerResponse) => void {
  let at = 0
  return (request, response) => {
    const id = /"id":("[^"]*"|\d+)/.exec(request.body.toString())?.[1] ?? '1'
    const result = (state: string): string =>
      `{"jsonrpc":"2.0","id":${id},"result":{"task":{"id":"t-1","contextId":"c-1","status":{"state":"${state}"},"metadata":{"odd":1}}}}`
    if (request.body.includes('"text"}')) {
      response.setHeader('content-type', 'text/plain').end('no JSON')
      return
    }
    if (request.body.includes('"garbage"}')) {
      response.setHeader('content-type', 'application/json').end('{')
      return
    }
    if (!request.url.startsWith('/rpc')) {
      response.setHeader('content-type', 'application/json').end('{"id":"t-7","status":{"state":"TASK_STATE_WORKING"}}')
      return
    }
    if (!request.body.includes('SendStreamingMessage')) {
      response.setHeader('content-type', 'application/json').end(result(states[at++ % states.length] ?? '').replace('{"task":', '').replace(/}$/, ''))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const state of states) response.write(`data: ${result(state)}\n\n`)
    response.end()
  }
}

t.test('spans, log lines and audit lines have the ids of task and context, from the request or the response', async t => {
  const agent = await fakeAgent(t, {
    answer: working(['TASK_STATE_WORKING']),
    card: url => plainCard(url, { capabilities: { extensions: [{ uri: SCHEMAS }] } })
  })
  const policies = `extensions:
  data: {uri: "${SCHEMAS}", request: [{id: shape, select: {part: {data: true}}, schema: {type: object, required: [total]}}], response: [{id: odd, select: {metadata: {in: [task], key: odd}}, count: {max: 0}}]}`
  const gateway = await gatewayFor(t, {
    yaml: `agents: [{name: agent, responses: observe, upstream: {url: "${agent.url}"}, extensions: [data]}]\n${policies}\ntelemetry: {logs: {level: debug}}`,
    env: { OTEL_TRACES_EXPORTER: 'console' }
  })
  const on = ['a2a-extensions', SCHEMAS]
  await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: { ...MESSAGE, taskId: 't-9', contextId: 'c-9', parts: [{ data: {} }] } }, on)
  await rpc(`${gateway.url}/rpc`, 'GetTask', { id: 't-8' }, on)
  await call(`${gateway.url}/rest/tasks/t-7`, { headers: V1 })
  await rpc(`${gateway.url}/rpc`, 'ListTasks', { contextId: 'c-6' })
  await rpc(`${gateway.url}/rpc`, 'SendStreamingMessage', { message: MESSAGE }, on)
  const expected = [['t-9', 'c-9'], ['t-8', 'c-1'], ['t-7', undefined], [undefined, 'c-6'], ['t-1', 'c-1']]
  const lines = (): Record<string, unknown>[] => gateway.logs().filter(line => line.msg === 'request')
  await until(() => lines().length >= expected.length && gateway.spans().length >= 9, 'all lines and spans')
  t.same(lines().map(line => [line.task_id, line.context_id]), expected, 'log')
  const servers = gateway.spans().filter(span => span.kind === 'SERVER').map(span => span.attributes as Record<string, unknown>)
  t.same(servers.map(span => [span['a2a.task.id'], span['a2a.context.id']]), expected, 'spans')
  t.match(gateway.audits(), [
    { phase: 'request', decision: 'rejected', task_id: 't-9', context_id: 'c-9' },
    { phase: 'response', decision: 'observed', task_id: 't-8', context_id: 'c-1' },
    { phase: 'response', decision: 'observed', task_id: 't-1', context_id: 'c-1' }
  ])
})

t.test('telemetry.audit.forwarded: a line for each forwarded call and for each change of a task\'s state', async t => {
  const agent = await fakeAgent(t, { answer: working(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']) })
  const start = async (audit: string): Promise<TestGateway> =>
    gatewayFor(t, { yaml: `agents: [{name: agent, responses: off, upstream: {url: "${agent.url}"}}]\ntelemetry: {audit: ${audit}}` })
  const gateway = await start('{forwarded: true}')
  const direct = await call(`${agent.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: rpcBody('SendStreamingMessage', { message: MESSAGE }) })
  const through = await rpc(`${gateway.url}/rpc`, 'SendStreamingMessage', { message: MESSAGE }, ['accept', 'text/event-stream'])
  t.equal(through.text, direct.text, 'the same bytes')
  await rpc(`${gateway.url}/rpc`, 'nonsense')
  for (let i = 0; i < 2; i++) await rpc(`${gateway.url}/rpc`, 'GetTask', { id: 't-1' })
  await rpc(`${gateway.url}/rpc`, 'CancelTask', { id: 'text' })
  await rpc(`${gateway.url}/rpc`, 'CancelTask', { id: 'garbage' })
  await call(`${gateway.url}/.well-known/agent-card.json`)
  await until(() => gateway.audits().filter(line => line.phase === 'call').length === 5, 'a line for each call')
  const pick = (line: Record<string, unknown>): unknown[] =>
    [line.phase, line.decision, line.operation, line.task_state ?? line.outcome, line.previous_state ?? line.status ?? null, line.task_id]
  t.same(gateway.audits().filter(line => line.decision !== 'rejected').map(pick), [
    ['task', 'changed', 'SendStreamingMessage', 'submitted', null, 't-1'],
    ['task', 'changed', 'SendStreamingMessage', 'working', 'submitted', 't-1'],
    ['task', 'changed', 'SendStreamingMessage', 'completed', 'working', 't-1'],
    ['call', 'forwarded', 'SendStreamingMessage', 'forwarded', 200, 't-1'],
    ['task', 'changed', 'GetTask', 'submitted', 'completed', 't-1'],
    ['call', 'forwarded', 'GetTask', 'forwarded', 200, 't-1'],
    ['task', 'changed', 'GetTask', 'working', 'submitted', 't-1'],
    ['call', 'forwarded', 'GetTask', 'forwarded', 200, 't-1'],
    ['call', 'forwarded', 'CancelTask', 'forwarded', 200, 'text'],
    ['call', 'forwarded', 'CancelTask', 'forwarded', 200, 'garbage']
  ])
  t.equal(await gateway.metric('a2a_gateway_answers_unread_total'), 0)
  t.equal(await gateway.metric('a2a_gateway_violations_total{phase="response"}'), 0)
  const plain = await start('{enabled: true}')
  await rpc(`${plain.url}/rpc`, 'GetTask', { id: 't-1' })
  await rpc(`${plain.url}/rpc`, 'nonsense')
  await until(() => plain.audits().length > 0, 'the rejection')
  t.same(plain.audits().map(line => line.phase), ['request'], 'off by default')
})

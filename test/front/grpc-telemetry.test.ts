/** What metrics, spans, log lines, audit lines and the console say about calls over gRPC. */
import t from 'tap'
import { until } from '../helpers/http.js'
import { grpcAgent, grpcGateway, HELLO, REPLY, reply, requestOf } from './grpc-kit.js'

const ROOT = ['telemetry: {audit: {forwarded: true}}', 'extensions:', '  orders:', '    uri: urn:orders', '    mode: enforce', '    request:']
const RULE = '      - {id: note, select: {metadata: {key: note}}, count: {max: 0}}'
const BAD = requestOf({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'a' }], metadata: { note: 'hush-4711' } } })
/** google/rpc/code.proto, by number. */
const STATUSES = [
  'OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS', 'PERMISSION_DENIED', 'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE', 'UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'
]
const TRACED = { OTEL_TRACES_EXPORTER: 'console' }
const METHOD = 'lf.a2a.v1.A2AService/SendMessage'

type Line = Record<string, unknown>
const attributes = (span: Line): Line => span.attributes as Line

t.test('each status of the agent', async t => {
  const agent = await grpcAgent(t, {
    answer: call => {
      const status = String(call.headers['x-status'])
      reply(call, status === '0' ? [REPLY] : [], { 'grpc-status': status, 'grpc-message': 'hush-4711' })
    }
  })
  const gateway = await grpcGateway(t, agent, { root: ['telemetry: {audit: {forwarded: true}}'], env: TRACED })
  const codes = [...STATUSES.keys(), 99]
  for (const code of codes) await gateway.client.call({ body: HELLO, headers: { 'x-status': String(code) } })
  const wanted = new Map(STATUSES.map(name => [name, name === 'UNKNOWN' ? 2 : 1]))
  for (const [status, times] of wanted) {
    const sample = `a2a_gateway_grpc_responses_total{agent="agent",operation="SendMessage",status="${status}"}`
    await until(async () => await gateway.metric(sample) === times, sample)
  }
  await until(() => gateway.spans().length === 2 * codes.length)
  const servers = gateway.spans().filter(({ kind }) => kind === 'SERVER')
  const clients = gateway.spans().filter(({ kind }) => kind === 'CLIENT')
  t.same(servers.map(one => attributes(one)['rpc.response.status_code']), codes.map(code => STATUSES[code] ?? 'UNKNOWN'))
  t.same(clients.map(one => attributes(one)['rpc.response.status_code']), codes.map(code => STATUSES[code] ?? 'UNKNOWN'))
  for (const span of [...servers, ...clients]) {
    t.match(span, { name: 'SendMessage', attributes: { 'rpc.system.name': 'grpc', 'rpc.method': METHOD, 'url.path': `/${METHOD}` } })
    t.notOk('jsonrpc.protocol.version' in attributes(span))
  }
  t.match(clients[0], { attributes: { 'server.address': '127.0.0.1', 'server.port': agent.port, 'url.scheme': 'http' } })
  const calls = gateway.audits().filter(({ phase }) => phase === 'call')
  t.same(calls.map(line => [line.binding, line.grpc_status]), codes.map(code => ['GRPC', STATUSES[code] ?? 'UNKNOWN']))
  const lines = gateway.logs().filter(({ msg, grpc_status: status }) => msg === 'request' && status !== 'OK')
  t.match(lines[0], { binding: 'GRPC', version: '1.0', status: 200, grpc_status: 'CANCELLED', outcome: 'agent_error' })
  t.notMatch(JSON.stringify([gateway.spans(), gateway.logs(), gateway.audits()]), 'hush-4711')
})

t.test('a rejection: its status on the SERVER span only, and in the console', async t => {
  const agent = await grpcAgent(t, { card: { capabilities: { extensions: [{ uri: 'urn:orders' }] } } })
  const gateway = await grpcGateway(t, agent, { root: [...ROOT, RULE], agent: ['extensions: [orders]'], env: TRACED })
  const got = await gateway.client.call({ body: BAD, headers: { 'a2a-extensions': 'urn:orders' } })
  t.equal(got.status, 3, got.message)
  t.equal(agent.calls.length, 0)
  await until(() => gateway.spans().length === 1)
  t.match(gateway.spans()[0], {
    kind: 'SERVER',
    name: 'SendMessage',
    attributes: {
      'rpc.system.name': 'grpc',
      'rpc.method': METHOD,
      'rpc.response.status_code': 'INVALID_ARGUMENT',
      'a2a_gateway.decision': 'reject',
      'a2a_gateway.rule': 'orders/note',
      'a2a_gateway.outcome': 'rejected'
    }
  })
  t.match(gateway.audits()[0], { phase: 'request', decision: 'rejected', binding: 'GRPC', rule: 'note' })
  const sample = 'a2a_gateway_grpc_responses_total{agent="agent",operation="SendMessage",status="INVALID_ARGUMENT"}'
  await until(async () => await gateway.metric(sample) === 1)
  const page = await fetch(`${gateway.adminUrl}/console/api/decisions`)
  const reader = (page.body as ReadableStream<Uint8Array>).getReader()
  let shown = ''
  while (!shown.includes('"entries":[{')) shown += Buffer.from((await reader.read()).value ?? []).toString()
  await reader.cancel()
  for (const text of ['"binding":"GRPC"', '"grpcStatus":"INVALID_ARGUMENT"', '"rule":"orders/note"']) t.match(shown, text)
})

t.test('an unknown method has a status, and no operation', async t => {
  const gateway = await grpcGateway(t, await grpcAgent(t), { env: TRACED })
  await gateway.client.call({ path: '/lf.a2a.v1.A2AService/Nothing', body: HELLO })
  await until(() => gateway.spans().length === 1)
  t.match(gateway.spans()[0], { name: 'request', attributes: { 'rpc.system.name': 'grpc', 'rpc.response.status_code': 'UNIMPLEMENTED' } })
})

t.test('edits of policies reach the message', async t => {
  const agent = await grpcAgent(t, { card: { capabilities: { extensions: [{ uri: 'urn:given' }] } } })
  const gateway = await grpcGateway(t, agent, {
    root: ['extensions:', '  given: {uri: urn:given, activation: {default: inject}, inject: [{metadata: given, value: 7}]}'],
    agent: ['extensions: [given]'],
    env: TRACED
  })
  t.equal((await gateway.client.call({ body: HELLO })).status, 0)
  t.match(Buffer.concat(agent.calls[0]?.chunks ?? []).toString('latin1'), 'given')
  await until(() => gateway.spans().length === 2)
  t.same(attributes(gateway.spans().find(({ kind }) => kind === 'SERVER') as Line)['a2a_gateway.edited'], ['given/inject'])
})

/** Policies on real gRPC calls: activation, rejections, edits of protobuf bytes, responses, callers and limits. */
import t from 'tap'
import { writeProtobuf } from '#wire/protobuf/write.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import { gatewayFor } from '../helpers/gateway.js'
import { RawGrpc } from '../helpers/grpc-raw.js'
import { MESSAGE, until } from '../helpers/http.js'
import { ACME, keyFiles, PARTNERS } from '../identity/kit.js'
import { EVENT, grpcAgent, grpcGateway, HELLO, readResponse, reply, requestOf, responseOf, yamlOf } from './grpc-kit.js'

const URI = 'https://x.test/ext/v1'
const OTHER = 'https://other.test/v1'
const declaring = (required: boolean): object => ({
  capabilities: { streaming: true, pushNotifications: true, extensions: [{ uri: URI, required }, { uri: OTHER }] }
})
const POLICY = ['extensions:', `  ext: {uri: "${URI}", owns: {metadata: [x]}, inactive: {request: strip, response: strip}}`]
const readRequest = (frame: Buffer): unknown => {
  const read = readProtobuf(frame.subarray(5), grpcMethodFor('SendMessage', '1.0')?.request as never, { depth: 50, members: 1_000 })
  return read.ok ? read.value : read.problem
}

t.test('a required extension: without it a rejection in trailers, with it the activation both ways', async t => {
  const agent = await grpcAgent(t, {
    card: declaring(true),
    answer: call => {
      const late = call.headers['x-late'] !== undefined
      reply(call, undefined, { 'grpc-status': '0', ...(late ? { 'a2a-extensions': URI } : {}) }, late ? {} : { 'a2a-extensions': URI })
    }
  })
  const { client } = await grpcGateway(t, agent, { agent: ['extensions: [ext]'], root: POLICY })
  const refused = await client.call({ body: HELLO })
  t.match(refused, { status: 9, trailersOnly: true, message: new RegExp(URI) })
  t.ok(refused.headers['grpc-status-details-bin'])
  t.match(refused.headers['gateway-decision'], /reject/)
  t.equal(agent.calls.length, 0)
  for (const lines of [[URI, OTHER], `${URI},${OTHER}`]) {
    const got = await client.call({ body: HELLO, headers: { 'a2a-extensions': lines } })
    t.match(got, { status: 0 })
    t.equal(got.headers['a2a-extensions'], URI)
    t.equal(got.trailers['a2a-extensions'], URI, 'clients look in either place')
    const raw = agent.calls.at(-1)?.raw ?? []
    t.same(raw.filter((_, i) => raw[i - 1] === 'a2a-extensions'), [URI, OTHER], 'a line for each')
  }
  const late = await client.call({ body: HELLO, headers: { 'a2a-extensions': URI, 'x-late': '1' } })
  t.equal(late.trailers['a2a-extensions'], URI)
})

t.test('edits: stripped and injected data in requests and responses, at the spot', async t => {
  const task = { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_COMPLETED' }, metadata: { x: 1, kept: 2 } }
  const agent = await grpcAgent(t, { card: declaring(false), answer: call => { reply(call, [responseOf({ task })]) } })
  const gateway = await grpcGateway(t, agent, {
    agent: ['extensions: [ext]', 'mode: enforce', 'responses: enforce'],
    root: [
      ...POLICY.slice(0, 1),
      `  ext: {uri: "${URI}", owns: {metadata: [x]}, inactive: {request: strip, response: strip}, inject: [{metadata: $uri/token, fromSecret: {env: TOKEN}}]}`
    ],
    env: { TOKEN: 'a-secret-value' }
  })
  const message = { ...MESSAGE, metadata: { x: { deep: true }, kept: 1 } }
  const stripped = await gateway.client.call({ body: requestOf({ message }) })
  t.match(stripped, { status: 0 })
  t.same(readRequest(Buffer.concat(agent.calls[0]?.chunks ?? [])), { message: { ...MESSAGE, metadata: { kept: 1 } } })
  t.same(readResponse(stripped.messages[0] as Buffer), { task: { ...task, metadata: { kept: 2 } } })
  const active = await gateway.client.call({ body: requestOf({ message }), headers: { 'a2a-extensions': URI } })
  t.match(active, { status: 0 })
  t.same(readRequest(Buffer.concat(agent.calls[1]?.chunks ?? [])), {
    message: { ...MESSAGE, metadata: { x: { deep: true }, kept: 1, [`${URI}/token`]: 'a-secret-value' } }
  })
})

t.test('callers: a missing key is UNAUTHENTICATED, and the agent does not get the key', async t => {
  const agent = await grpcAgent(t)
  const { client } = await grpcGateway(t, agent, {
    root: ['identity: {sources: {' + PARTNERS + '}}'],
    agent: ['access: {require: [[partners]]}'],
    baseDir: keyFiles(t)
  })
  t.match(await client.call({ body: HELLO }), { status: 16, trailersOnly: true })
  t.match(await client.call({ body: HELLO, headers: { 'x-api-key': 'wrong' } }), { status: 16 })
  t.equal(agent.calls.length, 0)
  t.match(await client.call({ body: HELLO, headers: { 'x-api-key': ACME } }), { status: 0 })
  t.equal(agent.calls[0]?.headers['x-api-key'], undefined)
})

t.test('callers: a stranger does not learn which methods exist', async t => {
  const agent = await grpcAgent(t)
  const { client } = await grpcGateway(t, agent, {
    root: ['identity: {sources: {' + PARTNERS + '}}'],
    agent: ['access: {require: [[partners]]}'],
    baseDir: keyFiles(t)
  })
  const path = '/lf.a2a.v1.A2AService/Nothing'
  t.match(await client.call({ path, body: HELLO }), { status: 16, trailersOnly: true })
  t.match(await client.call({ path, body: HELLO, headers: { 'x-api-key': ACME } }), { status: 12, trailersOnly: true })
})

t.test('an agent without a card: rates apply before the rejection', async t => {
  const agent = await grpcAgent(t)
  const yaml = yamlOf({ url: 'http://127.0.0.1:1', port: agent.port }, { root: ['rates: [{id: few, by: [address], rate: 1/1h}]'] })
  const client = await RawGrpc.to((await gatewayFor(t, { yaml }, false)).grpc[0] as string)
  t.teardown(() => { client.close() })
  t.match(await client.call({ body: HELLO }), { status: 14, message: /AgentCard/ })
  t.match(await client.call({ body: HELLO }), { status: 8 })
})

t.test('a stream whose message breaks a rule ends with the status of the rejection', async t => {
  const bad = responseOf({ statusUpdate: { taskId: 't1', contextId: 'c1', status: { state: 'TASK_STATE_WORKING', message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ data: { total: 'x' } }] } } } }, 'SendStreamingMessage')
  const agent = await grpcAgent(t, { card: declaring(false), answer: call => { reply(call, [EVENT, bad, EVENT]) } })
  const gateway = await grpcGateway(t, agent, {
    agent: ['extensions: [ext]', 'mode: enforce', 'responses: enforce'],
    root: [
      'extensions:',
      `  ext: {uri: "${URI}", mode: enforce, response: [{id: total, verdict: reject, select: {part: {in: [status], data: true}}, schema: {type: object, properties: {total: {type: number}}}, required: false}]}`
    ]
  })
  const got = await gateway.client.call({ path: '/lf.a2a.v1.A2AService/SendStreamingMessage', body: HELLO, headers: { 'a2a-extensions': URI } })
  t.equal(got.messages.length, 1)
  t.match(got, { trailersOnly: false, message: /total/ })
  t.not(got.status, 0)
  await until(() => agent.calls[0]?.reset !== null)
})

t.test('a version that the agent does not offer, and an agent without gRPC', async t => {
  const agent = await grpcAgent(t)
  const gateway = await grpcGateway(t, agent)
  const old = grpcMethodFor('SendMessage', '0.3')
  const body = Buffer.concat([Buffer.from([0, 0, 0, 0, 0])])
  t.match(await gateway.client.call({ path: old?.path ?? '', body, headers: { 'a2a-version': undefined } }), { status: 9, message: /0\.3/ })
  t.equal(writeProtobuf({}, old?.request as never).length, 0)
  t.equal(agent.calls.length, 0)
})

t.test('the extended card names the public addresses of both listeners', async t => {
  let card: object = {}
  const agent = await grpcAgent(t, {
    card: { capabilities: { streaming: true, extendedAgentCard: true } },
    answer: call => { reply(call, [responseOf(card, 'GetExtendedAgentCard')]) }
  })
  const common = { protocolVersion: '1.0' }
  card = {
    name: 'more',
    description: 'more',
    version: '1',
    supportedInterfaces: [
      { url: `${agent.url}/rpc`, protocolBinding: 'JSONRPC', ...common },
      { url: `127.0.0.1:${agent.port}`, protocolBinding: 'GRPC', ...common }
    ],
    capabilities: { extendedAgentCard: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 's', name: 's', description: 's', tags: ['t'] }]
  }
  const gateway = await grpcGateway(t, agent)
  const body = requestOf({}, 'GetExtendedAgentCard')
  const got = await gateway.client.call({ path: '/lf.a2a.v1.A2AService/GetExtendedAgentCard', body, headers: { ':authority': 'agent.test:443' } })
  t.match(got, { status: 0 })
  const shown = readResponse(got.messages[0] as Buffer, 'GetExtendedAgentCard') as { supportedInterfaces?: { url: string }[] }
  const urls = (shown.supportedInterfaces ?? []).map(({ url }) => url)
  t.ok(urls.includes('agent.test:443'), urls.join(' '))
  t.notOk(urls.some(url => url.includes(String(agent.port)) || url.startsWith(agent.url)), 'none of the agent')
  t.same(urls.filter(url => url.startsWith('http')).map(url => new globalThis.URL(url).port).filter(port => port !== new globalThis.URL(gateway.url).port), [])
})

/** Calls through a gRPC listener, and the same calls explained: rejections, forwarded metadata and responses agree. */
import t from 'tap'
import type { Test } from 'tap'
import { explaining } from '../offline/explain-kit.js'
import type { RecordedResponse } from '#offline/recording/recorded-response.js'
import type { Explanation } from '#offline/explain/explanation.js'
import type { JsonObject } from '#wire/json/object.js'
import type { GrpcAgent, GrpcGateway } from './grpc-kit.js'
import { EVENT, grpcAgent, grpcGateway, reply, requestOf, responseOf, yamlOf } from './grpc-kit.js'

const LINES = ['responses: enforce', 'extensions: [orders, given]']
const ROOT = [
  'extensions:',
  '  given: {uri: urn:given, activation: {default: inject}, inject: [{metadata: given, value: 7}]}',
  '  orders:',
  '    uri: urn:orders',
  '    mode: enforce',
  '    owns: {dataKeys: [order], metadata: [note, bad]}',
  '    request: [{id: order, select: {part: {dataKey: order}}, schema: {type: object, required: [quantity]}}]',
  '    response:',
  '      - {id: note, select: {metadata: {key: note}}, count: {max: 0}, verdict: strip}',
  '      - {id: bad, select: {metadata: {key: bad}}, count: {max: 0}, verdict: reject}'
]
const CARD = { capabilities: { streaming: true, extensions: [{ uri: 'urn:orders', required: true }, { uri: 'urn:given' }] } }

const message = (part: object): object => ({ message: { messageId: 'm', role: 'ROLE_USER', parts: [part] } })
const ORDER = message({ data: { order: { quantity: 1 } } })
const REPLY = (metadata: object): object => ({ message: { messageId: 'r', role: 'ROLE_AGENT', parts: [{ text: 'b' }], metadata } })

type Explain = (call: object, metadata: Readonly<Record<string, string>>, response?: object, rpc?: string) => Promise<Explanation>

function received (value: object): RecordedResponse {
  return { status: 200, headers: ['content-type', 'application/json'], body: Buffer.from(JSON.stringify(value)), notes: [] }
}

function explainer (agent: GrpcAgent): Explain {
  const explain = explaining({ yaml: yamlOf(agent, { agent: LINES, root: ROOT }) })
  return async (body, metadata, response, rpc = 'SendMessage') => {
    const lines = Object.entries(metadata).map(([name, value]) => `${name}: ${value}`)
    const text = [`POST http://gw.example:443/lf.a2a.v1.A2AService/${rpc}`, ...lines, '', JSON.stringify(body)].join('\n')
    return await explain({ name: 'call', text }, response === undefined ? undefined : received(response))
  }
}

interface Both { readonly agent: GrpcAgent, readonly gateway: GrpcGateway, readonly explain: Explain }

async function both (t: Test, answer: Parameters<typeof grpcAgent>[1]): Promise<Both> {
  const agent = await grpcAgent(t, { card: CARD, ...answer })
  return { agent, gateway: await grpcGateway(t, agent, { agent: LINES, root: ROOT }), explain: explainer(agent) }
}

t.test('rejections: the same trailers', async t => {
  const { agent, gateway, explain } = await both(t, {})
  const rows: readonly [string, object, Record<string, string>][] = [
    ['required', message({ text: 'a' }), {}],
    ['data', message({ data: { order: {} } }), { 'a2a-extensions': 'urn:orders' }],
    ['version', ORDER, { 'a2a-version': '0.3', 'a2a-extensions': 'urn:orders' }],
    ['binary metadata', ORDER, { 'a2a-extensions-bin': 'AAEC' }]
  ]
  for (const [name, body, metadata] of rows) {
    const got = await gateway.client.call({ body: requestOf(body), headers: { 'a2a-version': undefined, ...metadata } })
    const { refusal, decision } = await explain(body, metadata)
    t.equal(decision, 'reject', name)
    const shown = Object.fromEntries((refusal?.headers ?? []).map(one => [one.name, one.value]))
    const { ':status': http, date: _, ...sent } = got.headers
    t.equal(http, refusal?.status, `${name}: status`)
    t.same(Object.fromEntries(Object.entries(sent)), shown, `${name}: trailers`)
    t.match(refusal?.grpc, { code: got.status, message: got.message }, `${name}: decoded`)
  }
  t.equal(agent.calls.length, 0)
})

t.test('a forwarded call: the same metadata and bytes', async t => {
  const { agent, gateway, explain } = await both(t, {})
  const metadata = { 'a2a-extensions': 'urn:orders', 'x-one': 'secret' }
  t.equal((await gateway.client.call({ body: requestOf(ORDER), headers: { 'a2a-version': undefined, ...metadata } })).status, 0)
  const { forwarded, edited } = await explain(ORDER, metadata)
  t.same(edited, ['given/inject'])
  const [call] = agent.calls
  const names = (call?.raw ?? []).filter((name, i) => i % 2 === 0 && !name.startsWith(':') && name !== 'via')
  t.same((forwarded?.headers ?? []).map(({ name }) => name).filter(name => name !== 'host').sort(), names.sort())
  for (const { name, value } of forwarded?.headers ?? []) {
    if (value !== '***' && /^(?:a2a-|te$|content-type|grpc-)/.test(name)) t.match(String(call?.headers[name]), value, name)
  }
  t.equal(forwarded?.body.bytes, Buffer.concat(call?.chunks ?? []).length - 5)
  t.equal(forwarded?.url, `grpc://127.0.0.1:${agent.port}/lf.a2a.v1.A2AService/SendMessage`)
})

t.test('responses: the same status, decision and size', async t => {
  const answers: readonly [string, object, string][] = [
    ['edited', REPLY({ note: 1, kept: 2 }), 'OK'],
    ['unchanged', REPLY({ kept: 2 }), 'OK'],
    ['rejected', REPLY({ bad: 1 }), 'INTERNAL']
  ]
  let wanted: object = {}
  const { gateway, explain } = await both(t, { answer: call => { reply(call, [responseOf(wanted)]) } })
  const metadata = { 'a2a-extensions': 'urn:orders' }
  for (const [name, value, status] of answers) {
    wanted = value
    const got = await gateway.client.call({ body: requestOf(ORDER), headers: metadata })
    const { answer } = await explain(ORDER, metadata, value)
    t.equal(answer?.delivered?.grpcStatus ?? answer?.refusal?.grpc?.name, status, name)
    t.equal(got.status, answer?.refusal?.grpc?.code ?? 0, `${name}: status`)
    const size = got.messages.reduce((sum, one) => sum + one.length + 5, 0)
    t.equal(answer?.delivered?.body.bytes ?? 0, size, `${name}: size`)
    if (answer?.refusal != null) {
      const shown = Object.fromEntries(answer.refusal.headers.map(one => [one.name, one.value]))
      t.equal(got.headers['grpc-status-details-bin'], shown['grpc-status-details-bin'], `${name}: details`)
    }
  }
})

t.test('a stream that a rejection ends', async t => {
  const event = (metadata: object): JsonObject => ({
    statusUpdate: { taskId: 't1', contextId: 'c1', status: { state: 'TASK_STATE_WORKING' }, metadata }
  } as JsonObject)
  const bad = responseOf(event({ bad: 1 }), 'SendStreamingMessage')
  const { gateway, explain } = await both(t, { answer: call => { reply(call, [EVENT, bad, EVENT]) } })
  const metadata = { 'a2a-extensions': 'urn:orders' }
  const got = await gateway.client.call({
    path: '/lf.a2a.v1.A2AService/SendStreamingMessage',
    body: requestOf(ORDER, 'SendStreamingMessage'),
    headers: metadata
  })
  const { answer } = await explain(ORDER, metadata, [event({}), event({ bad: 1 }), event({})], 'SendStreamingMessage')
  t.match(answer, { decision: 'reject', refusedEvent: 2, rule: 'orders/bad' })
  t.equal(got.messages.length, 1)
  t.equal(got.status, answer?.refusal?.grpc?.code)
  t.equal(got.message, answer?.refusal?.grpc?.message)
  const shown = Object.fromEntries((answer?.refusal?.headers ?? []).map(one => [one.name, one.value]))
  t.equal(got.trailers['grpc-status-details-bin'], shown['grpc-status-details-bin'])
})

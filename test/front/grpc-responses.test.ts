/** Response rules over gRPC, with policies of a configuration: rejected, changed and annotated messages, and echoed extensions. */
import t from 'tap'
import type { Test } from 'tap'
import { detailsIn } from '../helpers/rpc-status.js'
import type { RawResponse } from '../helpers/grpc-raw.js'
import { until } from '../helpers/http.js'
import type { AgentCall, GrpcGateway } from './grpc-kit.js'
import { grpcAgent, grpcGateway, HELLO, readResponse, reply, requestOf, responseOf } from './grpc-kit.js'

const URI = 'https://acme.example/ext/receipts/v1'
const MESSAGE = { messageId: 'r1', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] }
const STREAM = '/lf.a2a.v1.A2AService/SendStreamingMessage'
const receipt = (metadata: object): object => ({ message: { ...MESSAGE, metadata } })
const update = (metadata: object): object => ({ statusUpdate: { taskId: 't1', contextId: 'c1', status: { state: 'TASK_STATE_WORKING' }, metadata } })

const policyOf = (echo: string): readonly string[] => [
  'extensions:',
  '  receipts:',
  `    uri: ${URI}`,
  '    mode: enforce',
  `    echo: ${echo}`,
  '    owns: {metadata: [$uri]}',
  '    response:',
  '      - {id: whole, select: {metadata: {in: [message, event], key: $uri}}, schema: {type: object, required: [number]}, verdict: reject}',
  '      - {id: internal, select: {metadata: {in: [message, event], key: internal}}, schema: false, verdict: strip}',
  '      - {id: note, select: {metadata: {in: [message, event], key: note}}, schema: {type: string}, verdict: annotate}'
]

interface Calls extends GrpcGateway {
  unary (metadata: object): Promise<RawResponse>
  stream (...metadata: readonly object[]): Promise<RawResponse>
}

async function calls (t: Test, responses: string, echo = 'verify', named: { readonly head?: object, readonly trailers?: object } = {}): Promise<Calls> {
  let answer: (call: AgentCall) => void = () => {}
  const agent = await grpcAgent(t, {
    card: { capabilities: { streaming: true, extensions: [{ uri: URI }] } },
    answer: call => { answer(call) }
  })
  const gateway = await grpcGateway(t, agent, { agent: [`responses: ${responses}`, 'extensions: [receipts]'], root: policyOf(echo) })
  const send = (messages: readonly Buffer[]) => (call: AgentCall) => {
    reply(call, messages, { 'grpc-status': '0', ...named.trailers }, { ...named.head })
  }
  const headers = { 'a2a-extensions': URI }
  return {
    ...gateway,
    unary: async metadata => {
      answer = send([responseOf(receipt(metadata))])
      return await gateway.client.call({ body: HELLO, headers })
    },
    stream: async (...all) => {
      answer = send(all.map(metadata => responseOf(update(metadata), 'SendStreamingMessage')))
      const body = requestOf({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } }, 'SendStreamingMessage')
      return await gateway.client.call({ path: STREAM, body, headers })
    }
  }
}

const unaryOf = ({ messages }: RawResponse): unknown[] => messages.map(bytes => readResponse(bytes))
const eventsOf = ({ messages }: RawResponse): unknown[] => messages.map(bytes => readResponse(bytes, 'SendStreamingMessage'))

t.test('enforced: a unary response', async t => {
  const { unary } = await calls(t, 'enforce')
  const good = await unary({ [URI]: { number: 7 }, note: 'text' })
  t.same([good.status, good.trailers['gateway-decision']], [0, undefined])
  t.same(unaryOf(good), [receipt({ [URI]: { number: 7 }, note: 'text' })])
  const stripped = await unary({ [URI]: { number: 7 }, internal: { secret: 1 }, note: 7 })
  t.same(unaryOf(stripped), [receipt({ [URI]: { number: 7 }, note: 7 })], 'the value is removed from the bytes of the message')
  t.equal(stripped.trailers['gateway-decision'], 'warn;rule="receipts/note"')
  const rejected = await unary({ [URI]: {} })
  t.match(rejected, { status: 13, trailersOnly: true, messages: [] })
  t.match(rejected.message, /receipts\/whole/)
  const { code, message, details } = detailsIn(['grpc-status-details-bin', String(rejected.headers['grpc-status-details-bin'])])
  t.same([code, message], [13, rejected.message])
  t.match(details[0], { type: 'ErrorInfo', reason: 'INVALID_AGENT_RESPONSE', domain: 'a2a-protocol.org', metadata: { rule: 'whole', extension: URI } })
})

t.test('enforced: a stream', async t => {
  const { stream } = await calls(t, 'enforce')
  const good = { [URI]: { number: 7 } }
  const got = await stream({ ...good, internal: 1 }, { ...good, note: 7 }, { ...good, note: 8 }, {}, { [URI]: {} }, good)
  t.same(eventsOf(got), [good, { ...good, note: 7 }, { ...good, note: 8 }, {}].map(update))
  t.match(got, { http: 200, status: 13, trailersOnly: false, message: /receipts\/whole/ })
  t.equal(got.trailers['gateway-decision'], 'reject;rule="receipts/whole"')
  const whole = await stream(good, { ...good, note: 7 }, { ...good, note: 8 })
  t.same([whole.status, whole.trailers['gateway-decision'], whole.messages.length], [0, 'warn;rule="receipts/note"', 3])
})

t.test('observed: the bytes of the agent, and the violations in the metrics', async t => {
  const { unary, stream, metric } = await calls(t, 'observe')
  const hostile = { [URI]: {}, internal: 1, note: 7 }
  t.same(unaryOf(await unary(hostile)), [receipt(hostile)])
  const got = await stream(hostile, hostile)
  t.same([got.status, eventsOf(got)], [0, [update(hostile), update(hostile)]])
  const sample = 'a2a_gateway_violations_total{agent="agent",extension="receipts",rule="whole",phase="response",mode="observe"}'
  await until(async () => await metric(sample) === 3)
})

t.test('extensions that the agent names: both places, whatever the agent uses', async t => {
  for (const [named, inHead] of [
    [{ head: { 'a2a-extensions': [URI, 'urn:other'] } }, true],
    [{ head: { 'a2a-extensions': `${URI}, urn:other` } }, true],
    [{ trailers: { 'a2a-extensions': [URI, 'urn:other'] } }, false]
  ] as const) {
    for (const responses of ['enforce', 'observe']) {
      const { unary, stream } = await calls(t, responses, 'passthrough', named)
      for (const got of [await unary({}), await stream({}, {})]) {
        t.equal(got.trailers['a2a-extensions'], `${URI},urn:other`)
        if (inHead) t.equal(got.headers['a2a-extensions'], `${URI},urn:other`)
      }
    }
  }
})

t.test('echo: synthesize waits for the proof in the first message', async t => {
  const { unary, stream } = await calls(t, 'enforce', 'synthesize')
  const proof = { [URI]: { number: 7 } }
  for (const got of [await unary(proof), await stream(proof, {})]) {
    t.equal(got.headers['a2a-extensions'], URI)
    t.equal(got.trailers['a2a-extensions'], URI)
  }
  const late = await stream({}, proof)
  t.equal(late.headers['a2a-extensions'], undefined)
  t.equal(late.trailers['a2a-extensions'], URI, 'the trailers name what the head could not')
})

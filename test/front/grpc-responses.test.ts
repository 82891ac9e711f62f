/** Response rules over gRPC, with policies of a configuration: rejected, changed and annotated messages, and echoed extensions. */
import type { OutgoingHttpHeaders } from 'node:http2'
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
const MESSAGE_IN = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }
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
      const body = requestOf({ message: MESSAGE_IN }, 'SendStreamingMessage')
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

/** Policies by the kind of body that the gateway makes of a response: lines below the agent, and at the root. */
const KINDS: Readonly<Record<string, readonly [agent: readonly string[], root: readonly string[]]>> = {
  relayed: [[], []],
  observed: [['responses: observe', 'extensions: [receipts]'], policyOf('verify')],
  held: [['responses: enforce', 'extensions: [receipts]'], policyOf('verify')],
  passthrough: [[], []]
}

t.test('the shapes of a response: one frame of headers, head and trailers, with a message and without', async t => {
  const failed = { 'grpc-status': '5', 'grpc-message': 'No%20task' }
  const fine = { 'grpc-status': '0', 'x-own': '1' }
  const alone = (trailers: OutgoingHttpHeaders) => ({ stream }: AgentCall) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...trailers }, { endStream: true })
  }
  for (const [kind, [lines, root]] of Object.entries(KINDS)) {
    let answer: (call: AgentCall) => void = () => {}
    const agent = await grpcAgent(t, {
      card: { capabilities: { streaming: true, extensions: [{ uri: URI }] } },
      answer: call => { answer(call) }
    })
    const passthrough = kind === 'passthrough' ? ['passthrough: [own.Service]'] : []
    const { client, metric } = await grpcGateway(t, agent, { agent: lines, root, agentGrpc: [`upstream: "grpc://127.0.0.1:${agent.port}"`, ...passthrough] })
    for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) {
      const message = operation === 'SendMessage' ? responseOf(receipt({}), operation) : responseOf(update({}), operation)
      const path = `/${kind === 'passthrough' ? 'own.Service' : 'lf.a2a.v1.A2AService'}/${operation}`
      const ask = async (how: (call: AgentCall) => void): Promise<RawResponse> => {
        answer = how
        return await client.call({ path, body: requestOf({ message: MESSAGE_IN }, operation), headers: { 'a2a-extensions': URI } })
      }
      const name = `${kind} ${operation}`
      const rejects = kind === 'held' && operation === 'SendMessage'
      const one = await ask(alone(fine))
      if (rejects) t.match(one, { status: 13, trailersOnly: true, reset: 0, message: /exactly one message/ }, `${name}: a unary response needs a message`)
      else t.match(one, { status: 0, trailersOnly: true, reset: 0, messages: [], headers: { 'x-own': '1' } }, `${name}: one frame, success`)
      t.match(await ask(alone(failed)), { status: 5, message: 'No task', trailersOnly: true, reset: 0 }, `${name}: one frame, error`)
      const empty = await ask(call => { reply(call, [], fine) })
      if (rejects) t.match(empty, { status: 13, trailersOnly: true, reset: 0 }, `${name}: no message`)
      else t.match(empty, { status: 0, trailersOnly: false, reset: 0, messages: [], trailers: { 'x-own': '1' } }, `${name}: no message`)
      t.match(await ask(call => { reply(call, [message], fine) }), { status: 0, trailersOnly: false, reset: 0, messages: { length: 1 } }, `${name}: a message`)
      t.match(await ask(call => { reply(call, [message], failed) }), { status: 5, trailersOnly: false, reset: 0 }, `${name}: a message and an error`)
    }
    t.equal(await metric('a2a_gateway_upstream_errors_total{agent="agent",kind="protocol"}'), 0, `${kind}: nothing counts as a fault of the agent`)
  }
})

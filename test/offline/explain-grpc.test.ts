/** `explain` of gRPC calls: as JSON with `rpc`, as a request to the path of a method, and as bytes. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { ExplainArguments } from '#cli/explain.js'
import type { Explanation } from '#offline/explain/explanation.js'
import { grpcFrame } from '#wire/grpc/deframer.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import { runExplainWith } from './explain-run.js'
import type { ExplainRun } from './explain-run.js'

const CARD = {
  name: 'a',
  description: 'a',
  version: '1',
  supportedInterfaces: [
    { url: 'agent.test:50051', protocolBinding: 'GRPC', protocolVersion: '1.0' },
    { url: 'http://agent.test/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }
  ],
  capabilities: { streaming: true, extensions: [{ uri: 'urn:orders', required: true }] },
  skills: [],
  defaultInputModes: [],
  defaultOutputModes: []
}

const CONFIG = `version: 1
server: {grpc: {listen: ":9443", publicAddress: "gw.example:443"}}
agents:
  - {name: orders, host: orders.example, path: /orders, upstream: {url: "http://agent.test"}, card: {file: card.json}, responses: enforce, extensions: [orders]}
  - {name: other, path: /other, upstream: {url: "http://other.test"}, card: {file: card.json}}
extensions:
  orders:
    uri: urn:orders
    mode: enforce
    owns: {dataKeys: [order]}
    request:
      - {id: order, select: {part: {dataKey: order}}, schema: {type: object, required: [quantity], properties: {quantity: {type: integer}}}}
    response:
      - {id: note, select: {metadata: {key: note}}, count: {max: 0}, verdict: strip}
      - {id: bad, select: {metadata: {key: bad}}, count: {max: 0}, verdict: reject}
`

const SENT = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data: { order: { quantity: 1 } } }] } }
const BAD = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'ä' }, { data: { order: { quantity: 'hush-4711' } } }] } }
const METADATA = { 'a2a-extensions': 'urn:orders', authorization: 'Bearer hush-4711' }

interface Run { readonly code: number, readonly text: string, readonly err: string, readonly requests: readonly Explanation[] }

type More = Partial<ExplainArguments> | ((directory: string) => Partial<ExplainArguments>)

async function explained (t: Test, recording: unknown, more: More = {}, config = CONFIG): Promise<Run> {
  const directory = t.testdir({ 'card.json': JSON.stringify(CARD), 'gateway.yaml': config })
  const file = join(directory, typeof recording === 'string' ? 'call.http' : 'call.json')
  writeFileSync(file, typeof recording === 'string' ? recording : JSON.stringify(recording))
  const run = async (json: boolean): Promise<ExplainRun> => await runExplainWith({
    recordings: [file],
    config: join(directory, 'gateway.yaml'),
    json,
    ...typeof more === 'function' ? more(directory) : more
  })
  const { code, out } = await run(true)
  const { out: text, err } = await run(false)
  const { requests = [] } = JSON.parse(out) as { requests?: Explanation[] }
  return { code, text, err, requests }
}

t.test('a call as JSON is evaluated as its bytes', async t => {
  const { code, text, requests: [one] } = await explained(t, { rpc: 'SendMessage', host: 'orders.example:443', metadata: METADATA, body: SENT })
  t.equal(code, 0, text)
  t.match(one, {
    kind: 'operation',
    binding: 'GRPC',
    version: '1.0',
    versionWhy: 'the service lf.a2a.v1.A2AService is that of A2A 1.0',
    operation: 'SendMessage',
    decision: 'forward',
    agent: { name: 'orders', foundBy: 'address' },
    extensions: { requested: ['urn:orders'], active: ['urn:orders'] },
    request: { target: '/lf.a2a.v1.A2AService/SendMessage', method: 'POST' },
    forwarded: { url: 'grpc://agent.test:50051/lf.a2a.v1.A2AService/SendMessage', body: { unchanged: true } }
  })
  t.same(one?.notes, ['the message is given as JSON; the gateway gets it as protobuf'])
  t.notMatch(text, 'hush-4711')
  t.match(text, 'binding    GRPC')
})

t.test('the rejection is shown as clients see it', async t => {
  const { code, text, requests: [one] } = await explained(t, { rpc: 'SendMessage', host: 'orders.example', metadata: METADATA, body: BAD })
  t.equal(code, 1)
  t.match(one?.refusal?.grpc, {
    code: 3,
    name: 'INVALID_ARGUMENT',
    message: /message\.parts\[1\]\.data\.order/,
    details: [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'EXTENSION_DATA_INVALID', domain: 'a2a-extension-gateway' },
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'INVALID_PARAMS', domain: 'a2a-protocol.org' },
      { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'message.parts[1].data.order.quantity' }] }
    ]
  })
  t.match(text, /the response to the client\n {2}grpc-status 3 INVALID_ARGUMENT\n/)
  t.match(text, 'gateway-decision: reject;rule="orders/order"')
  t.match(text, 'google.rpc.ErrorInfo {')
  t.notMatch(text, 'hush-4711')
})

t.test('a request to the path of a method, with JSON or with the bytes of a body', async t => {
  const path = '/lf.a2a.v1.A2AService/SendMessage'
  const http = await explained(t, `POST http://orders.example${path}\na2a-extensions: urn:orders\nContent-Type: application/json\n\n${JSON.stringify(SENT)}`)
  t.match(http.requests[0], { binding: 'GRPC', decision: 'forward', agent: { name: 'orders' } }, http.err)
  const table = grpcMethodFor('SendMessage', '1.0')?.request
  if (table === undefined) return t.fail('no table')
  const frame = (value: object): string => grpcFrame(writeProtobuf(value as never, table)).toString('base64')
  const headers = { host: 'orders.example', 'content-type': 'application/grpc', ...METADATA }
  const bytes = await explained(t, { method: 'POST', path, headers, bodyBase64: frame(BAD) })
  t.match(bytes.requests[0], { binding: 'GRPC', decision: 'reject', rule: 'orders/order', notes: [] }, bytes.err)
  const twice = await explained(t, { method: 'POST', path, headers, bodyBase64: Buffer.concat([Buffer.from(frame(BAD), 'base64'), Buffer.from(frame(BAD), 'base64')]).toString('base64') })
  t.equal(twice.code, 2)
  t.match(twice.err, 'the body has 2 messages, and the request of each method is one; the gateway rejects the call')
  const half = await explained(t, { method: 'POST', path, headers, bodyBase64: Buffer.from(frame(BAD), 'base64').subarray(0, 9).toString('base64') })
  t.match(half.err, 'it ends within a message')
  const misfit = await explained(t, { rpc: 'SendMessage', host: 'orders.example', body: { message: 7 } })
  t.match(misfit.err, /the message cannot be written as protobuf: .*message/)
})

t.test('versions: the service decides, and metadata must not contradict', async t => {
  const old = await explained(t, { rpc: 'a2a.v1.A2AService/SendMessage', host: 'orders.example', metadata: METADATA, body: {} })
  t.match(old.requests[0], { version: '0.3', decision: 'reject', reason: 'VERSION_NOT_SUPPORTED' })
  t.match(old.text, 'The agent does not offer A2A 0.3 over gRPC; call lf.a2a.v1.A2AService.')
  const other = await explained(t, { rpc: 'SendMessage', host: 'orders.example', metadata: { ...METADATA, 'a2a-version': '0.3' }, body: SENT })
  t.match(other.requests[0], { version: '1.0', decision: 'reject', reason: 'VERSION_NOT_SUPPORTED' })
  t.match(other.text, 'The header A2A-Version and the gRPC service are of different versions')
  const same = await explained(t, { rpc: 'SendMessage', host: 'orders.example', metadata: { ...METADATA, 'a2a-version': '1.0' }, body: SENT })
  t.equal(same.code, 0, same.text)
})

t.test('addresses: by host, by --agent, none', async t => {
  const only = await explained(t, { rpc: 'SendMessage', host: 'elsewhere.example', metadata: METADATA, body: SENT })
  t.match(only.requests[0], { agent: { name: 'other', foundBy: 'address' } }, only.err)
  const flag = await explained(t, { rpc: 'SendMessage', metadata: METADATA, body: SENT }, { agent: 'orders' })
  t.match(flag.requests[0], { agent: { name: 'orders', foundBy: 'flag' } })
  const none = await explained(t, { rpc: 'SendMessage', body: SENT }, {}, CONFIG.replace(/^server.*\n/m, ''))
  t.equal(none.code, 2)
  t.match(none.err, 'the configuration serves no gRPC: a listener needs server.grpc, or grpc of the agent')
  const unknown = await explained(t, { rpc: 'lf.a2a.v1.A2AService/SendNothing', host: 'orders.example', body: {} })
  t.match(unknown.requests[0], { decision: 'reject', refusal: { grpc: { name: 'UNIMPLEMENTED' } } }, unknown.err)
  const health = { rpc: 'grpc.health.v1.Health/Check', host: 'orders.example', bodyBase64: 'AAAAAAA=' }
  t.match((await explained(t, health)).requests[0], { decision: 'reject', refusal: { grpc: { name: 'UNIMPLEMENTED' } } })
  const open = CONFIG.replace('host: orders.example,', 'host: orders.example, grpc: {passthrough: [grpc.health.v1.Health]},')
  const passed = await explained(t, health, {}, open)
  t.match(passed.requests[0], { decision: 'forward', kind: 'passthrough', forwarded: { body: { unchanged: true, bytes: 5 } } }, passed.err)
  t.match((await explained(t, { rpc: 'no method' })).err, '"rpc" is not a method of gRPC (write it as in "lf.a2a.v1.A2AService/SendMessage" or "SendMessage")')
  t.match((await explained(t, { rpc: 'SendMessage', host: 'orders.example', metadata: METADATA, body: SENT }, { config: null, card: null, upstream: undefined })).err, 'which agent')
})

t.test('without a configuration, the card says that there is gRPC', async t => {
  const call = { rpc: 'SendMessage', metadata: METADATA, body: SENT }
  const run = await explained(t, call, directory => ({ config: null, card: join(directory, 'card.json') }))
  t.match(run.requests[0], { binding: 'GRPC', decision: 'forward' }, run.err)
})

t.test('responses: edited, rejected, and streams', async t => {
  const call = { rpc: 'SendMessage', host: 'orders.example', metadata: METADATA, body: SENT }
  const message = (metadata: object): object => ({ message: { messageId: 'n', role: 'ROLE_AGENT', parts: [{ text: 'b' }], metadata } })
  const edited = await explained(t, { ...call, response: { body: message({ note: 1 }) } })
  t.match(edited.requests[0]?.answer, {
    status: 200,
    grpcStatus: 'OK',
    decision: 'forward',
    edited: ['orders/note'],
    delivered: { grpcStatus: 'OK', body: { unchanged: false } }
  }, edited.err)
  const rejected = await explained(t, { ...call, response: { body: message({ bad: 1 }) } })
  t.match(rejected.requests[0]?.answer, { decision: 'reject', rule: 'orders/bad', delivered: null, refusal: { grpc: { name: 'INTERNAL' } } })
  const failed = await explained(t, { ...call, response: { headers: { 'grpc-status': '5', 'grpc-message': 'no t%C3%A4sk' } } })
  t.match(failed.requests[0]?.answer, { grpcStatus: 'NOT_FOUND', decision: 'forward', why: 'an error of the agent is forwarded unchanged' })
  const update = (metadata: object): object => ({ statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' }, metadata } })
  const streamed = await explained(t, {
    ...call,
    rpc: 'SendStreamingMessage',
    response: { body: [update({}), update({ note: 1 }), update({ bad: 1 })] }
  })
  t.match(streamed.requests[0]?.answer, {
    decision: 'reject',
    events: 3,
    refusedEvent: 3,
    edited: ['orders/note'],
    delivered: { grpcStatus: 'INTERNAL' },
    refusal: { grpc: { name: 'INTERNAL' } }
  }, streamed.err)
  t.match(streamed.text, 'the status after the messages')
})

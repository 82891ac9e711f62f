/** Null as the Java SDK 1.2.0 writes it over gRPC, a Value without a kind: rules read null, and agents and clients get an explicit null. */
import { gzipSync } from 'node:zlib'
import type { Test } from 'tap'
import t from 'tap'
import { grpcMessage } from '../helpers/grpc-raw.js'
import type { RawResponse } from '../helpers/grpc-raw.js'
import { field, join, numberField, struct, value } from '../helpers/protobuf-bytes.js'
import type { GrpcAgent, GrpcGateway } from './grpc-kit.js'
import { grpcAgent, grpcGateway, reply } from './grpc-kit.js'

const URI = 'https://acme.example/ext/order/v1'
const STREAM = '/lf.a2a.v1.A2AService/SendStreamingMessage'
const NONE = Buffer.alloc(0)
const NULL = value(null)

/** A message of `role` with the metadata {"order": {"a": null, "l": [null, 1]}, "b": true}, null written as `none`. */
const messageOf = (none: Buffer, role: 1 | 2): Buffer => {
  const order = field(5, join(
    field(1, join(field(1, 'a'), field(2, none))),
    field(1, join(field(1, 'l'), field(2, field(6, join(field(1, none), field(1, value(1)))))))
  ))
  return join(field(1, 'm'), numberField(4, role), field(5, field(1, 'hi')), field(6, join(field(1, join(field(1, 'order'), field(2, order))), struct({ b: true }))))
}
const request = (none: Buffer): Buffer => field(2, messageOf(none, 1))
const response = (none: Buffer): Buffer => field(2, messageOf(none, 2))

async function behind (t: Test, responses: string, schema: string): Promise<{ readonly agent: GrpcAgent, readonly gateway: GrpcGateway }> {
  const agent = await grpcAgent(t, {
    card: { capabilities: { streaming: true, extensions: [{ uri: URI }] } },
    answer: call => { reply(call, [grpcMessage(response(NONE)), ...call.headers[':path'] === STREAM ? [grpcMessage(response(NONE))] : []]) }
  })
  const select = 'select: {metadata: {in: [message], key: order}}'
  const gateway = await grpcGateway(t, agent, {
    agent: [`responses: ${responses}`, 'extensions: [order]'],
    root: [
      'extensions:',
      '  order:',
      `    uri: ${URI}`,
      '    mode: enforce',
      '    owns: {metadata: [order]}',
      `    request: [{id: sent, ${select}, schema: ${schema}}]`,
      `    response: [{id: answered, ${select}, schema: ${schema}, verdict: reject}]`
    ]
  })
  return { agent, gateway }
}

const call = ({ client }: GrpcGateway, body = grpcMessage(request(NONE)), headers = {}, path?: string): Promise<RawResponse> =>
  client.call({ body, headers: { 'a2a-extensions': URI, ...headers }, ...path === undefined ? {} : { path } })
const received = ({ calls }: GrpcAgent): Buffer => Buffer.concat(calls.at(-1)?.chunks ?? [])
const NULLS = '{properties: {a: {type: "null"}, l: {contains: {type: "null"}}}, required: [a, l]}'

t.test('rules read null, and the agent gets an explicit null', async t => {
  const { agent, gateway } = await behind(t, 'observe', NULLS)
  for (const [name, body, headers] of [
    ['as it is', grpcMessage(request(NONE)), {}],
    ['compressed', grpcMessage(gzipSync(request(NONE)), 1), { 'grpc-encoding': 'gzip' }],
    ['explicit', grpcMessage(request(NULL)), {}]
  ] as const) {
    t.match(await call(gateway, body, headers), { status: 0 }, name)
    t.same(received(agent), grpcMessage(request(NULL)), name)
  }
  const { gateway: strict, agent: untouched } = await behind(t, 'observe', '{properties: {a: {type: string}}}')
  t.match(await call(strict), { status: 3, message: /message\.metadata\.order\.a must be a string/ })
  t.equal(untouched.calls.length, 0)
})

t.test('responses: observed ones keep their bytes, enforced ones get an explicit null', async t => {
  for (const path of [undefined, STREAM]) {
    const observed = await behind(t, 'observe', NULLS)
    const enforced = await behind(t, 'enforce', NULLS)
    const count = path === undefined ? 1 : 2
    t.same((await call(observed.gateway, undefined, {}, path)).messages, Array.from({ length: count }, () => response(NONE)), 'observed')
    const got = await call(enforced.gateway, undefined, {}, path)
    t.same([got.status, got.messages], [0, Array.from({ length: count }, () => response(NULL))], 'enforced')
  }
})

t.test('a long stream: events that repeat get an explicit null too', async t => {
  const agent = await grpcAgent(t, {
    card: { capabilities: { streaming: true, extensions: [{ uri: URI }] } },
    answer: call => { reply(call, Array.from({ length: 30 }, () => grpcMessage(response(NONE)))) }
  })
  const { client } = await grpcGateway(t, agent, {
    agent: ['responses: enforce', 'extensions: [order]'],
    root: ['extensions:', `  order: {uri: "${URI}", mode: enforce, owns: {metadata: [order]}, response: [{id: answered, select: {metadata: {in: [message], key: order}}, schema: ${NULLS}, verdict: reject}]}`]
  })
  const { status, messages } = await client.call({ path: STREAM, body: grpcMessage(request(NONE)), headers: { 'a2a-extensions': URI } })
  t.equal(status, 0)
  t.same(new Set(messages.map(one => one.toString('hex'))), new Set([response(NULL).toString('hex')]))
  t.equal(messages.length, 30)
})

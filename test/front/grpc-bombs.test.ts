/** Messages that are small on the wire and large in memory. The gateway rejects them, and goes on. */
import t from 'tap'
import { field, join, list, numberField, struct, value } from '../helpers/protobuf-bytes.js'
import { grpcMessage } from '../helpers/grpc-raw.js'
import { HELLO, grpcAgent, grpcGateway } from './grpc-kit.js'

const INVALID_ARGUMENT = 3
const RESOURCE_EXHAUSTED = 8
const PARTS = 5
const DATA = 4

const message = (...fields: Buffer[]): Buffer => field(2, join(field(1, 'm'), numberField(4, 1), ...fields))
const withData = (bytes: Buffer): Buffer => message(field(PARTS, field(DATA, bytes)))
const repeated = (bytes: Buffer, times: number): Buffer => Buffer.alloc(bytes.length * times, bytes)

function nested (depth: number): Buffer {
  let bytes = value(1)
  for (let i = 0; i < depth; i++) bytes = field(6, field(1, bytes))
  return bytes
}

const MEMBERS = Buffer.concat(Array.from({ length: 200_000 }, (_, i) => struct({ [i]: null })))

const BOMBS: ReadonlyArray<readonly [name: string, bytes: Buffer, status: number]> = [
  ['10,000 lists in lists', withData(nested(10_000)), INVALID_ARGUMENT],
  ['1,000,000 empty parts', message(repeated(field(PARTS, ''), 1_000_000)), INVALID_ARGUMENT],
  ['400,000 elements of a list', withData(field(6, repeated(list([null]), 400_000))), INVALID_ARGUMENT],
  ['200,000 members of a Struct', withData(field(5, MEMBERS)), INVALID_ARGUMENT],
  ['500,000 extensions', message(repeated(field(7, 'u'), 500_000)), INVALID_ARGUMENT],
  ['300,000 unknown fields', join(message(), repeated(numberField(100, 1), 300_000)), INVALID_ARGUMENT],
  ['a message beyond limits.body', message(field(PARTS, field(2, Buffer.alloc(5_000_000)))), RESOURCE_EXHAUSTED]
]

t.test('bombs', async t => {
  const agent = await grpcAgent(t)
  const gateway = await grpcGateway(t, agent, { root: ['limits: {body: 4MiB}'] })
  for (const [name, bytes, status] of BOMBS) {
    t.match(await gateway.client.call({ body: grpcMessage(bytes) }), { status, trailersOnly: true }, name)
  }
  t.equal(agent.calls.length, 0)
  t.match(await gateway.client.call({ body: HELLO }), { status: 0 })
})

t.test('a prefix that promises 4 GiB is rejected before they come', async t => {
  const agent = await grpcAgent(t)
  const gateway = await grpcGateway(t, agent)
  const prefix = grpcMessage(Buffer.alloc(0), 0, 0xffff_ffff)
  t.match(await gateway.client.call({ body: prefix }), { status: RESOURCE_EXHAUSTED })
  t.equal(agent.calls.length, 0)
})

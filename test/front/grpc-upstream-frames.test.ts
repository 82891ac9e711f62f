/** Connections to gRPC servers of agents, frame by frame: GOAWAY while calls are opened, and PING to a server that is silent. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { ACK, END_HEADERS, END_STREAM, FRAME, frame, H2Socket, headerBlock, uint32 } from '../helpers/h2-frames.js'
import { MESSAGE, until } from '../helpers/http.js'
import { EVENT, grpcAgent, grpcGateway, HELLO, REPLY, requestOf } from './grpc-kit.js'

const REFUSED_STREAM = 7
const ENHANCE_YOUR_CALM = 11
/** HPACK: a header of the table, and the number of the one that was added last (RFC 7541 §6.1). */
const INDEXED = 0x80
const LAST_ENTRY = 62
const HEAD = headerBlock([[':status', '200'], ['content-type', 'application/grpc']])
const TRAILERS = headerBlock([['grpc-status', '0']])

interface FrameAgent {
  /** Of its card. */
  readonly url: string
  readonly port: number
  readonly connections: readonly H2Socket[]
  /** Connection number `index`, once it has received that many whole calls. */
  after (calls: number, index?: number): Promise<H2Socket>
}

/** An agent whose gRPC server acknowledges settings and does nothing else by itself. */
async function frameAgent (t: Test): Promise<FrameAgent> {
  const { url } = await grpcAgent(t)
  const connections: H2Socket[] = []
  const server = createServer(socket => { connections.push(H2Socket.of(socket)) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const one of connections) one.close()
    server.close()
  })
  return {
    url,
    port: (server.address() as AddressInfo).port,
    connections,
    async after (calls, index = 0) {
      await until(() => connections.length > index, 'a connection')
      const found = connections[index] as H2Socket
      await found.until(() => streamsOf(found).length >= calls)
      return found
    }
  }
}

/** The streams of whole calls. */
function streamsOf ({ frames }: H2Socket): number[] {
  return frames.filter(({ type, flags }) => type === FRAME.data && (flags & END_STREAM) !== 0).map(({ stream }) => stream)
}

const pingsOf = ({ frames }: H2Socket): Buffer[] => frames.filter(({ type }) => type === FRAME.ping).map(({ payload }) => payload)

function respond (connection: H2Socket, stream: number | undefined): void {
  if (stream === undefined) throw new Error('no call')
  connection.send(
    frame(FRAME.headers, END_HEADERS, stream, HEAD),
    frame(FRAME.data, 0, stream, REPLY),
    frame(FRAME.headers, END_HEADERS | END_STREAM, stream, TRAILERS)
  )
}

const goaway = (last = 0): Buffer => frame(FRAME.goaway, 0, 0, Buffer.concat([uint32(last), uint32(0)]))

t.test('GOAWAY while calls are opened: the calls above its last stream are sent again, and no other', async t => {
  const agent = await frameAgent(t)
  const { client } = await grpcGateway(t, agent)
  const seen = client.call({ body: HELLO })
  await agent.after(1)
  const unseen = client.call({ body: HELLO })
  const old = await agent.after(2)
  const [first] = streamsOf(old)
  old.send(goaway(first))
  const next = await agent.after(1, 1)
  respond(next, streamsOf(next)[0])
  t.match(await unseen, { status: 0 })
  respond(old, first)
  t.match(await seen, { status: 0 })
  t.same(agent.connections.map(one => streamsOf(one).length), [2, 1])
})

t.test('GOAWAY with a last stream that includes the call: the agent may have seen the call, which is not sent again', async t => {
  const agent = await frameAgent(t)
  const { client } = await grpcGateway(t, agent)
  const call = client.call({ body: HELLO })
  const old = await agent.after(1)
  old.send(goaway(streamsOf(old)[0]))
  old.close()
  t.match(await call, { status: 14, message: /closed the connection/ })
  t.equal(agent.connections.length, 1)
  const later = client.call({ body: HELLO })
  const next = await agent.after(1, 1)
  respond(next, streamsOf(next)[0])
  t.match(await later, { status: 0 })
})

t.test('a second GOAWAY: the client may try again', async t => {
  const agent = await frameAgent(t)
  const { client } = await grpcGateway(t, agent)
  const call = client.call({ body: HELLO })
  for (const index of [0, 1]) (await agent.after(1, index)).send(goaway())
  t.equal((await call).reset, REFUSED_STREAM)
  t.equal(agent.connections.length, 2)
})

t.test('a call without a response in time: the server gets a PING, and the connection ends when none comes back', async t => {
  const agent = await frameAgent(t)
  const { client } = await grpcGateway(t, agent, { upstream: ['timeouts: {headers: 200ms}'] })
  const stream = client.call({
    path: '/lf.a2a.v1.A2AService/SendStreamingMessage',
    body: requestOf({ message: MESSAGE }, 'SendStreamingMessage')
  })
  const connection = await agent.after(1)
  const [id = 0] = streamsOf(connection)
  connection.send(frame(FRAME.headers, END_HEADERS, id, HEAD), frame(FRAME.data, 0, id, EVENT))
  t.match(await client.call({ body: HELLO }), { status: 4, message: /did not respond in time/ })
  await connection.until(() => pingsOf(connection).length === 1)
  connection.send(frame(FRAME.ping, ACK, 0, pingsOf(connection)[0]))
  t.match(await client.call({ body: HELLO }), { status: 4 })
  t.ok(await connection.until(() => pingsOf(connection).length === 2), 'a server that responds to the PING keeps its connection')
  t.match(await stream, { status: 14, messages: { length: 1 } }, 'the other calls of the connection end')
  t.equal(agent.connections.length, 1)
})

t.test('trailers of an agent of 1 MB: the call ends with RST_STREAM, and the other calls of the connection go on', async t => {
  const agent = await frameAgent(t)
  const { client } = await grpcGateway(t, agent)
  const other = client.call({ body: HELLO })
  await agent.after(1)
  const call = client.call({ body: HELLO })
  const connection = await agent.after(2)
  const [first, second = 0] = streamsOf(connection)
  const details = headerBlock([['grpc-status-details-bin', 'A'.repeat(1_000)]], true)
  // The table of HPACK makes a thousand lines of 1 kB out of 2 kB.
  const block = Buffer.concat([headerBlock([['grpc-status', '13']]), details, Buffer.alloc(999, INDEXED | LAST_ENTRY)])
  connection.send(
    frame(FRAME.headers, END_HEADERS, second, HEAD),
    frame(FRAME.data, 0, second, REPLY),
    frame(FRAME.headers, END_HEADERS | END_STREAM, second, block)
  )
  t.match(await call, { status: null, reset: ENHANCE_YOUR_CALM }, 'gRPC clients read it as RESOURCE_EXHAUSTED')
  respond(connection, first)
  t.match(await other, { status: 0, messages: { length: 1 } })
  const later = client.call({ body: HELLO })
  await agent.after(3)
  respond(connection, streamsOf(connection)[2])
  t.match(await later, { status: 0 })
  t.equal(agent.connections.length, 1)
})

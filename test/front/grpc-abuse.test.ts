/**
 * HTTP/2 connections that abuse the protocol, frame by frame. The gateway ends them, or outlasts them: afterwards a call on another
 * connection succeeds, and no call of the attack is left.
 */
import type { Test } from 'tap'
import t from 'tap'
import { RawGrpc } from '../helpers/grpc-raw.js'
import { untilSame } from '../helpers/http.js'
import { CALL, END_HEADERS, END_STREAM, FRAME, H2Socket, SETTING, frame, headerBlock, settings, uint32 } from '../helpers/h2-frames.js'
import type { Frame } from '../helpers/h2-frames.js'
import { HELLO, grpcAgent, grpcGateway, reply } from './grpc-kit.js'
import type { GrpcAgent, GrpcGateway } from './grpc-kit.js'

const head = headerBlock(CALL)
const open = (stream: number, flags = END_HEADERS): Buffer => frame(FRAME.headers, flags, stream, head)
const data = (stream: number, payload: Buffer, flags = 0): Buffer => frame(FRAME.data, flags, stream, payload)
const windowUpdate = (stream: number, increment: number): Buffer => frame(FRAME.windowUpdate, 0, stream, uint32(increment))
/** Ids of the streams of a client. */
const id = (i: number): number => 2 * i + 1

interface Attacked {
  readonly agent: GrpcAgent
  readonly gateway: GrpcGateway
  readonly attacker: H2Socket
}

interface Target {
  /** First settings of the attacker. */
  readonly first?: Buffer
  /** The agent does not respond during the attack. */
  readonly silent?: boolean
  /** Members of `server.grpc`. */
  readonly grpc?: readonly string[]
}

/** Runs an attack on a gateway of its own, and then calls it as an honest client. */
function attack (
  name: string,
  { first, silent = false, grpc = [] }: Target,
  run: (t: Test, attacked: Attacked) => Promise<void>
): void {
  t.test(name, async t => {
    let quiet = silent
    const agent = await grpcAgent(t, { answer: call => { if (!quiet) reply(call) } })
    const root = ['limits: {idleTimeout: 1s, writeTimeout: 1s}']
    const gateway = await grpcGateway(t, agent, { grpc, root, server: ['drainTimeout: 200ms'] })
    const attacker = await H2Socket.to(gateway.address, first)
    t.teardown(() => { attacker.close() })
    await attacker.alive()
    await run(t, { agent, gateway, attacker })
    quiet = false
    const honest = await RawGrpc.to(gateway.address)
    t.teardown(() => { honest.close() })
    t.match(await honest.call({ body: HELLO }), { status: 0 }, 'a call of another client succeeds')
    // The attacker keeps its side open.
    await untilSame(t, () => gateway.metric('a2a_gateway_requests_active{agent="agent"}'), 0, 'no call is left', 60_000)
  })
}

/** The gateway ends the connection. */
async function ended (t: Test, attacker: H2Socket): Promise<void> {
  t.equal(await attacker.until(() => false), false, 'the connection is over')
}

const FLOOD = 20_000
/** Calls of a flood that reach the agent before the gateway ends the connection. The buffers of the sockets may take the whole flood. */
const MOST_ABUSED = FLOOD / 4

/** The first call has its trailers. */
const hasEnded = (frames: readonly Frame[]): boolean =>
  frames.some(({ type, flags, stream }) => type === FRAME.headers && stream === 1 && (flags & END_STREAM) !== 0)

attack('a header block that does not end: CONTINUATION frames with headers', {}, async (t, { agent, attacker }) => {
  attacker.send(open(1, 0))
  const more = headerBlock([['x-more', 'x'.repeat(4_000)]])
  const sent = await attacker.flood(FLOOD, () => frame(FRAME.continuation, 0, 1, more))
  t.ok(sent < 1_000, `the connection ended after ${sent} frames of 4 kB`)
  await ended(t, attacker)
  t.equal(agent.calls.length, 0)
})

attack('a header block that does not end: empty CONTINUATION frames', {}, async (t, { agent, attacker }) => {
  attacker.send(open(1, 0))
  await attacker.flood(FLOOD, () => frame(FRAME.continuation, 0, 1))
  await ended(t, attacker)
  t.equal(agent.calls.length, 0)
})

attack('a small header block that expands: 4 kB in the table, named 4,000 times', {}, async (t, { agent, attacker }) => {
  const bomb = Buffer.concat([head, headerBlock([['x-bomb', 'x'.repeat(3_900)]], true), Buffer.alloc(4_000, 0x80 | 62)])
  attacker.send(frame(FRAME.headers, END_HEADERS | END_STREAM, 1, bomb))
  await attacker.until(() => attacker.resets.has(1) || attacker.frames.some(({ type }) => type === FRAME.headers))
  t.equal(agent.calls.length, 0)
})

attack('calls that the client resets at once', { silent: true }, async (t, { agent, attacker }) => {
  await attacker.flood(FLOOD, i => Buffer.concat([
    open(id(i)), data(id(i), HELLO, END_STREAM), frame(FRAME.reset, 0, id(i), uint32(8))
  ]))
  await ended(t, attacker)
  t.ok(agent.calls.length < MOST_ABUSED, `${agent.calls.length} calls`)
})

// CVE-2025-8671: the client makes the server reset its calls, which no limit of resets by the client counts.
attack('calls that the client makes the gateway reset', { silent: true }, async (t, { agent, attacker }) => {
  await attacker.flood(FLOOD, i => Buffer.concat([open(id(i)), data(id(i), HELLO, END_STREAM), windowUpdate(id(i), 0)]))
  await ended(t, attacker)
  t.ok(agent.calls.length < MOST_ABUSED, `${agent.calls.length} calls`)
})

// After such an error of the whole connection, Node 20 neither reads nor closes it, and keeps its calls.
attack('data after the end of a call', {}, async (t, { attacker }) => {
  attacker.send(open(1), data(1, HELLO, END_STREAM), data(1, HELLO, END_STREAM))
  await ended(t, attacker)
})

attack('data after the end of a call that does not end', { silent: true }, async (t, { attacker }) => {
  attacker.send(open(1), data(1, HELLO, END_STREAM), data(1, HELLO, END_STREAM))
  await ended(t, attacker)
})

attack('SETTINGS frames', {}, async (t, { agent, attacker }) => {
  await attacker.flood(FLOOD, i => settings([[SETTING.initialWindowSize, 65_535 + i % 2]]))
  t.equal(agent.calls.length, 0)
})

attack('frames of types that do not exist, and PRIORITY frames', {}, async (t, { agent, attacker }) => {
  const unknown = frame(200, 255, 0, Buffer.alloc(100))
  await attacker.flood(FLOOD, i => Buffer.concat([unknown, frame(FRAME.priority, 0, id(i % 1_000), Buffer.alloc(5, 16))]))
  t.equal(agent.calls.length, 0)
})

attack('windows that overflow', {}, async (t, { attacker }) => {
  attacker.send(windowUpdate(0, 0x7fff_ffff), windowUpdate(0, 0x7fff_ffff))
  await ended(t, attacker)
})

attack('an initial window beyond 2³¹ − 1', {}, async (t, { attacker }) => {
  attacker.send(settings([[SETTING.initialWindowSize, 0x8000_0000]]))
  await ended(t, attacker)
})

attack('a frame beyond the limit, and one with another length than it has', {}, async (t, { attacker, gateway }) => {
  attacker.send(open(1), data(1, Buffer.alloc(1 << 20)))
  await ended(t, attacker)
  const second = await H2Socket.to(gateway.address)
  second.send(frame(FRAME.windowUpdate, 0, 0, Buffer.alloc(3)))
  await ended(t, second)
})

attack('stream ids of servers, and ids that were used', {}, async (t, { agent, attacker, gateway }) => {
  attacker.send(open(2))
  await ended(t, attacker)
  const second = await H2Socket.to(gateway.address)
  second.send(open(5, END_HEADERS | END_STREAM), open(3, END_HEADERS | END_STREAM))
  await ended(t, second)
  t.equal(agent.calls.length, 0)
})

attack('a message byte by byte is a call like others', {}, async (t, { agent, attacker }) => {
  attacker.send(open(1))
  await attacker.flood(HELLO.length - 1, i => data(1, HELLO.subarray(i, i + 1)))
  attacker.send(data(1, HELLO.subarray(-1), END_STREAM))
  await attacker.until(hasEnded)
  t.same(agent.calls.map(({ chunks }) => Buffer.concat(chunks)), [HELLO], 'the agent gets the message')
})

attack('empty DATA frames', {}, async (t, { agent, attacker }) => {
  attacker.send(open(1))
  await attacker.flood(FLOOD, () => data(1, Buffer.alloc(0)))
  t.equal(agent.calls.length, 0)
})

attack('calls that never send a message', { grpc: ['maxConcurrentStreams: 100'] }, async (t, { agent, attacker }) => {
  const sent = await attacker.flood(10_000, i => open(id(i)))
  if (await attacker.alive()) t.ok(attacker.resets.size >= sent - 100, `${attacker.resets.size} of ${sent} calls are refused`)
  t.equal(agent.calls.length, 0)
})

attack(
  'a client whose window is zero',
  { first: settings([[SETTING.initialWindowSize, 0]]) },
  async (t, { agent, attacker }) => {
    for (let i = 0; i < 50; i++) attacker.send(open(id(i)), data(id(i), HELLO, END_STREAM))
    await attacker.until(() => attacker.resets.size === 50)
    t.equal(agent.calls.length, 50)
    t.notOk(attacker.frames.some(({ type, payload }) => type === FRAME.data && payload.length > 0))
  }
)

attack('a window that shrinks and grows', { first: settings([[SETTING.initialWindowSize, 0]]) }, async (t, { agent, attacker }) => {
  attacker.send(open(1), data(1, HELLO, END_STREAM))
  for (let i = 0; i < 100; i++) attacker.send(settings([[SETTING.initialWindowSize, i % 2]]))
  await attacker.until(() => agent.calls.length === 1 || attacker.closed)
  attacker.send(settings([[SETTING.initialWindowSize, 65_535]]))
  t.ok(await attacker.until(hasEnded))
})

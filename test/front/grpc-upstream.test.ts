/** Connections to gRPC servers of agents: shared, replaced, limited by the server, and never a call sent twice. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { ServerHttp2Session } from 'node:http2'
import { constants, createServer } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer as createWire } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { GrpcSession } from '#upstream/grpc/session.js'
import { RawGrpc } from '../helpers/grpc-raw.js'
import { MESSAGE, until } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'
import { EVENT, grpcAgent, grpcGateway, HELLO, openCall, REPLY, reply, requestOf } from './grpc-kit.js'

t.test('GOAWAY: calls in flight end, the next call has another connection', async t => {
  const waiting: (() => void)[] = []
  const agent = await grpcAgent(t, { answer: call => { waiting.push(() => { reply(call) }) } })
  const { client } = await grpcGateway(t, agent)
  const first = client.call({ body: HELLO })
  await until(() => waiting.length === 1)
  const [session] = [...agent.sessions] as [ServerHttp2Session]
  session.goaway(constants.NGHTTP2_NO_ERROR)
  const second = client.call({ body: HELLO })
  await until(() => waiting.length === 2)
  t.not(agent.calls[1]?.session, session)
  for (const answer of waiting) answer()
  t.match(await first, { status: 0 })
  t.match(await second, { status: 0 })
  t.equal(agent.calls.length, 2)
})

t.test('a connection that breaks: the calls on it fail and are not sent again; the next call works', async t => {
  let breaks = true
  const agent = await grpcAgent(t, {
    answer: call => {
      if (breaks) call.session.destroy()
      else reply(call)
    }
  })
  const gateway = await grpcGateway(t, agent)
  t.match(await gateway.client.call({ body: HELLO }), { status: 14, message: /closed the connection/ })
  t.equal(agent.calls.length, 1)
  breaks = false
  t.match(await gateway.client.call({ body: HELLO }), { status: 0 })
  t.equal(agent.calls.length, 2)
})

t.test('a refused call, which the agent has not seen, is sent once more', async t => {
  let refused = 0
  const agent = await grpcAgent(t, {
    early: true,
    answer: call => {
      if (refused++ < 1) return call.stream.close(constants.NGHTTP2_REFUSED_STREAM)
      reply(call)
    }
  })
  const { client } = await grpcGateway(t, agent)
  t.match(await client.call({ body: HELLO }), { status: 0 })
  t.equal(agent.calls.length, 2)
  refused = -100
  const got = await client.call({ body: HELLO })
  t.equal(got.reset, constants.NGHTTP2_REFUSED_STREAM, 'the client may try again')
  t.equal(agent.calls.length, 4)
})

// The server of Node closes a connection after 1,000 resets, and 33 a second from then on, with all of its calls.
t.test('clients that cancel many calls: the calls of others go on', async t => {
  const agent = await grpcAgent(t, {
    answer: call => {
      if (call.headers['x-stays'] === undefined) return
      call.stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
      call.stream.write(EVENT)
    }
  })
  const gateway = await grpcGateway(t, agent)
  const stays = openCall(gateway.client, { 'x-stays': '1' })
  stays.end(requestOf({ message: MESSAGE }, 'SendStreamingMessage'))
  await once(stays, 'data')
  // The gateway takes no more than 1,000 resets of one client.
  for (let client = 0; client < 2; client++) {
    const cancelling = await RawGrpc.to(gateway.address)
    for (let round = 0; round < 14; round++) {
      const before = agent.calls.length
      const calls = Array.from({ length: 50 }, () => openCall(cancelling).end(HELLO))
      await until(() => agent.calls.length === before + calls.length || stays.destroyed)
      for (const call of calls) call.close(constants.NGHTTP2_CANCEL)
      await until(() => agent.calls.every(({ reset, headers }) => reset !== null || headers['x-stays'] === '1') || stays.destroyed)
    }
    cancelling.close()
  }
  t.equal(agent.calls.length, 1_401)
  if (stays.destroyed) return t.fail('the stream of another client has ended')
  agent.calls[0]?.stream.end(EVENT)
  await once(stays, 'data')
  const sessions = new Set(agent.calls.map(({ session }) => session))
  t.ok(sessions.size > 2 && sessions.size < 6, `${sessions.size} connections, one after the other`)
})

t.test('the limit of the server holds: further calls open other connections, then wait', async t => {
  const waiting: (() => void)[] = []
  let most = 0
  const agent = await grpcAgent(t, {
    maxConcurrentStreams: 2,
    answer: call => {
      waiting.push(() => { reply(call) })
      for (const session of agent.sessions) {
        most = Math.max(most, agent.calls.filter(one => one.session === session && one.reset === null).length)
      }
    }
  })
  const { client } = await grpcGateway(t, agent)
  const calls = Array.from({ length: 20 }, () => client.call({ body: HELLO }))
  await until(() => waiting.length === 8, 'four connections of two calls')
  t.equal(agent.sessions.size, 4)
  let answered = 0
  while (answered < 20) {
    await until(() => waiting.length > 0)
    waiting.shift()?.()
    answered++
  }
  t.same(new Set((await Promise.all(calls)).map(one => one.status)), new Set([0]))
  t.equal(most, 2)
  t.equal(agent.calls.length, 20)
})

t.test('a call that waits too long, and a server that cannot be reached', async t => {
  const agent = await grpcAgent(t, { maxConcurrentStreams: 1, answer: () => {} })
  const gateway = await grpcGateway(t, agent, { upstream: ['timeouts: {queue: 200ms}'] })
  const held = Array.from({ length: 4 }, () => gateway.client.call({ body: HELLO, headers: { 'grpc-timeout': '3S' } }))
  await until(() => agent.calls.length === 4)
  t.match(await gateway.client.call({ body: HELLO }), { status: 14, message: /too many calls/, trailersOnly: true })
  await Promise.all(held)

  const dead = createServer()
  dead.listen(0, '127.0.0.1')
  await once(dead, 'listening')
  const { port } = dead.address() as AddressInfo
  dead.close()
  const unreachable = await grpcGateway(t, { url: agent.url, port })
  t.match(await unreachable.client.call({ body: HELLO }), { status: 14, message: /connection refused/ })
  t.equal(await unreachable.metric('a2a_gateway_upstream_errors_total{agent="agent",kind="refused"}'), 1)
})

t.test('an agent that does not respond in time', async t => {
  const agent = await grpcAgent(t, {
    answer: call => {
      if (call.headers['x-head'] === undefined) return
      call.stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
      call.stream.write(REPLY)
    }
  })
  const { client } = await grpcGateway(t, agent, { upstream: ['timeouts: {headers: 200ms, idle: 300ms}'] })
  t.match(await client.call({ body: HELLO }), { status: 4, message: /did not respond in time/ })
  await until(() => agent.calls[0]?.reset === 8)
  t.match(await client.call({ body: HELLO, headers: { 'x-head': '1' } }), { status: 4, message: /stopped sending/ })
})

t.test('a silent connection with calls gets a PING now and then; one that does not respond ends with its calls', async t => {
  const agent = createServer()
  let pings = 0
  agent.on('session', session => {
    session.on('error', () => {})
    session.on('ping', () => { pings++ })
  })
  agent.on('stream', stream => {
    stream.on('error', () => {})
    stream.respond({ ':status': 200 })
  })
  agent.listen(0, '127.0.0.1')
  await once(agent, 'listening')
  // A wire that can stand still: the connection is there, and nobody reads.
  const ends: Socket[] = []
  const wire = createWire(near => {
    const far = connect((agent.address() as AddressInfo).port, '127.0.0.1')
    ends.push(near, far)
    for (const end of [near, far]) end.on('error', () => {})
    near.on('data', chunk => { far.write(chunk) })
    far.on('data', chunk => { near.write(chunk) })
  })
  wire.listen(0, '127.0.0.1')
  await once(wire, 'listening')
  const origin = `http://127.0.0.1:${(wire.address() as AddressInfo).port}`
  const session = new GrpcSession({ origin, tls: {}, connectTimeout: 5_000 }, () => {}, { idle: 20, keepalive: 60, probe: 500 })
  t.teardown(() => {
    session.end()
    for (const end of ends) end.destroy()
    wire.close()
    agent.close()
  })
  let failure: Error | null = null
  session.take({
    open: of => {
      const stream = of.request({ ':path': '/', ':method': 'POST' }, false)
      stream.on('error', (error: Error) => { failure = error })
      stream.on('close', () => { of.release() })
    },
    requeue () {},
    unconnected () {},
    place: 'upstream',
    endAfter (error) { throw error }
  })
  await until(() => pings >= 2, 'PING frames')
  t.notOk(session.closed)
  for (const end of ends) end.pause()
  await until(() => session.closed, 'the end of the connection')
  await until(() => failure !== null, 'the end of the call')
  t.equal(session.active, 0)
})

t.test('TLS to the agent with the authority of upstream.tls.ca', async t => {
  const agent = await grpcAgent(t, { tls: { cert: readFileSync(file('right.pem')), key: readFileSync(file('right.key.pem')) } })
  const agentGrpc = [`upstream: "grpcs://127.0.0.1:${agent.port}"`]
  const trusted = await grpcGateway(t, agent, { agentGrpc, upstream: [`tls: {ca: "${file('ca.pem')}"}`] })
  t.match(await trusted.client.call({ body: HELLO }), { status: 0 })
  const stranger = await grpcGateway(t, agent, { agentGrpc })
  t.match(await stranger.client.call({ body: HELLO }), { status: 14, message: /TLS certificate/ })
  t.equal(agent.calls.length, 1)
})

const file = (name: string): string => join(inTests('fixtures/tls'), name)

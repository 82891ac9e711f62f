/** Calls through the gRPC listener: the same messages, metadata and statuses as from the agent. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { grpcMessage, RawGrpc } from '../helpers/grpc-raw.js'
import { MESSAGE, until } from '../helpers/http.js'
import { EVENT, grpcAgent, grpcGateway, HELLO, openCall, readResponse, REPLY, reply, requestOf } from './grpc-kit.js'

t.test('a unary call: bytes, metadata and trailers go through unchanged', async t => {
  const agent = await grpcAgent(t, {
    answer: call => { reply(call, [REPLY], { 'grpc-status': '0', 'x-trailer': ['a', 'b'] }, { 'x-head': ['1', '2'], 'a2a-extensions': 'urn:x' }) }
  })
  const { client } = await grpcGateway(t, agent)
  const got = await client.call({ body: HELLO, headers: { 'x-one': ['1', '2'], 'x-data-bin': 'AAEC', 'user-agent': 'raw/1', 'grpc-timeout': '10S' } })
  t.equal(got.http, 200)
  t.equal(got.status, 0)
  t.equal(got.trailersOnly, false)
  t.same(got.messages, [REPLY.subarray(5)])
  t.match(got.headers, { 'content-type': 'application/grpc', 'x-head': '1, 2' })
  t.match(got.trailers, { 'grpc-status': '0', 'x-trailer': 'a, b' })
  const [call] = agent.calls
  t.same(Buffer.concat(call?.chunks ?? []), HELLO)
  t.match(call?.headers, {
    ':method': 'POST',
    ':path': '/lf.a2a.v1.A2AService/SendMessage',
    ':authority': `127.0.0.1:${agent.port}`,
    te: 'trailers',
    'content-type': 'application/grpc',
    'x-one': '1, 2',
    'x-data-bin': 'AAEC',
    'user-agent': 'raw/1',
    'grpc-timeout': '10S',
    'a2a-version': '1.0',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-proto': 'http',
    via: /^2 a2a-gateway-/
  })
  t.equal(call?.raw.filter(name => name === 'x-one').length, 2, 'lines stay lines')
})

t.test('errors of the agent keep their form: trailers only, trailers after messages, no trailers', async t => {
  const agent = await grpcAgent(t, {
    answer: call => {
      const { stream, headers: { 'x-case': wanted } } = call
      if (wanted === 'only') {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '5', 'grpc-message': 'no task', 'x-more': 'y' }, { endStream: true })
      } else if (wanted === 'after') {
        reply(call, [REPLY], { 'grpc-status': '13', 'grpc-message': 'late' })
      } else if (wanted === 'none') {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
        stream.end(REPLY)
      } else {
        stream.respond({ ':status': 503, 'content-type': 'text/html' })
        stream.end('<html>a stack</html>')
      }
    }
  })
  const { client } = await grpcGateway(t, agent)
  const only = await client.call({ body: HELLO, headers: { 'x-case': 'only' } })
  t.match(only, { http: 200, status: 5, message: 'no task', trailersOnly: true })
  t.equal(only.headers['x-more'], 'y')
  t.match(await client.call({ body: HELLO, headers: { 'x-case': 'after' } }), { status: 13, message: 'late', trailersOnly: false, messages: [REPLY.subarray(5)] })
  const none = await client.call({ body: HELLO, headers: { 'x-case': 'none' } })
  t.equal(none.status, 14)
  const page = await client.call({ body: HELLO, headers: { 'x-case': 'page' } })
  t.match(page, { http: 200, status: 14, message: /HTTP 503/, messages: [] })
  t.notMatch(page.message, /stack/)
})

t.test('streams: each message at once, trailers at the end, and the metrics of streams', async t => {
  let next = (): void => {}
  const agent = await grpcAgent(t, {
    answer: ({ stream }) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => { stream.sendTrailers({ 'grpc-status': '0' }) })
      let left = 3
      next = () => {
        if (left-- > 0) stream.write(EVENT)
        else stream.end()
      }
    }
  })
  const gateway = await grpcGateway(t, agent)
  const stream = openCall(gateway.client)
  const chunks: Buffer[] = []
  let head = false
  let trailers: unknown = null
  stream.on('response', () => { head = true })
  stream.on('data', (chunk: Buffer) => { chunks.push(chunk) })
  stream.on('trailers', received => { trailers = received['grpc-status'] })
  stream.end(requestOf({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } }, 'SendStreamingMessage'))
  await until(() => head, 'the head comes before any message')
  for (let i = 1; i <= 3; i++) {
    next()
    await until(() => Buffer.concat(chunks).length === i * EVENT.length)
  }
  next()
  await until(() => trailers === '0')
  t.same(readResponse(chunks[0]?.subarray(5) as Buffer, 'SendStreamingMessage'), readResponse(EVENT.subarray(5), 'SendStreamingMessage'))
  await until(async () => await gateway.metric('a2a_gateway_stream_events_total{agent="agent"}') === 3)
  const sample = 'a2a_gateway_requests_total{agent="agent",operation="SendStreamingMessage",binding="GRPC",version="1.0",outcome="forwarded"}'
  await until(async () => await gateway.metric(sample) === 1)
})

t.test('a client that resets its call resets the call of the agent, and the other way round', async t => {
  const agent = await grpcAgent(t, {
    answer: call => {
      const code = call.headers['x-reset']
      if (code !== undefined) return call.stream.close(Number(code))
      call.stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      call.stream.write(EVENT)
    }
  })
  const gateway = await grpcGateway(t, agent)
  const stream = openCall(gateway.client)
  stream.end(HELLO)
  await new Promise(resolve => stream.once('data', resolve))
  stream.close(8)
  await until(() => agent.calls[0]?.reset === 8, 'CANCEL')
  for (const code of [1, 2, 8, 11]) {
    const got = await gateway.client.call({ body: HELLO, headers: { 'x-reset': String(code) } })
    t.equal(got.reset, code)
  }
  const sample = 'a2a_gateway_requests_total{agent="agent",operation="SendStreamingMessage",binding="GRPC",version="1.0",outcome="client_aborted"}'
  await until(async () => await gateway.metric(sample) === 1)
  t.equal(await gateway.metric('a2a_gateway_upstream_errors_total{agent="agent",kind="reset"}'), 4)
})

t.test('a client that does not read stops the agent', async t => {
  const big = grpcMessage(Buffer.alloc(65_536))
  let written = 0
  const agent = await grpcAgent(t, {
    answer: ({ stream }) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => { stream.sendTrailers({ 'grpc-status': '0' }) })
      const go = (): void => {
        while (written < 2_000) {
          written++
          if (!stream.write(big)) {
            stream.once('drain', go)
            return
          }
        }
        stream.end()
      }
      go()
    }
  })
  const { address } = await grpcGateway(t, agent)
  const client = await RawGrpc.to(address)
  t.teardown(() => { client.close() })
  const stream = openCall(client)
  stream.pause()
  stream.end(HELLO)
  let before = -1
  await until(async () => {
    if (written > 0 && written === before) return true
    before = written
    await sleep(300)
    return false
  }, 'the agent has stopped')
  t.ok(written < 100, `${written} of 2000 messages of 64 kB`)
  let bytes = 0
  stream.on('data', (chunk: Buffer) => { bytes += chunk.length }).resume()
  await new Promise(resolve => stream.once('end', resolve))
  t.equal(bytes, 2_000 * big.length, 'and goes on when the client reads')
})

t.test('deadlines: the gateway ends the call, and the agent sees a reset', async t => {
  const agent = await grpcAgent(t, { answer: () => {} })
  const gateway = await grpcGateway(t, agent)
  const got = await gateway.client.call({ body: HELLO, headers: { 'grpc-timeout': '200m' } })
  t.match(got, { status: 4, trailersOnly: true, message: /deadline/ })
  await until(() => agent.calls[0]?.reset === 8)
  t.match(await gateway.client.call({ body: HELLO, headers: { 'grpc-timeout': '0n' } }), { status: 4 })
  for (const timeout of ['1', '1s', '123456789S', '-1S', '1.5S', '']) {
    t.match(await gateway.client.call({ body: HELLO, headers: { 'grpc-timeout': timeout } }), { status: 3, message: /grpc-timeout/ }, timeout)
  }
  t.equal(agent.calls.length, 1, 'none of them reached the agent')
})

t.test('names with a backslash go through: no JSON text is between a client and an agent of gRPC', async t => {
  const agent = await grpcAgent(t)
  const { client } = await grpcGateway(t, agent)
  for (const name of ['\\', '\\u00', 'https:\\/\\/a', 'C:\\Users', 'a\\']) {
    const metadata = { [name]: { [name]: 1 } }
    const body = requestOf({ message: { ...MESSAGE, metadata, parts: [{ data: metadata }] }, metadata })
    t.equal((await client.call({ body })).status, 0, name)
    t.same(Buffer.concat(agent.calls.at(-1)?.chunks ?? []), body, name)
  }
  t.equal(agent.calls.length, 5)
})

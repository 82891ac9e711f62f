/** The gRPC listener: TLS, hosts, a graceful stop, and clients that only keep the gateway busy. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2'
import { connect, constants } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { RawGrpc } from '../helpers/grpc-raw.js'
import type { RawResponse } from '../helpers/grpc-raw.js'
import { MESSAGE, until } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'
import { gatewayFor } from '../helpers/gateway.js'
import { EVENT, grpcAgent, grpcGateway, HELLO, openCall, REPLY, reply, requestOf, responseOf } from './grpc-kit.js'

const file = (name: string): string => join(inTests('fixtures/tls'), name)
const CA = readFileSync(file('ca.pem'))

t.test('TLS: HTTP/2 by ALPN, nothing else, and client certificates', async t => {
  const agent = await grpcAgent(t)
  const own = `cert: "${file('right.pem')}", key: "${file('right.key.pem')}"`
  const gateway = await gatewayFor(t, { yaml: yaml(agent, `tls: {${own}, clientCa: "${file('ca.pem')}", clientCertificate: require}`) })
  const [address] = gateway.grpc as readonly [string]
  const port = Number(address.split(':')[1])
  const client = { ca: CA, cert: readFileSync(file('right.pem')), key: readFileSync(file('right.key.pem')) }
  const session = connect(`https://${address}`, client)
  const stream = session.request({ ':method': 'POST', ':path': '/lf.a2a.v1.A2AService/SendMessage', 'content-type': 'application/grpc', te: 'trailers' })
  let status: unknown
  stream.on('trailers', trailers => { status = trailers['grpc-status'] })
  stream.resume().end(HELLO)
  await once(stream, 'close')
  t.equal(status, '0')
  t.equal(agent.calls[0]?.headers['x-forwarded-proto'], 'https')
  session.destroy()

  const http1 = connectTls({ host: '127.0.0.1', port, ...client, ALPNProtocols: ['http/1.1'] })
  http1.on('error', () => {})
  await new Promise(resolve => { http1.once('close', resolve) })
  const stranger = connect(`https://${address}`, { ca: CA })
  stranger.on('error', () => {})
  await new Promise(resolve => { stranger.once('close', resolve) })
  await until(async () => await gateway.metric('a2a_gateway_client_errors_total{kind="tls_handshake"}') >= 1)
})

const yaml = (agent: { readonly url: string, readonly port: number }, grpc: string): string => [
  `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", grpc: {listen: "127.0.0.1:0", publicAddress: "agent.test:443", ${grpc}}}`,
  'agents:',
  '  - name: agent',
  `    upstream: {url: "${agent.url}"}`,
  `    grpc: {upstream: "grpc://127.0.0.1:${agent.port}"}`
].join('\n')

t.test('agents by host, and by a listener of their own', async t => {
  const [one, two, three] = [await grpcAgent(t), await grpcAgent(t), await grpcAgent(t)]
  const gateway = await gatewayFor(t, {
    yaml: [
      'server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", grpc: {listen: "127.0.0.1:0", publicAddress: "agents.test:443"}}',
      'agents:',
      `  - {name: one, host: one.test, upstream: {url: "${one.url}"}, grpc: {upstream: "grpc://127.0.0.1:${one.port}"}}`,
      `  - {name: two, host: two.test, upstream: {url: "${two.url}"}, grpc: {upstream: "grpc://127.0.0.1:${two.port}"}}`,
      `  - {name: three, path: /three, upstream: {url: "${three.url}"}, grpc: {listen: "127.0.0.2:0", publicAddress: "three.test:1", upstream: "grpc://127.0.0.1:${three.port}"}}`
    ].join('\n')
  })
  t.equal(gateway.grpc.length, 2)
  const [shared, own] = [await RawGrpc.to(gateway.grpc[0] as string), await RawGrpc.to(gateway.grpc[1] as string)]
  t.teardown(() => {
    shared.close()
    own.close()
  })
  t.match(await shared.call({ body: HELLO, headers: { ':authority': 'one.test:443' } }), { status: 0 })
  t.match(await shared.call({ body: HELLO, headers: { ':authority': 'two.test' } }), { status: 0 })
  t.match(await shared.call({ body: HELLO, headers: { ':authority': 'three.test' } }), { status: 12 })
  t.match(await own.call({ body: HELLO, headers: { ':authority': 'anything' } }), { status: 0 })
  t.same([one, two, three].map(agent => agent.calls.length), [1, 1, 1])
})

t.test('services of grpc.passthrough: forwarded both ways while they run, and no others', async t => {
  const agent = await grpcAgent(t, {
    early: true,
    answer: ({ stream }) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => { stream.sendTrailers({ 'grpc-status': '0' }) })
      stream.on('data', (chunk: Buffer) => { stream.write(chunk) })
      stream.on('end', () => { stream.end() })
    }
  })
  const { client } = await grpcGateway(t, agent, { agentGrpc: [`upstream: "grpc://127.0.0.1:${agent.port}"`, 'passthrough: [grpc.reflection.v1.ServerReflection]'] })
  const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'
  const stream = openCall(client, { ':path': path })
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => { chunks.push(chunk) })
  for (let i = 1; i <= 3; i++) {
    stream.write(HELLO)
    await until(() => Buffer.concat(chunks).length === i * HELLO.length)
  }
  stream.end()
  const [trailers] = await once(stream, 'trailers')
  t.equal(trailers['grpc-status'], '0')
  t.equal(agent.calls[0]?.headers[':path'], path)
  for (const other of ['/grpc.health.v1.Health/Check', `${path}/x`, '/grpc.reflection.v1.ServerReflection', `/${path}`]) {
    t.match(await client.call({ path: other, body: HELLO }), { status: 12 }, other)
  }
  t.equal(agent.calls.length, 1)
})

t.test('a stop: GOAWAY, calls in flight end, streams that do not end get a status', async t => {
  const waiting: (() => void)[] = []
  const agent = await grpcAgent(t, {
    answer: call => {
      if (call.headers[':path']?.endsWith('SendMessage') === true) {
        waiting.push(() => { reply(call) })
        return
      }
      call.stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      call.stream.write(EVENT)
    }
  })
  const gateway = await grpcGateway(t, agent, { server: ['drainTimeout: 1s'] })
  const stream = openCall(gateway.client)
  stream.end(HELLO)
  await once(stream, 'data')
  const call = gateway.client.call({ body: HELLO })
  await until(() => waiting.length === 1)
  const goaway = once(gateway.client.session, 'goaway')
  const closing = gateway.close()
  await goaway
  waiting[0]?.()
  t.match(await call, { status: 0 })
  const [trailers] = await once(stream, 'trailers')
  t.equal(trailers['grpc-status'], '14')
  t.match(decodeURIComponent(String(trailers['grpc-message'])), /shutting down/)
  await closing
  await until(() => agent.calls[0]?.reset === 8, 'the agent knows')
})

t.test('a header of the agent with the value connection: all headers reach the client, also while the gateway stops', async t => {
  const waiting: (() => void)[] = []
  const own = { 'x-a': 'connection', vary: 'connection', 'x-b': '1' }
  const agent = await grpcAgent(t, {
    answer: call => { waiting.push(() => { reply(call, [REPLY], { 'grpc-status': '0', 'x-c': 'connection', 'x-d': '2' }, own) }) }
  })
  const gateway = await grpcGateway(t, agent, { server: ['drainTimeout: 20s'] })
  const isWhole = ({ status, headers, trailers, messages }: RawResponse): void => {
    t.match({ status, headers, trailers }, { status: 0, headers: own, trailers: { 'x-c': 'connection', 'x-d': '2' } })
    t.notOk('connection' in headers || 'connection' in trailers)
    t.same(messages, [REPLY.subarray(5)])
  }
  const first = gateway.client.call({ body: HELLO })
  await until(() => waiting.length === 1)
  waiting[0]?.()
  isWhole(await first)
  const last = gateway.client.call({ body: HELLO })
  await until(() => waiting.length === 2)
  const goaway = once(gateway.client.session, 'goaway')
  const closing = gateway.close()
  await goaway
  waiting[1]?.()
  isWhole(await last)
  await closing
})

// The process of the test is that of the gateway. With Node 20, it aborted in one of two runs, after a few thousand resets.
t.test('rapid resets end the connection, and the gateway goes on', async t => {
  const agent = await grpcAgent(t, { answer: () => {} })
  const gateway = await grpcGateway(t, agent)
  for (let round = 0; round < 5; round++) {
    const attacker = connect(`http://${gateway.address}`)
    attacker.on('error', () => {})
    await once(attacker, 'connect')
    let opened = 0
    for (; opened < 20_000 && !attacker.destroyed && !attacker.closed; opened++) {
      // The gateway rejects a call without `te`, and its response and the reset cross.
      const stream = attacker.request({ ':method': 'POST', ':path': '/lf.a2a.v1.A2AService/SendMessage', 'content-type': 'application/grpc' })
      stream.on('error', () => {})
      stream.close(constants.NGHTTP2_CANCEL)
      if (opened % 50 === 49) await sleep(1)
    }
    t.ok(opened < 20_000, `the connection ended after ${opened} resets`)
    attacker.destroy()
  }
  const answered = await grpcAgent(t)
  const other = await grpcGateway(t, answered)
  t.match(await other.client.call({ body: HELLO }), { status: 0 })
})

t.test('calls that the agent resets do not count against their client', async t => {
  let streaming = true
  const agent = await grpcAgent(t, {
    answer: call => {
      if (!streaming) return call.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
      streaming = false
      call.stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
      call.stream.write(EVENT)
    }
  })
  const { client } = await grpcGateway(t, agent)
  const stream = openCall(client)
  stream.end(requestOf({ message: MESSAGE }, 'SendStreamingMessage'))
  await once(stream, 'data')
  let reset = 0
  while (reset < 1_200) {
    const codes = await Promise.all(Array.from({ length: 50 }, async () => (await client.call({ body: HELLO })).reset))
    if (codes.some(code => code !== constants.NGHTTP2_INTERNAL_ERROR)) break
    reset += codes.length
  }
  t.equal(reset, 1_200)
  t.notOk(stream.destroyed, 'another call of the client goes on')
})

t.test('too many PING frames, idle connections, and bytes that are not HTTP/2', async t => {
  const agent = await grpcAgent(t)
  const gateway = await grpcGateway(t, agent, { root: ['limits: {idleTimeout: 1s}'] })
  const pinging = connect(`http://${gateway.address}`)
  pinging.on('error', () => {})
  const code = goawayOf(pinging)
  await once(pinging, 'connect')
  for (let sent = 0; sent < 2_000 && !pinging.destroyed; sent++) {
    await new Promise<void>(resolve => { if (!pinging.ping(() => { resolve() })) resolve() })
  }
  t.equal(await code, constants.NGHTTP2_ENHANCE_YOUR_CALM)

  const idle = connect(`http://${gateway.address}`)
  idle.on('error', () => {})
  t.equal(await goawayOf(idle), constants.NGHTTP2_NO_ERROR)
  await once(idle, 'close')

  const plain = connectTcp(Number(gateway.address.split(':')[1]), '127.0.0.1')
  plain.on('error', () => {})
  plain.resume().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(plain, 'close')
  await until(async () => await gateway.metric('a2a_gateway_client_errors_total{kind="malformed"}') === 1)
  const client = await RawGrpc.to(gateway.address)
  t.teardown(() => { client.close() })
  t.match(await client.call({ body: HELLO }), { status: 0 })
})

async function goawayOf (session: ClientHttp2Session): Promise<number> {
  const [code] = await once(session, 'goaway') as [number]
  return code
}

t.test('calls at once on one connection, and header blocks, are limited', async t => {
  const agent = await grpcAgent(t, { answer: () => {} })
  const gateway = await grpcGateway(t, agent, { grpc: ['maxConcurrentStreams: 3'] })
  await until(() => gateway.client.session.remoteSettings.maxConcurrentStreams === 3)
  const calls = Array.from({ length: 5 }, () => gateway.client.call({ body: HELLO, headers: { 'grpc-timeout': '500m' } }))
  await until(() => agent.calls.length === 3)
  await Promise.all(calls)
  t.equal(agent.calls.length, 5)
  const large = await gateway.client.call({ body: HELLO, headers: { 'x-large': 'x'.repeat(64_000) } })
  t.ok(large.status !== 0 && agent.calls.length === 5)
})

const URI = 'https://acme.example/ext/receipts/v1'
const HELD = [
  'extensions:',
  `  receipts: {uri: "${URI}", mode: enforce, owns: {metadata: [$uri]}, response: [`,
  '    {id: whole, select: {metadata: {in: [message, event], key: $uri}}, schema: {type: object}, verdict: reject}]}'
]
const LARGE = responseOf({ message: { ...MESSAGE, role: 'ROLE_AGENT', parts: [{ text: 'x'.repeat(3_000_000) }] } }, 'SendStreamingMessage')
const WRITE_TIMEOUT = 1_000

for (const [kind, agentLines, root] of [['relayed', [], []], ['held', ['responses: enforce', 'extensions: [receipts]'], HELD]] as const) {
  t.test(`${kind}: a client that reads slowly gets the whole response; one that reads nothing is reset after limits.writeTimeout`, async t => {
    const agent = await grpcAgent(t, {
      card: { capabilities: { streaming: true, extensions: [{ uri: URI }] } },
      answer: call => { reply(call, [LARGE]) }
    })
    const limits = `limits: {writeTimeout: ${WRITE_TIMEOUT}ms, event: 8MiB}`
    const gateway = await grpcGateway(t, agent, { agent: agentLines, root: [limits, ...root] })
    const ask = (client: RawGrpc, operation: 'SendMessage' | 'SendStreamingMessage'): ClientHttp2Stream => {
      const stream = openCall(client, { ':path': `/lf.a2a.v1.A2AService/${operation}`, 'a2a-extensions': URI })
      stream.end(requestOf({ message: MESSAGE }, operation))
      return stream
    }
    const readSlowly = async (operation: 'SendMessage' | 'SendStreamingMessage'): Promise<void> => {
      const client = await RawGrpc.to(gateway.address)
      t.teardown(() => { client.close() })
      const startedAt = performance.now()
      const stream = ask(client, operation)
      let bytes = 0
      let trailers: IncomingHttpHeaders = {}
      stream.on('trailers', received => { trailers = received })
      stream.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        stream.pause()
        setTimeout(() => { stream.resume() }, chunk.length / 1_000)
      })
      await once(stream, 'end')
      t.same([bytes, trailers['grpc-status']], [LARGE.length, '0'], operation)
      t.ok(performance.now() - startedAt > 2 * WRITE_TIMEOUT, 'the response takes longer than the timeout')
    }
    const slow = Promise.all([readSlowly('SendMessage'), readSlowly('SendStreamingMessage')])
    for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) ask(gateway.client, operation).pause()
    await until(async () => await gateway.metric('a2a_gateway_client_errors_total{kind="write_timeout"}') === 2)
    t.match(await gateway.client.call({ path: '/lf.a2a.v1.A2AService/Nothing', body: HELLO }), { status: 12 }, 'another call of the client')
    await slow
    await until(async () => await gateway.metric('a2a_gateway_requests_active{agent="agent"}') === 0)
    t.equal(await gateway.metric('a2a_gateway_client_errors_total{kind="write_timeout"}'), 2)
  })
}

/** Messages of a proxy within the limits: memory from their first byte, and the time until they are complete. */
import type { Test } from 'tap'
import t from 'tap'
import type { TestGateway } from '../helpers/gateway.js'
import { gatewayFor } from '../helpers/gateway.js'
import { RawGrpc, grpcMessage } from '../helpers/grpc-raw.js'
import { END_HEADERS, END_STREAM, FRAME, H2Socket, frame, headerBlock } from '../helpers/h2-frames.js'
import { until, untilSame } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { codec } from './envoy-proto.js'
import { envoyFor, MODE } from './mesh-kit.js'

const MIB = 1_048_576
const CHECK = '/envoy.service.auth.v3.Authorization/Check'
const PROCESS = '/envoy.service.ext_proc.v3.ExternalProcessor/Process'
/** Bytes in a DATA frame: the largest that Node accepts by default. */
const FRAME_BYTES = 16_384

async function gatewayWith (t: Test, limits: string): Promise<TestGateway> {
  const agent = await fakeAgent(t, { card: plainCard })
  return await gatewayFor(t, {
    yaml: `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, mesh: {listen: "127.0.0.1:0"}}\nlimits: {${limits}}\nagents: [{name: agent, upstream: {url: "${agent.url}"}}]`
  })
}

const headOf = (path: string): Buffer => headerBlock([
  [':method', 'POST'], [':scheme', 'http'], [':path', path], [':authority', 'gateway.test'], ['te', 'trailers'], ['content-type', 'application/grpc']
])

/** A question of ext_authz about a call with a body. */
function question (body: number, path = '/rpc'): Buffer {
  return grpcMessage(codec('CheckRequest').encode({
    attributes: { request: { http: { method: 'POST', path, host: 'agents.test', scheme: 'http', rawBody: Buffer.alloc(body, 'x'), size: body } } }
  }))
}

/** Opens a call, and sends bytes without the end of the stream. */
function begin (h2: H2Socket, path: string, bytes: Buffer, stream = 1): void {
  h2.send(frame(FRAME.headers, END_HEADERS, stream, headOf(path)))
  for (let at = 0; at < bytes.length; at += FRAME_BYTES) h2.send(frame(FRAME.data, 0, stream, bytes.subarray(at, at + FRAME_BYTES)))
}

const held = (gateway: TestGateway): Promise<number> => gateway.metric('a2a_gateway_held_bytes')

/** Text of all frames of a stream. */
const textOf = (h2: H2Socket, stream = 1): string =>
  Buffer.concat(h2.frames.filter(one => one.stream === stream).map(({ payload }) => payload)).toString('latin1')

t.test('160 incomplete questions of 200 kB: the budget holds, and calls beyond it are rejected in their binding', async t => {
  const gateway = await gatewayWith(t, 'memory: 16MiB, body: 4MiB')
  const proxies = await Promise.all(Array.from({ length: 160 }, async () => await H2Socket.to(gateway.mesh ?? '')))
  t.teardown(() => { for (const one of proxies) one.close() })
  const bytes = question(2 * MIB).subarray(0, 200_000)
  let most = 0
  for (const one of proxies) {
    begin(one, CHECK, bytes)
    await one.alive()
    most = Math.max(most, await held(gateway))
  }
  t.ok(most <= 16 * MIB, `held: ${most} bytes`)
  t.ok(most > 10 * MIB, `the bytes count from the first: ${most}`)
  const refused = await gateway.metric('a2a_gateway_refusals_total{agent="agent",rule="gateway/memory"}')
  t.ok(refused >= 70, `${refused} rejected`)
  const late = proxies.at(-1) as H2Socket
  await late.until(() => textOf(late).includes('OVERLOADED'))
  t.match(textOf(late), /retry-after/, 'a response for the client, not an error of the filter')
  for (const one of proxies) one.close()
  await until(async () => await held(gateway) === 0, 'the bytes to be given back')
  t.equal(await envoyFor(t, gateway.mesh ?? '').health(), 1)
  t.equal(await gateway.metric('a2a_gateway_unexpected_errors_total{place="ext_authz"}'), 0)
})

t.test('a complete question holds its body once, until its end', async t => {
  const gateway = await gatewayWith(t, 'memory: 3MiB, body: 4MiB')
  const proxy = await RawGrpc.to(gateway.mesh ?? '')
  t.teardown(() => { proxy.close() })
  t.match(await proxy.call({ path: CHECK, body: question(2 * MIB) }), { status: 0 }, 'two thirds of the budget')
  await until(async () => await held(gateway) === 0, 'the bytes to be given back')
  const { status, messages } = await proxy.call({ path: CHECK, body: question(3 * MIB + 1_000) })
  t.equal(status, 0)
  t.match(Buffer.concat(messages).toString(), /OVERLOADED/, 'beyond the budget')
  await until(async () => await held(gateway) === 0, 'the bytes to be given back')
})

t.test('bytes without an address get the status of gRPC', async t => {
  const gateway = await gatewayWith(t, 'memory: 1MiB, body: 4MiB')
  const proxy = await RawGrpc.to(gateway.mesh ?? '')
  t.teardown(() => { proxy.close() })
  for (const path of [CHECK, PROCESS]) {
    t.match(await proxy.call({ path, body: grpcMessage(Buffer.alloc(1_500_000), 0, 4_000_000) }), { status: 8 }, `${path}: RESOURCE_EXHAUSTED`)
  }
  t.equal(await gateway.metric('a2a_gateway_client_errors_total{kind="memory"}'), 2)
  t.equal(await held(gateway), 0)
})

t.test('ext_proc: the body of a request counts from its first byte', async t => {
  const gateway = await gatewayWith(t, 'memory: 1MiB, body: 4MiB')
  const envoy = envoyFor(t, gateway.mesh ?? '')
  for (const request of [MODE.BUFFERED, MODE.FULL_DUPLEX_STREAMED]) {
    const sent = { path: '/rpc', headers: [['content-type', 'application/json'], ['a2a-version', '1.0']] as const, body: 'x'.repeat(2 * MIB) }
    const got = await envoy.process(sent, null, { request, response: request === MODE.BUFFERED ? MODE.NONE : request })
    t.match(got, { own: true, agent: null, status: 503, body: /OVERLOADED|limit for the bytes/ }, `mode ${request}`)
    await until(async () => await held(gateway) === 0, 'the bytes to be given back')
  }
})

t.test('a message that is never complete ends after limits.requestTimeout', async t => {
  const gateway = await gatewayWith(t, 'requestTimeout: 1s')
  /** Trailers end the call; the metric below has the status. */
  const isOver = (h2: H2Socket): boolean =>
    h2.frames.some(({ type, flags, stream }) => type === FRAME.headers && stream === 1 && (flags & END_STREAM) !== 0)
  const cases: readonly (readonly [name: string, path: string, bytes: Buffer, found: RegExp | null])[] = [
    ['ext_authz, a question with an address', CHECK, question(100_000).subarray(0, 50_000), /did not arrive within 1 s/],
    ['ext_authz, no bytes', CHECK, Buffer.alloc(0), null],
    ['ext_authz, half a prefix', CHECK, Buffer.alloc(3), null],
    ['ext_proc, no bytes', PROCESS, Buffer.alloc(0), null],
    ['ext_proc, half a message', PROCESS, grpcMessage(Buffer.alloc(100), 0, 5_000), null]
  ]
  for (const [name, path, bytes, found] of cases) {
    const proxy = await H2Socket.to(gateway.mesh ?? '')
    t.teardown(() => { proxy.close() })
    begin(proxy, path, bytes)
    t.ok(await proxy.until(() => found === null ? isOver(proxy) : found.test(textOf(proxy))), name)
    t.ok(await proxy.alive(), `${name}: the connection lives`)
    proxy.close()
  }
  t.equal(await gateway.metric('a2a_gateway_client_errors_total{kind="timeout"}'), 4)
  t.equal(await gateway.metric('a2a_gateway_refusals_total{agent="agent",rule="gateway/request-timeout"}'), 1)
  await until(async () => await held(gateway) === 0, 'the bytes to be given back')
})

t.test('a proxy that does not end its side of a call', async t => {
  const gateway = await gatewayWith(t, 'requestTimeout: 1s')
  const proxy = await H2Socket.to(gateway.mesh ?? '')
  t.teardown(() => { proxy.close() })
  begin(proxy, '/grpc.health.v1.Health/Check', grpcMessage(Buffer.alloc(0)))
  t.ok(await proxy.until(() => proxy.resets.get(1) === 0), 'the call is reset with NO_ERROR after its response')
})

t.test('limits.connections holds for proxies', async t => {
  const gateway = await gatewayWith(t, 'connections: 2')
  const open = await Promise.all([1, 2, 3].map(async () => await H2Socket.to(gateway.mesh ?? '').catch(() => null)))
  t.teardown(() => { for (const one of open) one?.close() })
  await untilSame(t, () => gateway.metric('a2a_gateway_client_errors_total{kind="dropped"}'), 1, 'the third connection is dropped')
})

import t from 'tap'
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { promisify } from 'node:util'
import { linesOf } from '#telemetry/standard-output.js'
import { createTracing } from '#telemetry/traces/tracing.js'
import type { RequestSpan, Tracing } from '#telemetry/traces/tracing.js'
import type { TracedRequest } from '#telemetry/traces/span.js'
import { GRPC_CODE_NAMES } from '#wire/grpc/code-names.js'
import { until } from '../helpers/http.js'
import { memoryLog } from '../helpers/memory-log.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
/** A request without a trace. */
const HEAD = { headers: {} }

interface OtlpValue {
  stringValue?: string
  intValue?: number
  boolValue?: boolean
  doubleValue?: number
  arrayValue?: { values: OtlpValue[] }
}
interface OtlpAttribute { key: string, value: OtlpValue }
interface OtlpSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  traceState?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: OtlpAttribute[]
  events: Array<{ name: string, attributes: OtlpAttribute[] }>
  status: { code: number, message?: string }
}
interface OtlpRequest {
  resourceSpans: Array<{
    resource: { attributes: OtlpAttribute[] }
    scopeSpans: Array<{ scope: { name: string; version: string }; spans: OtlpSpan[] }>
  }>
}
interface Post { url: string, headers: IncomingHttpHeaders, body: Buffer }

/** A collector: a real HTTP server that stores posted requests, and responds when `when` allows it. */
async function collector (
  t: { teardown(fn: () => unknown): unknown },
  status = 200,
  when: (answer: () => void) => void = answer => {
    answer()
  }
): Promise<{ url: string; posts: Post[] }> {
  const posts: Post[] = []
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      posts.push({ url: req.url ?? '', headers: req.headers, body: Buffer.concat(chunks) })
      when(() => {
        res.writeHead(status, { 'content-type': 'application/json' }).end('{}')
      })
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, posts }
}

async function tracingTo (env: NodeJS.ProcessEnv): Promise<Tracing> {
  return createTracing({ enabled: true, version: '1.2.3', env, log: memoryLog().log })
}

function spansOf (posts: Post[]): OtlpSpan[] {
  return posts.flatMap(post =>
    (JSON.parse(post.body.toString()) as OtlpRequest).resourceSpans.flatMap(resource => resource.scopeSpans.flatMap(scope => scope.spans))
  )
}

function plain (attributes: OtlpAttribute[]): Record<string, unknown> {
  const value = (v: OtlpValue): unknown =>
    v.arrayValue ? v.arrayValue.values.map(value) : (v.stringValue ?? v.intValue ?? v.boolValue ?? v.doubleValue)
  return Object.fromEntries(attributes.map(attribute => [attribute.key, value(attribute.value)]))
}

t.test('exports a request over OTLP http/json, field by field', async t => {
  const { url, posts } = await collector(t)
  const tracing = await tracingTo({
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=blue',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,team=a%2Cb'
  })
  const before = Date.now()
  const span = tracing.startRequest(
    {
      method: 'POST',
      url: '/rpc?key=SECRET',
      headers: {
        host: 'gateway.example:8080',
        traceparent: `00-${TRACE}-${SPAN}-01`,
        tracestate: 'rojo=00f067aa0ba902b7, congo=t61rcWkgMzE'
      }
    },
    performance.now() - 20
  )
  t.equal(span.traceId, TRACE)
  span.name('SendMessage')
  span.set('rpc.system.name', 'jsonrpc')
  span.set('a2a.method.name', 'SendMessage')
  span.set('jsonrpc.request.id', 7)
  span.set('a2a.extension.requested', ['https://a.example/ext', 'urn:b'])
  span.observed('flag', true)
  span.observed('long', 'x'.repeat(1000))
  span.observed('many', new Array<string>(100).fill('y'.repeat(300)))
  span.upstreamStarted({ 'server.address': 'agent.example', 'url.path': '/rpc' })
  const outgoing = span.outgoing()
  span.upstreamEnded(200)
  span.upstreamEnded(500)
  span.end('forwarded', 200)
  span.end('gateway_error', 500)
  span.observed('late', 'ignored')
  await tracing.shutdown()

  t.equal(posts.length, 1)
  t.equal(posts[0]?.url, '/v1/traces')
  t.equal(posts[0]?.headers['content-type'], 'application/json')
  t.equal(posts[0]?.headers['x-tenant'], 'blue')
  const resourceSpans = (JSON.parse(posts[0]?.body.toString() ?? '') as OtlpRequest).resourceSpans
  t.match(plain(resourceSpans[0]?.resource.attributes ?? []), {
    'service.name': 'a2a-extension-gateway',
    'service.version': '1.2.3',
    'telemetry.sdk.language': 'nodejs',
    'deployment.environment.name': 'test',
    team: 'a,b'
  })
  t.match(resourceSpans[0]?.scopeSpans[0]?.scope, { name: 'a2a-extension-gateway', version: '1.2.3' })

  const spans = spansOf(posts)
  t.equal(spans.length, 2)
  const server = spans.find(span => span.kind === 2) as OtlpSpan
  const client = spans.find(span => span.kind === 3) as OtlpSpan
  t.equal(server.name, 'SendMessage')
  t.equal(server.traceId, TRACE)
  t.equal(server.parentSpanId, SPAN)
  t.match(server.spanId, /^[0-9a-f]{16}$/)
  t.equal(server.traceState, 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE')
  t.same(plain(server.attributes), {
    'http.request.method': 'POST',
    'url.scheme': 'http',
    'url.path': '/rpc',
    'server.address': 'gateway.example',
    'server.port': '8080',
    'rpc.system.name': 'jsonrpc',
    'a2a.method.name': 'SendMessage',
    'jsonrpc.request.id': 7,
    'a2a.extension.requested': ['https://a.example/ext', 'urn:b'],
    flag: true,
    long: 'x'.repeat(256),
    many: new Array<string>(64).fill('y'.repeat(256)),
    'http.response.status_code': 200,
    'a2a_gateway.outcome': 'forwarded'
  })
  t.equal(server.status.code, 0)
  t.same(server.events, [])

  t.equal(client.name, 'SendMessage')
  t.equal(client.traceId, TRACE)
  t.equal(client.parentSpanId, server.spanId)
  t.same(plain(client.attributes), { 'server.address': 'agent.example', 'url.path': '/rpc', 'http.response.status_code': 200 })
  t.equal(client.status.code, 0)
  t.same(outgoing, { traceparent: `00-${TRACE}-${client.spanId}-01`, tracestate: 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE' })

  const [start, end] = [Number(BigInt(server.startTimeUnixNano) / 1000n) / 1000, Number(BigInt(server.endTimeUnixNano) / 1000n) / 1000]
  t.ok(start > before - 30 && start < before - 15, 'starts when the request arrived')
  t.ok(end - start >= 20 && end - start < 1000, `lasts what it took (${end - start} ms)`)
  t.ok(
    BigInt(client.startTimeUnixNano) >= BigInt(server.startTimeUnixNano) &&
      BigInt(client.endTimeUnixNano) <= BigInt(server.endTimeUnixNano),
    'the call lies within the request'
  )
})

t.test('exports http/protobuf by default', async t => {
  const { url, posts } = await collector(t)
  const tracing = await tracingTo({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/custom`, OTEL_SERVICE_NAME: 'edge' })
  const span = tracing.startRequest(HEAD, performance.now())
  span.name('GetTask')
  span.end('forwarded', 200)
  await tracing.shutdown()
  t.equal(posts.length, 1)
  t.equal(posts[0]?.url, '/custom')
  t.equal(posts[0]?.headers['content-type'], 'application/x-protobuf')
  t.ok(posts[0]?.body.includes('GetTask'), 'holds the span name')
  t.ok(posts[0]?.body.includes(Buffer.from(span.traceId ?? '', 'hex')), 'holds the trace id')
  t.ok(posts[0]?.body.includes('edge'), 'holds the service name')
})

t.test('a failed call is an error without the text of the error', async t => {
  const { url, posts } = await collector(t)
  const tracing = await tracingTo({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' })
  const span = tracing.startRequest(HEAD, performance.now())
  span.name('SendMessage')
  span.upstreamStarted({})
  span.upstreamEnded(null, Object.assign(new Error('SECRET in a message'), { code: 'ECONNREFUSED' }))
  span.end('upstream_error', 502)
  const refused = tracing.startRequest(HEAD, performance.now())
  refused.name('Refused')
  refused.upstreamStarted({})
  refused.upstreamEnded(404)
  refused.end('rejected', 400)
  const aborted = tracing.startRequest(HEAD, performance.now())
  aborted.name('Aborted')
  aborted.upstreamStarted({})
  aborted.end('client_aborted', 499)
  await tracing.shutdown()
  const spans = spansOf(posts)
  t.equal(spans.length, 6, 'end() also closes an open call')
  const find = (name: string, kind: number): OtlpSpan => spans.find(span => span.name === name && span.kind === kind) as OtlpSpan
  t.same(find('SendMessage', 3).status, { code: 2, message: 'ECONNREFUSED' })
  t.same(plain(find('SendMessage', 3).attributes), { 'error.type': 'ECONNREFUSED' })
  t.same(find('SendMessage', 2).status, { code: 2, message: 'upstream_error' })
  t.match(plain(find('SendMessage', 2).attributes), { 'error.type': 'upstream_error', 'http.response.status_code': 502 })
  t.same(find('Refused', 3).status, { code: 2, message: '404' })
  t.equal(find('Refused', 2).status.code, 0, 'a refusal is not an error of the gateway')
  t.equal(find('Aborted', 2).status.code, 0)
  t.notOk(posts.some(post => post.body.includes('SECRET')))
})

t.test('the status of spans follows the semantic conventions of HTTP and JSON-RPC', async t => {
  const { url, posts } = await collector(t)
  const tracing = await tracingTo({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' })
  const trace = (name: string, then: (span: RequestSpan) => void): void => {
    const span = tracing.startRequest(HEAD, performance.now())
    span.name(name)
    span.upstreamStarted({})
    span.upstreamEnded(name === 'http 404' ? 404 : name === 'http 503' ? 503 : 200)
    then(span)
  }
  trace('rpc error of the agent', span => { span.rpcError(-32001, 'agent'); span.end('forwarded', 200) })
  trace('rpc error of the gateway', span => { span.rpcError(-32006, 'gateway'); span.end('rejected', 200) })
  trace('http 404', span => { span.end('forwarded', 404) })
  trace('http 503', span => { span.end('forwarded', 503) })
  trace('fine', span => { span.end('forwarded', 200); span.rpcError(-1, 'agent') })
  await tracing.shutdown()
  const seen = (name: string, kind: number): unknown[] => {
    const span = spansOf(posts).find(one => one.name === name && one.kind === kind) as OtlpSpan
    const { 'error.type': type, 'rpc.response.status_code': code } = plain(span.attributes)
    return [span.status.code, type, code]
  }
  const rows = ['rpc error of the agent', 'rpc error of the gateway', 'http 404', 'http 503', 'fine']
  t.same(rows.map(name => [name, seen(name, 2), seen(name, 3)]), [
    ['rpc error of the agent', [2, '-32001', '-32001'], [2, '-32001', '-32001']],
    ['rpc error of the gateway', [2, '-32006', '-32006'], [0, undefined, undefined]],
    ['http 404', [0, undefined, undefined], [2, '404', undefined]],
    ['http 503', [2, '503', undefined], [2, '503', undefined]],
    ['fine', [0, undefined, undefined], [0, undefined, undefined]]
  ])
})

t.test('the status of spans follows the semantic conventions of gRPC', async t => {
  const { url, posts } = await collector(t)
  const tracing = await tracingTo({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' })
  const trace = (name: string, then: (span: RequestSpan) => void): void => {
    const span = tracing.startRequest(HEAD, performance.now())
    span.name(name)
    span.upstreamStarted({})
    span.upstreamEnded(200)
    then(span)
  }
  for (const status of GRPC_CODE_NAMES) {
    trace(status, span => { span.grpcStatus(status, 'agent'); span.end(status === 'OK' ? 'forwarded' : 'agent_error', 200) })
  }
  trace('of the gateway', span => { span.grpcStatus('INVALID_ARGUMENT', 'gateway'); span.end('rejected', 200) })
  trace('instead of the agent', span => {
    span.grpcStatus('OK', 'agent')
    span.grpcStatus('INTERNAL', 'gateway')
    span.end('rejected', 200)
  })
  trace('no agent', span => { span.grpcStatus('UNAVAILABLE', 'gateway'); span.end('upstream_error', 200) })
  await tracing.shutdown()
  const seen = (name: string, kind: number): unknown[] => {
    const span = spansOf(posts).find(one => one.name === name && one.kind === kind) as OtlpSpan
    const { 'error.type': type, 'rpc.response.status_code': code } = plain(span.attributes)
    return [span.status.code, type, code]
  }
  const ofServer = ['UNKNOWN', 'DEADLINE_EXCEEDED', 'UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS']
  for (const status of GRPC_CODE_NAMES) {
    t.same(seen(status, 2), ofServer.includes(status) ? [2, status, status] : [0, undefined, status], `${status} to the client`)
    t.same(seen(status, 3), status === 'OK' ? [0, undefined, status] : [2, status, status], `${status} of the agent`)
  }
  t.same(seen('of the gateway', 2), [0, undefined, 'INVALID_ARGUMENT'])
  t.same(seen('of the gateway', 3), [0, undefined, undefined])
  t.same(seen('instead of the agent', 2), [2, 'INTERNAL', 'INTERNAL'])
  t.same(seen('instead of the agent', 3), [0, undefined, 'OK'])
  t.same(seen('no agent', 2), [2, 'upstream_error', 'UNAVAILABLE'])
})

t.test('the head of a request is on its span, whatever the Host header says', async t => {
  const { url, posts } = await collector(t)
  const tracing = await tracingTo({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' })
  const socket = { localAddress: '192.0.2.1', localPort: 8443 }
  const rows: [TracedRequest, Record<string, unknown>][] = [
    [{ method: 'GET', url: '/a?b', headers: { host: 'h' }, socket }, { 'server.address': 'h', 'server.port': 80, 'url.path': '/a' }],
    [{ headers: { host: '[2001:db8::1]:99' }, socket }, { 'server.address': '2001:db8::1', 'server.port': 99, 'url.scheme': 'http' }],
    [{ headers: { host: 'h' }, socket: { ...socket, encrypted: true } }, { 'server.port': 443, 'url.scheme': 'https' }],
    [{ headers: { host: 'a:b:c' }, socket }, { 'server.address': '192.0.2.1', 'server.port': 8443 }],
    [{ headers: {}, socket }, { 'server.address': '192.0.2.1', 'server.port': 8443 }],
    [{ method: 'BREW', headers: {} }, { 'http.request.method': '_OTHER', 'server.address': undefined }]
  ]
  for (const [request] of rows) tracing.startRequest(request, performance.now()).end('forwarded', 200)
  await tracing.shutdown()
  const spans = spansOf(posts).map(span => plain(span.attributes))
  for (const [i, [, expected]] of rows.entries()) {
    for (const [name, value] of Object.entries(expected)) t.equal(String(spans[i]?.[name]), String(value), `${i} ${name}`)
  }
})

t.test('the environment switches tracing on, unless the configuration decides', async t => {
  const rows: [boolean | undefined, NodeJS.ProcessEnv, boolean, string[]][] = [
    [undefined, {}, false, []],
    [undefined, { OTEL_TRACES_EXPORTER: 'console' }, true, []],
    [undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }, true, []],
    [undefined, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:1' }, true, []],
    [undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, false, []],
    [undefined, { OTEL_SERVICE_NAME: 'x' }, false, []],
    [undefined, { OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }, false, ['info']],
    [undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, false, ['warn']],
    [undefined, { OTEL_TRACES_EXPORTER: 'zipkin' }, false, ['warn']],
    [false, { OTEL_TRACES_EXPORTER: 'console' }, false, []],
    [true, { OTEL_TRACES_EXPORTER: 'console' }, true, []]
  ]
  for (const [enabled, env, on, levels] of rows) {
    const { log, lines } = memoryLog()
    const tracing = await createTracing({ enabled, version: '1', env, log, lines: linesOf(new PassThrough()) })
    t.equal(tracing.startRequest(HEAD, 0).recording, on, JSON.stringify([enabled, env]))
    t.same(lines.map(({ level }) => level), levels, JSON.stringify([enabled, env]))
  }
})

t.test('a new trace starts if the client sent none or an invalid one', async t => {
  const { url, posts } = await collector(t)
  const tracing = await tracingTo({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' })
  for (const headers of [{}, { traceparent: `ff-${TRACE}-${SPAN}-01`, tracestate: 'a=b' }]) {
    const span = tracing.startRequest({ headers }, performance.now())
    t.match(span.traceId, /^[0-9a-f]{32}$/)
    t.not(span.traceId, TRACE)
    t.equal(span.outgoing()?.tracestate, null, 'a tracestate without its traceparent is dropped')
    span.end('forwarded', 200)
  }
  await tracing.shutdown()
  t.ok(spansOf(posts).every(span => !span.parentSpanId))
})

t.test('samplers: the client decides, and OTEL_TRACES_SAMPLER', async t => {
  const { url, posts } = await collector(t)
  const base = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }
  const parentBased = await tracingTo(base)
  const unsampled = parentBased.startRequest({ headers: { traceparent: `00-${TRACE}-${SPAN}-00` } }, performance.now())
  unsampled.upstreamStarted({})
  t.equal(unsampled.traceId, TRACE)
  t.match(unsampled.outgoing()?.traceparent, new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`), 'the decision travels on')
  unsampled.end('forwarded', 200)
  await parentBased.shutdown()
  const off = await tracingTo({ ...base, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' })
  const span = off.startRequest({ headers: { traceparent: `00-${TRACE}-${SPAN}-01` } }, performance.now())
  span.end('forwarded', 200)
  await off.shutdown()
  t.same(posts, [])
  const { log, lines } = memoryLog()
  const odd = await createTracing({
    enabled: true,
    version: '1',
    env: { ...base, OTEL_TRACES_SAMPLER: 'sometimes', OTEL_RESOURCE_ATTRIBUTES: 'a=b=c' },
    log
  })
  await odd.shutdown()
  t.same(lines.map(line => line.level), ['warn', 'warn'])
  t.match(lines[0]?.message, /OTEL_TRACES_SAMPLER is not one of always_on/)
  t.match(lines[1]?.message, /OTEL_RESOURCE_ATTRIBUTES/)
})

t.test('OTEL_BSP_* is honoured', async t => {
  const { url, posts } = await collector(t)
  const tracing = await tracingTo({
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '2',
    OTEL_BSP_SCHEDULE_DELAY: '10'
  })
  for (let i = 0; i < 4; i++) tracing.startRequest(HEAD, performance.now()).end('forwarded', 200)
  for (let i = 0; i < 100 && posts.length < 2; i++) await new Promise(resolve => setTimeout(resolve, 20))
  t.ok(posts.length >= 2, 'sent in batches, without a shutdown')
  t.equal(spansOf(posts).length, 4)
  await tracing.shutdown()
})

t.test('spans are sent in batches of 512, as by the SDK', async t => {
  const { url, posts } = await collector(t)
  const tracing = await tracingTo({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' })
  for (let i = 0; i < 1_200; i++) tracing.startRequest(HEAD, performance.now()).end('forwarded', 200)
  await tracing.shutdown()
  t.same(posts.map(post => spansOf([post]).length).sort((a, b) => b - a), [512, 512, 176])
})

t.test('a collector that rejects spans is reported once, and a stop does not wait for it', async t => {
  const { url } = await collector(t, 400)
  const { log, lines } = memoryLog()
  let lost = 0
  const tracing = await createTracing({
    enabled: true,
    version: '1',
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1' },
    log,
    onLost: spans => {
      lost += spans
    }
  })
  for (let i = 0; i < 3; i++) tracing.startRequest(HEAD, performance.now()).end('forwarded', 200)
  const started = Date.now()
  await tracing.shutdown()
  t.ok(Date.now() - started < 6000)
  t.equal(lines.filter(line => /does not accept spans/.test(line.message)).length, 1)
  // The SDK gives up with the first batch that fails; the others end by themselves.
  await until(() => lost === 3, 'each lost span to be counted')
})

t.test('spans that do not fit into the queue are counted and reported once, and the others arrive', async t => {
  const held: Array<() => void> = []
  let holds = true
  const { url, posts } = await collector(t, 200, answer => { if (holds) held.push(answer); else answer() })
  const { log, lines } = memoryLog()
  let lost = 0
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '2',
    OTEL_BSP_MAX_QUEUE_SIZE: '5'
  }
  const tracing = await createTracing({ enabled: true, version: '1', env, log, onLost: spans => { lost += spans } })
  const make = (n: number): void => { for (let i = 0; i < n; i++) tracing.startRequest(HEAD, performance.now()).end('forwarded', 200) }
  make(2)
  await until(() => held.length === 1, 'the first batch to be with the collector')
  make(20)
  t.equal(lost, 15)
  t.same(
    lines.map(({ level, fields, message }) => ({ level, fields, message })),
    [
      {
        level: 'warn',
        fields: { spans_lost: 1 },
        message: 'there are more spans than the trace collector accepts; the gateway drops the spans that do not fit into the queue'
      }
    ]
  )
  holds = false
  held[0]?.()
  await until(() => spansOf(posts).length >= 6, 'room to be made')
  make(1)
  await tracing.shutdown()
  t.equal(spansOf(posts).length, 8)
  t.equal(lost, 15)
})

t.test('a stop waits at most 5 seconds for a collector that does not respond', async t => {
  const server = createServer(() => {})
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const { log, lines } = memoryLog()
  const tracing = await createTracing({
    enabled: true,
    version: '1',
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    log
  })
  tracing.startRequest(HEAD, performance.now()).end('forwarded', 200)
  const started = performance.now()
  await tracing.shutdown()
  const waited = performance.now() - started
  t.ok(waited > 4900 && waited < 6500, `${waited} ms`)
  t.same(lines.map(line => line.message), ['some spans were lost while the gateway stopped'])
})

t.test('an unsupported exporter is rejected with the valid values', async t => {
  for (const [name, value] of [['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'], ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'zipkin']] as const) {
    await t.rejects(tracingTo({ [name]: value }), {
      message: `${name} is "${value}". Traces can be exported with http/protobuf (the default) or http/json.`
    })
  }
})

t.test('OTEL_TRACES_EXPORTER: spans as lines, none, or an unknown name', async t => {
  const stream = new PassThrough()
  const { log, lines } = memoryLog()
  const env = { OTEL_TRACES_EXPORTER: 'console', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }
  const tracing = await createTracing({ enabled: true, version: '1', env, log, lines: linesOf(stream) })
  const span = tracing.startRequest({ headers: { traceparent: `00-${TRACE}-${SPAN}-01` } }, performance.now())
  span.name('SendMessage')
  span.upstreamStarted({ 'url.path': '/rpc' })
  span.upstreamEnded(null, new Error('no'))
  span.end('upstream_error', 502)
  await tracing.shutdown()
  const [client, server, ...rest] = String(stream.read()).trimEnd().split('\n').map(line => JSON.parse(line) as Record<string, unknown>)
  t.same(rest, [])
  t.match(client, {
    span: true,
    trace_id: TRACE,
    parent_id: server?.span_id,
    name: 'SendMessage',
    kind: 'CLIENT',
    status: 'ERROR',
    attributes: { 'url.path': '/rpc', 'error.type': 'Error' }
  })
  t.match(server, {
    span: true,
    time: /^\d{4}-.*Z$/,
    trace_id: TRACE,
    span_id: /^[0-9a-f]{16}$/,
    parent_id: SPAN,
    kind: 'SERVER',
    duration_ms: Number,
    status: 'ERROR',
    attributes: { 'http.response.status_code': 502, 'a2a_gateway.outcome': 'upstream_error' }
  })

  const none = await createTracing({ enabled: true, version: '1', env: { OTEL_TRACES_EXPORTER: 'none' }, log, lines: linesOf(stream) })
  none.startRequest(HEAD, 0).end('forwarded', 200)
  t.equal(none.startRequest(HEAD, 0).outgoing(), null)
  t.same(lines.map(({ message }) => message), ['tracing is off: OTEL_TRACES_EXPORTER=none'])
  t.equal(stream.read(), null)
  await t.rejects(tracingTo({ OTEL_TRACES_EXPORTER: 'zipkin' }), {
    message: 'OTEL_TRACES_EXPORTER is "zipkin". It can be otlp (the default), console (a line per span on stdout) or none.'
  })
})

t.test('spans as lines without a reader are counted', async t => {
  const stream = new PassThrough()
  let lost = 0
  const tracing = await createTracing({
    enabled: true,
    version: '1',
    env: { OTEL_TRACES_EXPORTER: 'console' },
    log: memoryLog().log,
    lines: linesOf(stream),
    onLost: spans => {
      lost += spans
    }
  })
  tracing.startRequest(HEAD, performance.now()).end('forwarded', 200)
  t.equal(lost, 0)
  stream.end()
  tracing.startRequest(HEAD, performance.now()).end('forwarded', 200)
  await tracing.shutdown()
  t.equal(lost, 1)
})

t.test('off: the client\'s trace id is known, its headers are unchanged', async t => {
  const { log } = memoryLog()
  for (const env of [{}, { OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }]) {
    const tracing = await createTracing({ enabled: 'OTEL_SDK_DISABLED' in env, version: '1', env, log })
    const span = tracing.startRequest({ headers: { traceparent: `00-${TRACE}-${SPAN}-01` } }, performance.now())
    t.equal(span.traceId, TRACE)
    span.name('SendMessage')
    span.observed('a', 'b')
    span.upstreamStarted({})
    t.equal(span.outgoing(), null)
    span.upstreamEnded(200)
    span.end('forwarded', 200)
    t.equal(tracing.startRequest(HEAD, 0).traceId, null)
    t.equal(tracing.startRequest(HEAD, 0).recording, false)
    t.equal(tracing.startRequest({ headers: { traceparent: 'nonsense' } }, 0).traceId, null)
    t.equal(tracing.startRequest(HEAD, 0), tracing.startRequest(HEAD, 0), 'nothing is allocated')
    await tracing.shutdown()
  }
})

t.test('off: no OpenTelemetry module is loaded; on: nothing is registered globally', async t => {
  const script = `
    import { createRequire } from 'node:module'
    const { createTracing } = await import(process.argv[1])
    const loaded = () => Object.keys(createRequire(process.argv[1].slice(7)).cache).filter(file => file.includes('@opentelemetry')).length
    const log = { info () {}, warn () {} }
    const off = await createTracing({ enabled: false, version: '1', env: {}, log })
    off.startRequest({ headers: {} }, 0).end('forwarded', 200)
    const before = loaded()
    const on = await createTracing({ enabled: true, version: '1', env: {}, log })
    const globals = Object.getOwnPropertySymbols(globalThis).filter(symbol => String(symbol).includes('opentelemetry')).flatMap(symbol => Object.keys(globalThis[symbol]))
    console.log(JSON.stringify([before, loaded() > 0, globals.filter(name => name !== 'version')]))
    await on.shutdown()`
  const file = new URL('../../src/telemetry/traces/tracing.js', import.meta.url).href
  const { stdout } = await promisify(execFile)(process.execPath, [...process.execArgv, '--input-type=module', '-e', script, file])
  t.same(JSON.parse(stdout), [0, true, []])
})

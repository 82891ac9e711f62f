/** The gateway's tracer and encoders, with those of OpenTelemetry's SDK as the oracle: byte for byte. */
import t from 'tap'
import fc from 'fast-check'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { gunzipSync } from 'node:zlib'
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { SpanEncoder } from '#telemetry/traces/encoded-span.js'
import { limitsOf, samplerOf } from '#telemetry/traces/environment.js'
import type { GatewaySpan } from '#telemetry/traces/gateway-span.js'
import { GatewayTracer } from '#telemetry/traces/gateway-tracer.js'
import { JsonSpans } from '#telemetry/traces/json-spans.js'
import { ProtobufSpans } from '#telemetry/traces/protobuf-spans.js'
import { RecordedSpan } from '#telemetry/traces/recorded-span.js'
import type { Attribute } from '#telemetry/traces/span.js'
import { SpanQueue } from '#telemetry/traces/span-queue.js'
import { createTracing } from '#telemetry/traces/tracing.js'
import { createLogger } from '#telemetry/logging.js'
import { anyText } from '../helpers/any-text.js'
import { inTests } from '../helpers/paths.js'
import type { GrpcCodeName } from '#wire/grpc/codes.js'
import { check } from '../helpers/seed.js'

const silentLog = createLogger({ level: 'silent', format: 'json' }, new PassThrough())
const SCOPE = { name: 'a2a-extension-gateway', version: '1.2.3' }
const RESOURCE = resourceFromAttributes({ 'service.name': 'edge', 'service.version': '1.2.3', team: 'a,b ü', empty: '' })
const ORIGIN = { resource: RESOURCE, scope: SCOPE }

type Step =
  | readonly ['name', string]
  | readonly ['observed', string, Attribute]
  | readonly ['upstreamStarted', string, number]
  | readonly ['upstreamEnded', number | null]
  | readonly ['rpcError', number | null, 'agent' | 'gateway']
  | readonly ['grpcStatus', GrpcCodeName, 'agent' | 'gateway']
  | readonly ['wait', number]

interface Script {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly steps: readonly Step[]
  readonly outcome: 'forwarded' | 'upstream_error' | 'agent_error'
  readonly status: number
}

const text = fc.oneof(
  fc.string(),
  anyText(),
  fc.string({ minLength: 50, maxLength: 300 }),
  fc.constantFrom('', 'https://example.com/ext/v1', '\ud800', 'x\udfff', 'é'.repeat(63), 'x'.repeat(127), 'x'.repeat(128), '漢'.repeat(300))
)
/** Objects order names that are integers, and give `__proto__` a meaning: the SDK keeps attributes in an object. */
const attributeName = fc.oneof(fc.constantFrom('a', 'b', 'a2a.task.id', 'x'.repeat(130), 'größe'), text)
  .filter(name => !/^\d+$/.test(name) && name !== '__proto__')
const value: fc.Arbitrary<Attribute> = fc.oneof(
  text,
  fc.boolean(),
  fc.integer(),
  fc.double(),
  fc.constantFrom(-0, 2 ** 31, 2 ** 32 - 1, 2 ** 32, -1, 2 ** 53, -(2 ** 53), 2 ** 63, -(2 ** 63), -(2 ** 64), 1e300),
  fc.array(text, { maxLength: 70 })
)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('observed' as const), attributeName, value) },
  fc.tuple(fc.constant('name' as const), text),
  fc.tuple(fc.constant('upstreamStarted' as const), text, fc.nat(65_535)),
  fc.tuple(fc.constant('upstreamEnded' as const), fc.constantFrom(200, 404, 503, null)),
  fc.tuple(fc.constant('rpcError' as const), fc.constantFrom(-32001, null), fc.constantFrom('agent' as const, 'gateway' as const)),
  fc.tuple(
    fc.constant('grpcStatus' as const),
    fc.constantFrom<GrpcCodeName>('OK', 'NOT_FOUND', 'INTERNAL'),
    fc.constantFrom('agent' as const, 'gateway' as const)
  ),
  fc.tuple(fc.constant('wait' as const), fc.double({ min: -2, max: 70_000, noNaN: true }))
)
const script: fc.Arbitrary<Script> = fc.record({
  method: fc.constantFrom('POST', 'BREW'),
  url: fc.constantFrom('/rpc', '/a?b', `/${'p'.repeat(400)}`),
  headers: fc.constantFrom<IncomingHttpHeaders>(
    {},
    { host: 'gateway.example:8080' },
    { host: '[2001:db8::1]', traceparent: `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`, tracestate: 'rojo=00f067aa0ba902b7, congo=t61' },
    { traceparent: `00-${'0f'.repeat(16)}-${'c3'.repeat(8)}-01`, tracestate: '' },
    { traceparent: `00-${'0f'.repeat(16)}-${'c3'.repeat(8)}-00` }
  ),
  steps: fc.array(step, { maxLength: 40 }),
  outcome: fc.constantFrom('forwarded' as const, 'upstream_error' as const, 'agent_error' as const),
  status: fc.constantFrom(200, 400, 502)
})

/* eslint-disable no-restricted-properties -- both tracers get the same ids from Math.random */
/** Plays scripts with ids and clocks that depend on nothing else. @returns the trace headers for the agent after each step */
function play (scripts: readonly Script[], tracer: ConstructorParameters<typeof RecordedSpan>[0]): unknown[] {
  const [ids, wall, monotonic] = [Math.random, Date.now, performance.now]
  let [seed, now] = [1, 1_000]
  Math.random = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
  Date.now = () => 1_790_000_000_000 + Math.floor(now)
  performance.now = () => now
  try {
    return scripts.flatMap(({ method, url, headers, steps, outcome, status }) => {
      const span = new RecordedSpan(tracer, { method, url, headers }, now)
      const seen = steps.map(one => {
        switch (one[0]) {
          case 'name': span.name(one[1]); break
          case 'observed': span.observed(one[1], one[2]); break
          case 'upstreamStarted': span.upstreamStarted({ 'server.address': one[1], 'server.port': one[2] }); break
          case 'upstreamEnded': span.upstreamEnded(one[1], one[1] === null ? new TypeError('no') : undefined); break
          case 'rpcError': span.rpcError(one[1], one[2]); break
          case 'grpcStatus': span.grpcStatus(one[1], one[2]); break
          case 'wait': now += one[1]
        }
        return [span.outgoing(), span.recording]
      })
      span.end(outcome, status)
      return [span.traceId, ...seen]
    })
  } finally {
    [Math.random, Date.now, performance.now] = [ids, wall, monotonic]
  }
}
/* eslint-enable no-restricted-properties */

/** @returns the spans that the SDK's tracer makes of the scripts */
function bySdk (scripts: readonly Script[], env: NodeJS.ProcessEnv): { spans: ReadableSpan[], seen: unknown[] } {
  const spans: ReadableSpan[] = []
  const processor = {
    onStart () {},
    onEnd: (span: ReadableSpan) => { spans.push(span) },
    forceFlush: async () => {},
    shutdown: async () => {}
  }
  const own = process.env
  process.env = env
  try {
    const provider = new BasicTracerProvider({ resource: RESOURCE, spanProcessors: [processor] })
    return { spans, seen: play(scripts, provider.getTracer(SCOPE.name, SCOPE.version)) }
  } finally {
    process.env = own
  }
}

function byGateway (scripts: readonly Script[], env: NodeJS.ProcessEnv): { spans: GatewaySpan[], seen: unknown[] } {
  const spans: GatewaySpan[] = []
  const tracer = new GatewayTracer({ ...ORIGIN, ...limitsOf(env), onEnd: span => { spans.push(span) } }, samplerOf(env, silentLog))
  return { spans, seen: play(scripts, tracer) }
}

function encoded (encoder: SpanEncoder, spans: readonly GatewaySpan[]): Buffer {
  return Buffer.from(encoder.request(spans.map(span => encoder.encode(span))))
}

const ENVIRONMENTS: readonly NodeJS.ProcessEnv[] = [
  {},
  { OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '7', OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '3' },
  { OTEL_ATTRIBUTE_COUNT_LIMIT: '0' },
  { OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT: '-1', OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '5', OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: 'many' },
  { OTEL_TRACES_SAMPLER: 'always_on' },
  { OTEL_TRACES_SAMPLER: 'always_off' },
  { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' },
  { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '7' },
  { OTEL_TRACES_SAMPLER: 'parentbased_always_off' },
  { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: ' 0.3 ' },
  { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio' }
]

t.test('a request of spans has the bytes that the SDK would send', async t => {
  const [protobuf, json] = [new ProtobufSpans(ORIGIN), new JsonSpans(ORIGIN)]
  let spans = 0
  check('telemetry/spans/bytes', fc.property(fc.array(script, { minLength: 1, maxLength: 4 }), fc.constantFrom(...ENVIRONMENTS), (scripts, env) => {
    const expected = bySdk(scripts, env)
    const actual = byGateway(scripts, env)
    spans += actual.spans.length
    if (JSON.stringify(actual.seen) !== JSON.stringify(expected.seen)) throw new Error('other trace headers, ids or decisions')
    if (expected.spans.length !== actual.spans.length) throw new Error('another number of spans')
    if (expected.spans.length === 0) return
    if (!encoded(protobuf, actual.spans).equals(ProtobufTraceSerializer.serializeRequest(expected.spans) as Uint8Array)) throw new Error('protobuf')
    if (!encoded(json, actual.spans).equals(JsonTraceSerializer.serializeRequest(expected.spans) as Uint8Array)) throw new Error('JSON')
  }), { numRuns: 300 })
  t.ok(spans > 300, `${spans} spans`)
})

t.test('a span of any length has the bytes that the SDK would send', async t => {
  const different: number[] = []
  const encoder = new ProtobufSpans(ORIGIN)
  // The length of a span takes one byte more at 128 and at 16,384 bytes; its chunk has 65,536.
  for (const size of [0, 1, 40, 100, 120, 127, 128, 200, 15_000, 16_200, 16_300, 16_384, 17_000, 65_000, 65_536, 200_000]) {
    const spans: GatewaySpan[] = []
    const tracer = new GatewayTracer(
      { ...ORIGIN, attributeCount: 2_000, attributeLength: Infinity, onEnd: span => { spans.push(span) } },
      samplerOf({}, silentLog)
    )
    const span = tracer.startSpan('', { startTime: 1 })
    for (let i = 0; i < size; i += 200) span.setAttribute(`name ${i}`, 'x'.repeat(Math.min(200, size - i)))
    span.end(2)
    if (!encoded(encoder, spans).equals(ProtobufTraceSerializer.serializeRequest(spans) as Uint8Array)) different.push(size)
  }
  t.same(different, [])
})

t.test('a span is encoded once, when it ends; none is when the queue is full', async t => {
  const protobuf = new ProtobufSpans(ORIGIN)
  const exported: number[] = []
  let [count, lost] = [0, 0]
  const encoder: SpanEncoder = {
    contentType: protobuf.contentType,
    encode: span => {
      count++
      return protobuf.encode(span)
    },
    request: spans => protobuf.request(spans)
  }
  let accept = (): void => {}
  const exporter: SpanExporter = {
    export: (spans, done) => {
      exported.push(spans.length)
      accept = () => { done({ code: 0 }) }
    },
    shutdown: async () => {}
  }
  const queue = new SpanQueue(exporter, encoder, { size: 2, log: silentLog, onLost: spans => { lost += spans } })
  const tracer = new GatewayTracer({ ...ORIGIN, ...limitsOf({}), onEnd: span => { queue.onEnd(span) } }, samplerOf({}, silentLog))
  const first = tracer.startSpan('first')
  t.equal(count, 0)
  first.end()
  t.same([count, exported], [1, []])
  first.setAttribute('late', 'ignored').updateName('late').end()
  t.equal(count, 1)
  tracer.startSpan('second').end()
  t.same([count, exported], [2, [2]])
  for (const name of ['third', 'fourth', 'fifth']) tracer.startSpan(name).end()
  t.same([count, lost, exported], [4, 1, [2]])
  const ended = queue.shutdown()
  accept()
  await setImmediate()
  accept()
  await ended
  t.same([count, lost, exported], [4, 1, [2, 2]])
})

/** A message of protobuf, decoded without a schema: for each field its values, in order. */
type Fields = Map<number, Array<bigint | Buffer>>
function decode (bytes: Buffer): Fields {
  const fields: Fields = new Map()
  let at = 0
  const varint = (): bigint => {
    let [result, shift] = [0n, 0n]
    for (;;) {
      const byte = bytes.readUInt8(at++)
      result |= BigInt(byte & 0x7f) << shift
      shift += 7n
      if (byte < 0x80) return result
    }
  }
  while (at < bytes.length) {
    const tag = varint()
    const type = Number(tag & 7n)
    const read = (length: number): Buffer => {
      if (at + length > bytes.length) throw new Error('the message is too short')
      at += length
      return bytes.subarray(at - length, at)
    }
    const found =
      type === 0 ? varint() : type === 1 ? read(8).readBigUInt64LE() : type === 5 ? BigInt(read(4).readUInt32LE()) : read(Number(varint()))
    if (![0, 1, 2, 5].includes(type)) throw new Error(`wire type ${type}`)
    fields.set(Number(tag >> 3n), [...fields.get(Number(tag >> 3n)) ?? [], found])
  }
  return fields
}

const only = (fields: Fields, number: number): bigint | Buffer | undefined => fields.get(number)?.[0]
const inner = (fields: Fields, number: number): Fields[] => (fields.get(number) ?? []).map(one => decode(one as Buffer))
const string = (fields: Fields, number: number): string | undefined => only(fields, number)?.toString()
const hex = (fields: Fields, number: number): string | undefined => (only(fields, number) as Buffer | undefined)?.toString('hex')
function attributesIn (fields: Fields, number: number): Record<string, unknown> {
  const valueIn = (any: Fields): unknown => {
    if (any.has(1)) return string(any, 1)
    if (any.has(2)) return only(any, 2) === 1n
    if (any.has(3)) return Number(BigInt.asIntN(64, only(any, 3) as bigint))
    return inner(any, 5).flatMap(list => inner(list, 1).map(valueIn))
  }
  return Object.fromEntries(inner(fields, number).map(pair => [string(pair, 1), inner(pair, 2).map(valueIn)[0]]))
}

t.test('a collector receives the spans: after a retry, compressed, with headers', async t => {
  const posts: Array<{ url: string | undefined, headers: IncomingHttpHeaders, body: Buffer }> = []
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      posts.push({ url: req.url, headers: req.headers, body: Buffer.concat(chunks) })
      res.writeHead(posts.length === 1 ? 503 : 200, { 'retry-after': '0' }).end()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  let lost = 0
  const tracing = await createTracing({
    enabled: true,
    version: '1.2.3',
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=blue',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=Bearer%20key',
      OTEL_SERVICE_NAME: 'edge'
    },
    log: silentLog,
    onLost: spans => { lost += spans }
  })
  const headers = { host: 'gateway.example', traceparent: `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`, tracestate: 'rojo=1' }
  const before = Date.now()
  const span = tracing.startRequest({ method: 'POST', url: '/rpc', headers }, performance.now())
  span.name('SendMessage')
  span.set('a2a.extension.requested', ['https://a.example/ext', 'urn:b'])
  span.observed('negative', -5)
  span.observed('yes', true)
  span.upstreamStarted({ 'server.port': 9_000 })
  span.upstreamEnded(200)
  span.rpcError(-32001, 'gateway')
  span.end('rejected', 200)
  await tracing.shutdown()

  t.equal(lost, 0)
  t.equal(posts.length, 2)
  for (const { url, headers, body } of posts) {
    t.equal(url, '/v1/traces')
    t.match(headers, {
      'content-type': 'application/x-protobuf', 'content-encoding': 'gzip', 'x-tenant': 'blue', authorization: 'Bearer key'
    })
    t.ok(body.equals(posts[0]?.body ?? Buffer.alloc(0)), 'the same bytes again')
  }
  const [resourceSpans = new Map(), ...others] = inner(decode(gunzipSync(posts[1]?.body ?? '')), 1)
  t.same(others, [])
  t.match(inner(resourceSpans, 1).map(resource => attributesIn(resource, 1)), [{
    'service.name': 'edge', 'service.version': '1.2.3', 'telemetry.sdk.name': 'opentelemetry'
  }])
  const [scopeSpans = new Map()] = inner(resourceSpans, 2)
  t.same(inner(scopeSpans, 1).map(scope => [string(scope, 1), string(scope, 2)]), [['a2a-extension-gateway', '1.2.3']])
  const [client = new Map(), serverSpan = new Map()] = inner(scopeSpans, 2)
  t.same([client, serverSpan].map(one => [hex(one, 1), string(one, 3), string(one, 5), only(one, 6), only(one, 16)]), [
    ['a1'.repeat(16), 'rojo=1', 'SendMessage', 3n, 0x101n],
    ['a1'.repeat(16), 'rojo=1', 'SendMessage', 2n, 0x301n]
  ])
  t.equal(hex(client, 4), hex(serverSpan, 2))
  t.equal(hex(serverSpan, 4), 'b2'.repeat(8))
  t.same(attributesIn(client, 9), { 'server.port': 9_000, 'http.response.status_code': 200 })
  t.same(attributesIn(serverSpan, 9), {
    'http.request.method': 'POST',
    'url.path': '/rpc',
    'url.scheme': 'http',
    'server.address': 'gateway.example',
    'server.port': 80,
    'a2a.extension.requested': ['https://a.example/ext', 'urn:b'],
    negative: -5,
    yes: true,
    'rpc.system.name': 'jsonrpc',
    'rpc.response.status_code': '-32001',
    'http.response.status_code': 200,
    'a2a_gateway.outcome': 'rejected',
    'error.type': '-32001'
  })
  t.same([client, serverSpan].map(one => inner(one, 15).map(status => [string(status, 2), only(status, 3)])), [[[undefined, 0n]], [['-32001', 2n]]])
  const [start, end] = [only(serverSpan, 7), only(serverSpan, 8)] as [bigint, bigint]
  t.ok(start <= end && Math.abs(Number(start / 1_000_000n) - before) < 60_000)
})

t.test('a collector over TLS is trusted by its CA, and sees a certificate', async t => {
  const tls = (name: string): string => inTests('fixtures', 'tls', `${name}.pem`)
  const seen: unknown[] = []
  const server = https.createServer(
    { key: readFileSync(tls('right.key')), cert: readFileSync(tls('right')), ca: readFileSync(tls('ca')), requestCert: true },
    (req, res) => {
      seen.push([req.url, (req.socket as TLSSocket).authorized])
      req.resume().on('end', () => { res.writeHead(200).end() })
    }
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `https://localhost:${(server.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_CERTIFICATE: tls('ca'),
    OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: tls('right'),
    OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: tls('right.key')
  }
  for (const [trusted, variables] of [[true, env], [false, { ...env, OTEL_EXPORTER_OTLP_CERTIFICATE: '' }]] as const) {
    let lost = 0
    const tracing = await createTracing({ enabled: true, version: '1', env: variables, log: silentLog, onLost: spans => { lost += spans } })
    tracing.startRequest({ headers: {} }, performance.now()).end('forwarded', 200)
    await tracing.shutdown()
    t.equal(lost, trusted ? 0 : 1)
  }
  t.same(seen, [['/v1/traces', true]])
})

/** Responses that Envoy shows through ext_proc: what the gateway does to them, in each mode, against what its own listener does. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import type { TestGateway } from '../helpers/gateway.js'
import { gatewayFor } from '../helpers/gateway.js'
import { call, MESSAGE, rpcBody, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { EVENT, HELLO, REPLY, responseOf } from './grpc-kit.js'
import type { Answer, Envoy, Got, Lines, ProcOptions } from './mesh-kit.js'
import { envoyFor, MODE, pseudo } from './mesh-kit.js'

const URI = 'https://x.test/ext/v1'
const HEADERS: Lines = [['content-type', 'application/json'], ['a2a-version', '1.0'], ['a2a-extensions', URI]]
const JSON_HEAD: Lines = [['content-type', 'application/json']]
const SSE_HEAD: Lines = [['content-type', 'text/event-stream']]
const SEND = rpcBody('SendMessage', { message: MESSAGE })
const STREAM = rpcBody('SendStreamingMessage', { message: MESSAGE })

/** The answer of the agent, for both ways to it. */
let answer: Answer = {}

interface Mesh { readonly gateway: TestGateway, readonly envoy: Envoy, direct (body: string, path?: string): Promise<Got> }

async function mesh (t: Test, responses: string, more = ''): Promise<Mesh> {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, {
      supportedInterfaces: [
        ...(plainCard(url).supportedInterfaces as object[]),
        { url: '127.0.0.1:1', protocolBinding: 'GRPC', protocolVersion: '1.0' }
      ],
      capabilities: { streaming: true, extensions: [{ uri: URI }] }
    }),
    answer: (_request, response) => {
      response.writeHead(answer.status ?? 200, (answer.headers ?? []).flat())
      for (const chunk of answer.chunks ?? []) response.write(chunk)
      response.end()
    }
  })
  const gateway = await gatewayFor(t, {
    yaml: [
      'server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 500ms, mesh: {listen: "127.0.0.1:0"}}',
      'agents:',
      `  - {name: agent, upstream: {url: "${agent.url}"}, extensions: [ext], responses: ${responses}${more}}`,
      'extensions:',
      `  ext: {uri: "${URI}", owns: {metadata: [x]}, response: [`,
      '    {id: number, select: {metadata: {in: [task, event], key: x}}, schema: {type: number}, verdict: reject},',
      '    {id: secret, select: {metadata: {in: [task, event], key: y}}, count: {max: 0}, verdict: strip}]}'
    ].join('\n')
  })
  return {
    gateway,
    envoy: envoyFor(t, gateway.mesh ?? ''),
    direct: async (body, path = '/rpc') => {
      const got = await call(`${gateway.url}${path}`, { method: 'POST', headers: HEADERS.flat(), body })
      const headers = Object.entries(got.headers).map(([name, value]) => [name, String(value)])
      return { status: got.status, body: got.text, headers } as unknown as Got
    }
  }
}

const task = (metadata: object): string => `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"},"metadata":${JSON.stringify(metadata)}}`
const result = (metadata: object): string => `{"jsonrpc":"2.0","id":1,"result":{"task":${task(metadata)}}}`
const event = (metadata: object): string => `data: ${result(metadata)}\n\n`

const WAYS: Readonly<Record<string, ProcOptions>> = {
  'by mode_override': {},
  'BUFFERED by configuration': { response: MODE.BUFFERED, responses: true, overrides: false },
  'STREAMED by configuration': { response: MODE.STREAMED, responses: true, overrides: false },
  'BUFFERED, requests FULL_DUPLEX_STREAMED': { request: MODE.FULL_DUPLEX_STREAMED, response: MODE.BUFFERED, responses: true },
  'STREAMED, requests FULL_DUPLEX_STREAMED': { request: MODE.FULL_DUPLEX_STREAMED, response: MODE.STREAMED, responses: true },
  FULL_DUPLEX_STREAMED: { request: MODE.FULL_DUPLEX_STREAMED, response: MODE.FULL_DUPLEX_STREAMED, responses: true },
  'FULL_DUPLEX_STREAMED, requests BUFFERED': { response: MODE.FULL_DUPLEX_STREAMED, responses: true },
  'FULL_DUPLEX_STREAMED, requests BUFFERED, by agentgateway': { response: MODE.FULL_DUPLEX_STREAMED, responses: true, strict: true }
}

const valueOf = (got: Got, name: string): string | undefined => got.headers.find(one => one[0] === name)?.[1]

t.test('whole responses: forwarded, edited and rejected as on the main listener', async t => {
  const { envoy, direct } = await mesh(t, 'enforce')
  for (const [name, body] of [['valid', result({ x: 1 })], ['edited', result({ x: 1, y: 2 })], ['rejected', result({ x: 'no' })], ['no JSON', '<']] as const) {
    answer = { headers: [...JSON_HEAD, ['content-length', String(body.length)], ['a2a-extensions', URI]], chunks: [body.slice(0, 1), body.slice(1)].filter(one => one !== '') }
    for (const path of ['/rpc', '/rest/message:send']) {
      const sent = path === '/rpc' ? SEND : JSON.stringify({ message: MESSAGE })
      if (path !== '/rpc' && name !== 'no JSON') answer = { ...answer, headers: JSON_HEAD, chunks: [`{"task":${task({ x: name === 'rejected' ? 'no' : 1, ...(name === 'edited' ? { y: 2 } : {}) })}}`] }
      const want = await direct(sent, path)
      for (const [way, options] of Object.entries(WAYS)) {
        const got = await envoy.process({ path, headers: HEADERS, body: sent }, answer, options)
        const late = way.startsWith('STREAMED') && want.status !== 200
        if (late) {
          t.ok(got.cut, `${name} ${path} ${way}: the status has gone out, so the client is cut off`)
          continue
        }
        t.equal(got.status, want.status, `${name} ${path} ${way}: status`)
        t.equal(got.body, want.body, `${name} ${path} ${way}: body`)
        if (!way.startsWith('STREAMED')) t.equal(valueOf(got, 'gateway-decision'), valueOf(want, 'gateway-decision'), `${name} ${path} ${way}: decision`)
        if (name === 'valid' && !way.startsWith('STREAMED')) t.equal(valueOf(got, 'a2a-extensions'), valueOf(want, 'a2a-extensions'), way)
      }
    }
  }
})

t.test('event streams: each event as on the main listener; after a rejection, nothing more of the agent', async t => {
  const { envoy, direct, gateway } = await mesh(t, 'enforce')
  const cases: Readonly<Record<string, readonly string[]>> = {
    valid: [event({ x: 1 }), ': ping\n\n', event({ x: 2 }).slice(0, 9), event({ x: 2 }).slice(9)],
    edited: [event({ x: 1, y: 2 }), event({ y: 3 })],
    rejected: [event({ x: 1 }), event({ x: 'no' }), event({ x: 3 })],
    'rejected at once': [event({ x: 'no' }), event({ x: 3 })]
  }
  for (const [name, chunks] of Object.entries(cases)) {
    answer = { headers: SSE_HEAD, chunks }
    const want = await direct(STREAM)
    for (const [way, options] of Object.entries(WAYS)) {
      if (way.startsWith('BUFFERED')) continue
      const got = await envoy.process({ path: '/rpc', headers: HEADERS, body: STREAM }, answer, options)
      t.match(got, { status: 200, cut: false }, `${name} ${way}`)
      // The head is out before the first event: a rejection is an event, where the main listener may reject the whole response.
      const rejected = want.body.startsWith('{')
      t.equal(got.body, rejected && !way.startsWith('FULL') ? `data: ${want.body}\n\n` : want.body, `${name} ${way}`)
    }
  }
  t.match(gateway.audits().find(line => line.decision === 'rejected'), { phase: 'response', rule: 'number' })
})

t.test('observed: bytes go through, violations are recorded, and a stream goes on when the gateway stops', async t => {
  const { envoy, gateway } = await mesh(t, 'observe')
  answer = { headers: SSE_HEAD, chunks: [event({ x: 'no' }), event({ x: 2 })] }
  for (const options of Object.values(WAYS)) {
    const got = await envoy.process({ path: '/rpc', headers: HEADERS, body: STREAM }, answer, options)
    t.equal(got.body, event({ x: 'no' }) + event({ x: 2 }))
  }
  await until(async () => (await gateway.metric('a2a_gateway_violations_total{agent="agent",extension="ext",rule="number",phase="response",mode="observe"}')) === Object.keys(WAYS).length)

  const stream = envoy.open()
  const seen: string[] = []
  stream.on('error', () => { seen.push('error') })
  stream.on('end', () => { seen.push('end') })
  stream.on('data', reply => { seen.push(...Object.keys(reply as object)) })
  const lines = (all: Lines): object => ({ headers: all.map(([key, value]) => ({ key, rawValue: Buffer.from(value) })) })
  stream.write({ requestHeaders: { headers: lines(pseudo({ path: '/rpc', headers: HEADERS })) }, protocolConfig: { requestBodyMode: 2 } })
  stream.write({ requestBody: { body: Buffer.from(STREAM), endOfStream: true } })
  await until(() => seen.includes('requestBody'))
  stream.write({ responseHeaders: { headers: lines([[':status', '200'], ...SSE_HEAD]) } })
  await until(() => seen.includes('responseHeaders'))
  stream.write({ responseBody: { body: Buffer.from(event({ x: 1 })) } })
  await until(() => seen.includes('responseBody'))
  const closed = gateway.close()
  await until(() => seen.includes('end'))
  t.notOk(seen.includes('error'), 'a clean end: Envoy lets the response go on')
  await closed
})

t.test('nothing to see: the stream ends with the verdict, or with the head', async t => {
  const { envoy, gateway } = await mesh(t, 'off')
  answer = { headers: [...JSON_HEAD, ['a2a-extensions', `${URI}, urn:other`]], chunks: [result({})] }
  const plain = await envoy.process({ path: '/rpc', headers: HEADERS.slice(0, 2), body: SEND }, answer)
  t.match(plain, { letGo: true, body: result({}) }, 'no extension: no response needed')
  t.same(plain.log, ['> request_headers', '< request_headers', '> request_body', '< request_body'])
  const echoed = await envoy.process({ path: '/rpc', headers: HEADERS, body: SEND }, answer)
  t.same(echoed.log, ['> request_headers', '< request_headers', '> request_body', '< request_body', '> response_headers', '< response_headers'])
  t.equal(valueOf(echoed, 'a2a-extensions'), `${URI},urn:other`, 'as the gateway writes it')
  t.equal(await gateway.metric('a2a_gateway_requests_total{agent="agent",operation="SendMessage",binding="JSONRPC",version="1.0",outcome="forwarded",front="ext_proc"}'), 2)
})

t.test('a proxy that needs replies to its end: the stream outlives the decision', async t => {
  const { envoy, gateway } = await mesh(t, 'off')
  answer = { headers: JSON_HEAD, chunks: ['{"jsonrpc":"2.0",', '"id":1,"result":{}}'] }
  const modes: readonly ProcOptions[] = [
    { response: MODE.FULL_DUPLEX_STREAMED, responses: true },
    { request: MODE.FULL_DUPLEX_STREAMED, response: MODE.FULL_DUPLEX_STREAMED, responses: true },
    { response: MODE.BUFFERED, responses: true },
    { response: MODE.NONE, responses: true },
    { response: MODE.NONE }
  ]
  for (const options of modes) {
    for (const headers of [HEADERS, HEADERS.slice(0, 2)]) {
      const got = await envoy.process({ path: '/rpc', headers, body: SEND }, answer, { ...options, overrides: false, strict: true })
      t.match(got, { own: false, status: 200, letGo: false, body: '{"jsonrpc":"2.0","id":1,"result":{}}' }, JSON.stringify(options))
    }
  }
  await until(async () => await gateway.metric('a2a_gateway_requests_active{agent="agent"}') === 0)
  t.equal(await gateway.metric('a2a_gateway_requests_total{agent="agent",operation="SendMessage",binding="JSONRPC",version="1.0",outcome="forwarded",front="ext_proc"}'), 10)
})

t.test('Envoy that shows no responses: the call is forwarded, and one line tells', async t => {
  const agent = await fakeAgent(t, { card: url => plainCard(url, { capabilities: { extensions: [{ uri: URI }] } }) })
  const gateway = await gatewayFor(t, {
    yaml: [
      'server: {listen: null, admin: "127.0.0.1:0", mesh: {listen: "127.0.0.1:0"}}',
      'telemetry: {logs: {level: debug}, audit: {forwarded: true}, traces: {enabled: true}}',
      `agents: [{name: agent, upstream: {url: "${agent.url}"}}]`
    ].join('\n'),
    env: { OTEL_TRACES_EXPORTER: 'console' }
  })
  t.equal(gateway.url, '', 'no main listener')
  const envoy = envoyFor(t, gateway.mesh ?? '')
  answer = { headers: JSON_HEAD, chunks: [result({})] }
  for (let i = 0; i < 2; i++) {
    const got = await envoy.process({ path: '/rpc', headers: HEADERS, body: SEND }, answer, { overrides: false })
    t.match(got, { own: false, body: result({}) })
  }
  await until(async () => await gateway.metric('a2a_gateway_requests_total{agent="agent",operation="SendMessage",binding="JSONRPC",version="1.0",outcome="forwarded",front="ext_proc"}') === 2)
  t.equal(gateway.logs().filter(line => /Envoy shows no responses/.test(String(line.msg))).length, 1)
  t.match(gateway.logs().find(line => line.msg === 'listening'), { mesh: gateway.mesh })
  t.equal(await envoy.health(), 1, 'SERVING')
  const fields = { front: 'ext_proc', outcome: 'forwarded' }
  const line = gateway.logs().find(one => one.msg === 'request')
  const audit = gateway.audits().find(one => one.phase === 'call')
  t.match([line, audit], [fields, fields])
  t.notOk('status' in (line ?? {}) || 'status' in (audit ?? {}), 'nobody knows the status')
  await until(() => gateway.spans().some(span => /a2a_gateway.front/.test(JSON.stringify(span))))
})

t.test('an edited response gets a Content-Length only in place of one, not for a header that names it', async t => {
  const { envoy } = await mesh(t, 'enforce')
  const body = result({ x: 1, y: 2 })
  const edited = result({ x: 1 })
  const named: Lines = [...JSON_HEAD, ['access-control-expose-headers', 'content-length']]
  for (const [headers, length] of [[named, undefined], [[...named, ['content-length', String(body.length)]], String(edited.length)]] as const) {
    answer = { headers, chunks: [body] }
    const got = await envoy.process({ path: '/rpc', headers: HEADERS, body: SEND }, answer)
    t.match(got, { own: false, status: 200, body: edited })
    t.equal(valueOf(got, 'content-length'), length)
    t.equal(valueOf(got, 'access-control-expose-headers'), 'content-length')
  }
})

t.test('gRPC: requests are judged, rejections have their status, responses are held or observed', async t => {
  const head: Lines = [['content-type', 'application/grpc'], ['te', 'trailers'], ['a2a-extensions', URI]]
  const call = (name: string): string => `/lf.a2a.v1.A2AService/${name}`
  const enforcing = await mesh(t, 'enforce')
  const grpcTask = (metadata: object): Buffer => responseOf({ task: { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_WORKING' }, metadata } })
  const ok: Answer = { headers: [['content-type', 'application/grpc']], chunks: [REPLY], trailers: [['grpc-status', '0']] }
  for (const [way, options] of Object.entries(WAYS)) {
    if (way.startsWith('STREAMED') || way.startsWith('BUFFERED')) continue
    const accepted = await enforcing.envoy.process({ path: call('SendMessage'), headers: head, body: HELLO }, ok, options)
    t.match(accepted, { own: false, status: 200, body: REPLY.toString('latin1') }, way)
    t.equal(accepted.agent?.body, HELLO.toString('latin1'))
    const bad = await enforcing.envoy.process({ path: call('SendMessage'), headers: head, body: Buffer.concat([HELLO, HELLO]) }, ok, options)
    t.match(bad, { own: true, status: 200, grpcStatus: 3, agent: null, body: /more than one message/ }, `${way}: rejected`)
    t.equal(valueOf(bad, 'grpc-status'), '3')
    t.ok(valueOf(bad, 'grpc-status-details-bin'))
    const unknown = await enforcing.envoy.process({ path: call('Nothing'), headers: head, body: HELLO }, ok, options)
    t.match(unknown, { own: true, grpcStatus: 12 }, way)
    const held = await enforcing.envoy.process({ path: call('SendMessage'), headers: head, body: HELLO }, { ...ok, chunks: [grpcTask({ x: 'no' })] }, options)
    t.match(held, { own: true, grpcStatus: 13, body: /x/ }, `${way}: a rejected response`)
    const edited = await enforcing.envoy.process({ path: call('SendMessage'), headers: head, body: HELLO }, { ...ok, chunks: [grpcTask({ x: 1, y: 2 })] }, options)
    t.match(edited, { own: false, body: grpcTask({ x: 1 }).toString('latin1') }, `${way}: an edited response`)
    const failed = await enforcing.envoy.process({ path: call('SendMessage'), headers: head, body: HELLO }, { headers: [['content-type', 'application/grpc'], ['grpc-status', '5'], ['grpc-message', 'no']] }, options)
    t.match(failed, { own: false, status: 200 }, `${way}: an error of the agent`)
    t.equal(valueOf(failed, 'grpc-status'), '5')
    const streamed = await enforcing.envoy.process({ path: call('SendStreamingMessage'), headers: head, body: HELLO }, { ...ok, chunks: [EVENT, EVENT] }, options)
    t.match(streamed, { own: false, body: Buffer.concat([EVENT, EVENT]).toString('latin1') }, `${way}: a stream`)
    t.same(edited.trailers.filter(([name]) => name === 'grpc-status'), [['grpc-status', '0']])
  }
  // As the Go SDK does: in the trailers. The bytes of the message are at the client before Envoy shows them.
  const named: Answer = { ...ok, trailers: [['grpc-status', '0'], ['a2a-extensions', `${URI}, urn:secret`], ['x-own', '1']] }
  const noted: Answer = { ...named, headers: [['content-type', 'application/grpc'], ['a2a-extensions', 'urn:other']] }
  for (const late of [named, noted]) {
    const seen = await Promise.all([WAYS['by mode_override'], WAYS.FULL_DUPLEX_STREAMED].map(async options =>
      await enforcing.envoy.process({ path: call('SendMessage'), headers: head, body: HELLO }, late, options)))
    const [held, duplex] = seen.map(({ trailers }) => trailers.map(line => line.join(': ')).sort())
    t.same(held, duplex, 'the trailers that the client sees do not depend on the mode')
    t.ok(held?.includes('x-own: 1'))
    t.ok(held?.some(line => line.startsWith('a2a-extensions: ') && line.includes(URI)))
  }
  const check = await enforcing.envoy.check({ path: call('SendMessage'), headers: head, body: Buffer.concat([HELLO, HELLO]) })
  t.match(check, { own: true, status: 400, body: /more than one message/ })
  t.equal(valueOf(check, 'grpc-status'), '3')
  t.match(await enforcing.envoy.check({ path: call('SendMessage'), headers: head, body: HELLO }), { own: false })
})

t.test('gRPC: a response in one frame of headers', async t => {
  const head: Lines = [['content-type', 'application/grpc'], ['te', 'trailers'], ['a2a-extensions', URI]]
  const alone: Answer = { headers: [['content-type', 'application/grpc'], ['grpc-status', '0'], ['x-own', '1']] }
  for (const responses of ['enforce', 'observe']) {
    const { envoy, gateway } = await mesh(t, responses)
    for (const [way, options] of Object.entries(WAYS)) {
      for (const name of ['SendMessage', 'SendStreamingMessage']) {
        const got = await envoy.process({ path: `/lf.a2a.v1.A2AService/${name}`, headers: head, body: HELLO }, alone, options)
        const what = `${responses}, ${way}: ${name}`
        if (responses === 'enforce' && name === 'SendMessage') t.match(got, { own: true, grpcStatus: 13 }, `${what} needs a message`)
        else {
          t.match(got, { own: false, status: 200, cut: false, body: '', trailers: [] }, what)
          t.same(got.headers.filter(([name]) => name === 'grpc-status' || name === 'x-own'), [['grpc-status', '0'], ['x-own', '1']], what)
        }
      }
    }
    t.equal(await gateway.metric('a2a_gateway_upstream_errors_total{agent="agent",kind="protocol"}'), 0)
  }
})

t.test('a fault in any step ends in an error, never in a clean end', async t => {
  const { envoy, gateway } = await mesh(t, 'enforce')
  answer = { headers: JSON_HEAD, chunks: [result({ x: 1 })] }
  const { MeshRequest } = await import('#front/mesh/request.js')
  const { ExtProcResponse } = await import('#front/mesh/ext-proc-response.js')
  const { ResponseMachine } = await import('#pipeline/response.js')
  const { ConcurrencyLimit } = await import('#agents/concurrency-limit.js')
  const steps: readonly (readonly [object, string])[] = [
    [MeshRequest.prototype, 'push'], [MeshRequest.prototype, 'finish'], [ConcurrencyLimit.prototype, 'enter'], [ExtProcResponse.prototype, 'take'],
    [ResponseMachine.prototype, 'onHead'], [ResponseMachine.prototype, 'onChunk'], [ResponseMachine.prototype, 'onEnd']
  ]
  for (const [prototype, name] of steps) {
    const original = Reflect.get(prototype, name) as unknown
    Reflect.set(prototype, name, () => { throw new Error(`a fault in ${name}`) })
    for (const options of [WAYS['by mode_override'], WAYS.FULL_DUPLEX_STREAMED]) {
      const got = await Promise.race([envoy.process({ path: '/rpc', headers: HEADERS, body: SEND }, answer, options), sleep(5_000)])
      t.match(got, { own: true, status: 500, letGo: false }, `${name}: ${JSON.stringify(options)}`)
    }
    Reflect.set(prototype, name, original)
  }
  t.match(await envoy.process({ path: '/rpc', headers: HEADERS, body: SEND }, answer), { own: false }, 'and the next call works')
  t.ok(await gateway.metric('a2a_gateway_unexpected_errors_total{place="ext_proc"}') >= steps.length, 'each fault is counted')
  await gateway.close()
})

/** Requests that a proxy asks about: the decision of the gateway's own listener, in the messages of ext_authz and ext_proc. */
import type { Socket } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { collectBody } from '#call/steps/body.js'
import { MeshRequest } from '#front/mesh/request.js'
import type { TestGateway } from '../helpers/gateway.js'
import { gatewayFor } from '../helpers/gateway.js'
import { call, MESSAGE, rpcBody, until } from '../helpers/http.js'
import type { FakeAgent } from '../helpers/raw.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import type { Envoy, Got, Lines, ProcOptions } from './mesh-kit.js'
import { HELLO } from './grpc-kit.js'
import { envoyFor, MODE } from './mesh-kit.js'

const URI = 'https://x.test/ext/v1'
const OTHER = 'https://y.test/ext/v1'
const REQUIRED = 'https://required.test/v1'
const HEADERS: Lines = [['content-type', 'application/json'], ['a2a-version', '1.0']]
const ANSWER = { headers: [['content-type', 'application/json']] as Lines, chunks: ['{"jsonrpc":"2.0","id":1,"result":{}}'] }

interface Mesh { readonly agent: FakeAgent, readonly gateway: TestGateway, readonly envoy: Envoy }

const POLICY = [
  'extensions:',
  `  ext: {uri: "${URI}", owns: {metadata: [x], headers: [x-ext]}, inactive: {request: strip}, request: [{id: number, select: {metadata: {key: x}}, schema: {type: number}}]}`
]

/** A gateway with both listeners, in front of an agent that has two required extensions at `/strict`. */
async function mesh (t: Test, more: readonly string[] = [], root: readonly string[] = POLICY, server = ''): Promise<Mesh> {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: URI }, { uri: OTHER }] } })
  })
  const strict = await fakeAgent(t, { card: url => plainCard(url, { capabilities: { extensions: [{ uri: REQUIRED, required: true }] } }) })
  const gateway = await gatewayFor(t, {
    yaml: [
      `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, mesh: {listen: "127.0.0.1:0"}${server}}`,
      'agents:',
      `  - {name: agent, upstream: {url: "${agent.url}"}, extensions: [ext], passthrough: [/files]${more.map(one => `, ${one}`).join('')}}`,
      `  - {name: strict, path: /strict, upstream: {url: "${strict.url}"}}`,
      ...root
    ].join('\n')
  })
  return { agent, gateway, envoy: envoyFor(t, gateway.mesh ?? '') }
}

type Ask = (sent: { readonly path: string, readonly body?: string, readonly headers?: Lines, readonly method?: string }) => Promise<Got>

function waysOf ({ envoy }: Mesh): Readonly<Record<string, Ask>> {
  const process = (options: ProcOptions): Ask => async sent => await envoy.process({ headers: HEADERS, ...sent }, ANSWER, options)
  return {
    ext_authz: async sent => await envoy.check({ headers: HEADERS, ...sent }),
    'ext_authz, headers as a map': async sent => await envoy.check({ headers: HEADERS, ...sent }, { joined: true }),
    BUFFERED: process({}),
    'BUFFERED, responses': process({ responses: true }),
    FULL_DUPLEX_STREAMED: process({ request: MODE.FULL_DUPLEX_STREAMED, response: MODE.FULL_DUPLEX_STREAMED })
  }
}

const VIA = /^(?:date|connection|keep-alive|content-length|transfer-encoding)$/

function linesOf (headers: readonly (readonly [string, string])[]): string[] {
  return headers.filter(([name]) => !VIA.test(name)).map(([name, value]) => `${name}: ${value}`).sort()
}

t.test('rejections: the bytes, the status and the headers of the main listener', async t => {
  const all = await mesh(t)
  const cases = [
    { path: '/strict/rpc', body: rpcBody('SendMessage', { message: MESSAGE }) },
    { path: '/strict/rest/message:send', body: JSON.stringify({ message: MESSAGE }) },
    { path: '/rpc', body: rpcBody('SendMessage', { message: { ...MESSAGE, metadata: { x: 'no number' } } }), headers: [...HEADERS, ['a2a-extensions', URI]] as Lines },
    { path: '/rpc', body: '{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"message":1}}' },
    { path: '/rpc', body: '{"half' },
    { path: '/rpc', body: rpcBody('Unknown') },
    { path: '/nowhere', body: '{}' },
    { path: '/rpc', body: '{}', headers: [...HEADERS, ['a2a-version', '1.0']] as Lines },
    { path: '/rest/message:send', method: 'PUT', body: '{}' },
    { path: '/rpc;a=b', body: '{}' }
  ]
  const wrong: unknown[] = []
  for (const sent of cases) {
    const want = await call(`${all.gateway.url}${sent.path}`, {
      method: sent.method ?? 'POST',
      headers: (sent.headers ?? HEADERS).flat(),
      body: sent.body
    })
    const headers = want.rawHeaders.flatMap((name, i, raw) => i % 2 === 0 ? [[name.toLowerCase(), raw[i + 1] as string] as const] : [])
    for (const [way, ask] of Object.entries(waysOf(all))) {
      // A map has no repeated headers.
      if (way.includes('map') && sent.headers?.length === 3 && sent.headers[2]?.[0] === 'a2a-version') continue
      const got = await ask(sent)
      const isSame = got.status === want.status && got.body === want.text && linesOf(got.headers).join() === linesOf(headers).join()
      if (!isSame || !got.own || got.agent !== null) {
        wrong.push({ way, sent, got, want: { status: want.status, text: want.text, headers: linesOf(headers) } })
      }
    }
  }
  t.same(wrong, [])
  t.equal(await all.gateway.metric('a2a_gateway_requests_total{agent="strict",operation="SendMessage",binding="JSONRPC",version="1.0",outcome="rejected",front="ext_authz"}'), 2)
  t.equal(await all.gateway.metric('a2a_gateway_requests_total{agent="strict",operation="SendMessage",binding="JSONRPC",version="1.0",outcome="rejected",front="ext_proc"}'), 3)
})

t.test('forwarded requests: only what the gateway changes differs', async t => {
  const all = await mesh(t)
  const body = rpcBody('SendMessage', { message: MESSAGE })
  const headers: Lines = [
    ...HEADERS, ['a2a-extensions', `${URI}, ${OTHER}`], ['x-ext', '1'], ['x-two', 'a'], ['x-two', 'b'], ['x-http-method-override', 'PUT'],
    ['gateway-decision', 'forged'], ['x-forwarded-for', '10.0.0.1'], ['via', '1.1 client'], ['x-envoy-external-address', '10.0.0.1']
  ]
  for (const [way, ask] of Object.entries(waysOf(all))) {
    const got = await ask({ path: '/rpc', body, headers })
    const sent = got.agent?.headers ?? []
    t.equal(got.agent?.body, body, `${way}: the bytes`)
    const value = (name: string): string[] => sent.filter(one => one[0] === name).map(one => one[1])
    t.same(value('a2a-extensions'), way.startsWith('ext_authz') ? [`${URI}, ${OTHER}`] : [URI, OTHER], `${way}: a line for each extension`)
    t.same([value('x-http-method-override'), value('gateway-decision')], [[], []], `${way}: removed`)
    t.same([value('x-ext'), value(':path'), value(':authority')], [['1'], ['/rpc'], ['agents.test']], way)
    t.same([value('x-forwarded-for'), value('via'), value('x-envoy-external-address')], [['10.0.0.1'], ['1.1 client'], ['10.0.0.1']], `${way}: the proxy's own`)
    if (!way.includes('map')) t.same(value('x-two'), ['a', 'b'], way)
  }
})

t.test('edits of a body: by ext_proc; ext_authz cannot make them, and rejects the call', async t => {
  const all = await mesh(t)
  const body = rpcBody('SendMessage', { message: { ...MESSAGE, metadata: { x: 1, y: 2 } } })
  for (const [way, ask] of Object.entries(waysOf(all))) {
    const got = await ask({ path: '/rpc', body, headers: [...HEADERS, ['content-length', String(body.length)]] })
    if (way.startsWith('ext_authz')) {
      t.match(got, { own: true, agent: null, status: 500 }, way)
      t.match(JSON.parse(got.body), { error: { code: -32603, message: /a policy edits the request.*use ext_proc/ } })
      continue
    }
    t.equal(got.agent?.body, body.replace('"x":1,', ''), way)
    const length = got.agent?.headers.find(([name]) => name === 'content-length')
    if (way.startsWith('BUFFERED')) t.equal(length?.[1], String(body.length - 6), 'another length')
  }
})

t.test('agents by host and path, and by the name that the proxy sends', async t => {
  const { envoy } = await mesh(t)
  const sent = { path: '/rpc', headers: HEADERS, body: rpcBody('SendMessage', { message: MESSAGE }) }
  t.match(await envoy.check(sent), { own: false })
  t.match(JSON.parse((await envoy.check(sent, { agent: 'strict' })).body), { error: { code: -32008 } }, 'a path below the agent')
  t.match(JSON.parse((await envoy.check({ ...sent, path: '/strict/rpc' }, { agent: 'strict' })).body), { error: { code: -32008 } }, 'its own path')
  t.match(JSON.parse((await envoy.process(sent, ANSWER, { agent: 'strict' })).body), { error: { code: -32008 } })
  t.match(JSON.parse((await envoy.check(sent, { metadata: 'strict' })).body), { error: { code: -32008 } }, 'in the metadata of the call')
  t.match(JSON.parse((await envoy.process(sent, ANSWER, { attribute: 'strict' })).body), { error: { code: -32008 } }, 'as an attribute')
  for (const got of [await envoy.check(sent, { agent: 'nobody' }), await envoy.process(sent, ANSWER, { attribute: 'nobody' }), await envoy.process(sent, ANSWER, { agent: 'nobody' })]) {
    t.match(got, { own: true, status: 404, agent: null }, 'an unknown name')
  }
})

t.test('cards come from the gateway, in every mode, with its validators', async t => {
  const all = await mesh(t)
  const path = '/.well-known/agent-card.json'
  for (const [way, ask] of Object.entries(waysOf(all))) {
    const got = await ask({ method: 'GET', path, headers: [['accept', '*/*']] })
    t.match(got, { own: true, status: 200, agent: null }, way)
    t.match(JSON.parse(got.body), { supportedInterfaces: [{ url: 'http://agents.test/rpc' }, {}, {}, {}] })
    const etag = got.headers.find(([name]) => name === 'etag')?.[1] ?? ''
    const again = await ask({ method: 'GET', path, headers: [['if-none-match', etag]] })
    t.match(again, { own: true, status: 304, body: '' }, way)
  }
})

t.test('a proxy that hides bodies from the gateway: the call is rejected, and the message says why', async t => {
  const { envoy, gateway } = await mesh(t)
  const sent = { path: '/rpc', headers: HEADERS, body: rpcBody('SendMessage', { message: MESSAGE }) }
  for (const request of [MODE.NONE, MODE.STREAMED, MODE.BUFFERED_PARTIAL]) {
    const got = await envoy.process(sent, ANSWER, { request })
    t.match(got, { own: true, status: 500, agent: null }, `request_body_mode ${request}`)
    t.match(got.body, /request_body_mode is neither BUFFERED nor FULL_DUPLEX_STREAMED/)
  }
  t.match(await envoy.process(sent, ANSWER, { old: true }), { own: true, agent: null, body: /Envoy does since 1.33/ })
  const length: Lines = [...HEADERS, ['content-length', String(sent.body.length)]]
  t.match(await envoy.check({ ...sent, headers: length }, { cut: 0 }), { own: true, status: 500, agent: null, body: /set with_request_body/ })
  t.match(await envoy.check({ ...sent, headers: length }, { cut: 10 }), { own: true, status: 413, agent: null }, 'Content-Length')
  t.match(await envoy.check(sent, { cut: 10, size: sent.body.length }), { own: true, status: 413, agent: null }, 'size')
  t.match(await envoy.check(sent, { size: -1 }), { own: true, status: 413, agent: null }, 'of unknown size')
  t.match(await envoy.check(sent, { cut: 10, size: -1 }), { own: true, status: 413, agent: null }, 'cut by agentgateway')
  const partial: Lines = [...HEADERS, ['x-envoy-auth-partial-body', 'true']]
  t.match(await envoy.check({ ...sent, headers: partial }), { own: true, status: 413, agent: null }, 'a partial body')
  for (const value of ['false, true', 'true, false']) {
    const got = await envoy.check({ ...sent, headers: [...HEADERS, ['x-envoy-auth-partial-body', value]] })
    t.match(got, { own: true, status: 413, agent: null }, `a partial body, and a client that sends the header: ${value}`)
  }
  const cancel = { path: '/rest/tasks/t1:cancel', headers: HEADERS, body: '' }
  t.match(await envoy.check(cancel), { own: true, status: 500, agent: null, body: /it shows no body; set with_request_body/ }, 'no body, chunked or HTTP/2')
  t.match(await envoy.check({ ...cancel, headers: [...HEADERS, ['content-length', '0']] }), { own: false }, 'declared to be empty')
  t.match(await envoy.check({ method: 'GET', path: '/rest/tasks/t1', headers: HEADERS }), { own: false }, 'GET')
  t.match(await envoy.check({ path: '/files/a', headers: HEADERS }), { own: false }, 'no rule reads the body')
  const grpc = { path: '/lf.a2a.v1.A2AService/SendMessage', headers: [['content-type', 'application/grpc'], ['te', 'trailers']] as Lines, body: HELLO }
  t.match(await envoy.check(grpc, { agent: 'agent', text: true }), { own: true, agent: null, body: /set pack_as_bytes/ }, 'gRPC as text')
  t.equal(gateway.audits().filter(line => line.decision === 'forwarded').length, 0)
})

t.test('a host that is not the authority: two readers could take different agents', async t => {
  const all = await mesh(t)
  const sent = { path: '/rpc', body: rpcBody('SendMessage', { message: MESSAGE }) }
  for (const [way, ask] of Object.entries(waysOf(all))) {
    t.match(await ask({ ...sent, headers: [...HEADERS, ['host', 'other.test']] }), { own: true, status: 400, agent: null }, way)
    t.match(await ask({ ...sent, headers: [...HEADERS, ['host', 'agents.test']] }), { own: false }, way)
  }
})

t.test('bodies beyond limits.body, and requests of passthrough', async t => {
  const all = await mesh(t, [], [...POLICY, 'limits: {body: 1KiB}'])
  t.match(await all.envoy.process({ path: '/a/../rpc', headers: HEADERS, body: '{}' }, ANSWER), { own: true, status: 400, agent: null }, 'a path with two readings')
  for (const [way, ask] of Object.entries(waysOf(all))) {
    for (const size of [2_000, 400_000]) {
      const large = await ask({ path: '/rpc', body: JSON.stringify({ a: 'x'.repeat(size) }) })
      t.match(large, { own: true, status: 413, agent: null, body: /larger than 1024 bytes/ }, `${way}: ${size}`)
    }
    const passed = await ask({ path: '/files/a?b=c', body: 'any bytes', headers: [['content-type', 'text/plain']] })
    t.match(passed, { own: false, agent: { body: 'any bytes' } }, way)
  }
  const huge = await all.envoy.process({ path: '/rpc', headers: HEADERS, body: 'x'.repeat(30_000_000) }, ANSWER).catch(() => ({ agent: null, own: true }))
  t.match(huge, { agent: null, own: true }, 'beyond all limits')
})

t.test('services of grpc.passthrough: the proxy has the address of the agent, whose card names no gRPC', async t => {
  const { envoy } = await mesh(t, ['grpc: {passthrough: [other.Service]}'])
  const headers: Lines = [['content-type', 'application/grpc'], ['te', 'trailers']]
  const duplex = { request: MODE.FULL_DUPLEX_STREAMED, response: MODE.FULL_DUPLEX_STREAMED }
  const ways: Readonly<Record<string, Ask>> = {
    ext_authz: async sent => await envoy.check(sent, { agent: 'agent' }),
    BUFFERED: async sent => await envoy.process(sent, ANSWER, { agent: 'agent' }),
    FULL_DUPLEX_STREAMED: async sent => await envoy.process(sent, ANSWER, { ...duplex, agent: 'agent' })
  }
  for (const [way, ask] of Object.entries(ways)) {
    t.match(await ask({ path: '/other.Service/Get', headers, body: 'any' }), { own: false, agent: { body: 'any' } }, way)
    t.match(await ask({ path: '/another.Service/Get', headers, body: 'any' }), { own: true, agent: null }, `${way}: a service that is not listed`)
  }
})

t.test('a proxy that breaks the protocol gets no clean end', async t => {
  const { envoy, gateway } = await mesh(t)
  const end = async (messages: readonly object[]): Promise<number> => await new Promise(resolve => {
    const stream = envoy.open()
    stream.on('error', error => { resolve((error as unknown as { code: number }).code) })
    stream.on('data', () => {})
    stream.on('end', () => { resolve(0) })
    for (const message of messages) stream.write(message)
  })
  const body = { requestBody: { body: Buffer.from('{}'), endOfStream: true } }
  const head = { requestHeaders: { headers: { headers: [{ key: ':path', rawValue: Buffer.from('/rpc') }, { key: ':method', rawValue: Buffer.from('POST') }] } }, protocolConfig: { requestBodyMode: 2 } }
  t.not(await end([body]), 0, 'a body first')
  t.not(await end([{}]), 0, 'no part')
  t.not(await end([head, head]), 0, 'two heads')
  t.not(await end([{ requestTrailers: { trailers: { headers: [] } } }]), 0, 'trailers first')
  const trailers = await new Promise<object>(resolve => {
    const stream = envoy.open()
    stream.on('error', () => {})
    stream.on('data', reply => {
      if (Object.keys(reply as object).includes('requestHeaders')) stream.write({ requestTrailers: { trailers: { headers: [] } } })
      else resolve(reply as object)
    })
    stream.write(head)
  })
  t.match(trailers, { immediateResponse: { status: { code: 400 }, body: /trailers and no body/ } }, 'a request that ends with trailers')
  t.match(await envoy.check({ path: '/rpc', headers: HEADERS, body: rpcBody('SendMessage', { message: MESSAGE }) }), { own: false }, 'others go on')
  await gateway.close()
})

t.test('responses of the proxy itself, and an observer, get what Envoy expects', async t => {
  const { envoy } = await mesh(t)
  const head = (more: object = {}): object => ({
    requestHeaders: { headers: { headers: [{ key: ':path', rawValue: Buffer.from('/rpc') }, { key: ':method', rawValue: Buffer.from('POST') }] } },
    protocolConfig: { requestBodyMode: 2 },
    ...more
  })
  const seen: string[] = []
  const stream = envoy.open()
  stream.on('error', () => { seen.push('error') })
  stream.on('end', () => { seen.push('end') })
  stream.on('data', reply => { seen.push(...Object.keys(reply as object)) })
  stream.write(head())
  stream.write({ responseHeaders: { headers: { headers: [{ key: ':status', rawValue: Buffer.from('413') }] }, endOfStream: true } })
  await until(() => seen.includes('responseHeaders'))
  t.same(seen, ['requestHeaders', 'modeOverride', 'responseHeaders'], 'no clean end before a verdict')
  stream.cancel()

  const end = await new Promise<string>(resolve => {
    const observed = envoy.open()
    observed.on('error', () => { resolve('error') })
    observed.on('data', () => { resolve('data') })
    observed.on('end', () => { resolve('end') })
    observed.write(head({ observabilityMode: true }))
  })
  t.equal(end, 'end')
})

t.test('a body whose stream ends is read no longer', async t => {
  for (const parts of [[], ['{"jsonrpc"']]) {
    const request = new MeshRequest({ method: 'POST', path: '/rpc', host: 'x.test', headers: [], length: 100, socket: {} as Socket })
    const owner = { place: 'ext_proc', endAfter: () => {} } as const
    const result = new Promise(resolve => {
      collectBody(request, { size: 1_000, timeout: 3_600_000, owner, reserveMemory: () => true }, resolve)
    })
    for (const part of parts) request.push(Buffer.from(part))
    request.cut()
    t.same(await result, { ok: false, why: 'aborted' })
  }
})

t.test('no request waits for a person behind a proxy: the rule rejects the request', async t => {
  const pause = '{state: input-required, text: May I?, evidence: {select: {metadata: {key: approved}}}}'
  const policy = ['extensions:', `  ext: {uri: "${URI}", request: [{id: ask, select: {part: {data: true}}, count: {max: 0}, pause: ${pause}}]}`]
  const ways = waysOf(await mesh(t, [], policy))
  const message = { ...MESSAGE, parts: [{ data: 1 }] }
  for (const [name, ask] of Object.entries(ways)) {
    const { own, body, agent } = await ask({ path: '/rpc', body: rpcBody('SendMessage', { message }) })
    t.match([own, body], [true, /"code":-32602.*"rule":"ask"/], name)
    t.equal(agent, null, name)
  }
})

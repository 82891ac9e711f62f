/** Headers that only the gateway writes: no client gets its own past the gateway, with any credentials and on any path. */
import fc from 'fast-check'
import t from 'tap'
import { plainHeaderName } from '#wire/header-names.js'
import { grpcAgent, grpcGateway, HELLO } from '../front/grpc-kit.js'
import { call, JSON_TYPE, rpcBody, V1 } from '../helpers/http.js'
import { rawExchange } from '../helpers/raw.js'
import { checkAsync } from '../helpers/seed.js'
import { issuerFor, jwtSource, keyOf } from './issuer.js'
import { ACME, basicOf, guarded, USER } from './kit.js'
import { identityKeys } from './signing-keys.js'

const CANARY = 'smuggled'
const SECRET = 'the-secret-of-the-gateway'

const UPSTREAM = [
  'credentials: {client: forward, send: [{header: X-Agent-Key, fromSecret: {env: KEY}, for: [partners]},',
  '{header: authorization, fromSecret: {env: KEY}, prefix: "Key ", for: [partners]}], identity: {key: {file: key.pem}}}'
].join(' ')
const ROOT = ['server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", publicUrl: "https://agents.example.com"}']

t.test('plain names', t => {
  for (const name of ['gateway-identity', 'Gateway-Identity', 'gateway_identity', 'GATEWAY_identity', 'gateway.identity', 'gateway~identity', 'gateway!Identity']) {
    t.equal(plainHeaderName(name), 'gateway-identity', name)
  }
  t.equal(plainHeaderName('gatewayidentity'), 'gatewayidentity')
  t.end()
})

t.test('smuggled headers', async t => {
  const files = { 'key.pem': (await identityKeys()).ec }
  const options = { upstream: UPSTREAM, root: ROOT, env: { KEY: SECRET }, files }
  const states = [
    await guarded(t, { ...options, extra: ['passthrough: [/docs, /rest]'] }),
    await guarded(t, { ...options, agent: { card: () => ({}) }, extra: ['passthrough: [/docs]', 'card: {onUnavailable: forward}'], waitReady: false })
  ]
  const own = ['gateway-identity', 'x-agent-key', 'authorization']
  const spelled = fc.tuple(fc.constantFrom(...own), fc.array(fc.constantFrom('-', '_', '.', '~'), { minLength: 2, maxLength: 2 }), fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }))
    .map(([name, marks, upper]) => name.split('-').reduce((text, part, i) => text + (i === 0 ? '' : marks[i - 1] ?? '-') + part, '')
      .split('').map((char, i) => (upper[i] === true ? char.toUpperCase() : char)).join(''))
  const line = spelled.chain(name => fc.constantFrom(`${name}: ${CANARY}`, `connection: ${name}\r\n${name}: ${CANARY}`, `${name}: ${CANARY}\r\n${name}: ${CANARY}2`))
  const caller = fc.constantFrom(`x-api-key: ${ACME}`, `authorization: ${basicOf('ada', USER)}`)
  const target = fc.constantFrom(
    ['POST', '/rpc', '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"1"}}'],
    ['GET', '/rest/tasks/1', ''], ['GET', '/docs/x', ''], ['POST', '/docs/x', 'x'], ['OPTIONS', '/rpc', '']
  )
  const request = fc.tuple(fc.nat(1), target, caller, fc.array(line, { minLength: 1, maxLength: 3 }))
  await checkAsync('identity/upstream-headers/smuggled', fc.asyncProperty(request, async ([state, [verb, path, body], who, lines]) => {
    const { agent, gateway } = states[state] as (typeof states)[number]
    const preflight = verb === 'OPTIONS' ? 'origin: https://page.example\r\naccess-control-request-method: POST\r\n' : `${who}\r\n`
    const before = agent.received.length
    await rawExchange(gateway.url, [
      `${verb} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\na2a-version: 1.0\r\ncontent-type: application/json\r\n`,
      body === '' ? '' : `content-length: ${body?.length}\r\n`, preflight, ...lines.map(one => `${one}\r\n`), '\r\n', body
    ].join(''), { until: 'close' })
    for (const { rawHeaders } of agent.received.slice(before)) {
      const text = JSON.stringify(rawHeaders)
      if (text.includes(CANARY)) throw new Error(text)
    }
  }), { numRuns: 300 })
  for (const { agent } of states) t.ok(agent.received.length > 50, 'requests reached the agent')
  const [withCard] = states
  const partner = withCard?.agent.received.find(({ headers }) => headers['x-agent-key'] !== undefined)
  t.equal(partner?.headers['x-agent-key'], SECRET)
  t.equal(partner?.headers.authorization, `Key ${SECRET}`)
  t.type(partner?.headers['gateway-identity'], 'string')
  const preflights = withCard?.agent.received.filter(({ method }) => method === 'OPTIONS') ?? []
  t.ok(preflights.length > 0 && preflights.every(({ headers }) => own.every(name => headers[name] === undefined)), 'a request without a caller gets nothing')
})

t.test('no spelling of a credential header reaches the agent, whatever spelling the source names', async t => {
  const SPELLINGS = ['x-tool-key', 'x_tool_key', 'x.tool.key', 'x_tool-key']
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  const token = await issuer.token(key)
  const wrong: string[] = []
  for (const named of SPELLINGS) {
    for (const [kind, source, credential] of [
      ['apiKey', `partners: {apiKey: {header: "${named}", keys: {file: partners.yaml}}}`, ACME],
      ['jwt', jwtSource('corp', issuer.url, `, header: "${named}"`), token]
    ] as const) {
      const { agent, gateway, dir } = await guarded(t, { sources: [source], extra: ['passthrough: [/docs]'] })
      const overGrpc = await grpcAgent(t)
      const grpc = await grpcGateway(t, overGrpc, { root: [`identity: {sources: {${source}}}`], baseDir: dir })
      const lines = SPELLINGS.flatMap(name => [name, name === named ? credential : CANARY])
      for (const [method, path, body] of [
        ['POST', '/rpc', rpcBody('GetTask', { id: '1' })], ['GET', '/rest/tasks/1', undefined], ['GET', '/docs/x', undefined], ['POST', '/docs/x', 'x']
      ] as const) {
        const before = agent.received.length
        await call(gateway.url + path, { method, headers: [...JSON_TYPE, ...V1, ...lines], ...(body === undefined ? {} : { body }) })
        const got = agent.received.slice(before).map(({ rawHeaders }) => JSON.stringify(rawHeaders).toLowerCase())
        if (got.length !== 1 || got.some(text => /x.tool.key/.test(text))) wrong.push(`${kind} ${named} ${method} ${path}: ${got.join()}`)
      }
      await grpc.client.call({ body: HELLO, headers: Object.fromEntries(SPELLINGS.map((name, i) => [name, lines[i * 2 + 1]])) })
      const got = overGrpc.calls.map(({ raw }) => JSON.stringify(raw))
      if (got.length !== 1 || got.some(text => /x.tool.key/.test(text))) wrong.push(`${kind} ${named} gRPC: ${got.join()}`)
      await Promise.all([gateway.close(), grpc.close()])
    }
  }
  t.same(wrong, [])
})

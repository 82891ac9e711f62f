/** Callers by tokens that Envoy has verified (`identity.sources.<name>.envoyJwt`), in each mode. */
import t from 'tap'
import type { Test } from 'tap'
import type { TestGateway } from '../helpers/gateway.js'
import { gatewayFor } from '../helpers/gateway.js'
import { MESSAGE, rpc, rpcBody, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { HELLO } from './grpc-kit.js'
import type { Answer, Envoy, Got, Lines, Sent } from './mesh-kit.js'
import { envoyFor, MODE } from './mesh-kit.js'

const FILTER = 'envoy.filters.http.jwt_authn'
const ISSUER = 'https://idp.test/'
const BEARER = ['authorization', 'Bearer of.a.client'] as const
const HEAD: Lines = [['content-type', 'application/json'], ['a2a-version', '1.0'], BEARER]
const SENT: Sent = { path: '/rpc', headers: HEAD, body: rpcBody('SendMessage', { message: MESSAGE }) }
const ANSWER: Answer = { headers: [['content-type', 'application/json']], chunks: ['{"jsonrpc":"2.0","id":1,"result":{}}'] }
const DUPLEX = { request: MODE.FULL_DUPLEX_STREAMED, response: MODE.FULL_DUPLEX_STREAMED, responses: true }
const SOURCE = `corp: {envoyJwt: {issuer: "${ISSUER}", audience: [agents], claims: {tenant: /org/id, groups: /realm/roles}}}`

interface Mesh { readonly gateway: TestGateway, readonly envoy: Envoy, readonly reached: () => number }

async function mesh (t: Test, agent: readonly string[] = [], sources = SOURCE): Promise<Mesh> {
  const backend = await fakeAgent(t, { card: url => plainCard(url, { capabilities: {} }) })
  const gateway = await gatewayFor(t, {
    yaml: [
      'server: {listen: "127.0.0.1:0", publicUrl: "https://agents.test", admin: "127.0.0.1:0", drainTimeout: 200ms, mesh: {listen: "127.0.0.1:0"}}',
      'agents:',
      '  - name: agent',
      `    upstream: {url: "${backend.url}"${agent.includes('forward') ? ', credentials: {client: forward}' : ''}}`,
      '    grpc: {upstream: "grpc://127.0.0.1:1", passthrough: [other.Service]}',
      ...agent.filter(line => line !== 'forward').map(line => `    ${line}`),
      `identity: {audit: subject, sources: {${sources}}}`,
      'telemetry: {logs: {level: info}, audit: {forwarded: true}}'
    ].join('\n')
  }, false)
  return { gateway, envoy: envoyFor(t, gateway.mesh ?? ''), reached: () => backend.received.length }
}

type Filters = Readonly<Record<string, object>>
type Ask = (sent: Sent, filters?: Filters) => Promise<Got>

function waysOf (envoy: Envoy): Readonly<Record<string, Ask>> {
  const given = (filters?: Filters): { readonly filters?: Filters } => filters === undefined ? {} : { filters }
  return {
    ext_authz: async (sent, filters) => await envoy.check(sent, given(filters)),
    BUFFERED: async (sent, filters) => await envoy.process(sent, ANSWER, given(filters)),
    FULL_DUPLEX_STREAMED: async (sent, filters) =>
      await envoy.process(sent, ANSWER, { ...DUPLEX, ...given(filters) })
  }
}

function payload (more: object = {}): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1_000)
  const caller = { sub: 'ada', azp: 'app', scope: 'read write' }
  return { iss: ISSUER, aud: ['other', 'agents'], ...caller, org: { id: 'acme' }, realm: { roles: ['dev'] }, iat: now, exp: now + 600, ...more }
}

const proven = (value: unknown): Filters => ({ [FILTER]: { jwt_payload: value } })

t.test('the payload names the caller, and the agent does not get the token', async t => {
  const allow = 'access: {allow: [{id: staff, on: [all], caller: {subject: [ada], client: [app], tenant: [acme], groups: [dev], scopes: [read]}}]}'
  const { envoy, gateway } = await mesh(t, [allow])
  for (const [way, ask] of Object.entries(waysOf(envoy))) {
    const before = gateway.audits().length
    const got = await ask(SENT, proven(payload()))
    t.ok(got.agent, `${way}: ${got.body}`)
    t.notOk(got.agent?.headers.some(([name]) => name === 'authorization'), `${way}: the token`)
    await until(() => gateway.audits().length > before)
    t.match(gateway.audits()[before], { caller: { source: 'corp', id: 'ada', client: 'app', tenant: 'acme' }, credential: 'envoyJwt' }, way)
    t.equal((await ask(SENT, proven(payload({ sub: 'bob' })))).status, 403, `${way}: another caller`)
    t.match(await ask({ path: '/other.Service/Get', headers: [['content-type', 'application/grpc'], ['te', 'trailers']], body: HELLO }), { agent: null, own: true })
  }
})

t.test('upstream.credentials.client: forward', async t => {
  const { envoy } = await mesh(t, ['forward'])
  for (const [way, ask] of Object.entries(waysOf(envoy))) {
    const got = await ask(SENT, proven(payload()))
    t.same(got.agent?.headers.filter(([name]) => name === 'authorization'), [BEARER], way)
  }
})

t.test('a payload that is missing, malformed or of others is no credential', async t => {
  const { envoy } = await mesh(t)
  const now = Math.floor(Date.now() / 1_000)
  const rows: Readonly<Record<string, readonly [problem: string, filters: Filters | undefined]>> = {
    'no metadata': ['missing', undefined],
    'another namespace': ['missing', { 'envoy.filters.http.other': { jwt_payload: payload() } }],
    'another key': ['missing', { [FILTER]: { other: payload() } }],
    'a text': ['malformed', proven(JSON.stringify(payload()))],
    'a list': ['malformed', proven([payload()])],
    'the status of a failure': ['issuer', proven({ code: 3, message: 'Jwt is missing' })],
    'no subject': ['malformed', proven(payload({ sub: 7 }))],
    'an ID token': ['malformed', proven(payload({ nonce: 'n' }))],
    'bound to a certificate': ['malformed', proven(payload({ cnf: { 'x5t#S256': 'A'.repeat(43) } }))],
    'no expiry': ['malformed', proven(payload({ exp: undefined }))],
    'an expiry that is a text': ['malformed', proven(payload({ exp: String(now + 600) }))],
    expired: ['expired', proven(payload({ iat: now - 600, exp: now - 60 }))],
    'another issuer': ['issuer', proven(payload({ iss: 'https://idp.test' }))],
    'another audience': ['audience', proven(payload({ aud: 'other' }))],
    'no audience': ['audience', proven(payload({ aud: undefined }))],
    'far too long': ['malformed', proven(payload({ text: 'x'.repeat(40_000) }))]
  }
  for (const [way, ask] of Object.entries(waysOf(envoy))) {
    for (const [name, [problem, filters]] of Object.entries(rows)) {
      const got = await ask(SENT, filters === undefined ? undefined : clean(filters))
      t.same([got.status, got.agent], [401, null], `${way}: ${name}`)
      t.match(got.body, `"problem":"${problem}"`, `${way}: ${name}`)
    }
  }
  const route = await envoy.check(SENT, { route: proven(payload()) })
  t.same([route.status, route.agent], [401, null], 'metadata of the route')
})

/** Without members that are undefined. */
function clean (filters: Filters): Filters {
  return JSON.parse(JSON.stringify(filters)) as Filters
}

t.test('headers and other listeners never name such a caller', async t => {
  const { envoy, gateway, reached } = await mesh(t)
  const text = JSON.stringify(payload())
  const encoded = Buffer.from(text).toString('base64url')
  const forged: Lines = [
    ['jwt_payload', text], ['x-jwt-payload', encoded], [FILTER, text], ['metadata', text], ['x-envoy-jwt-payload', encoded],
    ['a2a-agent', 'agent'], ['authorization', `Bearer e30.${encoded}.AA`]
  ]
  const headers: Lines = [...HEAD.filter(([name]) => name !== 'authorization'), ...forged]
  for (const [way, ask] of Object.entries(waysOf(envoy))) {
    const got = await ask({ ...SENT, headers })
    t.same([got.status, got.agent], [401, null], way)
  }
  const direct = await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, forged.flat())
  t.equal(direct.status, 401, 'the listener for clients')
  t.match(direct.headers['www-authenticate'], /^Bearer /)
  t.equal(reached(), 0)
})

t.test('a route with several issuers, and a token in a header of its own', async t => {
  const own = (name: string, issuer: string): string =>
    `${name}: {envoyJwt: {issuer: "${issuer}", audience: [agents], header: X-Token, metadata: {namespace: a.filter, key: k}}}`
  const { envoy } = await mesh(t, [], `${own('one', ISSUER)}, ${own('two', 'https://two.test')}`)
  const sent: Sent = { ...SENT, headers: [...HEAD, ['x-token', 'secret'], ['x_token', 'secret']] }
  for (const [way, ask] of Object.entries(waysOf(envoy))) {
    for (const iss of [ISSUER, 'https://two.test']) {
      const got = await ask(sent, { 'a.filter': { k: payload({ iss }) } })
      t.ok(got.agent, `${way}: ${got.body}`)
      t.notMatch(JSON.stringify(got.agent?.headers), /secret/)
      t.ok(got.agent?.headers.some(([name]) => name === 'authorization'), 'for the agent')
    }
    t.equal((await ask(sent, { 'a.filter': { k: payload({ iss: 'https://three.test' }) } })).status, 401)
  }
})

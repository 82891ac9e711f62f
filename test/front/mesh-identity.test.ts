/** Callers, access lists, owners of tasks, limits and credentials for the agent, for calls through a mesh, in each mode. */
import t from 'tap'
import type { Test } from 'tap'
import type { GatewayOptions, TestGateway } from '../helpers/gateway.js'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import { call, MESSAGE, rpcBody, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { issuerFor, jwtSource, keyOf } from '../identity/issuer.js'
import { ACME, basicOf, keyFiles, PARTNERS, PEOPLE, USER } from '../identity/kit.js'
import { identityKeys } from '../identity/signing-keys.js'
import { HELLO } from './grpc-kit.js'
import { MeshRequest } from '#front/mesh/request.js'
import type { Answer, Envoy, Got, Lines, ProcOptions, Sent } from './mesh-kit.js'
import { envoyFor, MODE, pseudo } from './mesh-kit.js'

const JSON_HEAD: Lines = [['content-type', 'application/json'], ['a2a-version', '1.0']]
const GRPC_HEAD: Lines = [['content-type', 'application/grpc'], ['te', 'trailers']]
const ANSWER: Answer = { headers: [['content-type', 'application/json']], chunks: ['{"jsonrpc":"2.0","id":1,"result":{}}'] }
const SEND = rpcBody('SendMessage', { message: MESSAGE })
const USAGE = 'urn:usage'
const KEY = ['x-api-key', ACME] as const
const LOGS = ['telemetry: {logs: {level: info}}']
/** Nobody but the gateway writes these headers for an agent, and frameworks take some of them for the address. */
const FORGED: Lines = [
  ['gateway-identity', 'forged'], ['x-agent-key', 'forged'], ['client-cert', 'forged'], ['client_cert', 'forged'],
  ['x-original-url', '/admin'], ['x-rewrite-url', '/admin'], ['x-http-method-override', 'DELETE'], ['gateway-decision', 'forged']
]

interface Mesh { readonly gateway: TestGateway, readonly envoy: Envoy }

async function mesh (
  t: Test,
  agent: readonly string[] = [],
  root: readonly string[] = [],
  { trusted, source = 'rfc9440' }: { readonly trusted?: string, readonly source?: string } = {}
): Promise<Mesh> {
  const capabilities = { streaming: true, pushNotifications: true, extensions: [{ uri: USAGE }] }
  const backend = await fakeAgent(t, { card: url => plainCard(url, { capabilities }) })
  const absent = await fakeAgent(t, { card: () => ({ no: 'card' }) })
  const sources = [
    PARTNERS,
    'hooks: {apiKey: {query: key, allowQuery: true, keys: {file: people.yaml}}}',
    `spiffe: {certificate: {from: ${source}, proxies: [10.0.0.1/32], trustDomains: [a.test]}}`
  ]
  const upstream = (url: string): string => `upstream: {url: "${url}", credentials: {send: [{header: x-agent-key, fromSecret: {env: STATIC}}], ${trusted === undefined ? 'identity: {key: {file: key.pem}}' : ''}}}`
  const gateway = await gatewayFor(t, {
    yaml: [
      `server: {listen: "127.0.0.1:0", ${trusted === undefined ? 'publicUrl: "https://agents.test"' : `trustedProxies: [${trusted}]`}, admin: "127.0.0.1:0", drainTimeout: 200ms, mesh: {listen: "127.0.0.1:0"}}`,
      'agents:',
      '  - name: agent',
      `    ${upstream(backend.url)}`,
      '    passthrough: [/docs]',
      '    grpc: {upstream: "grpc://127.0.0.1:1", passthrough: [other.Service]}',
      ...agent.map(line => `    ${line}`),
      `  - {name: absent, path: /absent, ${upstream(absent.url)}, card: {onUnavailable: forward}, grpc: {upstream: "grpc://127.0.0.1:1"}}`,
      `identity: {sources: {${sources.join(', ')}}}`,
      ...root
    ].join('\n'),
    baseDir: keyFiles(t, { 'key.pem': (await identityKeys()).ec }),
    env: { STATIC: 'of-the-gateway' }
  }, false)
  return { gateway, envoy: envoyFor(t, gateway.mesh ?? '') }
}

type Ask = (sent: Sent, name?: string) => Promise<Got>

function waysOf ({ envoy }: Mesh, answer: Answer | null = ANSWER): Readonly<Record<string, Ask>> {
  const process = (options: ProcOptions): Ask => async (sent, agent) =>
    await envoy.process(sent, answer, { ...options, ...(agent === undefined ? {} : { agent }) })
  return {
    ext_authz: async (sent, agent) => await envoy.check(sent, agent === undefined ? {} : { agent }),
    BUFFERED: process({}),
    'BUFFERED, responses': process({ responses: true }),
    FULL_DUPLEX_STREAMED: process({ request: MODE.FULL_DUPLEX_STREAMED, response: MODE.FULL_DUPLEX_STREAMED, responses: true })
  }
}

const PREFLIGHT: Lines = [['origin', 'https://page.test'], ['access-control-request-method', 'POST']]
/** Ways of a request to an agent. `bare`: it needs no caller. */
const REQUESTS: Readonly<Record<string, { readonly sent: Sent, readonly agent?: string, readonly bare?: true }>> = {
  operation: { sent: { path: '/rpc', headers: JSON_HEAD, body: SEND } },
  passthrough: { sent: { path: '/docs/a', headers: [['content-type', 'text/plain']], body: 'any bytes' } },
  'passthrough, GET': { sent: { method: 'GET', path: '/docs/a' } },
  preflight: { sent: { method: 'OPTIONS', path: '/rpc', headers: PREFLIGHT }, bare: true },
  'preflight of passthrough': { sent: { method: 'OPTIONS', path: '/docs/a', headers: PREFLIGHT }, bare: true },
  'no card': { sent: { path: '/absent/rpc', headers: JSON_HEAD, body: SEND } },
  'no card, GET': { sent: { method: 'GET', path: '/absent/rest/tasks/1' } },
  'gRPC service of passthrough': { sent: { path: '/other.Service/Get', headers: GRPC_HEAD, body: HELLO }, agent: 'agent' },
  'gRPC without a card': { sent: { path: '/lf.a2a.v1.A2AService/SendMessage', headers: GRPC_HEAD, body: HELLO }, agent: 'absent' }
}

t.test('no request without a caller reaches an agent; credentials and forged headers stay at the gateway', async t => {
  const all = await mesh(t)
  const wrong: string[] = []
  for (const [way, ask] of Object.entries(waysOf(all))) {
    for (const [name, { sent, agent, bare }] of Object.entries(REQUESTS)) {
      const { headers = [], path = '/' } = sent
      const stranger = await ask({ ...sent, headers: [...headers, ...FORGED] }, agent)
      if (bare === true ? stranger.agent === null : stranger.agent !== null || !stranger.own) wrong.push(`${way} | ${name} | without a caller: ${JSON.stringify(stranger.agent)} ${stranger.status}`)
      const forms = {
        header: { ...sent, headers: [...headers, KEY, ['x_api_key', ACME] as const, ...FORGED] },
        query: { ...sent, path: `${path}?a=1&key=${USER}&b=2`, headers: [...headers, ...FORGED] }
      }
      for (const [form, one] of Object.entries(forms)) {
        // gRPC has no query.
        if (form === 'query' && name.startsWith('gRPC')) continue
        const got = await ask(one, agent)
        const lines = got.agent?.headers ?? []
        const text = JSON.stringify(lines)
        const sentKey = lines.filter(([name]) => name === 'x-agent-key').map(([, value]) => value)
        const target = lines.find(([name]) => name === ':path')?.[1]
        const isRight = got.agent !== null && !/forged|admin|DELETE/.test(text) && !text.includes(ACME) && !text.includes(USER) &&
          sentKey.join() === 'of-the-gateway' && target === (form === 'query' ? `${path}?a=1&b=2` : path)
        if (!isRight) wrong.push(`${way} | ${name} | ${form}: ${text} ${got.status} ${got.body}`)
      }
    }
  }
  t.same(wrong, [])
})

t.test('effects that need the response: rejected where the proxy does not announce that it shows the response', async t => {
  const all = await mesh(t, ['access: {tasks: {}}'], LOGS)
  const { envoy, gateway } = all
  const task = (id: string): string => `{"id":"${id}","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`
  const created: Answer = { headers: [['content-type', 'application/json']], chunks: [`{"jsonrpc":"2.0","id":1,"result":{"task":${task('mine')}}}`] }
  const listed: Answer = { headers: [['content-type', 'application/json']], chunks: [`{"jsonrpc":"2.0","id":1,"result":{"tasks":[${task('mine')},${task('theirs')}],"nextPageToken":"","pageSize":50,"totalSize":2}}`] }
  const list: Sent = { path: '/rpc', headers: [...JSON_HEAD, KEY], body: rpcBody('ListTasks', {}) }
  const send: Sent = { path: '/rpc', headers: [...JSON_HEAD, KEY], body: SEND }
  const hidden: Readonly<Record<string, () => Promise<Got>>> = {
    ext_authz: async () => await envoy.check(list),
    'no responses': async () => await envoy.process(list, listed, { overrides: false }),
    'heads only': async () => await envoy.process(list, listed, { overrides: false, responses: true }),
    'only by mode_override': async () => await envoy.process(list, listed),
    'a part of the body': async () => await envoy.process(list, listed, { overrides: false, responses: true, response: MODE.BUFFERED_PARTIAL }),
    'FULL_DUPLEX_STREAMED for requests only': async () => await envoy.process(list, listed, { request: MODE.FULL_DUPLEX_STREAMED, responses: true })
  }
  for (const [name, ask] of Object.entries(hidden)) {
    t.match(await ask(), { own: true, status: 500, agent: null, body: /The proxy in front of the agent is not set up for this call/ }, name)
  }
  const headless = await envoy.process(list, listed, { response: MODE.STREAMED, overrides: false, headless: true })
  t.match(headless, { own: true, status: 502, body: '' }, 'bodies without heads')

  const shown: Readonly<Record<string, ProcOptions>> = {
    STREAMED: { response: MODE.STREAMED, responses: true },
    'STREAMED, without mode_override': { response: MODE.STREAMED, responses: true, overrides: false },
    BUFFERED: { response: MODE.BUFFERED, responses: true, overrides: false },
    FULL_DUPLEX_STREAMED: { request: MODE.FULL_DUPLEX_STREAMED, response: MODE.FULL_DUPLEX_STREAMED, responses: true }
  }
  for (const [name, options] of Object.entries(shown)) {
    t.match(await envoy.process(send, created, options), { own: false, status: 200, body: created.chunks?.[0] }, name)
    const got = await envoy.process(list, listed, options)
    const ids = (JSON.parse(got.body) as { result: { tasks: { id: string }[] } }).result.tasks.map(({ id }) => id)
    t.same(ids, ['mine'], `${name}: the list has the tasks of the caller`)
  }
  t.ok(gateway.logs().some(({ msg }) => /bodies of responses without their heads/.test(String(msg))))
})

t.test('budgets are charged where the proxy shows responses; elsewhere the call is rejected', async t => {
  const root = [
    `extensions: {usage: {uri: "${USAGE}", activation: {signals: [always]}, observe: {metrics: [{name: tokens, type: counter, from: {metadata: {key: tokens}}}]}}}`,
    'budgets: [{id: tokens, of: usage/tokens, by: [caller], limit: 100, window: 1h}]'
  ]
  const all = await mesh(t, ['extensions: [usage]'], root)
  const { envoy, gateway } = all
  const used: Answer = {
    headers: [['content-type', 'application/json']],
    chunks: ['{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}],"metadata":{"tokens":100}}}}']
  }
  const send: Sent = { path: '/rpc', headers: [...JSON_HEAD, KEY], body: SEND }
  t.match(await envoy.check(send), { own: true, status: 500, agent: null, body: /needs its response, which ext_authz does not show/ })
  t.match(await envoy.process(send, used, { responses: true }), { own: true, status: 500, agent: null, body: /response_body_mode: BUFFERED/ })
  t.match(await envoy.process(send, used, { responses: true, response: MODE.STREAMED }), { own: false, status: 200 })
  t.equal(await gateway.metric('a2a_gateway_budget_spent_total{budget="tokens"}'), 100)
  for (const ask of Object.values(waysOf(all, used))) t.match(await ask(send), { own: true, status: 429, agent: null }, 'the budget is spent')
})

t.test('push.perTask: a configuration that a rejected call would have set does not count', async t => {
  const all = await mesh(t, ['push: {perTask: 1, resolve: false}'])
  const config = { taskId: 't1', url: 'https://hooks.example.com/a', id: 'one' }
  const create: Sent = { path: '/rpc', headers: [...JSON_HEAD, KEY], body: rpcBody('CreateTaskPushNotificationConfig', config) }
  const created: Answer = { headers: [['content-type', 'application/json']], chunks: [`{"jsonrpc":"2.0","id":1,"result":${JSON.stringify(config)}}`] }
  t.match(await all.envoy.check(create), { own: true, status: 500, agent: null })
  t.match(await all.envoy.process(create, created), { own: true, status: 500, agent: null })
  const options: ProcOptions = { responses: true, response: MODE.STREAMED }
  t.match(await all.envoy.process(create, created, options), { own: false, status: 200 }, 'the first one')
  const second = { ...create, body: rpcBody('CreateTaskPushNotificationConfig', { ...config, id: 'two' }) }
  t.match(await all.envoy.process(second, created, options), { own: true, agent: null }, 'one more')
})

t.test('forwarding headers of clients: only those of trusted proxies reach the agent, or count', async t => {
  const wrong: string[] = []
  const said: Lines = [
    ['forwarded', 'for=10.9.9.9'], ['x-real-ip', '10.9.9.9'], ['x-forwarded-host', 'evil.test'], ['x-forwarded-port', '1'], ['x_forwarded_host', 'evil.test']
  ]
  const xfcc: Lines = [['x-forwarded-client-cert', 'URI=spiffe://a.test/one']]
  for (const source of ['rfc9440', 'xfcc']) {
    const all = await mesh(t, [], [], { trusted: '127.0.0.1, 10.0.0.7', source })
    for (const [way, ask] of Object.entries(waysOf(all))) {
      for (const [hop, trusts] of [['192.0.2.2', false], ['10.0.0.7', true], ['10.0.0.7, 192.0.2.2', false], ['192.0.2.2, 10.0.0.7', true]] as const) {
        const headers: Lines = [...JSON_HEAD, KEY, ['x-forwarded-for', hop], ['x-forwarded-proto', 'https'], ...said, ...xfcc]
        for (const path of ['/rpc', '/docs/a']) {
          const got = await ask({ path, headers, body: SEND })
          const names = new Set((got.agent?.headers ?? []).map(([name]) => name))
          // The client may have sent another x-forwarded-host than that of the request.
          const lines = new Set((got.agent?.headers ?? []).map(line => line.join(': ')))
          const kept = said.filter(line => lines.has(line.join(': '))).map(([name]) => name)
          const want = trusts ? said.map(([name]) => name).filter(name => !name.includes('_')) : []
          const value = got.agent?.headers.find(([name]) => name === 'x-forwarded-for')?.[1]
          const isRight = kept.join() === want.join() && value === hop && names.has('x-forwarded-proto') &&
            names.has('x-forwarded-client-cert') === (source !== 'xfcc')
          if (!isRight) wrong.push(`${source} | ${way} | ${hop} | ${path}: ${JSON.stringify(got.agent?.headers)} ${got.body}`)
        }
        const card = await ask({ method: 'GET', path: '/.well-known/agent-card.json', headers: [KEY, ['x-forwarded-for', hop], ...said] })
        if (card.body.includes('evil.test') !== trusts) wrong.push(`${way} | ${hop} | card: ${card.body}`)
      }
    }
  }
  t.same(wrong, [])
})

interface Cardless { readonly all: Mesh, readonly reload: (root: readonly string[]) => Promise<unknown> }

/** Agents whose cards cannot be loaded, with and without `onUnavailable: forward`. With `identity`, they have access lists. */
async function cardless (t: Test, identity: boolean, root: readonly string[] = []): Promise<Cardless> {
  const agent = await fakeAgent(t, { card: () => ({ no: 'card' }) })
  const directory = keyFiles(t)
  const partners = 'caller: {source: [partners]}'
  const lists = (on: string): string => `allow: [{id: partners, on: [${on}], ${partners}}], deny: [{id: people, on: [CancelTask], caller: {source: [people]}}]`
  const one = (name: string, onUnavailable: string, access: string): string => [
    `  - {name: ${name}, path: /${name}, upstream: {url: "${agent.url}"}, passthrough: [/docs], card: {onUnavailable: ${onUnavailable}}`,
    `grpc: {upstream: "grpc://127.0.0.1:1", passthrough: [other.Service]}${identity ? `, access: {${access}}` : ''}}`
  ].join(', ')
  const options = (root: readonly string[]): GatewayOptions => ({
    yaml: [
      'server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, mesh: {listen: "127.0.0.1:0"}}',
      'agents:',
      one('open', 'forward', lists('all')),
      one('narrow', 'forward', lists('CancelTask')),
      one('observed', 'forward', `mode: observe, ${lists('CancelTask')}`),
      one('closed', 'reject', lists('CancelTask')),
      identity ? `identity: {sources: {${PARTNERS}, ${PEOPLE}}}` : '',
      ...root
    ].join('\n'),
    baseDir: directory
  })
  const gateway = await gatewayFor(t, options(root), false)
  return { all: { gateway, envoy: envoyFor(t, gateway.mesh ?? '') }, reload: async root => await gateway.reload(configOf(options(root))) }
}

const PERSON = ['authorization', basicOf('ada', USER)] as const
const SERVICE = 'gRPC service of passthrough'
/** Requests to an agent without a card, by its name. */
const CARDLESS: Readonly<Record<string, (name: string) => { readonly sent: Sent, readonly agent?: string }>> = {
  'JSON-RPC': name => ({ sent: { path: `/${name}/rpc`, headers: JSON_HEAD, body: SEND } }),
  GET: name => ({ sent: { method: 'GET', path: `/${name}/rest/tasks/1`, headers: [['a2a-version', '1.0']] } }),
  passthrough: name => ({ sent: { path: `/${name}/docs/a`, headers: [['content-type', 'text/plain']], body: 'any bytes' } }),
  gRPC: agent => ({ sent: { path: '/lf.a2a.v1.A2AService/SendMessage', headers: GRPC_HEAD, body: HELLO }, agent }),
  [SERVICE]: agent => ({ sent: { path: '/other.Service/Get', headers: GRPC_HEAD, body: HELLO }, agent })
}

/** `forwarded`, or the status of the gateway's own response. */
function resultOf (got: Got): string {
  if (!got.own) return got.agent === null ? 'lost' : 'forwarded'
  const status = got.grpcStatus ?? got.headers.find(([name]) => name === 'grpc-status')?.[1]
  return got.agent !== null ? 'both' : status === undefined ? String(got.status) : `grpc ${status}`
}

t.test('an agent without a card: access lists apply in each mode as on the main listener', async t => {
  const { all } = await cardless(t, true)
  const callers = { stranger: [], partner: [KEY], person: [PERSON] } as const
  const [none, denied, absent] = [['401', 'grpc 16'], ['403', 'grpc 7'], ['503', 'grpc 14']]
  const want: Readonly<Record<string, Readonly<Record<keyof typeof callers, readonly string[]>>>> = {
    open: { stranger: none, partner: ['forwarded'], person: denied },
    narrow: { stranger: none, partner: denied, person: denied },
    observed: { stranger: none, partner: ['forwarded'], person: ['forwarded'] },
    closed: { stranger: none, partner: absent, person: denied }
  }
  const wrong: string[] = []
  for (const [way, ask] of Object.entries(waysOf(all))) {
    for (const [name, byCaller] of Object.entries(want)) {
      for (const [caller, expected] of Object.entries(byCaller)) {
        for (const [form, of] of Object.entries(CARDLESS)) {
          const { sent, agent } = of(name)
          const lines = callers[caller as keyof typeof callers]
          const found = resultOf(await ask({ ...sent, headers: [...sent.headers ?? [], ...lines] }, agent))
          // The name of such a service says that it is no operation, and only CancelTask is allowed.
          const isRight = name === 'closed' && caller === 'partner' && form === SERVICE ? found === 'grpc 7' : expected.includes(found)
          if (!isRight) wrong.push(`${way} | ${name} | ${caller} | ${form}: ${found}`)
          if (form.startsWith('gRPC')) continue
          const direct = await call(`${all.gateway.url}${sent.path}`, {
            method: sent.method ?? 'POST',
            headers: [...sent.headers ?? [], ...lines].flat(),
            ...(sent.body === undefined ? {} : { body: sent.body })
          })
          if (found !== (direct.status === 200 ? 'forwarded' : String(direct.status))) wrong.push(`${way} | ${name} | ${caller} | ${form}: ${found}, main listener ${direct.status}`)
        }
      }
    }
  }
  t.same(wrong, [])
})

// Of an agent that needs a caller, the gateway looks for no caller while it is overloaded.
for (const identity of [false, true]) {
  t.test(`an agent without a card: shedding rejects its calls in each mode, ${identity ? 'with' : 'without'} identity`, async t => {
    const limit = (rss: string): string[] => [`shedding: {eventLoopDelay: 0s, rss: ${rss}, retryAfter: 3s}`]
    const { all, reload } = await cardless(t, identity, limit('64GiB'))
    const own = (headers: Lines): Lines => identity ? [...headers, KEY] : headers
    const sheds = async (): Promise<boolean> => resultOf(await all.envoy.check({ path: '/open/rpc', headers: own(JSON_HEAD), body: SEND })) === '503'
    t.equal(await sheds(), false)
    t.match(await reload(limit('1MiB')), { ok: true })
    // A request below `passthrough` is shed before all else.
    await until(async () => resultOf(await all.envoy.check({ path: '/open/docs/a', headers: own([['content-length', '0']]) })) === '503', 'the next measurement')
    const wrong: string[] = []
    for (const [way, ask] of Object.entries(waysOf(all))) {
      for (const name of ['open', 'closed']) {
        for (const [form, of] of Object.entries(CARDLESS)) {
          const { sent, agent } = of(name)
          const got = await ask({ ...sent, headers: own(sent.headers ?? []) }, agent)
          const isShed = /overloaded/.test(got.body) && ['503', 'grpc 14'].includes(resultOf(got))
          const waits = form.startsWith('gRPC') || got.headers.some(line => line.join() === 'retry-after,3')
          if (!isShed || !waits) wrong.push(`${way} | ${name} | ${form}: ${resultOf(got)} ${got.body}`)
        }
      }
    }
    t.same(wrong, [])
    t.equal(await all.gateway.metric('a2a_gateway_refusals_total{agent="closed",rule="gateway/overloaded"}'), 20)
    await reload(limit('64GiB'))
    await until(async () => !await sheds(), 'calls to be accepted again')
  })
}

t.test('an agent without a card: bodies count in limits.memory in each mode, and are released', async t => {
  const { all } = await cardless(t, true, ['limits: {memory: 1MiB}'])
  const send = async (ask: Ask, size: number, name = 'open'): Promise<string> =>
    resultOf(await ask({ path: `/${name}/rpc`, headers: [...JSON_HEAD, KEY], body: Buffer.alloc(size, ' ') }))
  for (const [way, ask] of Object.entries(waysOf(all))) {
    for (const name of ['open', 'closed']) t.equal(await send(ask, 1_100_000, name), '503', `${way}: ${name}`)
    for (let i = 0; i < 3; i++) t.equal(await send(ask, 700_000), 'forwarded', `${way}: ${i}`)
  }
  await until(async () => await all.gateway.metric('a2a_gateway_held_bytes') === 0, 'all bodies to be released')
  t.equal(await all.gateway.metric('a2a_gateway_refusals_total{agent="open",rule="gateway/memory"}'), 4)
})

t.test('a body waits at the proxy until its caller is known', async t => {
  const [known, key] = [await keyOf('a'), await keyOf('b')]
  const issuer = await issuerFor(t, [known])
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, {
    yaml: [
      'server: {listen: null, admin: "127.0.0.1:0", drainTimeout: 200ms, mesh: {listen: "127.0.0.1:0"}}',
      `agents: [{name: agent, upstream: {url: "${agent.url}"}}]`,
      `identity: {sources: {${jwtSource('corp', issuer.url)}}}`
    ].join('\n')
  })
  const envoy = envoyFor(t, gateway.mesh ?? '')
  const held: (() => void)[] = []
  issuer.keys.push(key.jwk)
  issuer.misbehave = response => {
    held.push(() => { response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: issuer.keys })) })
  }
  let pushed = 0
  const { push } = MeshRequest.prototype
  t.teardown(() => { MeshRequest.prototype.push = push })
  MeshRequest.prototype.push = function (bytes) {
    pushed += bytes.length
    push.call(this, bytes)
  }
  const headers: Lines = [...JSON_HEAD, ['authorization', `Bearer ${await issuer.token(key, { sub: 'ada' })}`]]
  const head = { headers: { headers: pseudo({ path: '/rpc', headers }).map(([key, value]) => ({ key, rawValue: Buffer.from(value) })) } }
  const [duplex, buffered] = [MODE.FULL_DUPLEX_STREAMED, MODE.BUFFERED].map(requestBodyMode => {
    const stream = envoy.open()
    const replies: object[] = []
    stream.on('error', () => {})
    stream.on('data', (reply: object) => { replies.push(reply) })
    stream.write({ requestHeaders: head, protocolConfig: { requestBodyMode } })
    return { stream, replies }
  })
  if (duplex === undefined || buffered === undefined) throw new Error('no streams')
  const piece = Buffer.alloc(64 * 1024, 'x')
  for (let i = 0; i < 160; i++) duplex.stream.write({ requestBody: { body: piece, endOfStream: i === 159 } })
  await until(() => held.length > 0, 'the request for keys')
  // Each takes its turn on the connection that has the body.
  for (let i = 0; i < 20; i++) await envoy.health()
  t.ok(pushed < 1_000_000, `${pushed} of 10 MB`)
  t.same(buffered.replies, [], 'Envoy sends a body after the reply to the head')
  issuer.misbehave = null
  for (const release of held) release()
  await until(() => pushed > 10_000_000, 'the rest of the body')
  await until(() => buffered.replies.length === 1, 'the reply to the head')
  t.ok('requestHeaders' in (buffered.replies[0] ?? {}), 'now the body may come')
  for (const { stream } of [duplex, buffered]) stream.cancel()
})

/**
 * The real Envoy in front of an official agent: callers, owners of tasks on Redis, credentials for the agent, rates, schemas of the card,
 * bodies that Envoy hides or that are too long, and an agent whose card cannot be loaded.
 */
import t from 'tap'
import type { Test } from 'tap'
import { SignJWT } from 'jose'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { TestAgent, Turn } from '../helpers/agents.js'
import { managerOf, NO_ENVOY, startEnvoy } from '../helpers/envoy.js'
import type { Listener } from '../helpers/envoy.js'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import type { GatewayOptions } from '../helpers/gateway.js'
import { RawGrpc } from '../helpers/grpc-raw.js'
import { call, freePort, freePorts, JSON_TYPE, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { startRedis } from '../helpers/redis.js'
import { credentialsOf, keyDirectory, ownedYaml } from '../helpers/task-owners.js'
import type { CallerName } from '../helpers/task-owners.js'
import { grpcAgent, HELLO } from '../front/grpc-kit.js'
import { keyOf } from '../identity/issuer.js'
import { ACME, basicOf, keyFiles, PARTNERS, PEOPLE, USER } from '../identity/kit.js'

quietSdk()

const SCHEMAS = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'
const TAG = 'application/json;schema=animal'
const PROC: Listener = { mode: 'ext-proc' }
const AUTHZ: Listener = { mode: 'ext-authz' }

function behaviour (turn: Turn): void {
  turn.task('working')
  if (turn.text === 'animal') turn.artifact('a', [{ data: { name: 'lion' }, mediaType: TAG }], { lastChunk: true })
  if (turn.text === 'no animal') turn.artifact('a', [{ data: { name: 7 }, mediaType: TAG }], { lastChunk: true })
  turn.status('completed')
}

const AGENT = {
  kind: 'v1' as const,
  behaviour,
  card: { extensions: [{ uri: SCHEMAS }], schemas: { animal: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } } } }
}

interface SetUp { readonly agent: TestAgent, readonly urls: readonly string[] }

async function setUp (t: Test, listeners: readonly Listener[], yaml: (agent: string) => string, server = ''): Promise<SetUp> {
  const agent = await startAgent(AGENT)
  t.teardown(() => agent.close())
  const [mesh = 0] = await freePorts(1)
  await gatewayFor(t, {
    yaml: [`server: {listen: null, admin: "127.0.0.1:0", drainTimeout: 200ms, mesh: {listen: "127.0.0.1:${mesh}"}${server}}`, yaml(agent.url)].join('\n'),
    env: { STATIC: 'of-the-gateway' }
  })
  const envoy = await startEnvoy({ listeners, gateways: [mesh], agent: { http: Number(new URL(agent.url).port) } })
  t.teardown(() => envoy.stop())
  return { agent, urls: envoy.urls }
}

const as = (name: CallerName | null): string[] => Object.entries(credentialsOf(name)).flat()
const message = (text: string, more: object = {}): object => ({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }], ...more } })

t.test('callers, owners of tasks on Redis, and credentials for the agent', { skip: NO_ENVOY }, async t => {
  const redis = await startRedis(t, await freePort())
  const directory = keyDirectory(t)
  const { agent, urls: [proc = '', authz = ''] } = await setUp(t, [PROC, AUTHZ], url => ownedYaml(url, {
    directory,
    root: [`state: {store: "redis://127.0.0.1:${redis.port}"}`]
  }).replace(`{url: "${url}"}`, `{url: "${url}", credentials: {send: [{header: x-agent-key, fromSecret: {env: STATIC}}]}}`))
  const send = async (name: CallerName | null, url = proc): Promise<Answer> => await rpc(`${url}/a2a/jsonrpc`, 'SendMessage', message('hello'), as(name))
  const get = async (name: CallerName, id: string, url = proc): Promise<Answer> => await rpc(`${url}/a2a/jsonrpc`, 'GetTask', { id }, as(name))
  for (const url of [proc, authz]) t.equal((await send(null, url)).status, 401, 'a stranger')
  t.equal(agent.calls().length, 0)

  const idOf = (answer: Answer): string => (answer.json() as unknown as { result: { task: { id: string } } }).result.task.id
  const [ada, bob] = [idOf(await send('ada')), idOf(await send('bob'))]
  const headers = agent.calls().at(-1)?.headers ?? {}
  t.same([headers['x-api-key'], headers['x-agent-key']], [undefined, 'of-the-gateway'], 'credentials are replaced')
  for (const url of [proc, authz]) {
    t.match((await get('ada', ada, url)).json(), { result: { id: ada } }, 'the owner')
    t.match((await get('ada', bob, url)).json(), { error: { code: -32001 } }, 'the task of another caller')
  }
  const listed = (await rpc(`${proc}/a2a/jsonrpc`, 'ListTasks', {}, as('ada'))).json() as unknown as { result: { tasks: { id: string }[] } }
  t.same(listed.result.tasks.map(({ id }) => id), [ada], 'the list has the tasks of the caller')
  const before = agent.calls().length
  for (const method of ['ListTasks', 'SendMessage']) {
    const answer = await rpc(`${authz}/a2a/jsonrpc`, method, method === 'ListTasks' ? {} : message('hello'), as('ada'))
    t.match(answer.json(), { error: { code: -32603, message: /which ext_authz does not show; use ext_proc/ } }, method)
  }
  t.equal(agent.calls().length, before)
})

t.test('schemas of the card, and rates', { skip: NO_ENVOY }, async t => {
  const { urls: [proc = '', authz = ''] } = await setUp(t, [PROC, AUTHZ], url => [
    'agents:',
    `  - {name: agent, upstream: {url: "${url}"}, responses: enforce, extensions: [object-schemas]}`,
    'rates: [{id: few, by: [address], rate: 6/1h, on: [messages]}]'
  ].join('\n'), ', trustedProxies: [127.0.0.1]')
  const send = async (url: string, text: string, more: object = {}): Promise<Answer> =>
    await rpc(`${url}/a2a/jsonrpc`, 'SendMessage', message(text, more), ['a2a-extensions', SCHEMAS])
  const wrong = { parts: [{ data: { name: 7 }, mediaType: TAG }] }
  for (const url of [proc, authz]) {
    t.match((await send(url, 'animal')).json(), { result: { task: { artifacts: [{}] } } }, 'data that the schema accepts')
    t.match((await send(url, '', wrong)).json(), { error: { code: -32602 } }, 'data of a request that it rejects')
  }
  t.match((await send(proc, 'no animal')).json(), { error: {} }, 'data of a response that it rejects')
  const answers: Answer[] = []
  while (answers.length < 10 && answers.at(-1)?.status !== 429) answers.push(await send(answers.length % 2 === 0 ? proc : authz, 'animal'))
  t.equal(answers.at(-1)?.status, 429, 'both modes count in one limit')
  t.ok(answers.length < 10)
})

t.test('bodies that are too long, or that Envoy hides', { skip: NO_ENVOY }, async t => {
  const hides: Listener = { mode: 'ext-authz', filter: filter => { delete filter.with_request_body } }
  const { agent, urls: [proc = '', authz = '', hiding = ''] } = await setUp(t, [PROC, AUTHZ, hides], url =>
    [`agents: [{name: agent, upstream: {url: "${url}"}}]`, 'limits: {body: 16KiB}'].join('\n'))
  for (const url of [proc, authz]) {
    for (const size of [20_000, 1_000_000]) {
      const answer = await call(`${url}/a2a/jsonrpc`, { headers: [...JSON_TYPE, ...V1], body: rpcBody('SendMessage', message('x'.repeat(size))) })
      t.match([answer.status, answer.json()], [413, { error: { message: /larger than 16384 bytes/ } }], `${size}`)
    }
  }
  const body = rpcBody('SendMessage', message('hello'))
  const chunked = await fetch(`${hiding}/a2a/jsonrpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: new Blob([body]).stream(),
    duplex: 'half'
  } as RequestInit)
  t.match([chunked.status, await chunked.text()], [500, /it shows no body; set with_request_body/])
  t.equal(agent.calls().length, 0)
})

t.test('an agent without a card: access lists, shedding and the memory for bodies', { skip: NO_ENVOY }, async t => {
  const http = await fakeAgent(t, { card: () => ({ no: 'card' }) })
  const overGrpc = await grpcAgent(t)
  const [mesh = 0] = await freePorts(1)
  const baseDir = keyFiles(t)
  const deny = 'deny: [{id: people, on: [CancelTask], caller: {source: [people]}}]'
  const lists = `access: {allow: [{id: partners, on: [all], caller: {source: [partners]}}], ${deny}}`
  const optionsOf = (root: readonly string[], access = lists): GatewayOptions => ({
    yaml: [
      `server: {listen: null, admin: "127.0.0.1:0", drainTimeout: 200ms, mesh: {listen: "127.0.0.1:${mesh}"}}`,
      'agents:',
      `  - {name: agent, upstream: {url: "${http.url}"}, card: {onUnavailable: forward}, ${access},`,
      `     grpc: {upstream: "grpc://127.0.0.1:${overGrpc.port}"}}`,
      ...root
    ].join('\n'),
    baseDir
  })
  const identity = `identity: {sources: {${PARTNERS}, ${PEOPLE}}}`
  const gateway = await gatewayFor(t, optionsOf([identity, 'limits: {memory: 1MiB}']), false)
  const ports = { http: Number(new URL(http.url).port), grpc: overGrpc.port }
  const envoy = await startEnvoy({ listeners: [PROC, AUTHZ], gateways: [mesh], agent: ports })
  t.teardown(() => envoy.stop())
  const clients = await Promise.all(envoy.urls.map(async url => await RawGrpc.to(new URL(url).host)))
  t.teardown(() => { for (const client of clients) client.close() })
  const [key, person] = [['x-api-key', ACME], ['authorization', basicOf('ada', USER)]]
  const reached = (): number => http.received.length + overGrpc.calls.length
  /** Statuses of JSON-RPC, HTTP+JSON and gRPC through each mode. */
  const ask = async (headers: readonly string[] = []): Promise<unknown> => await Promise.all(envoy.urls.map(async (url, i) => [
    (await rpc(`${url}/rpc`, 'SendMessage', message('hello'), headers)).status,
    (await call(`${url}/rest/tasks/1`, { headers: [...V1, ...headers] })).status,
    (await clients[i]?.call({ body: HELLO, headers: headers.length === 0 ? {} : { [headers[0] as string]: headers[1] } }))?.status
  ]))
  const each = (...statuses: readonly number[]): unknown => envoy.urls.map(() => statuses)
  t.same(await ask(), each(401, 401, 16), 'a stranger')
  t.same(await ask(person), each(403, 403, 7), 'a caller whom no entry allows, and an entry may deny')
  t.equal(reached(), 0)
  t.same(await ask(key), each(200, 200, 0), 'an allowed caller')
  t.equal(reached(), 6)
  for (const url of envoy.urls) {
    const large = await call(`${url}/rpc`, { headers: [...JSON_TYPE, ...V1, ...key], body: rpcBody('SendMessage', message('x'.repeat(1_100_000))) })
    t.match([large.status, large.text], [503, /limit for the bytes of requests and responses/])
  }
  t.equal(reached(), 6)

  const overloaded = (rss: string): GatewayOptions => optionsOf([`shedding: {eventLoopDelay: 0s, rss: ${rss}}`], 'access: {}')
  t.match(await gateway.reload(configOf(overloaded('1MiB'))), { ok: true })
  await until(async () => (await call(`${envoy.urls[1] ?? ''}/rest/tasks/1`, { headers: [...V1] })).status === 503, 'the next measurement')
  const before = reached()
  t.same(await ask(), each(503, 503, 14), 'shedding')
  t.equal(reached(), before)
  t.match(await gateway.reload(configOf(overloaded('64GiB'))), { ok: true })
  await until(async () => (await call(`${envoy.urls[1] ?? ''}/rest/tasks/1`, { headers: [...V1] })).status === 200, 'the next measurement')
  t.same(await ask(), each(200, 200, 0), 'calls are accepted again')
})

t.test('tokens that jwt_authn has verified', { skip: NO_ENVOY }, async t => {
  const key = await keyOf('k')
  const other = await keyOf('k')
  const issuer = 'https://idp.test/'
  const namespace = 'envoy.filters.http.jwt_authn'
  const verifies = (forward: boolean, missing: boolean): NonNullable<Listener['listener']> => listener => {
    managerOf(listener).http_filters.unshift({
      name: namespace,
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication',
        providers: {
          corp: { issuer, forward, payload_in_metadata: 'jwt_payload', local_jwks: { inline_string: JSON.stringify({ keys: [key.jwk] }) } }
        },
        rules: [{
          match: { prefix: '/' },
          requires: missing ? { requires_any: { requirements: [{ provider_name: 'corp' }, { allow_missing: {} }] } } : { provider_name: 'corp' }
        }]
      }
    })
  }
  const shownTo: Record<Listener['mode'], NonNullable<Listener['filter']>> = {
    'ext-authz': filter => { filter.metadata_context_namespaces = [namespace] },
    'ext-proc': filter => { filter.metadata_options = { forwarding_namespaces: { untyped: [namespace] } } }
  }
  const modes = ['ext-authz', 'ext-proc'] as const
  const listeners: Listener[] = modes.flatMap(mode => [
    { mode, listener: verifies(true, true), filter: shownTo[mode] },
    { mode, listener: verifies(false, false), filter: shownTo[mode] },
    // Envoy verifies the token, and does not show the gateway what it found.
    { mode, listener: verifies(true, true) }
  ])
  const { agent, urls } = await setUp(t, listeners, url => [
    'agents:',
    '  - name: agent',
    `    upstream: {url: "${url}"}`,
    '    access: {allow: [{id: staff, on: [all], caller: {source: [corp], subject: [ada], groups: [dev], scopes: [read]}}]}',
    'identity:',
    `  sources: {corp: {envoyJwt: {issuer: "${issuer}", audience: [agents], claims: {groups: /realm/roles}}}}`
  ].join('\n'))
  const token = async (claims: object = {}, by = key): Promise<string> => {
    const now = Math.floor(Date.now() / 1_000)
    return await new SignJWT({ iss: issuer, aud: 'agents', sub: 'ada', scope: 'read', realm: { roles: ['dev'] }, iat: now, exp: now + 600, ...claims })
      .setProtectedHeader({ alg: by.alg, kid: by.kid, typ: 'at+jwt' }).sign(by.privateKey)
  }
  const send = async (url: string, bearer: string | null, more: readonly string[] = []): Promise<Answer> =>
    await rpc(`${url}/a2a/jsonrpc`, 'SendMessage', message('hello'), [...(bearer === null ? [] : ['authorization', `Bearer ${bearer}`]), ...more])
  const right = await token()
  const payload = Buffer.from(right.split('.')[1] ?? '', 'base64url').toString()
  const forged = [
    'jwt_payload', payload, 'x-jwt-payload', Buffer.from(payload).toString('base64url'), namespace, payload, 'x-envoy-metadata', payload,
    'metadata-context', payload
  ]
  for (const [i, mode] of modes.entries()) {
    const [open = '', strict = '', hidden = ''] = urls.slice(i * 3)
    for (const url of [open, strict]) {
      const before = agent.calls().length
      const answer = await send(url, right)
      t.match(answer.json(), { result: { task: {} } }, `${mode}: a valid token`)
      t.equal(agent.calls().length, before + 1)
      t.equal(agent.calls().at(-1)?.headers['authorization'], undefined, `${mode}: the agent does not get the token`)
      const reached = agent.calls().length
      const others = await send(url, await token({ aud: 'other' }))
      t.equal(others.status, 401, `${mode}: another audience`)
      t.match(others.text, /"problem":"audience"/)
      t.equal((await send(url, await token({ sub: 'bob' }))).status, 403, `${mode}: another caller`)
      t.equal((await send(url, await token({}, other))).status, 401, `${mode}: another key`)
      for (const more of [[], forged]) t.equal((await send(url, null, more)).status, 401, `${mode}: no token`)
      t.equal(agent.calls().length, reached)
    }
    t.match((await send(open, null, forged)).text, /"problem":"missing"/, `${mode}: forged headers`)
    const reached = agent.calls().length
    t.equal((await send(hidden, right, forged)).status, 401, `${mode}: Envoy shows no metadata`)
    t.equal(agent.calls().length, reached)
  }
})

/** API keys and Basic credentials through a real gateway: who comes in, what the agent sees, and what strangers get. */
import t from 'tap'
import { keyDigest } from '#identity/api-keys.js'
import { configOf } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, MESSAGE_03, rpc, rpcBody, until, untilSame, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { rawExchange } from '../helpers/raw.js'
import { ACME, basicOf, GONE, guarded, OLD, PARTNERS, PEOPLE, put, USER, yamlOf } from './kit.js'

const KEY = ['x-api-key', ACME]
const REST = { message: MESSAGE }
const send = (gateway: TestGateway, headers: readonly string[] = []): Promise<Answer> => rpc(`${gateway.url}/rpc`, 'SendMessage', REST, headers)

t.test('callers reach the agent, without their credentials', async t => {
  const { gateway, agent } = await guarded(t, { root: ['telemetry: {logs: {level: debug}, audit: {forwarded: true}, traces: {enabled: true}}'], env: { OTEL_TRACES_EXPORTER: 'console' } })
  const names = (): string[] => (agent.received.at(-1)?.rawHeaders ?? []).filter((_, i) => i % 2 === 0).map(name => name.toLowerCase())
  t.equal((await send(gateway, KEY)).status, 200)
  t.notOk(names().includes('x-api-key'))
  t.equal((await send(gateway, ['x-api-key', OLD])).status, 200, 'another key of the same caller')
  for (const user of ['ada']) {
    t.equal((await send(gateway, ['authorization', basicOf(user, USER)])).status, 200)
    t.notOk(names().includes('authorization'))
  }
  t.equal((await send(gateway, ['authorization', `bAsIc  ${basicOf('ada', USER).slice(6)}`])).status, 200, 'the scheme in any case, several blanks')
  t.equal((await send(gateway, [...KEY, 'authorization', 'Bearer for-the-agent', 'x_api_key', 'forged'])).status, 200)
  t.ok(names().includes('authorization'), 'what no source reads is for the agent')
  t.notOk(names().some(name => name.includes('api_key')), 'the spelling of a CGI goes too')

  await until(() => gateway.audits().length === 5, 'audit lines')
  const [line] = gateway.audits() as unknown as { caller: Record<string, string>; credential: string }[]
  t.match(line, { credential: 'apiKey', caller: { source: 'partners', tenant: 'north', id: /^[\w-]{22}$/ } })
  const ids = (gateway.audits() as unknown as { caller: { id: string } }[]).map(one => one.caller.id)
  t.equal(ids[0], ids[1], 'one caller, whatever its key')
  t.not(ids[0], ids[2])
  await until(() => gateway.logs().some(one => one.msg === 'request' && 'caller' in one), 'a log line')
  await until(() => gateway.spans().some(one => (one.attributes as Record<string, unknown>)['a2a_gateway.caller.source'] === 'partners'), 'a span')
  t.ok(gateway.spans().some(one => (one.attributes as Record<string, unknown>)['enduser.pseudo.id'] === ids[0]))
  t.equal(await gateway.metric('a2a_gateway_authentications_total{agent="agent",source="partners",outcome="ok"}'), 3)
  t.equal(await gateway.metric('a2a_gateway_authentications_total{agent="agent",source="people",outcome="ok"}'), 2)
  const told = JSON.stringify([gateway.logs(), gateway.audits(), gateway.spans(), await (await fetch(`${gateway.adminUrl}/metrics`)).text(), await (await fetch(`${gateway.adminUrl}/agents`)).text()])
  for (const secret of [ACME, OLD, USER]) t.notOk(told.includes(secret), `${secret} is in no log line, audit line, span or metric`)
  // Ids are random characters, and `ada` can be three of them: the name is a word of its own.
  for (const name of ['acme', 'ada']) t.notMatch(told, new RegExp(`(?<![\\w-])${name}(?![\\w-])`), `${name} is in no log line, audit line, span or metric`)
})

t.test('identity.audit: subject; credentials.client: forward', async t => {
  const { gateway, agent } = await guarded(t, {
    identity: ', audit: subject',
    root: ['telemetry: {logs: {level: silent}, audit: {forwarded: true}}'],
    agent: {},
    extra: []
  })
  await send(gateway, KEY)
  await until(() => gateway.audits().length === 1, 'an audit line')
  t.match(gateway.audits()[0], { caller: { source: 'partners', id: 'acme', client: 'acme', tenant: 'north' } })
  const forwarding = yamlOf(agent.url).replace('upstream: {', 'upstream: {credentials: {client: forward}, ')
  t.ok((await gateway.reload(configOf({ yaml: forwarding, baseDir: t.testdirName }))).ok)
  await send(gateway, KEY)
  t.equal(agent.received.at(-1)?.headers['x-api-key'], ACME)
})

t.test('strangers: a challenge in every binding and version, and no byte for the agent', async t => {
  const { gateway, agent } = await guarded(t)
  const url = gateway.url
  const body = rpcBody('SendMessage', REST)
  const forms: readonly [string, Promise<Answer>, object][] = [
    ['JSON-RPC 1.0', rpc(`${url}/rpc`), { id: null, error: { code: -31401, data: [{ reason: 'UNAUTHENTICATED', domain: 'a2a-extension-gateway', metadata: { problem: 'missing' } }] } }],
    ['JSON-RPC 0.3', call(`${url}/rpc`, { headers: JSON_TYPE, body: rpcBody('message/send', { message: MESSAGE_03 }) }), { id: null, error: { code: -31401 } }],
    ['JSON-RPC stream', call(`${url}/rpc`, { headers: [...JSON_TYPE, ...V1, 'accept', 'text/event-stream'], body: rpcBody('SendStreamingMessage', REST) }), { error: { code: -31401 } }],
    ['HTTP+JSON 1.0', call(`${url}/rest/message:send`, { headers: [...JSON_TYPE, ...V1], body: JSON.stringify(REST) }), { error: { code: 401, status: 'UNAUTHENTICATED' } }],
    ['HTTP+JSON 0.3', call(`${url}/rest/v1/message:send`, { headers: JSON_TYPE, body: JSON.stringify(REST) }), { code: -31401, error: { code: 401 } }],
    ['a path of no operation', call(`${url}/secret`), { error: { code: 401 } }],
    ['another verb', call(`${url}/rpc`, { method: 'DELETE', headers: V1 }), { error: { code: -31401 } }],
    ['OPTIONS that is no preflight', call(`${url}/rpc`, { method: 'OPTIONS', headers: V1 }), {}]
  ]
  for (const [name, pending, expected] of forms) {
    const answer = await pending
    t.equal(answer.status, 401, name)
    t.match(answer.json(), expected, name)
    t.equal(answer.headers['www-authenticate'], 'ApiKey realm="agent", header="x-api-key", Basic realm="agent", charset="UTF-8"', name)
    t.equal(answer.headers['gateway-decision'], 'reject;rule="gateway/authentication"', name)
    t.match(answer.text, 'send credentials in the header x-api-key, or Basic credentials in the header Authorization', name)
  }
  t.equal(agent.received.length, 0)
  t.equal(await gateway.metric('a2a_gateway_authentications_total{agent="agent",source="none",outcome="missing"}'), forms.length)
  const early = await rawExchange(url, `POST /rpc HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n{`, { until: 'close', timeout: 10_000 }).catch(String)
  t.match(early, /401/, 'before the body is there')
})

t.test('credentials that are not accepted', async t => {
  const { gateway, agent } = await guarded(t, { root: ['telemetry: {logs: {level: warn}}'] })
  const rows: readonly [string, readonly string[], number, string][] = [
    ['an unknown key', ['x-api-key', 'a2agw_nobody'], 401, 'unknown_key'],
    ['a key in another case', ['x-api-key', ACME.toUpperCase()], 401, 'unknown_key'],
    ['the digest itself', ['x-api-key', keyDigest(ACME)], 401, 'unknown_key'],
    ['an expired key', ['x-api-key', GONE], 401, 'expired'],
    ['a long key', ['x-api-key', 'x'.repeat(2_000)], 401, 'malformed'],
    ['a key of another source', ['x-api-key', USER], 401, 'unknown_key'],
    ['another user', ['authorization', basicOf('acme', USER)], 401, 'unknown_key'],
    ['no user', ['authorization', basicOf('', USER)], 401, 'unknown_key'],
    ['a key of the header as a password', ['authorization', basicOf('acme', ACME)], 401, 'unknown_key'],
    ['Basic without a colon', ['authorization', `Basic ${Buffer.from('ada').toString('base64')}`], 401, 'malformed'],
    ['Basic that is not base64', ['authorization', 'Basic !!!'], 401, 'malformed'],
    ['a key as a bearer token', ['authorization', `Bearer ${ACME}`], 401, 'missing'],
    ['a key in the query, the body, a cookie', ['cookie', `x-api-key=${ACME}`], 401, 'missing'],
    ['another spelling of the header', ['x_api_key', ACME], 401, 'missing']
  ]
  for (const [name, headers, status, problem] of rows) {
    const answer = await send(gateway, headers)
    t.equal(answer.status, status, name)
    t.match(answer.json(), { error: { data: [{ metadata: { problem } }] } }, name)
    for (const secret of [ACME, USER, GONE]) t.notOk(answer.text.includes(secret), name)
  }
  t.equal((await call(`${gateway.url}/rpc?x-api-key=${ACME}`, { headers: [...JSON_TYPE, ...V1], body: rpcBody('GetTask', { id: ACME }) })).status, 401)
  const twice = await send(gateway, ['x-api-key', ACME, 'X-Api-Key', ACME])
  t.match([twice.status, twice.text], [400, /x-api-key is sent more than once/])
  const both = await send(gateway, [...KEY, 'authorization', basicOf('ada', USER)])
  t.match([both.status, both.headers['gateway-decision']], [400, 'reject;rule="gateway/credentials"'])
  t.equal((await send(gateway, ['authorization', basicOf('ada', USER), 'authorization', basicOf('ada', USER)])).status, 400)
  t.equal(agent.received.length, 0)
  t.ok(gateway.logs().some(line => line.source === 'partners' && line.problem === 'expired' && line.client === '127.0.0.1'))
  t.ok(gateway.audits().some(line => line.reason === 'UNAUTHENTICATED' && line.rule === 'authentication'))
  const lines = (): { omitted?: number }[] => gateway.logs().filter(line => line.source === 'partners')
  await untilSame(t, () => lines().reduce((sum, { omitted = 0 }) => sum + 1 + omitted, 0), 6, 'a line or a count for each rejected key')
})

t.test('the open paths', async t => {
  const preflight = ['origin', 'https://page.example', 'access-control-request-method', 'POST']
  t.test('the public card, and preflights', async t => {
    const { gateway, agent } = await guarded(t)
    for (const headers of [[], ['x-api-key', 'wrong'], KEY]) {
      const card = await call(`${gateway.url}/.well-known/agent-card.json`, { headers })
      t.equal(card.status, 200, 'the card needs no caller, and looks at no credentials')
      t.match(card.headers['cache-control'], 'public')
    }
    t.equal((await call(`${gateway.url}/rpc`, { method: 'OPTIONS', headers: [...preflight, ...KEY, 'cookie', 'a=b'] })).status, 200)
    const [asked] = agent.received.filter(one => one.method === 'OPTIONS' && one.headers.cookie !== undefined)
    t.equal(asked?.headers['x-api-key'], undefined, 'a preflight carries no credentials')
    t.equal((await call(`${gateway.url}/rpc`, { method: 'OPTIONS', headers: preflight, body: '{}' })).status, 401, 'a preflight with a body')
    t.equal((await call(`${gateway.url}/rpc`, { method: 'OPTIONS', headers: preflight.slice(2), body: '' })).status, 401, 'no origin')
  })
  t.test('card.public: a caller gets the whole card', async t => {
    for (const shown of ['minimal', 'none']) {
      const { gateway } = await guarded(t, { extra: [`card: {public: ${shown}}`] })
      const card = `${gateway.url}/.well-known/agent-card.json`
      const stranger = await call(card)
      t.equal(stranger.status, shown === 'none' ? 401 : 200)
      if (shown === 'none') t.match(stranger.headers['www-authenticate'], 'ApiKey realm="agent"')
      else t.notMatch(stranger.text, 'a hand-made agent')
      t.equal((await call(card, { headers: ['x-api-key', 'wrong'] })).status, 401)
      const own = await call(card, { headers: KEY })
      t.match([own.status, own.text, own.headers['cache-control']], [200, 'a hand-made agent', 'private, no-cache'])
      t.match(own.headers.vary, 'x-api-key')
    }
  })
})

t.test('passthrough, and an agent without a card', async t => {
  const { gateway, agent } = await guarded(t, { extra: ['passthrough: [/docs]'] })
  t.equal((await call(`${gateway.url}/docs/x`)).status, 401)
  t.equal((await call(`${gateway.url}/docs/x`, { method: 'POST', body: 'x' })).status, 401)
  t.equal(agent.received.length, 0)
  t.equal((await call(`${gateway.url}/docs/x?a=1`, { headers: KEY })).status, 200)
  t.match(agent.received, [{ url: '/docs/x?a=1', headers: { 'x-api-key': undefined } }])

  const bare = await guarded(t, { agent: { card: () => ({}) }, extra: ['card: {onUnavailable: forward}', 'passthrough: [/docs]'] })
  for (const path of ['/rpc', '/docs/x', '/anything', '/.well-known/other']) {
    t.equal((await call(bare.gateway.url + path)).status, 401, path)
    t.equal((await call(bare.gateway.url + path, { method: 'POST', body: '{}' })).status, 401, path)
  }
  t.equal((await call(`${bare.gateway.url}/.well-known/agent-card.json`)).status, 503, 'the gateway itself responds')
  t.equal(bare.agent.received.length, 0)
  t.equal((await call(`${bare.gateway.url}/anything`, { headers: KEY })).status, 200)
})

t.test('keys in a cookie and in the query', async t => {
  const { gateway, agent } = await guarded(t, {
    sources: [
      'page: {apiKey: {cookie: session, keys: {file: partners.yaml}}}',
      'hook: {apiKey: {query: api key, allowQuery: true, keys: {file: people.yaml}}}'.replace('api key', 'key')
    ],
    extra: ['passthrough: [/docs]']
  })
  t.equal((await send(gateway, ['cookie', `a=1; session=${ACME}; b=2`])).status, 200)
  t.equal(agent.received.at(-1)?.headers.cookie, 'a=1; b=2')
  t.equal((await send(gateway, ['cookie', `session="${ACME}"`])).status, 200)
  t.equal(agent.received.at(-1)?.headers.cookie, undefined)
  t.equal((await send(gateway, ['cookie', `session=${ACME}; session=x`])).status, 401, 'two cookies of the name')
  t.equal((await send(gateway, ['cookie', `Session=${ACME}`])).status, 401, 'names of cookies have a case')
  const get = (query: string): Promise<Answer> => call(`${gateway.url}/docs/x${query}`)
  t.equal((await get(`?a=1&key=${USER}&b=%20`)).status, 200)
  t.equal(agent.received.at(-1)?.url, '/docs/x?a=1&b=%20')
  t.equal((await get(`?%6bey=${USER}`)).status, 200)
  t.equal(agent.received.at(-1)?.url, '/docs/x', 'an encoded name goes too')
  for (const query of [`?key=${USER}&key=${USER}`, '?key=', `?KEY=${USER}`, `?a=key=${USER}`]) t.equal((await get(query)).status, 401, query)
  const missing = await get('')
  t.equal(missing.headers['www-authenticate'], 'ApiKey realm="agent", cookie="session", ApiKey realm="agent", query="key"')
})

t.test('key files change while the gateway runs, all or nothing', async t => {
  const { gateway, agent, dir } = await guarded(t)
  const yaml = yamlOf(agent.url)
  const reload = async (): Promise<boolean> => (await gateway.reload(configOf({ yaml, baseDir: dir }))).ok
  put(dir, 'partners.yaml', `- {id: next, sha256: ${keyDigest('next-key')}}`)
  t.ok(await reload())
  t.equal((await send(gateway, KEY)).status, 401, 'a revoked key')
  t.equal((await send(gateway, ['x-api-key', 'next-key'])).status, 200)
  const config = configOf({ yaml, baseDir: dir })
  put(dir, 'partners.yaml', '- {id: next}')
  const report = await gateway.reload(config)
  t.match(report, { ok: false, problems: [/partners\.yaml: 1:3: sha256 must be/] })
  t.equal((await send(gateway, ['x-api-key', 'next-key'])).status, 200, 'the last good keys')
  const open = configOf({ yaml: yaml.replace(/^identity:.*$/m, ''), baseDir: dir })
  t.match(await gateway.reload(open), { ok: true, settings: ['identity'] })
  t.equal((await send(gateway)).status, 200)
})

t.test('failures of one address are braked; callers behind it are not', async t => {
  const { gateway, agent } = await guarded(t, { root: ['server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", trustedProxies: [127.0.0.1/32]}'] })
  const from = (address: string, key: string): Promise<Answer> => send(gateway, ['x-api-key', key, 'x-forwarded-for', address])
  const flood = async (address: string, n: number): Promise<number[]> => {
    const found: number[] = []
    for (let i = 0; i < n; i++) found.push((await from(address, `wrong-${i}`)).status)
    return found
  }
  const statuses = await flood('192.0.2.7', 80)
  t.same(statuses.slice(0, 50), Array(50).fill(401))
  t.ok(statuses.includes(429))
  const braked = await from('192.0.2.7', 'wrong')
  if (braked.status === 429) t.match([braked.headers['retry-after'], braked.json()], ['1', { error: { code: -32603 } }])
  t.equal((await from('192.0.2.7', ACME)).status, 200, 'a caller from the same address')
  t.equal((await from('192.0.2.8', 'wrong')).status, 401, 'another address')
  // The brake lets a failure pass now and then. Twenty of an address without failures would all get 401.
  t.ok((await flood('203.0.113.9, 192.0.2.7', 20)).includes(429), 'an address that the client made up does not help')
  t.equal(agent.received.length, 1)
})

t.test('two sources with one header', async t => {
  const { gateway } = await guarded(t, { sources: [PARTNERS, 'more: {apiKey: {header: x-api-key, keys: {file: people.yaml}}}'] })
  for (const key of [ACME, USER]) t.equal((await send(gateway, ['x-api-key', key])).status, 200)
  t.equal((await send(gateway, ['x-api-key', 'wrong'])).status, 401)
  t.equal(await gateway.metric('a2a_gateway_authentications_total{agent="agent",source="other",outcome="unknown_key"}'), 1)
  t.equal((await send(gateway, ['x-api-key', GONE])).status, 401)
})

t.test('the console tells callers', async t => {
  const { gateway } = await guarded(t, { sources: [PEOPLE, PARTNERS], root: ['extensions: {p: {uri: urn:p, activation: {required: always}}}'], extra: ['extensions: [p]'] })
  t.match((await send(gateway, KEY)).json(), { error: { code: -32008 } })
  await send(gateway)
  const page = await (await fetch(`${gateway.adminUrl}/console/api/decisions`)).body?.getReader().read()
  t.match(Buffer.from(page?.value ?? '').toString(), /"caller":\{"source":"partners"/)
})

/** Access lists through a real gateway: rejections in every form, telemetry, agents without a card, and `mode: observe`. */
import t from 'tap'
import { configOf } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, MESSAGE_03, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { plainCard, rawExchange } from '../helpers/raw.js'
import { issuerFor, jwtSource, keyOf } from './issuer.js'
import { ACME, basicOf, guarded, USER, yamlOf } from './kit.js'

const KEY = ['x-api-key', ACME]
const PERSON = ['authorization', basicOf('ada', USER)]
const REST = { message: MESSAGE }
const decisions = (gateway: TestGateway, rule: string, decision: string, mode = 'enforce'): Promise<number> =>
  gateway.metric(`a2a_gateway_access_decisions_total{agent="agent",rule="${rule}",decision="${decision}",mode="${mode}"}`)

t.test('a caller who may not call: 403 in every binding and version, and no byte for the agent', async t => {
  const { gateway, agent } = await guarded(t, {
    extra: ['access: {allow: [{id: partners-read, on: [GetTask, ListTasks], caller: {groups: [finance]}}], deny: [{id: no-cancel, on: [CancelTask]}]}'],
    root: ['telemetry: {logs: {level: debug}, audit: {forwarded: true}, traces: {enabled: true}}'],
    env: { OTEL_TRACES_EXPORTER: 'console' }
  })
  const { url } = gateway
  const forms: readonly [string, Promise<Answer>, object][] = [
    ['JSON-RPC 1.0', rpc(`${url}/rpc`, 'SendMessage', REST, KEY), { id: 1, error: { code: -31403, data: [{ reason: 'PERMISSION_DENIED', domain: 'a2a-extension-gateway', metadata: { rule: 'access' } }] } }],
    ['JSON-RPC 0.3', call(`${url}/rpc`, { headers: [...JSON_TYPE, ...KEY], body: rpcBody('message/send', { message: MESSAGE_03 }) }), { id: 1, error: { code: -31403 } }],
    ['JSON-RPC stream', call(`${url}/rpc`, { headers: [...JSON_TYPE, ...V1, ...KEY, 'accept', 'text/event-stream'], body: rpcBody('SendStreamingMessage', REST) }), { error: { code: -31403 } }],
    ['HTTP+JSON 1.0', call(`${url}/rest/message:send`, { headers: [...JSON_TYPE, ...V1, ...KEY], body: JSON.stringify(REST) }), { error: { code: 403, status: 'PERMISSION_DENIED' } }],
    ['HTTP+JSON 0.3', call(`${url}/rest/v1/message:send`, { headers: [...JSON_TYPE, ...KEY], body: JSON.stringify(REST) }), { code: -31403, type: 'PermissionDeniedError', error: { code: 403 } }],
    ['a caller of no entry', rpc(`${url}/rpc`, 'GetTask', { id: 't' }, PERSON), { id: null, error: { code: -31403 } }],
    ['denied', rpc(`${url}/rpc`, 'CancelTask', { id: 't' }, KEY), { error: { code: -31403 } }]
  ]
  for (const [name, pending, expected] of forms) {
    const answer = await pending
    t.equal(answer.status, 403, name)
    t.match(answer.json(), expected, name)
    t.equal(answer.headers['www-authenticate'], undefined, name)
    t.equal(answer.headers['gateway-decision'], 'reject;rule="gateway/access"', name)
    t.notMatch(answer.text + JSON.stringify(answer.headers), /finance|partners-read|no-cancel/, `${name}: nothing of the lists`)
  }
  t.equal(agent.received.length, 0)
  const early = await rawExchange(url, `POST /rpc HTTP/1.1\r\nhost: x\r\n${PERSON.join(': ')}\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`, { until: 'close', timeout: 10_000 }).catch(String)
  t.match(early, /403 The caller is not allowed/, 'before the body is there, with the message as reason phrase')

  t.equal((await rpc(`${url}/rpc`, 'GetTask', { id: 't' }, KEY)).status, 200)
  t.equal(agent.received.length, 1)
  t.equal(await decisions(gateway, 'no-cancel', 'deny'), 1)
  t.equal(await decisions(gateway, 'none', 'deny'), 7)
  t.equal(await decisions(gateway, 'partners-read', 'allow'), 1)
  t.equal(await gateway.metric('a2a_gateway_violations_total{agent="agent",extension="gateway",rule="access",phase="request",mode="enforce"}'), 8)

  await until(() => gateway.audits().length === 9, 'audit lines')
  t.match(gateway.audits().find(line => line.access_rule === 'no-cancel'), {
    phase: 'request', decision: 'rejected', reason: 'PERMISSION_DENIED', extension: 'gateway', rule: 'access', caller: { source: 'partners' }, credential: 'apiKey'
  })
  t.match(gateway.audits().find(line => line.phase === 'call'), { access_rule: 'partners-read' })
  await until(() => gateway.logs().some(line => line.msg === 'request' && line.access_rule === 'partners-read'), 'a log line')
  const ruleOf = (span: Record<string, unknown>): unknown => (span.attributes as Record<string, unknown>)['a2a_gateway.access.rule']
  await until(() => ['no-cancel', 'none', 'partners-read'].every(rule => gateway.spans().some(span => ruleOf(span) === rule)), 'spans')
  const about = await (await fetch(`${gateway.adminUrl}/agents`)).json() as { access: unknown }[]
  t.match(about[0]?.access, { require: null, mode: 'enforce', allow: ['partners-read'], deny: ['no-cancel'], unmet: [] })
  const page = await (await fetch(`${gateway.adminUrl}/console/api/decisions`)).body?.getReader().read()
  t.match(Buffer.from(page?.value ?? []).toString(), /PERMISSION_DENIED/, 'the console shows it')
})

t.test('missing scopes of a token', async t => {
  const key = await keyOf('k')
  const issuer = await issuerFor(t, [key])
  const { gateway } = await guarded(t, {
    sources: [jwtSource('corp', issuer.url)],
    extra: ['access: {allow: [{id: senders, on: [messages], caller: {scopes: [a, write]}}, {id: readers, on: [GetTask], caller: {scopes: [a]}}]}']
  })
  const send = async (method: string, params: object, claims: Record<string, unknown> = {}): Promise<Answer> =>
    rpc(`${gateway.url}/rpc`, method, params, ['authorization', `Bearer ${await issuer.token(key, claims)}`])
  const metadata = await call(`${gateway.url}/.well-known/oauth-protected-resource`)
  t.match(metadata.json(), { authorization_servers: [issuer.url], scopes_supported: ['a', 'write'] })
  const answer = await send('SendMessage', REST)
  t.equal(answer.status, 403)
  t.equal(answer.headers['www-authenticate'], 'Bearer error="insufficient_scope", scope="a write"')
  t.match(answer.json(), { error: { message: 'The credentials lack the scope write; get credentials that have it.', data: [{ metadata: { missingScopes: 'write' } }] } })
  t.equal((await send('SendMessage', REST, { scope: 'a write' })).status, 200)
  t.equal((await send('GetTask', { id: 't' })).status, 200)
  t.equal((await send('CancelTask', { id: 't' })).headers['www-authenticate'], undefined)
})

t.test('mode: observe records and forwards; a reload changes the lists', async t => {
  const lists = 'deny: [{id: no-cancel, on: [CancelTask], caller: {groups: [finance]}}], allow: [{id: partners, on: [GetTask, CancelTask, passthrough], caller: {source: [partners]}}]'
  const options = { extra: [`access: {mode: observe, ${lists}}`, 'passthrough: [/docs]'] }
  const { gateway, agent, dir } = await guarded(t, options)
  t.equal((await rpc(`${gateway.url}/rpc`, 'CancelTask', { id: 't' }, KEY)).status, 200)
  t.equal((await rpc(`${gateway.url}/rpc`, 'GetTask', { id: 't' }, PERSON)).status, 200)
  t.equal((await rpc(`${gateway.url}/rpc`, 'GetTask', { id: 't' }, KEY)).status, 200)
  t.equal((await call(`${gateway.url}/docs/x`, { headers: PERSON })).status, 200)
  t.equal((await call(`${gateway.url}/docs/x`, { headers: KEY })).status, 200)
  t.equal(agent.received.length, 5)
  t.equal(await decisions(gateway, 'no-cancel', 'deny', 'observe'), 1)
  t.equal(await decisions(gateway, 'none', 'deny', 'observe'), 2)
  t.equal(await decisions(gateway, 'partners', 'allow', 'observe'), 2)
  await until(() => gateway.audits().length === 3, 'audit lines')
  t.match(gateway.audits().map(line => [line.decision, line.reason, line.access_rule]), [
    ['observed', 'PERMISSION_DENIED', 'no-cancel'], ['observed', 'PERMISSION_DENIED', 'none'], ['observed', 'PERMISSION_DENIED', 'none']
  ])

  const enforcing = yamlOf(agent.url, { ...options, extra: [`access: {${lists}}`, 'passthrough: [/docs]'] })
  t.match(await gateway.reload(configOf({ yaml: enforcing, baseDir: dir })), { ok: true, modes: ['agent access: observe -> enforce'] })
  t.equal((await rpc(`${gateway.url}/rpc`, 'CancelTask', { id: 't' }, KEY)).status, 403)
  t.equal((await rpc(`${gateway.url}/rpc`, 'GetTask', { id: 't' }, PERSON)).status, 403)
  t.equal((await call(`${gateway.url}/docs/x`, { headers: PERSON })).status, 403)
  t.equal((await call(`${gateway.url}/docs/x`, { method: 'OPTIONS', headers: ['origin', 'https://a.example'] })).status, 401)
  t.equal((await call(`${gateway.url}/docs/x`, { headers: KEY })).status, 200)
  t.equal(agent.received.length, 6)
})

t.test('an agent without a card', async t => {
  const access = (on: string): string => `access: {allow: [{id: partners, on: [${on}], caller: {source: [partners]}}], deny: [{id: no-cancel, on: [CancelTask], caller: {source: [people]}}]}`
  const body = rpcBody('CancelTask', { id: 't' })
  const statuses = async (gateway: TestGateway, headers: readonly string[]): Promise<readonly number[]> => [
    (await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1, ...headers], body })).status,
    (await call(`${gateway.url}/docs/x`, { headers })).status
  ]
  const start = (on: string, card: string): ReturnType<typeof guarded> =>
    guarded(t, { agent: { card: () => ({}) }, extra: ['passthrough: [/docs]', `card: {${card}}`, access(on)], waitReady: false })
  const forwarding = await start('all', 'onUnavailable: forward')
  t.same(await statuses(forwarding.gateway, KEY), [200, 200])
  t.same(await statuses(forwarding.gateway, PERSON), [403, 403])
  const narrow = await start('CancelTask, passthrough', 'onUnavailable: forward')
  t.same(await statuses(narrow.gateway, KEY), [403, 403], 'nobody can know the operation')
  const rejecting = await start('CancelTask', 'onUnavailable: reject')
  t.same((await statuses(rejecting.gateway, KEY))[0], 503)
  t.same((await statuses(rejecting.gateway, PERSON))[0], 403)
  t.equal(forwarding.agent.received.length + narrow.agent.received.length + rejecting.agent.received.length, 2)
})

t.test('a card that has expired', async t => {
  let usable = true
  const { gateway, agent } = await guarded(t, {
    agent: { card: url => (usable ? plainCard(url) : 'gone') },
    extra: ['passthrough: [/docs]', 'card: {refresh: 10ms, maxStale: 50ms, onUnavailable: forward}', 'access: {allow: [{id: a, on: [GetTask, passthrough]}]}']
  })
  const get = (path: string): Promise<Answer> => call(`${gateway.url}${path}`, { headers: [...V1, ...KEY] })
  t.equal((await get('/rest/tasks/1')).status, 200)
  usable = false
  await until(async () => (await get('/rest/tasks/1')).status === 403, 'the card to expire')
  t.equal((await get('/docs/x')).status, 200, 'the last card has no operation there')
  t.ok(agent.received.every(({ url }) => url === '/rest/tasks/1' || url === '/docs/x'))
})

t.test('preflights', async t => {
  const preflight = ['origin', 'https://page.example', 'access-control-request-method', 'POST']
  const { gateway, agent } = await guarded(t, { extra: ['passthrough: [/docs]', 'access: {allow: [{id: a, on: [GetTask], caller: {source: [partners]}}]}'] })
  const asked = async (path: string, headers: readonly string[], body?: string): Promise<number> =>
    (await call(`${gateway.url}${path}`, { method: 'OPTIONS', headers, ...(body === undefined ? {} : { body }) })).status
  for (const path of ['/rpc', '/rest/tasks/1', '/docs/x']) {
    t.equal(await asked(path, preflight), 200, path)
    t.equal(await asked(path, [...preflight, ...KEY], '{}'), 403, `${path}, with a body`)
    t.equal(await asked(path, [...preflight.slice(2), ...KEY]), 403, `${path}, without an origin`)
    t.equal(await asked(path, [...preflight.slice(0, 2), ...KEY]), 403, `${path}, without a method`)
  }
  t.ok(agent.received.every(({ headers, body }) => headers['access-control-request-method'] !== undefined && body.length === 0))
})

t.test('accessDefaults, and lists without identity', async t => {
  const { gateway, agent } = await guarded(t, {
    extra: ['access: {deny: [{id: no-cancel, on: [CancelTask]}]}'],
    root: ['accessDefaults: {allow: [{id: tasks, on: [GetTask, CancelTask]}], deny: [{id: replaced, on: [GetTask]}]}']
  })
  const status = async (method: string): Promise<number> => (await rpc(`${gateway.url}/rpc`, method, { id: 't' }, KEY)).status
  t.same([await status('GetTask'), await status('CancelTask'), await status('SubscribeToTask')], [200, 403, 403])
  const open = yamlOf(agent.url, { extra: ['access: {allow: [{id: tasks, on: [GetTask]}]}'] }).replace(/^identity.*$/m, '')
  t.ok((await gateway.reload(configOf({ yaml: open }))).ok)
  t.same([await status('GetTask'), await status('CancelTask')], [200, 403])
  t.equal((await call(`${gateway.url}/.well-known/agent-card.json`)).status, 200, 'the card is no operation')
  t.equal((await call(`${gateway.url}/nowhere`)).status, 404)
})

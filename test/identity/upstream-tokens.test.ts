/** Access tokens for agents, from a real authorization server (oidc-provider) and from endpoints that misbehave. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { Answer } from '../helpers/http.js'
import { call, MESSAGE, rpc, until } from '../helpers/http.js'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import type { FakeAgent } from '../helpers/raw.js'
import { fakeAgent } from '../helpers/raw.js'
import { nonceCard, nonceMessage, nonceRules } from '../helpers/unique.js'
import { AGENT_AUDIENCE, authorizationServer, GATEWAY } from './authorization-server.js'
import { issuerFor, jwtSource, keyOf } from './issuer.js'
import type { GuardedOptions } from './kit.js'
import { ACME, basicOf, guarded, PARTNERS, USER, yamlOf } from './kit.js'
import { sendJson, tokenEndpoint } from './token-endpoint.js'

const bearer = (token: string): string[] => ['authorization', `Bearer ${token}`]
const send = (gateway: TestGateway, headers: readonly string[] = []): Promise<Answer> => rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)
const sentBy = (agent: FakeAgent): (string | undefined)[] => agent.received.map(({ headers }) => headers.authorization)
const lastToken = (agent: FakeAgent): string => (agent.received.at(-1)?.headers.authorization ?? '').replace('Bearer ', '')

/** Keys of `upstream` for one entry of `send`. */
const sending = (...entries: string[]): string => `credentials: {send: [${entries.join(', ')}]}`

interface Started { readonly agent: FakeAgent, readonly gateway: TestGateway, readonly dir: string }

/** @param upstream keys of `upstream` */
async function started (t: Test, upstream: string, sources: readonly string[], options: GuardedOptions = {}): Promise<Started> {
  return await guarded(t, { ...options, sources, upstream, files: { secret: `${GATEWAY.secret}\n`, ...options.files } })
}

const client = `client: {id: ${GATEWAY.id}, secret: {file: secret}}`

t.test('token exchange', async t => {
  const idp = await authorizationServer(t)
  const exchange = `{exchange: {endpoint: "${idp.endpoint}", ${client}, audience: "${AGENT_AUDIENCE}", scopes: [billing.write]}, for: [corp]}`
  const { agent, gateway } = await started(
    t,
    sending(exchange),
    [jwtSource('corp', idp.url, ', header: null').replace('keys: discover', `keys: {url: "${idp.url}/jwks"}`), PARTNERS],
    { root: ['telemetry: {logs: {level: info}, audit: {forwarded: true}, traces: {enabled: true}}'], env: { OTEL_TRACES_EXPORTER: 'console' }, identity: ', audit: subject' }
  )
  const [ada, eve] = [await idp.token('ada'), await idp.token('eve')]
  const statuses = await Promise.all(Array.from({ length: 200 }, async () => (await send(gateway, bearer(ada))).status))
  t.same(new Set(statuses), new Set([200]))
  t.equal(idp.grants.length, 1, '200 calls at once, one fetch')
  const claims = await idp.verify(lastToken(agent))
  t.match(claims, { sub: 'ada', aud: AGENT_AUDIENCE, scope: 'billing.write', act: { sub: 'gateway' } })
  t.ok(sentBy(agent).every(one => one === `Bearer ${lastToken(agent)}`))
  t.not(lastToken(agent), ada, 'the token of the caller stays at the gateway')

  t.equal((await send(gateway, bearer(eve))).status, 200)
  t.match(await idp.verify(lastToken(agent)), { sub: 'eve' }, 'another caller never gets the token of the first')
  t.equal((await send(gateway, bearer(await idp.token('ada', { jti: 'second' })))).status, 200)
  t.equal(idp.grants.length, 3, 'another token of the same caller')
  t.match(await idp.verify(lastToken(agent)), { sub: 'ada' })

  const before = agent.received.length
  t.equal((await send(gateway, ['x-api-key', ACME])).status, 200)
  t.equal(agent.received[before]?.headers.authorization, undefined, 'a caller of another source has no token to exchange')
  t.equal((await send(gateway, ['x-api-key', ACME, 'cookie', 'a=1', 'Authorization', 'Digest of-the-client'])).status, 200)
  t.equal(agent.received.at(-1)?.headers.authorization, undefined, 'the header belongs to the gateway, for every caller')

  idp.revoked.add('mallory')
  const rejected = await send(gateway, bearer(await idp.token('mallory')))
  t.equal(rejected.status, 401)
  t.match(rejected.json(), { error: { code: -31401, data: [{ reason: 'UNAUTHENTICATED', metadata: { problem: 'revoked' } }] } })
  t.match(rejected.headers['www-authenticate'], /^Bearer realm="agent", resource_metadata="[^"]+", error="invalid_token", error_description="The issuer does not accept the access token any more/)
  t.notMatch(rejected.text, /subject token/, 'never the words of the endpoint')

  await until(() => gateway.audits().some(line => line.exchange === 'rejected'), 'an audit line')
  t.match(gateway.audits().find(line => line.exchange === 'rejected'), { decision: 'rejected', reason: 'UNAUTHENTICATED', rule: 'exchange', caller: { source: 'corp', id: 'mallory' } })
  const exchanged = gateway.audits().filter(line => line.phase === 'call').map(line => line.exchange)
  t.same([exchanged.filter(one => one === 'new').length > 0, exchanged.filter(one => one === 'cached').length > 0, exchanged.at(-1)], [true, true, undefined])
  const metric = (outcome: string): Promise<number> => gateway.metric(`a2a_gateway_upstream_credentials_total{agent="agent",kind="exchange",outcome="${outcome}"}`)
  t.equal(await metric('rejected'), 1)
  t.equal(await metric('new') + await metric('cached'), 202)
  const spans = gateway.spans().filter(one => one.name === 'TokenRequest')
  t.equal(spans.length, 4, 'a span for each fetch')
  t.match(spans[0], { kind: 'CLIENT' })
  const [{ hostname, port }] = [new URL(idp.url)]
  t.match(JSON.stringify(spans[0]), `"server.address":"${hostname}"`)
  t.match(JSON.stringify(spans[0]), `"server.port":${port}`)
})

t.test('client credentials', async t => {
  const idp = await authorizationServer(t)
  const entry = `{clientCredentials: {endpoint: "${idp.endpoint}", ${client}, resource: "${AGENT_AUDIENCE}", scopes: [billing.read]}}`
  const { agent, gateway } = await started(t, sending(entry), [PARTNERS], { extra: ['passthrough: [/docs]'] })
  const calls = [
    () => send(gateway, ['x-api-key', ACME]),
    () => call(`${gateway.url}/docs/x`, { headers: ['x-api-key', ACME, 'authorization', 'Bearer smuggled'] }),
    () => call(`${gateway.url}/rest/tasks/1`, { headers: ['x-api-key', ACME, 'a2a-version', '1.0'] })
  ]
  await Promise.all(Array.from({ length: 60 }, (_none, i) => calls[i % 3]?.()))
  t.same(idp.grants, ['client_credentials'])
  t.equal(agent.received.length, 60)
  t.equal(new Set(sentBy(agent)).size, 1)
  t.match(await idp.verify(lastToken(agent)), { aud: AGENT_AUDIENCE, client_id: GATEWAY.id, scope: 'billing.read' })
  t.ok(agent.received.every(({ headers }) => headers['x-api-key'] === undefined))
  const metric = 'a2a_gateway_upstream_credentials_total{agent="agent",kind="clientCredentials"'
  t.equal(await gateway.metric(`${metric},outcome="new"}`) + await gateway.metric(`${metric},outcome="cached"}`), 60)
})

t.test('an agent without a card, and a gateway without identity', async t => {
  const endpoint = await tokenEndpoint(t)
  const entry = `{clientCredentials: {endpoint: "${endpoint.url}", ${client}, audience: a, auth: post}}`
  const { agent, gateway } = await started(t, sending(entry), [PARTNERS], {
    agent: { card: () => ({}) }, extra: ['card: {onUnavailable: forward}'], waitReady: false
  })
  t.equal((await send(gateway, ['x-api-key', ACME])).status, 200)
  t.same(sentBy(agent), ['Bearer token-1'])
  t.same([...endpoint.calls[0]?.form ?? []], [
    ['grant_type', 'client_credentials'], ['audience', 'a'], ['client_id', GATEWAY.id], ['client_secret', GATEWAY.secret]
  ])
  const open = await guardedWithout(t, entry)
  t.equal((await send(open.gateway, bearer('smuggled'))).status, 200)
  t.same(sentBy(open.agent), ['Bearer token-2'])
})

async function guardedWithout (t: Test, entry: string): Promise<Pick<Started, 'agent' | 'gateway'>> {
  const agent = await fakeAgent(t)
  const yaml = `agents: [{name: agent, upstream: {url: "${agent.url}", ${sending(entry)}}}]`
  return { agent, gateway: await gatewayFor(t, { yaml, baseDir: t.testdir({ secret: GATEWAY.secret }) }) }
}

t.test('endpoints that fail', async t => {
  const endpoint = await tokenEndpoint(t)
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  const entry = `{exchange: {endpoint: "${endpoint.url}", ${client}, audience: a, subjectTokenType: jwt, actorToken: {file: actor, type: jwt}}}`
  const { agent, gateway } = await started(t, sending(entry), [jwtSource('corp', issuer.url)], {
    files: { actor: 'actor-token\n' }, root: ['telemetry: {logs: {level: info}}']
  })
  const caller = (name: string): Promise<string[]> => issuer.token(key, { sub: name }).then(bearer)
  const unavailable = (answer: Answer, name: string): void => {
    t.equal(answer.status, 502, name)
    t.match(answer.json(), { error: { code: -32603, data: [{ reason: 'UPSTREAM_CREDENTIALS_UNAVAILABLE', domain: 'a2a-extension-gateway' }] } }, name)
    t.notMatch(answer.text, /canary|127\.0\.0\.1|token endpoint/, name)
  }
  endpoint.answer = (_call, response) => { response.writeHead(500).end('canary') }
  const first = await caller('ada')
  unavailable(await send(gateway, first), 'an error')
  unavailable(await send(gateway, first), 'the next call does not wait')
  t.equal(endpoint.calls.length, 1)
  t.match(Object.fromEntries(endpoint.calls[0]?.form ?? []), {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    actor_token: 'actor-token',
    actor_token_type: 'urn:ietf:params:oauth:token-type:jwt'
  })
  t.equal(endpoint.calls[0]?.form.get('subject_token'), first[1]?.replace('Bearer ', ''))
  endpoint.answer = (_call, response) => { sendJson(response, { error: 'invalid_target', error_description: 'canary' }, 400) }
  unavailable(await send(gateway, await caller('eve')), 'a target that does not exist')
  const rest = await call(`${gateway.url}/rest/tasks/1`, { headers: [...await caller('bob'), 'a2a-version', '1.0'] })
  t.match([rest.status, rest.json()], [502, { error: { code: 502, status: 'UNAVAILABLE', details: [{ reason: 'UPSTREAM_CREDENTIALS_UNAVAILABLE' }] } }])
  t.equal(agent.received.length, 0, 'nothing reaches the agent without its credentials')
  const lines = gateway.logs().filter(line => line.msg === 'cannot get an access token for the agent')
  t.match(lines, [{ level: 'warn', agent: 'agent', problem: `${endpoint.url} responded with 500` }])
  t.equal(lines.length, 1, 'one line, and not one for each call')
  t.notMatch(JSON.stringify(gateway.logs()), /canary|actor-token/)

  endpoint.answer = (_call, response) => { sendJson(response, { access_token: 'good', token_type: 'bearer', expires_in: 1e9 }) }
  t.equal((await send(gateway, await caller('joe'))).status, 200)
  t.equal(await gateway.metric('a2a_gateway_upstream_credentials_total{agent="agent",kind="exchange",outcome="unavailable"}'), 4)
})

t.test('the end of a token, and 401 of the agent', async t => {
  const endpoint = await tokenEndpoint(t)
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  let status = 200
  const entry = `{exchange: {endpoint: "${endpoint.url}", ${client}, audience: a}, for: [corp]}`
  const { gateway, agent } = await started(t, sending(entry, '{header: x-static, fromSecret: {file: secret}}'), [jwtSource('corp', issuer.url, ', leeway: 1m, header: x-token')], {
    agent: { answer: (_request, response) => { response.writeHead(status, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":1,"result":{}}') } }
  })
  const token = await issuer.token(key)
  const ask = async (): Promise<number> => (await send(gateway, ['x-token', token])).status
  t.same([await ask(), await ask()], [200, 200])
  t.equal(endpoint.calls.length, 1)
  t.equal(endpoint.calls[0]?.form.get('subject_token'), token)
  status = 401
  t.equal(await ask(), 401, "the agent's own response")
  t.equal(endpoint.calls.length, 1, 'nothing is retried')
  t.equal(agent.received.length, 3)
  status = 200
  t.equal(await ask(), 200)
  t.same(sentBy(agent).slice(-1), ['Bearer token-2'], 'the next call has a new token')
  t.equal(await gateway.metric('a2a_gateway_upstream_credentials_total{agent="agent",kind="exchange",outcome="dropped"}'), 1)

  const ending = await issuer.token(key, { exp: Math.floor(Date.now() / 1_000) + 1 })
  const before = endpoint.calls.length
  t.equal((await send(gateway, ['x-token', ending])).status, 200)
  t.equal((await send(gateway, ['x-token', ending])).status, 200)
  await until(() => Date.now() / 1_000 > Number(JSON.parse(Buffer.from(ending.split('.')[1] ?? '', 'base64url').toString()).exp), 'the end')
  t.equal((await send(gateway, ['x-token', ending])).status, 200, 'within the leeway')
  t.ok(endpoint.calls.length >= before + 2, 'a token is not used after the end of the token of the caller')
})

t.test('secrets rotate without a restart, and other tokens stay', async t => {
  const [one, two] = [await tokenEndpoint(t), await tokenEndpoint(t)]
  const of = (url: string, more: string): string => `{clientCredentials: {endpoint: "${url}", ${client}, audience: a}, ${more}}`
  const entries = [
    of(one.url, 'for: [partners]').replace('secret: {file: secret}', 'secret: {file: other}'),
    of(two.url, 'for: [people]'),
    '{header: x-static, fromSecret: {file: static}, prefix: "Key "}'
  ]
  const { agent, gateway, dir } = await guarded(t, { upstream: sending(...entries), files: { secret: 'a', other: 'b', static: 'c\n' } })
  const ask = async (...headers: string[]): Promise<void> => { t.equal((await send(gateway, headers)).status, 200) }
  const people = ['authorization', basicOf('ada', USER)]
  await ask('x-api-key', ACME)
  await ask(...people)
  t.equal(agent.received.at(-1)?.headers['x-static'], 'Key c')
  const yaml = yamlOf(agent.url, { upstream: sending(...entries) })
  for (const [name, text] of [['other', 'next'], ['static', 'd']] as const) {
    writeFileSync(join(dir, `${name}.new`), text)
    renameSync(join(dir, `${name}.new`), join(dir, name))
  }
  t.match(await gateway.reload(configOf({ yaml, baseDir: dir })), { ok: true, agents: { changed: ['agent'] } })
  await ask('x-api-key', ACME)
  await ask(...people)
  t.equal(agent.received.at(-1)?.headers['x-static'], 'Key d')
  t.equal(one.calls.length, 2, 'a token with the new secret')
  t.match(one.calls.map(({ headers }) => Buffer.from((headers.authorization ?? '').slice(6), 'base64').toString()), ['gateway:b', 'gateway:next'])
  t.equal(two.calls.length, 1, 'the token of an entry that has not changed stays')
  const next = configOf({ yaml, baseDir: dir })
  writeFileSync(join(dir, 'static'), '')
  t.match(await gateway.reload(next), { ok: false, problems: [/^agent agent: upstream\.credentials\.send\[2\]: the file .*static is empty$/] })
  await ask('x-api-key', ACME)
  t.equal(agent.received.at(-1)?.headers['x-static'], 'Key d', 'the last good configuration stays in force')
})

t.test('a call that fails for want of a token may be sent again, with the same unique values', async t => {
  const endpoint = await tokenEndpoint(t)
  endpoint.answer = (_call, response) => { sendJson(response, { error: 'invalid_client' }, 401) }
  const entry = `{clientCredentials: {endpoint: "${endpoint.url}", ${client}}}`
  const { agent, gateway } = await started(t, sending(entry), [PARTNERS], {
    agent: { card: nonceCard }, extra: ['extensions: [nonces]'], root: nonceRules('{window: 10m}')
  })
  const ask = async (): Promise<number> => (await rpc(`${gateway.url}/rpc`, 'SendMessage', nonceMessage('same'), ['x-api-key', ACME])).status
  t.equal(await ask(), 502)
  endpoint.answer = (_call, response) => { sendJson(response, { access_token: 'good', token_type: 'bearer' }) }
  await until(async () => await ask() === 200, 'the end of the wait after a failure')
  t.equal(agent.received.length, 1)
  await ask()
  t.equal(agent.received.length, 1, 'a value that reached the agent is used up')
})

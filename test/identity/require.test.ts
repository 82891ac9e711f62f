/** `access.require` through a real gateway: alternatives, second factors, anonymous callers, and the requirement of the card. */
import t from 'tap'
import type { Test } from 'tap'
import type { TestGateway } from '../helpers/gateway.js'
import { configOf } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { plainCard } from '../helpers/raw.js'
import { issuerFor, jwtSource, keyOf } from './issuer.js'
import type { Guarded, GuardedOptions } from './kit.js'
import { ACME, basicOf, GONE, guarded, PARTNERS, PEOPLE, USER, yamlOf } from './kit.js'

const KEY = ['x-api-key', ACME]
const LOGIN = ['authorization', basicOf('ada', USER)]
const CHALLENGES = {
  bearer: /Bearer realm="agent", resource_metadata="[^"]+"/,
  key: 'ApiKey realm="agent", header="x-api-key"',
  basic: 'Basic realm="agent", charset="UTF-8"'
}
const send = (gateway: TestGateway, headers: readonly string[] = []): Promise<Answer> =>
  rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)
const problemOf = (answer: Answer): unknown =>
  (answer.json() as unknown as { error: { data: { metadata: { problem: string } }[] } }).error.data[0]?.metadata.problem
const requiring = (t: Test, require: string, options: GuardedOptions = {}): Promise<Guarded> =>
  guarded(t, { ...options, extra: [`access: {require: ${require}}`, ...options.extra ?? []] })

interface AgentDescription {
  readonly access: { readonly accepted: unknown, readonly unmet: readonly string[] }
  readonly card: { readonly warnings: readonly string[] }
}
const described = async (gateway: TestGateway): Promise<AgentDescription> => {
  const [agent] = await (await fetch(`${gateway.adminUrl}/agents`)).json() as AgentDescription[]
  return agent as AgentDescription
}

t.test('alternatives: one of them is enough, and no other source is', async t => {
  const { gateway, agent } = await requiring(t, '[[partners]]')
  t.equal((await send(gateway, KEY)).status, 200)
  const missing = await send(gateway)
  t.match([missing.status, problemOf(missing), missing.headers['www-authenticate']], [401, 'missing', CHALLENGES.key], 'challenges of this agent only')
  t.equal(missing.json().error?.message, 'This agent requires credentials: send credentials in the header x-api-key.')
  const other = await send(gateway, LOGIN)
  t.match([other.status, problemOf(other), other.headers['www-authenticate']], [401, 'source', CHALLENGES.key])
  t.match((await send(gateway, ['authorization', basicOf('ada', 'x')])).status, 401)
  const both = await send(gateway, [...KEY, ...LOGIN])
  t.match([both.status, both.headers['gateway-decision']], [400, 'reject;rule="gateway/credentials"'], 'credentials that the agent does not ask for are not forwarded')
  t.equal(agent.received.length, 1)
  t.equal(await gateway.metric('a2a_gateway_authentications_total{agent="agent",source="people",outcome="source"}'), 1)
})

t.test('several credentials together', async t => {
  const { gateway, agent } = await requiring(t, '[[people, partners]]', {
    identity: ', audit: subject',
    root: ['telemetry: {logs: {level: warn}, audit: {forwarded: true}}']
  })
  t.equal((await send(gateway, [...KEY, ...LOGIN])).status, 200)
  const [first] = agent.received
  t.match([first?.headers['x-api-key'], first?.headers.authorization], [undefined, undefined], 'both are the gateway\'s')
  await until(() => gateway.audits().length === 1, 'an audit line')
  t.match(gateway.audits()[0], { caller: { source: 'people', id: 'ada' } }, 'the first source of the alternative names the caller')
  const rows: readonly [string, readonly string[], string, string][] = [
    ['a key alone', KEY, 'Basic credentials in the header Authorization', CHALLENGES.basic],
    ['a login alone', LOGIN, 'credentials in the header x-api-key', CHALLENGES.key]
  ]
  for (const [name, headers, text, challenge] of rows) {
    const answer = await send(gateway, headers)
    t.match([answer.status, problemOf(answer), answer.headers['www-authenticate']], [401, 'incomplete', challenge], name)
    t.equal(answer.json().error?.message, `The credentials are valid, but this agent requires more: also send ${text}.`, name)
  }
  const none = await send(gateway)
  t.match([none.status, none.headers['www-authenticate'], none.text], [401, `${CHALLENGES.basic}, ${CHALLENGES.key}`, 'in the header Authorization and credentials in the header x-api-key'])
  for (const [headers, problem] of [
    [[...KEY, 'authorization', basicOf('ada', 'wrong')], 'unknown_key'],
    [['x-api-key', GONE, ...LOGIN], 'expired'],
    [['x-api-key', 'wrong', 'authorization', basicOf('ada', 'wrong')], 'unknown_key']
  ] as const) {
    const answer = await send(gateway, headers)
    t.match([answer.status, problemOf(answer)], [401, problem])
  }
  t.equal(agent.received.length, 1)
  t.equal(await gateway.metric('a2a_gateway_authentications_total{agent="agent",source="partners",outcome="incomplete"}'), 1)
  t.ok(gateway.audits().some(line => line.reason === 'UNAUTHENTICATED'))
})

t.test('a token and a key, or a login', async t => {
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  const other = await issuerFor(t, [key])
  const sources = [jwtSource('corp', issuer.url), jwtSource('other', other.url), PARTNERS, PEOPLE]
  const { gateway, agent } = await requiring(t, '[[corp, partners], [people]]', { sources })
  const token = async (from = issuer): Promise<string[]> => ['authorization', `Bearer ${await from.token(key, { iss: from.url })}`]
  t.equal((await send(gateway, [...await token(), ...KEY])).status, 200)
  t.equal((await send(gateway, LOGIN)).status, 200)
  const alone = await send(gateway, await token())
  t.match([alone.status, problemOf(alone), alone.headers['www-authenticate']], [401, 'incomplete', CHALLENGES.key])
  const without = await send(gateway, KEY)
  t.match([without.status, problemOf(without), without.headers['www-authenticate']], [401, 'incomplete', CHALLENGES.bearer])
  const foreign = await send(gateway, await token(other))
  t.match([foreign.status, problemOf(foreign)], [401, 'source'], 'an issuer of other agents')
  t.match(foreign.headers['www-authenticate'], /error="invalid_token", error_description="The credentials are not of a kind that this agent accepts\."/)
  const crossed = await send(gateway, [...await token(other), ...KEY])
  t.match([crossed.status, crossed.headers['gateway-decision']], [400, 'reject;rule="gateway/credentials"'], 'each is right, and no alternative has both')
  const forged = await send(gateway, [...await token().then(([name = '', value = '']) => [name, `${value}x`]), ...KEY])
  t.match([forged.status, problemOf(forged)], [401, /signature|malformed/])
  t.equal(agent.received.length, 2)
  const metadata = await call(`${gateway.url}/.well-known/oauth-protected-resource`)
  t.same((metadata.json() as unknown as { authorization_servers: string[] }).authorization_servers, [issuer.url], 'issuers of this agent only')
})

t.test('anonymous callers', async t => {
  t.test('beside others', async t => {
    const { gateway, agent } = await requiring(t, '[[partners], [anonymous]]')
    t.equal((await send(gateway)).status, 200)
    t.equal((await send(gateway, KEY)).status, 200)
    t.equal(await gateway.metric('a2a_gateway_authentications_total{agent="agent",source="anonymous",outcome="ok"}'), 1)
    for (const headers of [['x-api-key', 'wrong'], ['x-api-key', GONE], LOGIN]) t.equal((await send(gateway, headers)).status, 401, 'credentials that are not right are not ignored')
    t.equal(agent.received.length, 2)
  })
  t.test('alone', async t => {
    const { gateway, agent } = await requiring(t, '[[anonymous]]', { extra: ['passthrough: [/docs]'] })
    for (const headers of [[], ['x-api-key', 'wrong'], LOGIN, [...KEY, ...LOGIN]]) t.equal((await send(gateway, headers)).status, 200)
    t.ok(agent.received.every(({ headers }) => headers['x-api-key'] === undefined && headers.authorization === undefined), 'keys of other agents do not reach this one')
    t.equal((await call(`${gateway.url}/docs/x`)).status, 200)
    t.equal((await call(`${gateway.url}/.well-known/oauth-protected-resource`)).status, 404)
  })
})

t.test('every path has the requirement', async t => {
  const { gateway, agent } = await requiring(t, '[[partners]]', { extra: ['passthrough: [/docs]'] })
  for (const path of ['/docs/x', '/secret', '/rest/tasks/1', '/rest/extendedAgentCard']) {
    for (const headers of [[], LOGIN]) t.equal((await call(gateway.url + path, { headers: [...V1, ...headers] })).status, 401, path)
  }
  t.equal(agent.received.length, 0)
  t.equal((await call(`${gateway.url}/docs/x`, { headers: KEY })).status, 200)
  const bare = await requiring(t, '[[partners]]', { agent: { card: () => ({}) }, extra: ['card: {onUnavailable: forward}'] })
  t.equal((await call(`${bare.gateway.url}/x`, { headers: LOGIN })).status, 401, 'without a card')
  t.equal((await call(`${bare.gateway.url}/x`, { headers: KEY })).status, 200)
})

t.test('defaults of all agents', async t => {
  const { gateway, agent, dir } = await guarded(t, { root: ['accessDefaults: {require: [[partners]]}'] })
  t.same([(await send(gateway, KEY)).status, (await send(gateway, LOGIN)).status], [200, 401])
  t.same((await described(gateway)).access.accepted, [['partners']])
  const yaml = yamlOf(agent.url, { extra: ['access: {require: null}'], root: ['accessDefaults: {require: [[partners]]}'] })
  t.ok((await gateway.reload(configOf({ yaml, baseDir: dir }))).ok)
  t.same([(await send(gateway, KEY)).status, (await send(gateway, LOGIN)).status], [200, 200], 'a key of the agent replaces the default')
})

const SCHEMES = {
  securitySchemes: {
    key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
    login: { httpAuthSecurityScheme: { scheme: 'Basic' } },
    google: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://accounts.google.com/.well-known/openid-configuration' } }
  }
}
const requirement = (...names: string[]): object => ({ schemes: Object.fromEntries(names.map(name => [name, { list: [] }])) })

t.test('the requirement of the card', async t => {
  let extra: Record<string, unknown> = { ...SCHEMES, securityRequirements: [requirement('key', 'login'), requirement('google')] }
  const { gateway, agent, dir } = await requiring(t, 'card', { agent: { card: url => plainCard(url, extra) }, extra: ['passthrough: [/docs]'] })
  t.equal((await send(gateway, [...KEY, ...LOGIN])).status, 200)
  t.equal(problemOf(await send(gateway, KEY)), 'incomplete')
  t.equal((await call(`${gateway.url}/docs/x`, { headers: KEY })).status, 401)
  t.match(await described(gateway), {
    access: { require: 'card', accepted: [['partners', 'people']], unmet: ['no source of identity covers "google" (openIdConnect)'] }
  })

  const yaml = (n: number): string => yamlOf(agent.url, { extra: ['access: {require: card}', 'passthrough: [/docs]', `concurrency: {requests: ${n}}`, 'card: {refresh: 10ms}'] })
  const reload = async (n: number): Promise<void> => { t.ok((await gateway.reload(configOf({ yaml: yaml(n), baseDir: dir }))).ok) }
  extra = { ...SCHEMES, securityRequirements: [requirement('google')] }
  await reload(10)
  await until(async () => (await send(gateway, KEY)).status === 503, 'no alternative')
  for (const headers of [[], KEY, [...KEY, ...LOGIN]]) {
    for (const path of ['/rpc', '/docs/x', '/any']) {
      const answer = await call(gateway.url + path, { headers: [...JSON_TYPE, ...V1, ...headers], body: rpcBody('GetTask', { id: '1' }) })
      t.match([answer.status, answer.headers['gateway-decision'], answer.headers['www-authenticate']], [503, 'reject;rule="gateway/requirement"', undefined], path)
    }
  }
  t.match((await send(gateway)).json(), { error: { code: -32603, data: [{ reason: 'AGENT_NOT_READY' }] } })
  const why = await described(gateway)
  t.same(why.access.accepted, [])
  t.match(why.card.warnings.join('\n'), /no source of identity covers "google"/)
  t.match(why.card.warnings.join('\n'), /the agent accepts no caller/)
  t.match((await call(`${gateway.url}/.well-known/agent-card.json`, { headers: V1 })).text, /"google"/, 'the card keeps its schemes: the gateway has none for it')

  extra = { ...SCHEMES, securityRequirements: [{}, requirement('login')] }
  await until(async () => (await send(gateway)).status === 200, 'the card accepts callers without credentials')
  t.same([(await send(gateway, LOGIN)).status, (await send(gateway, KEY)).status], [200, 401])

  extra = SCHEMES
  await until(async () => (await send(gateway, LOGIN)).status === 503, 'a card without a requirement')
  t.match((await described(gateway)).access.unmet, ['the card has no security requirement'])
})

t.test('the requirement of the card, without a card', async t => {
  const { gateway, agent } = await requiring(t, 'card', { agent: { card: () => ({}) }, extra: ['card: {onUnavailable: forward}', 'passthrough: [/docs]'], waitReady: false })
  for (const path of ['/rpc', '/docs/x', '/any']) {
    for (const headers of [[], KEY]) {
      const answer = await call(gateway.url + path, { headers: [...JSON_TYPE, ...headers], body: '{}' })
      t.match([answer.status, answer.headers['gateway-decision'], answer.headers['retry-after']], [503, 'reject;rule="gateway/no-card"', /\d/], path)
    }
  }
  t.equal(agent.received.length, 0)
})

t.test('other kinds of 401 stay as they are without the key', async t => {
  const { gateway } = await guarded(t)
  t.match((await send(gateway)).headers['www-authenticate'], `${CHALLENGES.key}, ${CHALLENGES.basic}`)
  t.equal((await send(gateway, [...KEY, ...LOGIN])).status, 400)
  t.same((await described(gateway)).access.accepted, [['partners'], ['people']])
})

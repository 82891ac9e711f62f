/** One gateway with `access.delegation`: keys of others over HTTP, requests that no rule reads, modes, reloads. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import type { Test } from 'tap'
import { keyDigest } from '#identity/api-keys.js'
import { claimsOfChain, signChain } from '#identity/chain.js'
import type { Chain } from '#identity/chain.js'
import type { Principal } from '#identity/principal.js'
import { readSigningKey } from '#identity/signing-key.js'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, rpc, untilSame } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import type { FakeAgent } from '../helpers/raw.js'
import { fakeAgent } from '../helpers/raw.js'
import { identityKeys } from '../identity/signing-keys.js'
import { claimsIn, HEADER, keyOf, keySetOf } from './kit.js'

const ALICE: Principal = {
  source: 'keys', sources: ['keys'], kind: 'apiKey', subject: 'alice', client: null, scopes: [], groups: ['staff'], tenant: null, spiffe: null, claims: {}
}
const CHAIN: Chain = { id: 'c1', budgets: {}, deadline: null, initiator: ALICE, hops: ['edge/a'], depth: 1, mayReach: [], presenter: { client: 'a' } }

function chainOf (pem: string, more: Partial<Chain> = {}, ttl = 60_000): string {
  const key = readSigningKey(pem, null)
  if ('problem' in key) throw new Error(key.problem)
  return signChain(key, claimsOfChain({ ...CHAIN, ...more }, 'test') ?? {}, ttl, Date.now())
}

interface Started { readonly gateway: TestGateway, readonly agent: FakeAgent, readonly dir: string, yaml (change?: Change): string }
interface Change { readonly access?: string, readonly keys?: string, readonly domain?: boolean, readonly mode?: string }

async function started (t: Test, pems: Readonly<Record<string, string>>, change: Change = {}): Promise<Started> {
  const agent = await fakeAgent(t)
  const dir = t.testdir({
    'keys.yaml': [['alice', 'staff'], ['a', 'agents']].map(([id = '', group = '']) =>
      `- {id: ${id}, sha256: ${keyDigest(keyOf(id))}, client: ${id}, groups: [${group}]}`).join('\n'),
    'own.pem': pems['ed'] ?? '',
    'other.jwks.json': keySetOf(pems['ec'] ?? '')
  })
  const yaml = (now: Change = {}): string => {
    const { access = 'maxDepth: 3, as: {client: b}', keys = '[{file: other.jwks.json}]', mode = 'enforce', domain = true } = { ...change, ...now }
    return [
      'agents:',
      `  - {name: b, upstream: {url: "${agent.url}"}, passthrough: [/docs], access: {mode: ${mode}, delegation: {${access}}}}`,
      ...domain ? [`delegation: {gateway: east, trustDomain: test, key: {file: own.pem}, keys: ${keys}, agents: {groups: [agents]}}`] : [],
      'identity: {sources: {keys: {apiKey: {header: X-Api-Key, keys: {file: keys.yaml}}}}}'
    ].join('\n')
  }
  return { gateway: await gatewayFor(t, { yaml: yaml(), baseDir: dir }), agent, dir, yaml }
}

const as = (caller: string, chain?: string): string[] => ['x-api-key', keyOf(caller), ...(chain === undefined ? [] : [HEADER, chain])]
const send = (url: string, headers: readonly string[]): Promise<Answer> => rpc(`${url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)
const problemOf = (answer: Answer): unknown => /"problem":"(\w+)"/.exec(answer.text)?.[1]

t.test('keys of another gateway over HTTP: rotation, and a gateway that cannot be reached', async t => {
  const pems = await identityKeys()
  let keys = keySetOf(pems.rsa)
  let down = false
  const server = createServer((_, response) => { down ? response.writeHead(503).end() : response.setHeader('content-type', 'application/json').end(keys) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close() })
  const { gateway: { url }, agent } = await started(t, { ...pems }, { keys: `[{url: "http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks"}]` })
  t.equal((await send(url, as('a', chainOf(pems.rsa)))).status, 200)
  keys = keySetOf(pems.ec)
  t.equal((await send(url, as('a', chainOf(pems.ec)))).status, 200, 'an unknown key is fetched')
  const received = agent.received.length
  t.equal(problemOf(await send(url, as('a', chainOf(pems.rsa)))), 'unknown_key', 'a key that is no longer published')
  t.equal(agent.received.length, received)
  const own = await call(`${url}/.well-known/jwks.json`)
  t.match(own.json(), { keys: [{ alg: 'EdDSA', use: 'sig' }] }, 'the gateway publishes its own key')
  t.match(claimsIn(String(agent.received.at(-1)?.headers[HEADER])), { hops: ['edge/a', 'east/b'], initiator: { subject: 'alice' } })

  down = true
  const other = await started(t, { ...pems }, { keys: `[{url: "http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks"}]` })
  const rejected = await send(other.gateway.url, as('a', chainOf(pems.ec)))
  t.match([rejected.status, problemOf(rejected)], [503, 'unavailable'])
  t.match(rejected.json(), { error: { code: -32603 } })
  t.match(rejected.headers['retry-after'], /^\d+$/)
  t.equal((await send(other.gateway.url, as('alice'))).status, 200, 'calls without a chain go on')
  t.equal(await other.gateway.metric('a2a_gateway_delegations_total{agent="b",outcome="unavailable"}'), 1)
  t.equal(await other.gateway.metric('a2a_gateway_delegations_total{agent="b",outcome="direct"}'), 1)
})

t.test('a reload that fails fetches no keys any more', async t => {
  const pems = await identityKeys()
  const server = createServer((_, response) => { response.setHeader('content-type', 'application/json').end(keySetOf(pems.ec)) })
  // Longer than the wait below: only the gateway closes a connection.
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close() })
  const connections = (): Promise<number> => new Promise((resolve, reject) => {
    server.getConnections((error, count) => { error === null ? resolve(count) : reject(error) })
  })
  const { gateway, dir, yaml } = await started(t, { ...pems })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`
  const jwt = `corp: {jwt: {issuer: "http://127.0.0.1", audience: [a], keys: {url: "${url}"}}}`
  const changed = configOf({ yaml: yaml().replace('sources: {', `sources: {${jwt}, `), baseDir: dir })
  const opened = once(server, 'connection')
  writeFileSync(join(dir, 'own.pem'), 'not a key')
  t.match(await gateway.reload(changed), { ok: false, problems: [/own\.pem/] })
  await opened
  await untilSame(t, connections, 0, 'no connection')
})

t.test('every request to the agent, and the form of the rejection', async t => {
  const pems = await identityKeys()
  const { gateway, agent } = await started(t, { ...pems }, { access: 'maxDepth: 0, as: {client: b}' })
  const { url } = gateway
  const deep = as('a', chainOf(pems.ec))
  t.match((await send(url, deep)).json(), {
    error: { code: -31403, message: /Too many agents/, data: [{ reason: 'DELEGATION_NOT_ALLOWED', metadata: { problem: 'depth', rule: 'delegation' } }] }
  })
  const forms: readonly [string, Promise<Answer>][] = [
    ['HTTP+JSON', call(`${url}/rest/message:send`, { headers: [...JSON_TYPE, 'a2a-version', '1.0', ...deep], body: JSON.stringify({ message: MESSAGE }) })],
    ['GetTask', call(`${url}/rest/tasks/t1`, { headers: ['a2a-version', '1.0', ...deep] })],
    ['0.3', call(`${url}/rest/v1/tasks/t1`, { headers: deep })],
    ['passthrough', call(`${url}/docs/a`, { headers: deep })],
    ['an unknown method', rpc(`${url}/rpc`, 'tasks/dance', {}, deep)]
  ]
  for (const [what, answer] of forms) {
    t.equal((await answer).status, 403, what)
    t.equal((await answer).headers['gateway-decision'], 'reject;rule="gateway/delegation"', what)
  }
  t.equal(agent.received.length, 0)
  await untilSame(t, () => gateway.audits().filter(one => one['reason'] === 'DELEGATION_NOT_ALLOWED').length, 6, 'audit lines')
  t.equal((await call(`${url}/.well-known/agent-card.json`, { headers: as('alice') })).status, 200)
  t.equal((await call(`${url}/docs/a`, { headers: as('alice') })).status, 200)
  t.match(claimsIn(String(agent.received.at(-1)?.headers[HEADER])), { hops: ['east/b'], initiator: { subject: 'alice' }, depth: 1 }, 'passthrough gets a chain too')
})

t.test('the header that came never reaches the agent', async t => {
  const pems = await identityKeys()
  const { gateway, agent, dir, yaml } = await started(t, { ...pems }, { access: 'maxDepth: 3' })
  t.equal((await send(gateway.url, as('a', chainOf(pems.ec)))).status, 200)
  t.equal(agent.received.at(-1)?.headers[HEADER], undefined, 'an agent without "as"')
  t.equal((await send(gateway.url, [...as('alice'), 'A2A_Delegation', 'made up'])).status, 200)
  t.notMatch(agent.received.at(-1)?.rawHeaders.join('\n'), /made up/, 'in another spelling')

  const reload = async (change: Change): Promise<void> => {
    t.match(await gateway.reload(configOf({ yaml: yaml(change), baseDir: dir })), { ok: true })
  }
  await reload({ access: 'as: {client: b}', domain: true })
  t.equal((await send(gateway.url, as('a', chainOf(pems.ec)))).status, 200)
  t.match(claimsIn(String(agent.received.at(-1)?.headers[HEADER])), { hops: ['edge/a', 'east/b'] }, 'after a reload')
  writeFileSync(join(dir, 'other.jwks.json'), keySetOf(pems.rsa))
  await reload({ access: 'as: {client: b}' })
  t.equal(problemOf(await send(gateway.url, as('a', chainOf(pems.ec)))), 'unknown_key', 'after a new key file')
  t.equal((await send(gateway.url, as('a', chainOf(pems.rsa)))).status, 200)
  await reload({ access: 'maxDepth: 3', domain: false })
  t.equal((await send(gateway.url, as('a', 'anything'))).status, 200)
  t.equal(agent.received.at(-1)?.headers[HEADER], 'anything', 'without delegation, the header is one of the client')
  t.equal(readFileSync(join(dir, 'own.pem'), 'utf8'), pems.ed)
})

t.test('access.mode: observe records and forwards', async t => {
  const pems = await identityKeys()
  const { gateway, agent } = await started(t, { ...pems }, { access: 'maxDepth: 0, as: {client: b}', mode: 'observe' })
  t.equal((await send(gateway.url, as('a', chainOf(pems.ec)))).status, 200)
  t.match(claimsIn(String(agent.received.at(-1)?.headers[HEADER])), { hops: ['edge/a', 'east/b'], depth: 2 }, 'the real chain')
  t.equal((await send(gateway.url, as('a', `${chainOf(pems.ec).slice(0, -8)}AAAAAAAA`))).status, 200)
  t.equal(agent.received.at(-1)?.headers[HEADER], undefined, 'no chain of the gateway hides a bad one')
  await untilSame(t, () => gateway.audits().filter(one => one['decision'] === 'observed').length, 2, 'audit lines')
  t.equal(await gateway.metric('a2a_gateway_delegations_total{agent="b",outcome="depth"}'), 1)
  t.equal(await gateway.metric('a2a_gateway_delegations_total{agent="b",outcome="signature"}'), 1)
  t.equal(await gateway.metric('a2a_gateway_violations_total{agent="b",extension="gateway",rule="delegation",phase="request",mode="observe"}'), 2)
})

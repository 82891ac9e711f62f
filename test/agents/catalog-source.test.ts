/** AI Catalogs as a source of agents. */
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { cardDigest } from '#a2a/card/digest.js'
import { runAgents } from '#cli/agents/agents.js'
import { call, rpc, untilSame } from '../helpers/http.js'
import { plainCard } from '../helpers/raw.js'
import { catalogAt, catalogServer, sourceAt, sourcedGateway } from './kit.js'
import type { Report } from './kit.js'

const names = async (report: Promise<Report>, state: string): Promise<(string | null)[]> =>
  (await report).entries.filter(one => one.state === state).map(({ agent }) => agent)

t.test('the entries of a catalog become agents; an entry that comes, goes or changes is a change of the configuration', async t => {
  const catalog = await catalogServer(t)
  catalog.content = catalogAt(catalog.url, ['billing', 'search'], [
    { identifier: 'urn:air:example.com:mcp:weather', type: 'application/mcp-server-card+json', url: `${catalog.url}/mcp` },
    { identifier: 'urn:air:example.com:suite', type: 'application/ai-catalog+json', data: catalogAt('', ['nested']) }
  ])
  const gateway = await sourcedGateway(t, ['agents: []', sourceAt(catalog.url, ', select: {tags: []}')].join('\n'))
  await untilSame(t, () => gateway.agents(), ['billing /agents/billing', 'nested /agents/nested', 'search /agents/search'], 'a relative address too')
  await untilSame(t, async () => (await call(`${gateway.adminUrl}/readyz`)).status, 200)
  const answer = await rpc(`${gateway.url}/agents/billing/rpc`)
  t.match(answer.json(), { result: { message: { parts: [{ text: '/billing/rpc' }] } } })
  const [first] = JSON.parse((await call(`${gateway.adminUrl}/agents`)).text) as object[]
  t.match(first, { origin: { source: 'partners', kind: 'catalog', identifier: 'urn:air:example.com:agent:billing' } })
  t.match(await gateway.report(), { name: 'partners', problem: null, counts: { admitted: 3, waiting: 0, rejected: 0 } })
  t.equal(await gateway.metric('a2a_gateway_agent_sources{source="partners",state="admitted"}'), 3)
  t.equal(await gateway.metric('a2a_gateway_agent_source_readable{source="partners"}'), 1)
  t.ok(await gateway.metric('a2a_gateway_agent_source_age_seconds{source="partners"}') < 60)

  catalog.content = catalogAt(catalog.url, ['search', 'later'])
  await untilSame(t, () => gateway.agents(), ['later /agents/later', 'search /agents/search'])
  t.equal((await call(`${gateway.url}/agents/billing/.well-known/agent-card.json`)).status, 404, 'the agent has gone')

  for (const broken of ['{', { specVersion: '2.0', entries: [] }, { entries: [] }]) {
    catalog.content = broken
    await untilSame(t, async () => (await gateway.report()).problem !== null, true, JSON.stringify(broken))
    t.strictSame(await gateway.agents(), ['later /agents/later', 'search /agents/search'], 'the last good state')
    t.equal(await gateway.metric('a2a_gateway_agent_source_readable{source="partners"}'), 0)
    catalog.content = catalogAt(catalog.url, ['search', 'later'])
    await untilSame(t, async () => (await gateway.report()).problem, null)
  }
})

t.test('select and limit', async t => {
  const catalog = await catalogServer(t)
  const entry = (name: string, more: object): object =>
    ({ ...(catalogAt(catalog.url, [name]) as { entries: object[] }).entries[0], ...more })
  catalog.content = catalogAt(catalog.url, [], [
    entry('a', { tags: ['eu', 'billing'], publisher: { identifier: 'did:web:example.com', displayName: 'E' } }),
    entry('b', { tags: ['eu'], publisher: { identifier: 'did:web:example.com', displayName: 'E' } }),
    entry('c', { tags: ['eu', 'billing'], publisher: { identifier: 'did:web:other.example', displayName: 'O' } }),
    entry('d', { identifier: 'https://other.example/ids/d', tags: ['eu', 'billing'], publisher: { identifier: 'did:web:example.com', displayName: 'E' } }),
    entry('a', { version: '0.9', url: 'https://old.example/', tags: ['eu', 'billing'], publisher: { identifier: 'did:web:example.com', displayName: 'E' } }),
    entry('a', { version: '0.10', tags: ['eu', 'billing'], publisher: { identifier: 'did:web:example.com', displayName: 'E' } })
  ])
  const select = ', select: {tags: [billing, eu], identifiers: ["urn:air:example.com:*"], publisher: "did:web:example.com"}, limit: 1'
  const gateway = await sourcedGateway(t, ['agents: []', sourceAt(catalog.url, select)].join('\n'))
  t.strictSame(await gateway.agents(), ['a /agents/a'], 'the newest version')
  t.equal((await gateway.report()).problem, null)
  gateway.write(['agents: []', sourceAt(catalog.url, ', limit: 2')].join('\n'))
  await untilSame(t, async () => (await gateway.report()).problem, 'the source has 4 agents, more than limit, 2')
})

t.test('a file as a catalog; pinned agents wait for agents.lock', async t => {
  const cards = await catalogServer(t)
  const dir = t.testdir({ 'catalog.json': JSON.stringify(catalogAt(cards.url, ['billing', 'search'])) })
  const source = (more: string): string => `agentSources: [{name: local, catalog: catalog.json, refresh: 1s, agent: {path: "/agents/{name}", name: "p-{name}"}, allowPrivate: [127.0.0.1]${more}}]`
  const gateway = await sourcedGateway(t, ['agents: []', source('')].join('\n'), { dir })
  t.strictSame(await gateway.agents(), [])
  t.strictSame(await names(gateway.report(), 'waiting'), ['p-billing', 'p-search'])
  t.equal(await gateway.metric('a2a_gateway_agent_sources{source="local",state="waiting"}'), 2)
  t.notOk(cards.requests.some(path => path.includes('agent-card')), 'nobody dials an agent that nobody has agreed to')

  const url = `${cards.url}/billing/.well-known/agent-card.json`
  const card = plainCard(`${cards.url}/billing`, { name: 'billing' })
  const lock = (digest: string, at = url): string =>
    JSON.stringify({ version: 1, agents: { 'p-billing': { url: at, digest, requires: [], pinnedAt: '2026-11-28T00:00:00Z', pinnedBy: 'me' } } })
  writeFileSync(join(dir, 'agents.lock'), lock(`sha256:${'0'.repeat(64)}`))
  await untilSame(t, async () => (await gateway.report()).entries.find(({ agent }) => agent === 'p-billing')?.reason, 'the card differs from the card in agents.lock')
  writeFileSync(join(dir, 'agents.lock'), lock(cardDigest(card), `${cards.url}/elsewhere`))
  await untilSame(t, async () => (await gateway.report()).entries.find(({ agent }) => agent === 'p-billing')?.reason, 'agents.lock has another address of the card')
  t.strictSame(await gateway.agents(), [])
  writeFileSync(join(dir, 'agents.lock'), lock(cardDigest(card)))
  await untilSame(t, () => gateway.agents(), ['p-billing /agents/billing'])
  t.strictSame(await names(gateway.report(), 'waiting'), ['p-search'])

  const lines: string[] = []
  const io = { out: (line: string): void => { lines.push(line) }, err: (line: string): void => { lines.push(line) } }
  t.equal(await runAgents({ action: 'lock', config: gateway.file, agents: [], env: process.env }, io), 0, lines.join('\n'))
  t.match(lines.join('\n'), /p-billing: updated[^]*p-search: added/, 'the command agrees on entries that wait')
  await untilSame(t, () => gateway.agents(), ['p-billing /agents/billing', 'p-search /agents/search'])
})

t.test('the last good state survives a restart', async t => {
  const stateDir = mkdtempSync(join(tmpdir(), 'sources-state-'))
  t.teardown(() => { rmSync(stateDir, { recursive: true }) })
  const catalog = await catalogServer(t)
  catalog.content = catalogAt(catalog.url, ['billing'])
  const yaml = ['agents: []', sourceAt(catalog.url)].join('\n')
  const first = await sourcedGateway(t, yaml, { server: `, stateDir: "${stateDir}"` })
  t.strictSame(await first.agents(), ['billing /agents/billing'])
  await first.stop()

  catalog.content = (_request, response) => { response.writeHead(503).end() }
  const second = await sourcedGateway(t, yaml, { server: `, stateDir: "${stateDir}"` })
  t.strictSame(await second.agents(), ['billing /agents/billing'])
  t.match(await second.report(), { restored: true, problem: /responded with 503/ })
  await second.stop()
  const third = await sourcedGateway(t, ['agents: []', sourceAt(catalog.url, ', limit: 5')].join('\n'), { server: `, stateDir: "${stateDir}"` })
  t.strictSame(await third.agents(), [], 'the state of another configuration')
  await third.stop()
  const fourth = await sourcedGateway(t, yaml)
  t.strictSame(await fourth.agents(), [], 'without stateDir')
})

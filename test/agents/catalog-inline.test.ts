/** Catalogs as the specification has them: its examples, cards in the catalog itself, and digests of artifacts. */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { canonicalize } from '#a2a/card/signing/canonical.js'
import { AGENT_CARD_TYPE, CATALOG_TYPE, readCatalog } from '#a2a/catalog/catalog.js'
import { runAgents } from '#cli/agents/agents.js'
import { call, rpc, untilSame } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'
import { plainCard } from '../helpers/raw.js'
import { catalogServer, reasons, sourceAt, sourcedGateway } from './kit.js'

type Document = { readonly entries: readonly object[] }
const examples = JSON.parse(readFileSync(inTests('fixtures/ai-catalog/examples.json'), 'utf8')) as Record<string, Document>

const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`

t.test('the examples of the specification', async t => {
  const { 'Dual-Protocol Agent (MCP + A2A)': dual, $comment: _, ...documents } = examples
  const whole = { ...documents, dual: { specVersion: '0.9', entries: [dual] } }
  const found: Record<string, string[]> = {}
  for (const [name, document] of Object.entries(whole)) {
    const read = readCatalog(document)
    if ('problem' in read) throw new Error(read.problem)
    t.strictSame(read.faults, [], name)
    found[name] = read.entries.map(({ type, url, version }) => `${type === AGENT_CARD_TYPE ? 'agent' : type === CATALOG_TYPE ? 'catalog' : 'other'} ${url === null ? 'data' : 'url'} ${version ?? ''}`)
  }
  t.strictSame(found, {
    'Top-Level Structure': ['other url ', 'other url ', 'agent url ', 'other url '],
    'Multi-Version Entries': ['agent url 2.1.0', 'agent url 2.0.0'],
    'Multi-Artifact Catalog with Nested Catalog': ['agent url 2.1.0', 'other url 1.4.0', 'catalog data '],
    'Hierarchical Catalog': ['agent url 3.0.0', 'catalog url ', 'catalog url ', 'catalog url '],
    dual: ['catalog data ']
  })
  // A gateway that nobody has agreed with dials nobody. The nested catalogs of the hierarchical example are at addresses of others.
  const catalog = await catalogServer(t)
  catalog.content = { specVersion: '1.0', entries: ['Top-Level Structure', 'Multi-Version Entries', 'Multi-Artifact Catalog with Nested Catalog'].flatMap(name => [...examples[name]?.entries ?? []]).concat(dual as unknown as object) }
  const gateway = await sourcedGateway(t, `agents: []\n${sourceAt(catalog.url).replace('admit: all', 'admit: pinned')}`)
  t.strictSame(reasons(await gateway.report()), {
    'urn:air:acme.com:agent:finance': 'the agent is not in agents.lock',
    'urn:air:acme.com:agent:finance-a2a': 'the agent is not in agents.lock',
    'urn:air:acme.com:agent:finance:a2a': 'the agent is not in agents.lock',
    'urn:air:example.com:a2a:research': 'the agent is not in agents.lock',
    // Its digest is a placeholder.
    'urn:air:acme.com:plugin:finance-suite': 'has another digest than its entry says'
  })
})

t.test('a card in the catalog itself: served, enforced, changed, kept over a restart', async t => {
  const stateDir = mkdtempSync(join(tmpdir(), 'inline-state-'))
  t.teardown(() => { rmSync(stateDir, { recursive: true }) })
  const catalog = await catalogServer(t)
  const card = (more: object = {}): object => plainCard(`${catalog.url}/billing`, { name: 'billing', ...more })
  const entry = (data: object, more: object = {}): object => ({ identifier: 'urn:air:example.com:agent:billing', type: AGENT_CARD_TYPE, data, ...more })
  catalog.content = { specVersion: '1.0', entries: [entry(card(), { digest: sha256(canonicalize(card())) })] }
  const yaml = `agents: []\n${sourceAt(catalog.url).replace('path: "/agents/{name}"', 'path: "/agents/{name}", card: {refresh: 1s}')}`
  const gateway = await sourcedGateway(t, yaml, { server: `, stateDir: "${stateDir}"` })
  t.strictSame(await gateway.agents(), ['billing /agents/billing'])
  await untilSame(t, async () => (await call(`${gateway.adminUrl}/readyz`)).status, 200)
  t.match((await rpc(`${gateway.url}/agents/billing/rpc`)).json(), { result: { message: { parts: [{ text: '/billing/rpc' }] } } })
  t.notOk(catalog.requests.some(path => path.includes('agent-card')), 'nobody asks the agent for a card')
  const [about] = JSON.parse((await call(`${gateway.adminUrl}/agents`)).text) as { upstream: string }[]
  t.equal(about?.upstream, `${catalog.url}/billing`, 'the path that the interfaces have in common')

  catalog.content = { specVersion: '1.0', entries: [entry(card({ capabilities: { extensions: [{ uri: 'urn:required', required: true }] } }))] }
  await untilSame(t, async () => /requires/.test((await rpc(`${gateway.url}/agents/billing/rpc`)).text), true, 'the changed card')
  await gateway.stop()

  catalog.content = (_request, response) => { response.writeHead(503).end() }
  const again = await sourcedGateway(t, yaml, { server: `, stateDir: "${stateDir}"` })
  await untilSame(t, async () => (await call(`${again.adminUrl}/readyz`)).status, 200)
  t.match((await rpc(`${again.url}/agents/billing/rpc`)).text, /requires/, 'the last good card')
  await again.stop()
})

t.test('agents.lock: a card of the catalog waits, and a change of the card or its address does not lower anything', async t => {
  const catalog = await catalogServer(t)
  const required = { capabilities: { extensions: [{ uri: 'urn:required', required: true }] } }
  const serve = (name: string, more: object): void => {
    catalog.content = { specVersion: '1.0', entries: [{ identifier: 'urn:air:example.com:agent:billing', type: AGENT_CARD_TYPE, data: plainCard(`${catalog.url}/${name}`, more as Record<string, unknown>) }] }
  }
  serve('billing', required)
  const source = sourceAt(catalog.url).replace('admit: all', 'admit: pinned').replace('path: "/agents/{name}"', 'path: "/agents/{name}", card: {refresh: 1s}')
  const gateway = await sourcedGateway(t, `agents: []\n${source}`)
  t.strictSame(reasons(await gateway.report()), { 'urn:air:example.com:agent:billing': 'the agent is not in agents.lock' })
  const lines: string[] = []
  const io = { out: (line: string): void => { lines.push(line) }, err: (line: string): void => { lines.push(line) } }
  t.equal(await runAgents({ action: 'lock', config: gateway.file, agents: [], env: process.env }, io), 0, lines.join('\n'))
  await untilSame(t, () => gateway.agents(), ['billing /agents/billing'])
  await untilSame(t, async () => /requires/.test((await rpc(`${gateway.url}/agents/billing/rpc`)).text), true)

  serve('moved', {})
  const held = async (): Promise<string | undefined> =>
    (JSON.parse((await call(`${gateway.adminUrl}/agents`)).text) as { card: { agreement: { held: { reason: string } | null } | null } }[])[0]?.card.agreement?.held?.reason
  await untilSame(t, held, 'changed', 'the changed card waits')
  t.match((await rpc(`${gateway.url}/agents/billing/rpc`)).text, /requires/, 'the agreed card is in force')
  const [about] = JSON.parse((await call(`${gateway.adminUrl}/agents`)).text) as { upstream: string }[]
  t.equal(about?.upstream, `${catalog.url}/billing`, 'at the agreed address')
})

t.test('attacks: cards with private addresses, wrong digests, without addresses, and too large', async t => {
  const catalog = await catalogServer(t)
  const text = (name: string): string => JSON.stringify(plainCard(`${catalog.url}/${name}`, { name }))
  const entry = (name: string, more: object): object => ({ identifier: `urn:air:example.com:agent:${name}`, type: AGENT_CARD_TYPE, ...more })
  const at = (name: string): object => ({ url: `${catalog.url}/${name}/.well-known/agent-card.json` })
  catalog.content = {
    specVersion: '1.0',
    entries: [
      entry('private', { data: plainCard('http://169.254.169.254') }),
      entry('nothing', { data: {} }),
      entry('text', { data: 'a card' }),
      entry('none', { data: null }),
      entry('grpc', { data: { ...plainCard(catalog.url), supportedInterfaces: [{ url: 'grpc.example.com:443', protocolBinding: 'GRPC', protocolVersion: '1.0' }] } }),
      entry('large', { data: plainCard(catalog.url, { description: 'x'.repeat(2_000_000) }) }),
      entry('wrong', { data: plainCard(catalog.url), digest: sha256('x') }),
      entry('fetched', { ...at('fetched'), digest: sha256(text('fetched')) }),
      entry('substituted', { ...at('substituted'), digest: sha256('x') }),
      entry('unknown', { ...at('unknown'), digest: 'md5:00' })
    ]
  }
  const gateway = await sourcedGateway(t, `agents: []\n${sourceAt(catalog.url)}`)
  t.strictSame(await gateway.agents(), ['fetched /agents/fetched'])
  const found = Object.fromEntries(Object.entries(reasons(await gateway.report())).map(([name, reason]) => [name.split(':').at(-1), reason]))
  t.match(found, {
    private: /its card has an address that/,
    nothing: /does not contain a usable card/,
    text: /does not contain a usable card/,
    none: /does not contain a usable card/,
    grpc: 'its card names no address over HTTP',
    large: /its card is larger than \d+ bytes/,
    wrong: 'its card has another digest than its entry says',
    fetched: null,
    substituted: 'its card has another digest than its entry says',
    unknown: /its card has a digest that the gateway cannot verify/
  })
})

t.test('a card that cannot be kept', async t => {
  const catalog = await catalogServer(t)
  catalog.content = { specVersion: '1.0', entries: [{ identifier: 'urn:air:example.com:agent:billing', type: AGENT_CARD_TYPE, data: plainCard(`${catalog.url}/billing`) }] }
  const stateDir = join(t.testdir({}), 'state')
  writeFileSync(stateDir, 'a file')
  const gateway = await sourcedGateway(t, `agents: []\n${sourceAt(catalog.url)}`, { server: `, stateDir: "${stateDir}"`, dir: mkdtempSync(join(tmpdir(), 'inline-kept-')) })
  t.match(reasons(await gateway.report()), { 'urn:air:example.com:agent:billing': /cannot be kept in server\.stateDir .*: E(?:NOTDIR|EXIST)/ })
})

/** Hostile catalogs: no entry takes a name, a path or an address that is not its own. */
import { generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { signCatalog } from '#identity/catalog-signature.js'
import type { SigningKey } from '#identity/signing-key.js'
import { readSigningKey } from '#identity/signing-key.js'
import { AddressGuard } from '#upstream/address-guard.js'
import type { JsonObject } from '#wire/json/object.js'
import { gatewayFor } from '../helpers/gateway.js'
import { call, freePort, rpc, untilSame } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { serve } from '../helpers/serve.js'
import { catalogAt, catalogServer, reasons, sourceAt, sourcedGateway } from './kit.js'

const card = (identifier: string, url: string): object => ({ identifier, type: 'application/a2a-agent-card+json', url })

t.test('names and paths', async t => {
  const catalog = await catalogServer(t)
  const own = await fakeAgent(t)
  const at = (name: string): string => `${catalog.url}/${name}/.well-known/agent-card.json`
  catalog.content = catalogAt(catalog.url, ['good'], [
    card('urn:air:example.com:agent:eightball', at('eightball')),
    card('urn:air:evil.example:agent:moved', at('moved')),
    card('urn:air:evil.example:other:GOOD', at('good2')),
    card('urn:air:evil.example:agent:../../admin', at('admin')),
    card('urn:air:evil.example:agent:%2e%2e', at('dots')),
    card('urn:air:evil.example:agent:日本', at('kanji')),
    card('urn:air:evil.example:agent:below', `${own.url}/rpc/.well-known/agent-card.json`),
    card('urn:air:evil.example:agent:user', at('user').replace('http://', 'http://a:b@')),
    card('urn:air:evil.example:agent:file', 'file:///etc/passwd'),
    { identifier: 'urn:air:evil.example:agent:both', type: 'application/a2a-agent-card+json', url: at('x'), data: {} },
    { identifier: 'urn:air:evil.example:agent:inline', type: 'application/a2a-agent-card+json', data: {} },
    7
  ])
  const gateway = await sourcedGateway(t, [
    'agents:',
    `  - {name: eightball, path: /eightball, upstream: {url: "${own.url}"}}`,
    `  - {name: other, path: /agents/moved, upstream: {url: "${own.url}"}}`,
    sourceAt(catalog.url)
  ].join('\n'), { server: ', console: {public: /agents/good2}' })
  const report = await gateway.report()
  t.strictSame(await gateway.agents(), [
    'admin /agents/admin', '2e-2e /agents/2e-2e', 'eightball /eightball', 'good /agents/good', 'other /agents/moved'
  ].sort())
  t.match(reasons(report), {
    'urn:air:example.com:agent:eightball': /have the same name/,
    'urn:air:evil.example:agent:moved': /path belongs to an agent of the file/,
    'urn:air:evil.example:other:GOOD': 'another entry of the source has its name',
    'urn:air:evil.example:agent:日本': 'no name can be made of its identifier',
    'urn:air:evil.example:agent:user': /user name or a password/,
    'urn:air:evil.example:agent:file': /neither https nor http/,
    'urn:air:evil.example:agent:inline': /does not contain a usable card/,
    'entries[10]': /exactly one of url and data/,
    'entries[12]': /is not an object/
  })

  // An entry before the owner of a name in the catalog does not get the name either.
  catalog.content = catalogAt(catalog.url, [], [card('urn:air:evil.example:other:good', at('evil')), ...(catalogAt(catalog.url, ['good']) as { entries: object[] }).entries])
  await untilSame(t, async () => reasons(await gateway.report())['urn:air:evil.example:other:good'], 'another entry of the source has its name')
  const [good] = (await gateway.report()).entries.filter(({ state }) => state === 'admitted')
  t.equal(good?.identifier, 'urn:air:example.com:agent:good')
})

t.test('addresses', async t => {
  const catalog = await catalogServer(t)
  catalog.content = catalogAt(catalog.url, ['local'], [
    card('a:name', 'https://localhost/x/.well-known/agent-card.json'),
    card('a:inner', 'https://metadata.internal/.well-known/agent-card.json'),
    card('a:label', 'https://vault/.well-known/agent-card.json'),
    card('a:meta', 'https://169.254.169.254/.well-known/agent-card.json'),
    card('a:six', 'https://[::ffff:10.0.0.1]/.well-known/agent-card.json'),
    card('a:hex', 'https://0x7f000001/.well-known/agent-card.json'),
    card('a:plain', 'http://agents.example.com/.well-known/agent-card.json'),
    { identifier: 'c:nested', type: 'application/ai-catalog+json', url: 'https://10.0.0.1/catalog.json' }
  ])
  const strict = sourceAt(catalog.url).replace('allowPrivate: [127.0.0.0/8], ', '')
  const gateway = await sourcedGateway(t, ['agents: []', strict].join('\n'))
  t.strictSame(await gateway.agents(), [])
  const report = await gateway.report()
  t.strictSame(report.counts, { admitted: 0, waiting: 0, rejected: 9 })
  t.match(reasons(report), {
    'urn:air:example.com:agent:local': /is not https/,
    'a:name': /local network/,
    'a:inner': /local network/,
    'a:label': /local network/,
    'a:meta': /private, local or reserved/,
    'a:six': /private, local or reserved/,
    'a:hex': /private, local or reserved/,
    'a:plain': /is not https/,
    'c:nested': /private, local or reserved/
  })
  t.strictSame(catalog.requests, ['/.well-known/ai-catalog.json'], 'nothing else is dialled')

  // A name is checked again when it is dialled: here it resolves to this machine, which is outside of the allowed network.
  const rebound = await catalogServer(t)
  const port = new URL(rebound.url).port
  rebound.content = catalogAt(rebound.url, [], [card('a:rebound', `http://localhost:${port}/rebound/.well-known/agent-card.json`)])
  const other = await sourcedGateway(t, ['agents: []', sourceAt(rebound.url).replace('127.0.0.0/8', '10.0.0.0/8')].join('\n'))
  t.match(reasons(await other.report()), { 'a:rebound': /ERR_PRIVATE_ADDRESS/ })
  t.notOk(rebound.requests.some(path => path.includes('rebound')))
})

t.test('the card of an entry cannot name a private address either', async t => {
  const catalog = await catalogServer(t, (_request, response) => {
    response.writeHead(200).end(JSON.stringify(catalogAt(catalog.url, [], [card('a:x', `${catalog.url}/.well-known/ai-catalog.json?card`)])))
  })
  const inner = await sourcedGateway(t, ['agents: []', sourceAt(catalog.url)].join('\n'))
  t.match(reasons(await inner.report()), { 'a:x': /does not contain a usable card|names no/ })
  const far = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({
      name: 'x',
      description: 'x',
      version: '1',
      capabilities: {},
      defaultInputModes: [],
      defaultOutputModes: [],
      skills: [],
      supportedInterfaces: [{ url: 'https://192.168.0.1/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
    }))
  }).listen(0, '127.0.0.1')
  await once(far, 'listening')
  t.teardown(() => far.close())
  catalog.content = catalogAt('', [], [card('a:y', `http://127.0.0.1:${(far.address() as AddressInfo).port}/.well-known/agent-card.json`)])
  await untilSame(t, async () => reasons(await inner.report())['a:y'], 'its card has an address that has a private, local or reserved address (allowPrivate)')
})

t.test('redirects, circles and sizes', async t => {
  const catalog = await catalogServer(t)
  const target = await catalogServer(t, catalogAt('https://example.com', ['x']))
  catalog.content = (_request, response) => { response.writeHead(302, { location: `${target.url}/.well-known/ai-catalog.json` }).end() }
  const gateway = await sourcedGateway(t, ['agents: []', sourceAt(catalog.url)].join('\n'))
  t.match((await gateway.report()).problem, /responded with 302; the gateway follows no redirect/)
  t.strictSame(target.requests, [])

  const nested = (url: string): object => ({ identifier: `c:${url}`, type: 'application/ai-catalog+json', url })
  const deep = (levels: number): object => levels === 0 ? catalogAt(catalog.url, ['deep']) : { specVersion: '1.0', entries: [{ identifier: `d:${levels}`, type: 'application/ai-catalog+json', data: deep(levels - 1) }] }
  catalog.content = catalogAt(catalog.url, ['top'], [
    nested(`${catalog.url}/.well-known/ai-catalog.json`), nested('/.well-known/ai-catalog.json?second'),
    ...(deep(5) as { entries: object[] }).entries
  ])
  await untilSame(t, () => gateway.agents(), ['top /agents/top'])
  t.match(reasons(await gateway.report()), { [`c:${catalog.url}/.well-known/ai-catalog.json`]: 'has been read already', 'd:2': /more than 4 catalogs deep/ })

  catalog.content = catalogAt(catalog.url, Array.from({ length: 10_000 }, (_, i) => `n${i}`))
  await untilSame(t, async () => (await gateway.report()).problem, 'the source has 10000 agents, more than limit, 100')
  t.strictSame(await gateway.agents(), ['top /agents/top'], 'the last good state')
  catalog.content = ' '.repeat(5_000_000)
  await untilSame(t, async () => /more than 4096 KiB/.test((await gateway.report()).problem ?? ''), true)
})

const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }) as string
const pair = (): { key: SigningKey, jwk: object } => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { key: readSigningKey(pem(privateKey), 'k1') as SigningKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid: 'k1' } }
}

t.test('admit: signed', async t => {
  const [mine, other] = [pair(), pair()]
  const dir = t.testdir({ 'keys.json': JSON.stringify({ keys: [mine.jwk] }) })
  const catalog = await catalogServer(t)
  const plain = (names: string[]): JsonObject => catalogAt(catalog.url, names) as JsonObject
  const now = new Date().toISOString()
  const signer = 'did:web:example.com'
  catalog.content = signCatalog(plain(['good']), mine.key, signer, now)
  const gateway = await sourcedGateway(t, ['agents: []', sourceAt(catalog.url).replace('admit: all', 'admit: signed, keys: {file: keys.json}')].join('\n'), { dir })
  t.strictSame(await gateway.agents(), ['good /agents/good'])

  const good = signCatalog(plain(['good', 'evil']), mine.key, signer, now)
  const { jws } = good['signature'] as { jws: string }
  const rows: readonly (readonly [string, JsonObject, RegExp])[] = [
    ['another key', signCatalog(plain(['good', 'evil']), other.key, signer, now), /no signature that a configured key has made/],
    ['no signature', plain(['good', 'evil']), /has no signature/],
    ['another entry', { ...good, entries: plain(['evil'])['entries'] }, /no signature that a configured key/],
    ['another signer', { ...good, signature: { ...good['signature'] as object, signer: 'did:web:evil.example' } }, /no signature that a configured key/],
    ['a signature of the future', signCatalog(plain(['evil']), mine.key, signer, '2999-01-01T00:00:00Z'), /of the future/],
    ['an attached payload', { ...good, signature: { ...good['signature'] as object, jws: jws.replace('..', '.e30.') } }, /not a detached JWS/],
    ['another profile', { ...good, signature: { ...good['signature'] as object, profile: 'x' } }, /another profile/],
    ['a text as signature', { ...good, signature: jws }, /in another form/],
    ['an expired signature', { ...good, signature: { ...good['signature'] as object, expiresAt: '2020-01-01T00:00:00Z' } }, /times that are not valid/]
  ]
  for (const [what, content, problem] of rows) {
    catalog.content = content
    await untilSame(t, async () => problem.test((await gateway.report()).problem ?? ''), true, what)
    t.strictSame(await gateway.agents(), ['good /agents/good'], what)
  }
  catalog.content = { ...good, additionalSignatures: ['reserved'] }
  await untilSame(t, () => gateway.agents(), ['evil /agents/evil', 'good /agents/good'], 'reserved members are not signed')
})

t.test('two gateways: one publishes, the other reads it and verifies the signature', async t => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const agent = await fakeAgent(t)
  const dir = t.testdir({ 'key.pem': pem(privateKey) })
  const port = await freePort()
  const publisher = await gatewayFor(t, {
    baseDir: dir,
    yaml: [
      `server: {listen: "127.0.0.1:${port}", admin: "127.0.0.1:0", drainTimeout: 200ms, publicUrl: "http://127.0.0.1:${port}", catalog: {publish: true, publisher: {domain: agents.example.com, name: E}}}`,
      `agents: [{name: billing, path: /billing, upstream: {url: "${agent.url}"}, card: {signature: resign, sign: {key: {file: key.pem}}}}]`
    ].join('\n')
  })
  const source = (more: string): string => `agentSources: [{name: partners, catalog: "${publisher.url}/.well-known/ai-catalog.json", refresh: 1s, agent: {path: "/agents/{name}"${more}}, allowPrivate: [127.0.0.1], admit: signed, keys: {url: "${publisher.url}/.well-known/jwks.json"}}]`
  const reader = await serve(t, ['agents: []', source(`, card: {verify: {keys: {url: "${publisher.url}/.well-known/jwks.json"}}}`)].join('\n'))
  await untilSame(t, async () => (await call(`${reader.adminUrl}/readyz`)).status, 200, 'the card is verified too')
  const [agentHere] = JSON.parse((await call(`${reader.adminUrl}/agents`)).text) as object[]
  t.match(agentHere, { name: 'billing', origin: { source: 'partners', identifier: 'urn:air:agents.example.com:agent:billing' } })
  t.match((await rpc(`${reader.url}/agents/billing/rpc`)).json(), { result: { message: { parts: [{ text: 'ok' }] } } }, 'through both gateways')
  t.match(await reader.heard(/agent source partners: 1 agents, 0 waiting, 0 rejected/, 1), [{ level: 'info' }])
})

t.test('the guard of addresses', async t => {
  const guard = new AddressGuard(['10.1.0.0/16'])
  t.strictSame(['8.8.8.8', '10.1.2.3', '10.2.0.1', '::1', '::ffff:10.1.0.1', '2001:4860:4860::8888', 'x'].map(one => guard.allows(one)), [true, true, false, false, true, true, false])
  const look = (name: string, all: boolean): Promise<unknown> => new Promise(resolve => {
    guard.lookup(name, { all } as never, (error, address) => { resolve(error?.code ?? address) })
  })
  t.equal(await look('localhost', true), 'ERR_PRIVATE_ADDRESS')
  t.equal(await look('localhost', false), 'ERR_PRIVATE_ADDRESS')
  const open = new AddressGuard(['127.0.0.0/8', '::1'])
  await new Promise<void>(resolve => {
    open.lookup('localhost', { all: true } as never, (error, found) => {
      t.equal(error, null)
      t.ok(Array.isArray(found) && found.length > 0)
      resolve()
    })
  })
})

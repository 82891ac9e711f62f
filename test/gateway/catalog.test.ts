/** The AI Catalog that the gateway publishes (`server.catalog`). */
import { generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { compactVerify, importJWK } from 'jose'
import t from 'tap'
import { canonicalize } from '#a2a/card/signing/canonical.js'
import type { JsonObject } from '#wire/json/object.js'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import { call, until } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { ACME, guarded } from '../identity/kit.js'

const PATH = '/.well-known/ai-catalog.json'
const KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const RSA = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }) as string

const ajv = new Ajv2020({ strict: true, strictRequired: false })
addFormats.default(ajv)
const follows = ajv.compile(JSON.parse(readFileSync(inTests('fixtures/ai-catalog/catalog.schema.json'), 'utf8')) as object)

const server = (more = ''): string =>
  `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, catalog: {publish: true, publisher: {domain: agents.example.com, name: Example Inc.}, documentationUrl: "https://docs.example.com/"}${more}}`
const card = (url: string): Record<string, unknown> => plainCard(url, {
  skills: [{ id: 's', name: 's', description: 's', tags: ['billing', 'eu'] }, { id: 'z', name: 'z', description: 'z', tags: ['eu', '\ud800', 7] }]
})

t.test('the catalog lists the served cards, in the form of the specification', async t => {
  const agent = await fakeAgent(t, { card })
  const gateway = await gatewayFor(t, {
    yaml: [server(), 'agents:', `  - {name: billing, path: /billing, upstream: {url: "${agent.url}"}}`, `  - {name: hidden, path: /hidden, upstream: {url: "${agent.url}"}, card: {public: none}}`].join('\n')
  })
  const found = await call(gateway.url + PATH)
  t.equal(found.status, 200)
  t.equal(found.headers['content-type'], 'application/ai-catalog+json')
  t.equal(found.headers['access-control-allow-origin'], '*')
  t.equal(found.headers['cache-control'], 'public, max-age=60')
  t.ok(follows(found.json()), JSON.stringify(follows.errors))
  t.strictSame(found.json(), {
    specVersion: '1.0',
    host: { displayName: 'Example Inc.', identifier: 'did:web:agents.example.com', documentationUrl: 'https://docs.example.com/' },
    entries: [{
      identifier: 'urn:air:agents.example.com:agent:billing',
      type: 'application/a2a-agent-card+json',
      url: `${gateway.url}/billing/.well-known/agent-card.json`,
      tags: ['billing', 'eu'],
      publisher: { identifier: 'did:web:agents.example.com', displayName: 'Example Inc.' }
    }]
  }, 'without a signature: no agent has a signing key')
  const [{ url } = { url: '' }] = found.json()['entries'] as unknown as { url: string }[]
  t.equal((await call(url)).status, 200, 'the address of the card')

  const etag = found.headers.etag ?? ''
  t.match(etag, /^"/)
  t.equal((await call(gateway.url + PATH, { headers: ['if-none-match', etag] })).status, 304)
  const head = await call(gateway.url + PATH, { method: 'HEAD' })
  t.strictSame([head.status, head.text, head.headers['content-length']], [200, '', String(found.bytes.length)])
  t.match((await call(gateway.url + PATH, { headers: ['host', 'one.example'] })).text, 'http://one.example/billing/')
  t.equal((await call(gateway.url + PATH, { headers: ['host', "it's"] })).status, 400)
  t.equal((await call(gateway.url + PATH, { method: 'POST', body: '{}' })).status, 404)
  t.equal((await call(`${gateway.url}/.well-known/did.json`)).status, 404, 'no key, no DID document')
  const counted = 'a2a_gateway_requests_total{agent="other",operation="Catalog",binding="HTTP+JSON",version="1.0",outcome="forwarded"}'
  await until(async () => await gateway.metric(counted) >= 1, counted)

  const off = configOf({ yaml: ['server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms}', `agents: [{name: billing, path: /billing, upstream: {url: "${agent.url}"}}]`].join('\n') })
  t.match(await gateway.reload(off), { ok: true, settings: ['server.catalog'] })
  t.equal((await call(gateway.url + PATH)).status, 404, 'a reload switches the catalog off')
})

t.test('the key of card.sign signs the catalog; the DID document has the key', async t => {
  const agent = await fakeAgent(t, { card })
  const baseDir = t.testdir({ 'key.pem': pem(KEY.privateKey), 'rsa.pem': pem(RSA.privateKey) })
  const signed = (name: string, file: string): string =>
    `  - {name: ${name}, path: /${name}, upstream: {url: "${agent.url}"}, card: {signature: resign, sign: {key: {file: ${file}}, kid: k 1${file}}}}`
  const gateway = await gatewayFor(t, {
    yaml: [server(', publicUrl: "https://agents.example.com/x"'), 'agents:', signed('a', 'rsa.pem'), signed('b', 'key.pem')].join('\n'),
    baseDir
  })
  const found = await call(gateway.url + PATH)
  t.equal((await call(`${gateway.url}/x${PATH}`)).text, found.text, 'behind a proxy that keeps the path of publicUrl')
  const catalog = found.json() as unknown as JsonObject
  t.ok(follows(catalog), JSON.stringify(follows.errors))
  t.match(found.headers.etag, /^W\//, 'a signature differs from process to process')
  t.match(catalog, { entries: [{ url: 'https://agents.example.com/x/a/.well-known/agent-card.json' }, {}], signature: { signer: 'did:web:agents.example.com', profile: 'did-web-v1' } })

  const did = (await call(`${gateway.url}/.well-known/did.json`)).json() as unknown as
    { id: string, assertionMethod: string[], verificationMethod: { id: string, controller: string, publicKeyJwk: object }[] }
  t.equal(did.id, 'did:web:agents.example.com')
  const [method] = did.verificationMethod
  t.strictSame(did.assertionMethod, ['did:web:agents.example.com#k%201key.pem'], 'only the ES256 key')
  t.strictSame([method?.id, method?.controller], [did.assertionMethod[0], did.id])

  // The steps of the specification, with another library than that of the gateway for the signature.
  const { jws, ...claims } = catalog['signature'] as JsonObject & { jws: string }
  const [protectedHeader, , signature] = jws.split('.')
  const payload = Buffer.from(canonicalize({ ...catalog, signature: claims })).toString('base64url')
  const { protectedHeader: read } = await compactVerify(`${protectedHeader ?? ''}.${payload}.${signature ?? ''}`, await importJWK(method?.publicKeyJwk ?? {}, 'ES256'))
  t.strictSame(read, { alg: 'ES256', kid: 'did:web:agents.example.com#k%201key.pem', typ: 'ai-catalog+jws' })
})

t.test('the catalog shows to everybody what a caller without credentials may see', async t => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['card: {public: full}', ['billing', 'eu']],
    ['card: {public: minimal}', []],
    ['card: {public: minimal, views: [{id: strangers, caller: {anonymous: true}, skills: [z], extensions: []}]}', ['eu']]
  ]
  for (const [extra, tags] of rows) {
    const { gateway } = await guarded(t, { agent: { card }, extra: [extra], root: [server()] })
    const [plain, other] = await Promise.all([[], ['x-api-key', ACME]].map(headers => call(gateway.url + PATH, { headers })))
    t.equal(plain?.text, other?.text, extra)
    const [entry] = plain?.json()['entries'] as unknown as { tags?: string[] }[]
    t.strictSame(entry?.tags ?? [], tags, extra)
  }
})

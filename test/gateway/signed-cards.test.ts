/** Signed cards in a running gateway: `card.verify`, and `card.signature: resign`. */
import { generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AgentCard, generateAgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk'
import t from 'tap'
import type { Test } from 'tap'
import { signCard, verifyCard } from '#identity/card-signature.js'
import type { SigningKey } from '#identity/signing-key.js'
import { readSigningKey } from '#identity/signing-key.js'
import { readJwkSet } from '#identity/jwk-set.js'
import type { JsonObject } from '#wire/json/object.js'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, until, V1 } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'

const VENDOR = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const OTHER = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const GATEWAY = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const NEXT = generateKeyPairSync('ed25519')

const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }) as string
const pub = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }) as string
const jwks = (key: KeyObject, kid = 'vendor-1'): string => JSON.stringify({ keys: [{ ...key.export({ format: 'jwk' }), kid }] })

function cardAt (url: string): JsonObject {
  return {
    name: 'Signed agent',
    description: 'signs its card',
    version: '1.0.0',
    supportedInterfaces: [
      { url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: `${url}/rpc3`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' }
    ],
    capabilities: { streaming: true },
    securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } } },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 's', name: 's', description: 's', tags: ['t'] }],
    schemas: { order: { type: 'object' } }
  }
}

const vendorKey = readSigningKey(pem(VENDOR.privateKey), 'vendor-1') as SigningKey
/** Signed over the JSON as it stands too. */
const whole = (url: string): JsonObject => signCard(cardAt(url), vendorKey, 'https://attacker.example/jwks.json')

async function bySdk (card: JsonObject): Promise<JsonObject> {
  const signed = await generateAgentCardSignature(VENDOR.privateKey, { alg: 'ES256', kid: 'vendor-1', typ: 'JOSE' })(AgentCard.fromJSON(card))
  return { ...card, signatures: (AgentCard.toJSON(signed) as { signatures: unknown }).signatures }
}

interface Case { card: (url: string) => unknown }

/** @param verify further keys of `card.verify` */
async function verifying (t: Test, card: Case['card'], verify = '', extra = ''): Promise<{ gateway: TestGateway, current: Case, url: string }> {
  const current: Case = { card }
  const agent = await fakeAgent(t, { card: url => current.card(url) })
  const dir = t.testdir({ 'vendor.json': jwks(VENDOR.publicKey) })
  const yaml = [
    'telemetry: {logs: {level: info}}',
    'agents:',
    `  - {name: agent, upstream: {url: "${agent.url}"}, card: {refresh: 100ms, verify: {keys: {file: vendor.json}${verify}}}${extra}}`
  ].join('\n')
  return { gateway: await gatewayFor(t, { yaml, baseDir: dir }, false), current, url: agent.url }
}

async function cardOf (gateway: TestGateway): Promise<{ status: number, card: JsonObject }> {
  const { status, text } = await call(`${gateway.url}/.well-known/agent-card.json`, { headers: V1 })
  return { status, card: JSON.parse(text) as JsonObject }
}

interface Described { card: { state: string, problem: string | null, signature: { verified: Record<string, unknown> | null } } }

async function described (gateway: TestGateway): Promise<Described> {
  const list = await (await fetch(`${gateway.adminUrl}/agents`)).json() as unknown[]
  return list[0] as Described
}

const outcomes = (gateway: TestGateway, outcome: string): Promise<number> => gateway.metric(`a2a_gateway_card_signatures_total{agent="agent",outcome="${outcome}"}`)

t.test('a card that the configured key has signed', async t => {
  const { gateway } = await verifying(t, whole)
  await until(async () => (await cardOf(gateway)).status === 200)
  const { card } = await cardOf(gateway)
  t.ok('schemas' in card, 'the signature over the JSON covers schemas')
  t.notOk('signatures' in card, 'strip')
  t.match((await described(gateway)).card.signature, { served: 'strip', verified: { '1.0': { outcome: 'verified', form: 'json', key: 'vendor-1' } } })
  t.ok(await outcomes(gateway, 'verified') > 0)
  t.ok(gateway.logs().some(({ msg }) => msg === 'agent agent: the signature of the card is valid'))
})

t.test('a card that the JavaScript SDK has signed', async t => {
  const signed = new Map<string, JsonObject>()
  const agent = await fakeAgent(t, { card: url => signed.get(url) ?? cardAt(url) })
  signed.set(agent.url, await bySdk(cardAt(agent.url)))
  const dir = t.testdir({ 'vendor.json': jwks(VENDOR.publicKey) })
  const yaml = (uncovered: string): string =>
    `telemetry: {logs: {level: info}}\nagents:\n  - {name: agent, upstream: {url: "${agent.url}"}, card: {verify: {keys: {file: vendor.json}, uncovered: ${uncovered}}}}`
  const dropping = await gatewayFor(t, { yaml: yaml('drop'), baseDir: dir })
  const { card } = await cardOf(dropping)
  t.notOk('schemas' in card, 'what the signature does not cover is not served')
  t.notOk('securitySchemes' in card)
  t.match(card, { name: 'Signed agent', skills: [{ id: 's' }] })
  t.ok(dropping.logs().some(({ msg }) => /does not cover .*"schemas".*drops/.test(String(msg))))
  t.ok(await outcomes(dropping, 'partial') > 0)
  const allowing = await gatewayFor(t, { yaml: yaml('allow'), baseDir: dir })
  t.ok('schemas' in (await cardOf(allowing)).card)
})

t.test('a card that cannot be verified is not used; the last good card stays', async t => {
  const { gateway, current } = await verifying(t, whole)
  await until(async () => (await cardOf(gateway)).status === 200)
  const attacks: Readonly<Record<string, (url: string) => unknown>> = {
    'a changed member': url => ({ ...whole(url), version: '2' }),
    'no signature': cardAt,
    'no key of its kind': url => signCard(cardAt(url), readSigningKey(pem(NEXT.privateKey), 'vendor-1') as SigningKey, 'https://attacker.example/jwks.json'),
    'signature of another card': url => ({ ...cardAt(url), name: 'Another', signatures: whole(url)['signatures'] }),
    'signed by another key': url => signCard(cardAt(url), readSigningKey(pem(OTHER.privateKey), 'vendor-1') as SigningKey, 'https://attacker.example/jwks.json')
  }
  for (const [name, card] of Object.entries(attacks)) {
    current.card = card
    await until(async () => (await described(gateway)).card.problem !== null)
    t.equal((await described(gateway)).card.state, 'stale', name)
    t.match(await cardOf(gateway), { status: 200, card: { name: 'Signed agent', schemas: { order: { type: 'object' } } } }, name)
    current.card = whole
    await until(async () => (await described(gateway)).card.problem === null)
  }
  t.ok(await outcomes(gateway, 'unsigned') > 0)
  t.ok(await outcomes(gateway, 'invalid') > 0)
  t.ok(await outcomes(gateway, 'unknown_key') > 0)
  current.card = url => ({ ...whole(url), schemas: { order: true } })
  await until(async () => !('schemas' in (await cardOf(gateway)).card))
  t.match((await described(gateway)).card, { state: 'ok', signature: { verified: { '1.0': { outcome: 'partial' } } } }, 'schemas that no good signature covers are dropped')
})

t.test('without a good card: 503, or a warning', async t => {
  const refusing = await verifying(t, cardAt)
  await until(async () => (await described(refusing.gateway)).card.problem !== null)
  t.match((await described(refusing.gateway)).card.problem, /: the card has no signature \(card\.verify\)$/)
  t.equal((await cardOf(refusing.gateway)).status, 503)
  const lenient = await verifying(t, cardAt, ', require: false')
  await until(async () => (await cardOf(lenient.gateway)).status === 200)
  const forged = (url: string): unknown => ({ ...whole(url), version: '2' })
  const strict = await verifying(t, forged, ', require: false')
  await until(async () => (await described(strict.gateway)).card.problem !== null)
  t.match((await described(strict.gateway)).card.problem, /: no signature of the card is valid/)
  const warning = await verifying(t, forged, ', onFailure: warn')
  await until(async () => (await cardOf(warning.gateway)).status === 200)
  t.ok(warning.gateway.logs().some(({ msg }) => /the gateway uses the card although no signature of it is valid/.test(String(msg))))
  t.match((await described(warning.gateway)).card.signature, { verified: { '1.0': { outcome: 'invalid' } } })
})

t.test('a 0.3 card with copied signatures, as agents of the JavaScript SDK serve it', async t => {
  const agent = await fakeAgent(t)
  agent.server.removeAllListeners('request')
  agent.server.on('request', (request, response) => {
    const card = request.headers['a2a-version'] === '1.0'
      ? whole(agent.url)
      : { name: 'old', url: `${agent.url}/rpc3`, protocolVersion: '0.3.0', version: '1', capabilities: {}, skills: [], signatures: whole(agent.url)['signatures'] }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(card))
  })
  const dir = t.testdir({ 'vendor.json': jwks(VENDOR.publicKey) })
  const yaml = `telemetry: {logs: {level: info}}\nagents:\n  - {name: agent, upstream: {url: "${agent.url}"}, card: {verify: {keys: {file: vendor.json}}}}`
  const gateway = await gatewayFor(t, { yaml, baseDir: dir })
  const old = await call(`${gateway.url}/.well-known/agent-card.json`)
  t.match(JSON.parse(old.text), { name: 'Signed agent' }, 'the verified card stands in')
  t.match((await described(gateway)).card.signature, { verified: { replaced: '0.3' } })
})

t.test('keys from a URL', async t => {
  let set: string | null = null
  const asked: string[] = []
  const issuer = createServer((request, response) => {
    asked.push(request.url ?? '')
    if (set === null) response.writeHead(500).end()
    else response.setHeader('content-type', 'application/json').end(set)
  }).listen(0, '127.0.0.1')
  await once(issuer, 'listening')
  t.teardown(() => { issuer.close() })
  const keysUrl = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/keys`
  const agent = await fakeAgent(t, { card: url => signCard(cardAt(url), vendorKey, `${keysUrl.replace('/keys', '/attacker')}`) })
  const yaml = `agents:\n  - {name: agent, upstream: {url: "${agent.url}"}, card: {refresh: 100ms, verify: {keys: {url: "${keysUrl}"}}}}`
  const gateway = await gatewayFor(t, { yaml }, false)
  await until(async () => (await described(gateway)).card.problem !== null)
  t.match((await described(gateway)).card.problem, /cannot be verified: .*responded with 500/)
  t.equal((await cardOf(gateway)).status, 503)
  t.ok(await outcomes(gateway, 'unavailable') > 0)
  set = jwks(VENDOR.publicKey)
  await until(async () => (await cardOf(gateway)).status === 200)
  t.same([...new Set(asked)], ['/keys'], 'the address in the signature is never requested')
})

interface Published { keys: Array<JsonObject & { kid: string }> }

async function signing (t: Test, card: (url: string) => unknown = cardAt, extra = ''): Promise<{ gateway: TestGateway, dir: string, yaml: string }> {
  const agent = await fakeAgent(t, { card })
  const dir = t.testdir({ 'card.pem': pem(GATEWAY.privateKey), 'next.pem': pub(NEXT.publicKey) })
  const yaml = [
    'server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, publicUrl: "https://agents.example.com"}',
    'agents:',
    `  - {name: agent, path: /a, upstream: {url: "${agent.url}"}, card: {signature: resign, sign: {key: {file: card.pem}, kid: gw-1, publish: [{file: next.pem, kid: gw-2}]}}${extra}}`
  ].join('\n')
  return { gateway: await gatewayFor(t, { yaml, baseDir: dir }), dir, yaml }
}

async function keysAt (gateway: TestGateway): Promise<Published> {
  return await (await fetch(`${gateway.url}/.well-known/jwks.json`)).json() as Published
}

/** Verifies a card with the JavaScript SDK, as JSON and parsed, with the published keys only. @returns the kids that it asked for */
async function sdkVerifies (card: JsonObject, { keys }: Published): Promise<string[]> {
  const kids: string[] = []
  const verify = verifyAgentCardSignature(async kid => {
    kids.push(kid)
    const found = keys.find(key => key.kid === kid)
    if (found === undefined) throw new Error('no such key')
    return found
  })
  await verify(card as unknown as AgentCard)
  await verify(AgentCard.fromJSON(card))
  return kids
}

t.test('resign: the official SDK verifies the served card with the published keys', async t => {
  const { gateway } = await signing(t, whole)
  const at = `${gateway.url}/a/.well-known/agent-card.json`
  const response = await fetch(at, { headers: { 'a2a-version': '1.0' } })
  const card = await response.json() as JsonObject
  t.match(card, { supportedInterfaces: [{ url: 'https://agents.example.com/a/rpc' }, {}], schemas: { order: {} } })
  const published = await keysAt(gateway)
  t.same(published.keys.map(({ kid, alg, use }) => [kid, alg, use]), [['gw-1', 'ES256', 'sig'], ['gw-2', 'EdDSA', 'sig']])
  t.notMatch(JSON.stringify(published), /"d"/)
  await t.resolves(sdkVerifies(card, published))
  const set = readJwkSet(Buffer.from(JSON.stringify(published)))
  if ('problem' in set) throw new Error(set.problem)
  t.match(await verifyCard(card, set.keys, ['ES256']), { outcome: 'verified', form: 'json' }, 'another gateway verifies schemas too')
  t.match(JSON.parse(Buffer.from((card['signatures'] as { protected: string }[])[0]?.protected ?? '', 'base64url').toString()), {
    alg: 'ES256', kid: 'gw-1', typ: 'JOSE', jku: 'https://agents.example.com/.well-known/jwks.json'
  })
  const etag = response.headers.get('etag') ?? ''
  t.match(etag, /^W\/"/)
  t.equal((await fetch(at, { headers: { 'a2a-version': '1.0', 'if-none-match': etag } })).status, 304)
  const head = await fetch(at, { method: 'HEAD', headers: { 'a2a-version': '1.0' } })
  t.equal(head.headers.get('etag'), etag)
  t.same(await (await fetch(at, { headers: { 'a2a-version': '1.0', host: 'attacker.example' } })).json(), card, 'signed once, for one address')

  const keys = await fetch(`${gateway.url}/.well-known/jwks.json`)
  t.equal(keys.headers.get('cache-control'), 'public, max-age=300')
  t.equal((await fetch(`${gateway.url}/.well-known/jwks.json`, { method: 'HEAD' })).status, 200)
  t.equal((await fetch(`${gateway.url}/.well-known/jwks.json`, { method: 'POST' })).status, 404)
})

t.test('resign: 0.3 cards have no signature', async t => {
  const old = (url: string): unknown => ({
    name: 'old', url: `${url}/rpc`, protocolVersion: '0.3.0', version: '1', capabilities: {}, skills: [], signatures: [{ protected: 'x', signature: 'x' }]
  })
  const { gateway } = await signing(t, old)
  const card = await (await fetch(`${gateway.url}/a/.well-known/agent-card.json`)).json() as JsonObject
  t.notOk('signatures' in card)
})

t.test('the signing key rotates without a restart', async t => {
  const { gateway, dir, yaml } = await signing(t)
  const kidsOf = async (): Promise<string[]> => sdkVerifies(
    await (await fetch(`${gateway.url}/a/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } })).json() as JsonObject,
    await keysAt(gateway)
  )
  const before = await fetch(`${gateway.url}/a/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } })
  const earlier = await before.json() as JsonObject
  t.ok((await kidsOf()).every(kid => kid === 'gw-1'))
  writeFileSync(join(dir, 'next-key.pem'), pem(NEXT.privateKey))
  writeFileSync(join(dir, 'old.pem'), pub(GATEWAY.publicKey))
  const next = yaml.replace('{file: card.pem}, kid: gw-1, publish: [{file: next.pem, kid: gw-2}]', '{file: next-key.pem}, kid: gw-2, publish: [{file: old.pem, kid: gw-1}]')
  t.match(await gateway.reload(configOf({ yaml: next, baseDir: dir })), { ok: true })
  t.ok((await kidsOf()).every(kid => kid === 'gw-2'))
  t.ok((await sdkVerifies(earlier, await keysAt(gateway))).every(kid => kid === 'gw-1'), 'cards that clients have still verify')
  const after = await fetch(`${gateway.url}/a/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0', 'if-none-match': before.headers.get('etag') ?? '' } })
  t.equal(after.status, 200, 'the ETag changes with the key')
  // The content of a file changes, the configuration does not.
  writeFileSync(join(dir, 'next-key.pem'), pem(generateKeyPairSync('ed25519').privateKey))
  t.match(await gateway.reload(configOf({ yaml: next, baseDir: dir })), { ok: true })
  await t.resolves(kidsOf())
  t.not((await keysAt(gateway)).keys[0]?.['x'], NEXT.publicKey.export({ format: 'jwk' }).x)
})

t.test('without signing keys, the path of the keys belongs to the agents', async t => {
  const agent = await fakeAgent(t, { answer: (_request, response) => { response.end('agent') } })
  const gateway = await gatewayFor(t, { yaml: `agents:\n  - {name: agent, upstream: {url: "${agent.url}"}, passthrough: [/.well-known/jwks.json]}` })
  t.equal((await fetch(`${gateway.url}/.well-known/jwks.json`)).status, 200)
})

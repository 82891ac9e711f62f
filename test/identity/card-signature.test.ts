/** Signatures of cards: those of the official SDKs, those of the gateway, and attacks on both. */
import { createHmac, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { AgentCard, generateAgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk'
import * as jose from 'jose'
import t from 'tap'
import { signCard, verifyCard } from '#identity/card-signature.js'
import type { SigningKey } from '#identity/signing-key.js'
import { readPublicKey, readSigningKey } from '#identity/signing-key.js'
import { readJwkSet } from '#identity/jwk-set.js'
import type { VerificationKey } from '#identity/jwk-set.js'
import { jsonForm } from '#a2a/card/signing/canonical.js'
import type { JsonObject } from '#wire/json/object.js'
import { inTests } from '../helpers/paths.js'

const ALGORITHMS = ['ES256', 'RS256', 'PS256', 'EdDSA']
/** For {@link verifyCard} from outside: what the gateway never follows. */
const JKU = 'https://attacker.example/jwks.json'

const CARD: JsonObject = {
  name: 'Rechnung für Köln',
  description: '',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'http://a.example/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
  capabilities: { streaming: false, extensions: [{ uri: 'https://a.example/ext/v1', required: true, params: { limit: 1e21, none: [], '\u{1d11e}': '' } }] },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: [],
  skills: [{ id: 's', name: 's', description: '', tags: [] }],
  schemas: { order: { type: 'object', required: ['total'] } }
}

function pemOf (key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string
}

const EC = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const OTHER = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ED = generateKeyPairSync('ed25519')
const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 })

function keysOf (...keys: readonly (readonly [KeyObject, string | null])[]): readonly VerificationKey[] {
  const set = readJwkSet(Buffer.from(JSON.stringify({ keys: keys.map(([key, kid]) => ({ ...key.export({ format: 'jwk' }), ...(kid === null ? {} : { kid }) })) })))
  if ('problem' in set) throw new Error(set.problem)
  return set.keys
}

const TRUSTED = keysOf([EC.publicKey, 'vendor'], [ED.publicKey, null], [RSA.publicKey, 'rsa'])

/** Signs any text as a card's signature, as a hostile or odd signer may. */
async function entry (text: string, key: KeyObject, header: jose.JWSHeaderParameters): Promise<{ protected: string, signature: string }> {
  const jws = await new jose.FlattenedSign(Buffer.from(text)).setProtectedHeader(header).sign(key)
  return { protected: jws.protected ?? '', signature: jws.signature }
}

async function bySdk (card: JsonObject, key: KeyObject, header: jose.JWSHeaderParameters): Promise<JsonObject> {
  const signed = await generateAgentCardSignature(key, header)(AgentCard.fromJSON(card))
  return { ...card, signatures: (AgentCard.toJSON(signed) as { signatures: unknown }).signatures }
}

t.test('cards that the JavaScript SDK signed', async t => {
  for (const [alg, pair] of [['ES256', EC], ['EdDSA', ED], ['RS256', RSA], ['PS256', RSA]] as const) {
    const signed = await bySdk(CARD, pair.privateKey, { alg, kid: 'any', typ: 'JOSE' })
    t.match(await verifyCard(signed, TRUSTED, ALGORITHMS), { outcome: 'partial', form: 'sdk' }, `${alg}: schemas is not covered`)
    const plain = AgentCard.toJSON(AgentCard.fromJSON({ ...CARD, capabilities: { streaming: true }, schemas: undefined })) as JsonObject
    t.match(await verifyCard(await bySdk(plain, pair.privateKey, { alg, kid: 'any', typ: 'JOSE' }), TRUSTED, ALGORITHMS), { outcome: 'verified', form: 'json' }, alg)
  }
  const schemes = { ...CARD, securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } } } }
  const typed = await bySdk(schemes, EC.privateKey, { alg: 'ES256', kid: 'vendor', typ: 'JOSE' })
  t.match(await verifyCard(typed, TRUSTED, ALGORITHMS), { outcome: 'partial', form: 'sdk-js' }, 'a parsed card loses its security schemes')
  const many = { ...CARD, signatures: [{ protected: 1 }, 'x', { protected: 'e30', signature: 'e30' }, ...(await bySdk(CARD, EC.privateKey, { alg: 'ES256', kid: 'vendor', typ: 'JOSE' }))['signatures'] as unknown[]] }
  t.match(await verifyCard(many, TRUSTED, ALGORITHMS), { outcome: 'partial', key: 'vendor' }, 'one good signature is enough')
  t.match(await verifyCard({ ...CARD, signatures: [] }, TRUSTED, ALGORITHMS), { outcome: 'unsigned' })
})

t.test('cards that the Python SDK signed', async t => {
  const { jwk, dict, served } = JSON.parse(readFileSync(inTests('identity/cards/python-1.3.0.json'), 'utf8')) as Record<string, JsonObject>
  const set = readJwkSet(Buffer.from(JSON.stringify({ keys: [jwk] })))
  if ('problem' in set || dict === undefined || served === undefined) throw new Error('unusable file')
  t.match(await verifyCard(dict, set.keys, ALGORITHMS), { outcome: 'partial', form: 'sdk', key: 'py-1' })
  t.match(await verifyCard(served, set.keys, ALGORITHMS), { outcome: 'partial', form: 'sdk' })
  t.match(await verifyCard({ ...served, name: 'x' }, set.keys, ALGORITHMS), { outcome: 'invalid' })
})

t.test('a signature over the JSON covers all members', async t => {
  const signed = { ...CARD, signatures: [await entry(jsonForm(CARD), EC.privateKey, { alg: 'ES256' })] }
  t.match(await verifyCard(signed, TRUSTED, ALGORITHMS), { outcome: 'verified', form: 'json' }, 'also without kid')
  t.match(await verifyCard({ ...signed, schemas: {} }, TRUSTED, ALGORITHMS), { outcome: 'invalid' })
  const { tenant: _, ...first } = (CARD['supportedInterfaces'] as JsonObject[])[0] ?? {}
  const spec = { ...CARD, supportedInterfaces: [first] }
  t.match(await verifyCard({ ...CARD, signatures: [await entry(jsonForm(spec), EC.privateKey, { alg: 'ES256' })] }, TRUSTED, ALGORITHMS), { outcome: 'verified', form: 'spec' })
})

t.test('attacks', async t => {
  const good = await bySdk(CARD, EC.privateKey, { alg: 'ES256', kid: 'vendor', typ: 'JOSE' })
  const outcome = async (card: JsonObject): Promise<string> => (await verifyCard(card, TRUSTED, ALGORITHMS)).outcome
  t.equal(await outcome({ ...good, version: '1.0.1' }), 'invalid', 'a changed member')
  t.equal(await outcome({ ...good, schemas: { order: true } }), 'partial', 'changed schemas are not covered')
  t.equal(await outcome({ ...good, name: 'Another agent' }), 'invalid', "another agent's signature")

  const attackers = { alg: 'ES256', kid: 'vendor', typ: 'JOSE', jku: JKU, jwk: await jose.exportJWK(OTHER.publicKey), x5u: JKU }
  t.equal(await outcome({ ...CARD, signatures: [await entry(jsonForm(CARD), OTHER.privateKey, attackers)] }), 'invalid', 'the header names the keys of the attacker')

  // HMAC with the public key as the secret.
  const pem = EC.publicKey.export({ type: 'spki', format: 'pem' }) as string
  for (const secret of [pem, JSON.stringify(EC.publicKey.export({ format: 'jwk' }))]) {
    const head = Buffer.from(JSON.stringify({ alg: 'HS256', kid: 'vendor', typ: 'JOSE' })).toString('base64url')
    const signature = createHmac('sha256', secret).update(`${head}.${Buffer.from(jsonForm(CARD)).toString('base64url')}`).digest('base64url')
    t.equal(await outcome({ ...CARD, signatures: [{ protected: head, signature }] }), 'unknown_key', 'HS256')
  }
  const none = Buffer.from('{"alg":"none"}').toString('base64url')
  t.equal(await outcome({ ...CARD, signatures: [{ protected: none, signature: '' }, { protected: none, signature: 'AA' }] }), 'unknown_key', 'none')

  const [one] = good['signatures'] as { protected: string, signature: string }[]
  t.equal(await outcome({ ...CARD, signatures: [{ protected: none, header: { alg: 'ES256' }, signature: one?.signature }] }), 'unknown_key', 'alg outside of the protected header')
  const crit = await entry(jsonForm(CARD), EC.privateKey, { alg: 'ES256' })
  for (const header of ['{"alg":"ES256","crit":["x"],"x":1}', '{"alg":"ES256","alg":"ES256"}', '{"alg":"ES256","b64":false}', 'x', '[]', '{"alg":["ES256"]}']) {
    t.equal(await outcome({ ...CARD, signatures: [{ ...crit, protected: Buffer.from(header).toString('base64url') }] }), 'unknown_key', header)
  }
  t.equal((await verifyCard(good, TRUSTED, ['RS256'])).outcome, 'unknown_key', 'an algorithm that is not accepted')
  t.equal((await verifyCard(good, keysOf([OTHER.publicKey, 'vendor']), ALGORITHMS)).outcome, 'invalid', 'a key of the same name')

  let deep: unknown = 1
  for (let i = 0; i < 5_000; i++) deep = { deep }
  t.equal(await outcome({ ...good, capabilities: { extensions: [{ uri: 'u', params: { deep } }] } }), 'invalid', 'deep params')
  t.equal(await outcome({ ...good, description: '\ud800' }), 'invalid', 'a lone surrogate')

  const many = Array.from({ length: 10_000 }, () => ({ protected: one?.protected, signature: 'AAAA' }))
  const begin = performance.now()
  t.equal(await outcome({ ...CARD, signatures: many }), 'invalid')
  t.ok(performance.now() - begin < 5_000, 'many signatures cost little')
})

t.test('cards that the gateway signs', async t => {
  const jku = 'https://agents.example.com/.well-known/jwks.json'
  for (const [alg, pair] of [['ES256', EC], ['EdDSA', ED], ['RS256', RSA]] as const) {
    const key = readSigningKey(pemOf(pair.privateKey), 'gw-1') as SigningKey
    t.match(key.jwk, { alg, kid: 'gw-1', use: 'sig' })
    t.notMatch(Object.keys(key.jwk), ['d'])
    const schemes = { key: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } } }
    const signed = signCard({ ...CARD, securitySchemes: schemes, signatures: [{ protected: 'x', signature: 'x' }] }, key, jku)
    const seen: unknown[] = []
    const verify = verifyAgentCardSignature(async (kid, url) => {
      seen.push([kid, url])
      return key.jwk as jose.JWK
    })
    const received = JSON.parse(JSON.stringify(signed)) as AgentCard
    await t.resolves(verify(received), `${alg}: the JavaScript SDK verifies the card`)
    t.same(seen, [['gw-1', jku]], 'the first signature is the one that the SDKs verify')
    await t.resolves(verify(AgentCard.fromJSON(received)), `${alg}: also after parsing`)
    const entries = signed['signatures'] as { protected: string }[]
    t.same(entries.map(one => JSON.parse(Buffer.from(one.protected, 'base64url').toString())), [1, 2, 3].map(() => ({ alg, kid: 'gw-1', typ: 'JOSE', jku })))
    const published = readJwkSet(Buffer.from(JSON.stringify({ keys: [key.jwk] })))
    if ('problem' in published) throw new Error(published.problem)
    t.match(await verifyCard(signed, published.keys, ALGORITHMS), { outcome: 'verified', form: 'json' }, 'the second covers schemas')
    const plain = signCard({ name: 'a' }, key, jku)
    t.equal((plain['signatures'] as unknown[]).length, 1, 'one signature where the forms are equal')
  }
})

t.test('key files', async t => {
  const kid = await jose.calculateJwkThumbprint(EC.publicKey.export({ format: 'jwk' }))
  t.match(readSigningKey(pemOf(EC.privateKey), null), { jwk: { kid } }, 'RFC 7638')
  t.match(readPublicKey(pemOf(EC.privateKey), null), { kid })
  t.notOk('d' in readPublicKey(pemOf(EC.privateKey), null))
  t.match(readPublicKey(EC.publicKey.export({ type: 'spki', format: 'pem' }), 'next'), { kid: 'next' })
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
  const kind = { problem: 'has another kind of key than EC P-256, Ed25519, and RSA of 2048 bits or more' }
  t.same([readSigningKey(pemOf(p384), null), readSigningKey(pemOf(weak), null)], [kind, kind])
  t.match(readSigningKey('x', null), { problem: 'is not the PEM file of a private key without a password' })
  t.match(readSigningKey(EC.publicKey.export({ type: 'spki', format: 'pem' }), null), { problem: /private key/ })
  t.match(readPublicKey('x', null), { problem: 'is not the PEM file of a key' })
})

/** The identity header, verified by an agent with jose and the key set of the gateway. */
import { createHash } from 'node:crypto'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import type { JSONWebKeySet, JWTPayload, ProtectedHeaderParameters } from 'jose'
import t from 'tap'
import { gzipSync } from 'node:zlib'
import { configOf } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, MESSAGE, rpc, rpcBody } from '../helpers/http.js'
import type { RawRequest } from '../helpers/raw.js'
import { plainCard } from '../helpers/raw.js'
import { issuerFor, jwtSource, keyOf } from './issuer.js'
import { ACME, guarded, OLD, PARTNERS, PEOPLE, yamlOf } from './kit.js'
import { identityKeys } from './signing-keys.js'

const PUBLIC = 'https://agents.example.com'
const server = (publicUrl: string): string => `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", publicUrl: "${publicUrl}"}`
const identity = (more = ''): string => `credentials: {identity: {key: {file: key.pem}${more}}}`

async function keySet (gateway: TestGateway, path = ''): Promise<JSONWebKeySet> {
  const answer = await call(`${gateway.url}${path}/.well-known/jwks.json`)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json() as unknown as JSONWebKeySet
}

async function verified (gateway: TestGateway, { headers }: RawRequest, issuer = PUBLIC): Promise<JWTPayload> {
  const { payload } = await jwtVerify(String(headers['gateway-identity']), createLocalJWKSet(await keySet(gateway)), {
    issuer, audience: 'agent', typ: 'gateway-identity+jwt', requiredClaims: ['exp', 'iat', 'source'], clockTolerance: 1
  })
  return payload
}

const headOf = ({ headers }: RawRequest): ProtectedHeaderParameters => decodeProtectedHeader(String(headers['gateway-identity']))

t.test('callers', async t => {
  const keys = await identityKeys()
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  const { gateway, agent, dir } = await guarded(t, {
    sources: [PARTNERS, jwtSource('corp', issuer.url, ', claims: {tenant: /org}')],
    upstream: identity(', claims: [subject, client, scopes, groups, tenant]').replace('key.pem}', 'key.pem}, publish: [{file: next.pem, kid: next}]'),
    root: [server(PUBLIC)],
    files: { 'key.pem': keys.ec, 'next.pem': keys.publicEd },
    extra: ['passthrough: [/docs]']
  })
  const send = async (...headers: string[]): Promise<RawRequest> => {
    const answer = await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)
    if (answer.status !== 200) throw new Error(answer.text)
    return agent.received.at(-1) as RawRequest
  }
  const first = await send('x-api-key', ACME)
  const { iat = 0, exp = 0, ...claims } = await verified(gateway, first)
  t.same(claims, { iss: PUBLIC, aud: 'agent', source: 'partners', sub: 'acme', client_id: 'acme', groups: ['finance'], tenant: 'north' })
  t.equal(exp - iat, 60)
  t.equal(headOf(first).alg, 'ES256')
  const second = await send('x-api-key', ACME)
  t.equal(second.headers['gateway-identity'], first.headers['gateway-identity'], 'cached')
  t.not((await send('x-api-key', OLD)).headers['gateway-identity'], first.headers['gateway-identity'])

  const act = { sub: 'robot', act: { sub: 'operator' } }
  const token = await issuer.token(key, { sub: 'ada', org: 'south', act })
  const { iat: _iat, exp: _exp, ...ofToken } = await verified(gateway, await send('authorization', `Bearer ${token}`))
  t.same(ofToken, { iss: PUBLIC, aud: 'agent', source: 'corp', sub: 'ada', client_id: 'app', scope: 'a b', tenant: 'south', act })
  const many = await Promise.all(Array.from({ length: 20 }, () => send('authorization', `Bearer ${token}`)))
  t.equal(new Set(many.map(({ headers }) => headers['gateway-identity'])).size, 1)

  await call(`${gateway.url}/docs/x`, { headers: ['x-api-key', ACME, 'gateway-identity', 'forged'] })
  t.match(await verified(gateway, agent.received.at(-1) as RawRequest), { sub: 'acme' })

  const answer = await call(`${gateway.url}/.well-known/jwks.json`)
  t.match(answer.headers, { 'content-type': 'application/jwk-set+json', 'cache-control': 'public, max-age=300' })
  const { keys: published } = await keySet(gateway)
  t.same(published.map(({ alg, use, kid }) => [alg, use, typeof kid]), [['ES256', 'sig', 'string'], ['EdDSA', 'sig', 'string']])
  t.notMatch(answer.text, /"d"/)
  t.equal((await call(`${gateway.url}/.well-known/jwks.json`, { method: 'POST', body: '{}' })).status, 401, 'GET and HEAD only')
  const forged = await call(`${gateway.url}/rpc`, { headers: ['authorization', `Bearer ${String(first.headers['gateway-identity'])}`, 'content-type', 'application/json'], body: rpcBody('GetTask', { id: '1' }) })
  t.equal(forged.status, 401, 'the header is no access token')

  const yaml = yamlOf(agent.url, { sources: [PARTNERS, jwtSource('corp', issuer.url)], upstream: identity(', ttl: 5s'), root: [server(PUBLIC)] })
  writeFileSync(join(dir, 'key.new'), keys.ed)
  renameSync(join(dir, 'key.new'), join(dir, 'key.pem'))
  t.match(await gateway.reload(configOf({ yaml, baseDir: dir })), { ok: true })
  const rotated = await send('x-api-key', ACME)
  t.match(await verified(gateway, rotated), { sub: 'acme' })
  t.equal(headOf(rotated).alg, 'EdDSA')
  t.equal(await gateway.metric('a2a_gateway_upstream_credentials_total{agent="agent",kind="identity",outcome="cached"}') > 10, true)
})

t.test('the digest of the body', async t => {
  const keys = await identityKeys()
  const { gateway, agent } = await guarded(t, {
    sources: [PARTNERS, PEOPLE],
    upstream: identity(', body: true'),
    root: [
      server(`${PUBLIC}/gw`),
      'extensions: {ours: {uri: "urn:ours", mode: enforce, inject: [{metadata: added, value: 1}]}}'
    ],
    files: { 'key.pem': keys.ed },
    extra: ['extensions: [ours]', 'passthrough: [/docs]'],
    agent: { card: url => plainCard(url, { capabilities: { extensions: [{ uri: 'urn:ours' }] } }) }
  })
  const digestOf = (body: Buffer): string => createHash('sha256').update(body).digest('base64url')
  const who = ['x-api-key', ACME]
  const json = ['content-type', 'application/json', 'a2a-version', '1.0']
  const body = rpcBody('SendMessage', { message: MESSAGE })
  const large = rpcBody('SendMessage', { message: { ...MESSAGE, parts: [{ text: 'x'.repeat(300_000) }] } })
  const requests: readonly [string, () => Promise<unknown>][] = [
    ['edited', () => call(`${gateway.url}/rpc`, { headers: [...who, ...json, 'a2a-extensions', 'urn:ours'], body })],
    ['as sent', () => call(`${gateway.url}/rpc`, { headers: [...who, ...json], body })],
    ['large', () => call(`${gateway.url}/rpc`, { headers: [...who, ...json], body: large })],
    ['compressed', () => call(`${gateway.url}/rpc`, { headers: [...who, ...json, 'content-encoding', 'gzip'], body: gzipSync(body) })],
    ['none', () => call(`${gateway.url}/rest/tasks/1`, { headers: [...who, 'a2a-version', '1.0'] })]
  ]
  const ids = new Set<unknown>()
  for (const [name, request] of requests) {
    const before = agent.received.length
    await request()
    const received = agent.received[before] as RawRequest
    const claims = await verified(gateway, received, `${PUBLIC}/gw`)
    t.equal(claims['body_sha256'], digestOf(received.body), name)
    ids.add(claims.jti)
  }
  t.equal(ids.size, requests.length, 'each request has a token of its own')
  t.match(agent.received[0]?.body.toString(), '"added":1')
  t.equal(await gateway.metric('a2a_gateway_upstream_credentials_total{agent="agent",kind="identity",outcome="cached"}'), 0)
  await call(`${gateway.url}/docs/x`, { headers: [...who, 'content-type', 'text/plain'], body: 'x' })
  t.equal((await verified(gateway, agent.received.at(-1) as RawRequest, `${PUBLIC}/gw`))['body_sha256'], undefined, 'the gateway does not read this body')
  t.same((await keySet(gateway, '/gw')).keys.length, 1, 'below the path of the public URL too')
})

t.test('one key set for the identity header and for signed cards', async t => {
  const keys = await identityKeys()
  const { gateway, agent } = await guarded(t, {
    sources: [PARTNERS],
    upstream: identity(', kid: header').replace('key.pem', 'rsa.pem'),
    root: [server(PUBLIC)],
    files: { 'rsa.pem': keys.rsa, 'card.pem': keys.ec },
    extra: ['card: {signature: resign, sign: {key: {file: card.pem}, kid: card, publish: [{file: rsa.pem, kid: header}]}}']
  })
  const { keys: published } = await keySet(gateway)
  t.same(published.map(({ kid, alg }) => [kid, alg]), [['card', 'ES256'], ['header', 'RS256']])
  await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['x-api-key', ACME])
  t.match(await verified(gateway, agent.received.at(-1) as RawRequest), { sub: 'acme' })
})

t.test('without an identity header there is no key set', async t => {
  const { gateway } = await guarded(t)
  t.equal((await call(`${gateway.url}/.well-known/jwks.json`, { headers: ['x-api-key', ACME] })).status, 404)
})

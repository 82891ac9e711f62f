/** Access tokens through a real gateway: every rule of a token as an attack, and the keys of an issuer that misbehaves. */
import { createHash, createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { CompactEncrypt, exportSPKI } from 'jose'
import t from 'tap'
import { configOf } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { AUDIENCE, issuerFor, jwtSource, keyOf } from './issuer.js'
import { ACME, guarded, PARTNERS, yamlOf } from './kit.js'

const bearer = (token: string): string[] => ['authorization', `Bearer ${token}`]
const send = (gateway: TestGateway, headers: readonly string[] = []): Promise<Answer> => rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)
const b64 = (value: unknown): string => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const problemOf = (answer: Answer): string => {
  const { error } = answer.json() as unknown as { error?: { data?: { metadata?: { problem?: string } }[] } }
  return error?.data?.[0]?.metadata?.problem ?? ''
}

t.test('tokens', async t => {
  const [rsa, ec, ed, stranger, short] = await Promise.all([keyOf('rsa', 'RS256'), keyOf('ec'), keyOf('ed', 'EdDSA'), keyOf('ec'), keyOf('rsa-384', 'RS384')])
  const issuer = await issuerFor(t, [rsa, ec, ed, short])
  const other = await issuerFor(t, [stranger])
  const { gateway, agent } = await guarded(t, {
    sources: [jwtSource('corp', issuer.url, ', claims: {groups: /realm_access/roles, tenant: /org}'), jwtSource('twin', other.url), PARTNERS],
    root: ['server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", trustedProxies: [127.0.0.1/32]}', 'telemetry: {logs: {level: debug}, audit: {forwarded: true}}'],
    identity: ', audit: subject'
  })
  const now = Math.floor(Date.now() / 1_000)
  const good = await issuer.token(ec)
  const [head = '', claims = '', signature = ''] = good.split('.')
  let row = 0
  const attempt = (headers: readonly string[]): Promise<Answer> => send(gateway, [...headers, 'x-forwarded-for', `192.0.2.${row++ % 200}`])

  const accepted: readonly [string, readonly string[]][] = [
    ['ES256', bearer(good)],
    ['RS256', bearer(await issuer.token(rsa))],
    ['EdDSA', bearer(await issuer.token(ed))],
    ['the same kid at two issuers', bearer(await other.token(stranger))],
    ['no kid, and one key that fits', bearer(await issuer.token(ed, {}, { kid: undefined }))],
    ['a list of audiences', bearer(await issuer.token(ec, { aud: ['x', AUDIENCE] }))],
    ['JWT as type', bearer(await issuer.token(ec, {}, { typ: 'JWT' }))],
    ['application/at+JWT as type', bearer(await issuer.token(ec, {}, { typ: 'application/at+JWT' }))],
    ['within the leeway', bearer(await issuer.token(ec, { exp: now - 5, iat: now - 100 }))],
    ['headers that name keys are ignored', bearer(await issuer.token(ec, {}, { jku: other.url, x5u: other.url }))],
    ['the scheme in another case, two blanks', ['authorization', `bEARER  ${good}`]]
  ]
  for (const [name, headers] of accepted) {
    const answer = await attempt(headers)
    t.equal(answer.status, 200, `${name}: ${answer.text}`)
  }
  t.ok(agent.received.every(one => one.headers.authorization === undefined), 'no token reaches the agent')
  await attempt(bearer(await issuer.token(ec, { realm_access: { roles: ['r'] }, org: 'north' })))
  await until(() => gateway.audits().some(line => (line.caller as { tenant?: string } | undefined)?.tenant === 'north'), 'an audit line')
  t.match(gateway.audits().find(line => (line.caller as { tenant?: string } | undefined)?.tenant === 'north'), { credential: 'jwt', caller: { source: 'corp', id: 'ada', client: 'app' } })
  const reached = agent.received.length

  const sign = async (header: Record<string, unknown>, payload: object): Promise<string> => {
    const parts = (await issuer.token(ec, {}, header)).split('.')
    return `${parts[0] ?? ''}.${b64(payload)}.${parts[2] ?? ''}`
  }
  const hmac = async (): Promise<string> => {
    const input = `${b64({ alg: 'HS256', kid: 'rsa', typ: 'at+jwt' })}.${claims}`
    return `${input}.${createHmac('sha256', await exportSPKI(rsa.publicKey)).update(input).digest('base64url')}`
  }
  const embedded = async (): Promise<string> => issuer.token({ ...stranger, kid: 'new' }, {}, { jwk: stranger.jwk, jku: `${other.url}/jwks` })
  const encrypted = await new CompactEncrypt(Buffer.from(good)).setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM' }).encrypt(rsa.publicKey).catch(() => `${good}.a.b`)
  const twice = `${b64('{"alg":"ES256","kid":"ec","typ":"at+jwt"}')}.${b64(`{"iss":"${issuer.url}","sub":"a","sub":"b","aud":"${AUDIENCE}","exp":${now + 60}}`)}.${signature}`
  const rejected: readonly [string, string | Promise<string>, string][] = [
    ['alg none', `${b64({ alg: 'none', kid: 'ec' })}.${claims}.`, 'malformed'],
    ['alg none with a signature', `${b64({ alg: 'none', kid: 'ec' })}.${claims}.${signature}`, 'malformed'],
    ['HS256 with the public key as the secret', hmac(), 'malformed'],
    ['RS256 for the kid of an EC key', issuer.token({ ...rsa, kid: 'ec' }), 'signature'],
    ['an algorithm that is not allowed', issuer.token(short), 'malformed'],
    ['another signature', `${head}.${claims}.${(await issuer.token(ec, { sub: 'eve' })).split('.')[2] ?? ''}`, 'signature'],
    ['a key of another issuer with the same kid', issuer.token(stranger), 'signature'],
    ['a kid with a path', issuer.token(ec, {}, { kid: '../../ec' }), 'unknown_key'],
    ['a kid with SQL and a newline', issuer.token(ec, {}, { kid: "' OR 1=1 --\n" }), 'unknown_key'],
    ['a kid of 5 KiB', issuer.token(ec, {}, { kid: 'k'.repeat(5_000) }), 'malformed'],
    ['a kid that is no text', sign({ kid: 7 }, { iss: issuer.url, sub: 'a', aud: AUDIENCE, exp: now + 60 }), 'malformed'],
    ['an embedded key', embedded(), 'unknown_key'],
    ['crit', `${b64({ alg: 'ES256', kid: 'ec', crit: ['x'], x: 1 })}.${claims}.${signature}`, 'malformed'],
    ['b64', `${b64({ alg: 'ES256', kid: 'ec', b64: false })}.${claims}.${signature}`, 'malformed'],
    ['an encrypted token', encrypted, 'malformed'],
    ['duplicate claims', twice, 'malformed'],
    ['another type', issuer.token(ec, {}, { typ: 'logout+jwt' }), 'malformed'],
    ['an ID token', issuer.token(ec, { nonce: 'n' }, { typ: 'JWT' }), 'malformed'],
    ['an ID token of Keycloak', issuer.token(ec, { typ: 'ID' }, { typ: 'JWT' }), 'malformed'],
    ['exp as text', issuer.token(ec, { exp: `${now + 60}` as unknown as number }).catch(() => sign({}, { iss: issuer.url, aud: AUDIENCE, sub: 'a', exp: 'soon' })), 'malformed'],
    ['exp 1e30', issuer.token(ec, { exp: 1e30 }), 'malformed'],
    ['no exp', issuer.token(ec, { exp: undefined }), 'malformed'],
    ['no sub', issuer.token(ec, { sub: undefined }), 'malformed'],
    ['expired', issuer.token(ec, { exp: now - 60, iat: now - 120 }), 'expired'],
    ['nbf in the future', issuer.token(ec, { nbf: now + 100 }), 'expired'],
    ['iat in the future', issuer.token(ec, { iat: now + 100, exp: now + 200 }), 'expired'],
    ['a lifetime of a year', issuer.token(ec, { exp: now + 31_536_000 }), 'expired'],
    ['another audience', issuer.token(ec, { aud: 'https://agents.example.com/other' }), 'audience'],
    ['a prefix of the audience', issuer.token(ec, { aud: AUDIENCE.slice(0, -1) }), 'audience'],
    ['a trailing slash', issuer.token(ec, { aud: `${AUDIENCE}/` }), 'audience'],
    ['an audience that is a wildcard', issuer.token(ec, { aud: '*' }), 'audience'],
    ['no audience', issuer.token(ec, { aud: undefined }), 'audience'],
    ['another issuer', issuer.token(ec, { iss: 'https://idp.example.com' }), 'issuer'],
    ['the issuer with a slash', issuer.token(ec, { iss: `${issuer.url}/` }), 'issuer'],
    ['the issuer of the other source', issuer.token(ec, { iss: other.url }), 'signature'],
    ['bound to a certificate', issuer.token(ec, { cnf: { 'x5t#S256': createHash('sha256').update('x').digest('base64url') } }), 'malformed'],
    ['bound by DPoP', issuer.token(ec, { cnf: { jkt: 'x' } }), 'malformed'],
    ['10 KiB', issuer.token(ec, { more: 'x'.repeat(10_000) }), 'malformed'],
    ['no token at all', 'a.b', 'malformed'],
    ['not base64', 'ä.ö.ü', 'malformed'],
    ['an API key, or an opaque token', ACME, 'opaque']
  ]
  for (const [name, pending, problem] of rejected) {
    const token = await pending
    const answer = await attempt(bearer(token))
    t.equal(answer.status, 401, `${name}: ${answer.text}`)
    t.equal(problemOf(answer), problem, name)
    t.match(answer.headers['www-authenticate'], 'error="invalid_token", error_description="', name)
    t.notOk(answer.text.includes(token), name)
  }
  t.equal(agent.received.length, reached)
  for (const [name, headers, status] of [
    ['two credentials', [...bearer(good), 'x-api-key', ACME], 400],
    ['two tokens', [...bearer(good), ...bearer(good)], 400],
    ['a token without a scheme', ['authorization', good], 401],
    ['a token with the scheme Basic', ['authorization', `Basic ${good}`], 401],
    ['a token in a cookie', ['cookie', `access_token=${good}; authorization=Bearer ${good}`], 401],
    ['DPoP', ['authorization', `DPoP ${good}`], 401]
  ] as const) t.equal((await attempt(headers)).status, status, name)
  t.equal((await call(`${gateway.url}/rpc?access_token=${good}`, { headers: [...JSON_TYPE, ...V1], body: rpcBody('GetTask', { id: '1', access_token: good }) })).status, 401)
  t.equal(agent.received.length, reached)
  const told = JSON.stringify([gateway.logs(), gateway.audits(), await (await fetch(`${gateway.adminUrl}/metrics`)).text()])
  t.notOk(told.includes(signature) || told.includes(claims), 'no log line has a token')
  t.equal(other.asked.filter(path => path === '/jwks').length, 1, 'no key is fetched from where a token says')
})

t.test('a token without kid needs a key without doubt', async t => {
  const [one, two] = [await keyOf('one'), await keyOf('two')]
  const issuer = await issuerFor(t, [one, two])
  const { gateway } = await guarded(t, { sources: [jwtSource('corp', issuer.url)] })
  t.equal((await send(gateway, bearer(await issuer.token(one)))).status, 200)
  t.equal((await send(gateway, bearer(await issuer.token(one, {}, { kid: undefined })))).status, 401)
})

t.test('the challenge, and the metadata of the agent', async t => {
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  const { gateway } = await guarded(t, { sources: [jwtSource('corp', issuer.url)], extra: ['path: /billing', 'passthrough: [/docs]'] })
  const url = `${gateway.url}/.well-known/oauth-protected-resource/billing`
  const stranger = await rpc(`${gateway.url}/billing/rpc`)
  t.equal(stranger.headers['www-authenticate'], `Bearer realm="agent", resource_metadata="${url}"`, 'without error (RFC 6750 §3.1)')
  const metadata = await call(url)
  t.equal(metadata.status, 200)
  t.same(metadata.json(), { resource: `${gateway.url}/billing`, authorization_servers: [issuer.url], bearer_methods_supported: ['header'] })
  for (const path of ['', '/', '/other', '/billing/x']) t.equal((await call(`${gateway.url}/.well-known/oauth-protected-resource${path}`)).status, 404, path)
  t.equal((await call(url, { method: 'POST', body: '{}' })).status, 404)
})

t.test('a verified token is remembered; a revoked key takes it along', async t => {
  const [first, second] = [await keyOf('first'), await keyOf('second', 'RS256')]
  const issuer = await issuerFor(t, [first])
  const { gateway, agent, dir } = await guarded(t, { sources: [jwtSource('corp', issuer.url)] })
  const token = await issuer.token(first)
  const statuses = await Promise.all(Array.from({ length: 20 }, () => send(gateway, bearer(token))))
  t.ok(statuses.every(one => one.status === 200))
  t.equal(await gateway.metric('a2a_gateway_token_cache_entries{source="corp"}'), 1)
  t.equal(issuer.asked.filter(path => path === '/jwks').length, 1)

  issuer.keys = [second.jwk]
  t.equal((await send(gateway, bearer(token))).status, 200, 'the set is not fetched for each call')
  t.equal((await send(gateway, bearer(await issuer.token(second)))).status, 200, 'rotation: an unknown kid fetches the set once')
  t.equal(issuer.asked.filter(path => path === '/jwks').length, 2)
  const revoked = await send(gateway, bearer(token))
  t.match([revoked.status, problemOf(revoked)], [401, 'unknown_key'], 'the key is gone, so is its token')
  for (let i = 0; i < 30; i++) await send(gateway, bearer(await issuer.token({ ...first, kid: `made-up-${i}` })))
  t.ok(issuer.asked.filter(path => path === '/jwks').length <= 4, 'a flood of unknown keys does not reach the issuer')

  const before = issuer.asked.length
  const report = await gateway.reload(configOf({ yaml: `${yamlOf(agent.url, { sources: [jwtSource('corp', issuer.url), PARTNERS] })}`, baseDir: dir }))
  t.match(report, { ok: true })
  t.equal((await send(gateway, bearer(await issuer.token(second)))).status, 200)
  t.equal(issuer.asked.length, before, 'a reload keeps the keys of a source that has not changed')
})

t.test('an outage: last good keys, and 503 without any', async t => {
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  const { gateway, agent, dir } = await guarded(t, { sources: [jwtSource('corp', issuer.url), PARTNERS], root: ['telemetry: {logs: {level: info}}'] })
  t.equal((await send(gateway, bearer(await issuer.token(key)))).status, 200)
  await issuer.stop()
  t.equal((await send(gateway, bearer(await issuer.token(key, { sub: 'new' })))).status, 200, 'the last good keys')
  const unknown = await send(gateway, bearer(await issuer.token({ ...key, kid: 'next' })))
  t.equal(unknown.status, 503, 'the issuer may have rotated: nobody can tell')

  const yaml = yamlOf(agent.url, { sources: [jwtSource('other', issuer.url), PARTNERS] })
  t.match(await gateway.reload(configOf({ yaml, baseDir: dir })), { ok: true })
  const away = await send(gateway, bearer(await issuer.token(key)))
  t.match([away.status, away.headers['retry-after'], away.headers['www-authenticate']], [503, '5', undefined])
  t.match(away.json(), { error: { code: -32603, data: [{ reason: 'IDENTITY_UNAVAILABLE' }] } })
  t.equal((await send(gateway, ['x-api-key', ACME])).status, 200, 'other sources work')
  const ready = await fetch(`${gateway.adminUrl}/readyz`)
  t.match([ready.status, await ready.text()], [503, /identity source other: .*cannot be reached/])
  t.ok(await gateway.metric('a2a_gateway_authentications_total{agent="agent",source="other",outcome="unavailable"}') >= 1)
  t.ok(await gateway.metric('a2a_gateway_identity_key_refreshes_total{source="other",outcome="failed"}') >= 1)
  t.ok(gateway.logs().some(line => line.source === 'other' && /cannot be fetched/.test(String(line.msg))))

  await issuer.restart()
  await until(async () => (await send(gateway, bearer(await issuer.token(key)))).status === 200, 'the keys', 30_000)
  t.equal((await fetch(`${gateway.adminUrl}/readyz`)).status, 200)
  t.ok(await gateway.metric('a2a_gateway_identity_key_refreshes_total{source="other",outcome="changed"}') === 1)
  t.match(await (await fetch(`${gateway.adminUrl}/metrics`)).text(), /^a2a_gateway_identity_keys_age_seconds\{source="other"\} \d/m)
})

t.test('sets of keys that cannot be used', async t => {
  const [key, weak] = [await keyOf('a'), await keyOf('rsa', 'RS256')]
  const issuer = await issuerFor(t, [key])
  const json = (response: ServerResponse, body: string, headers: Record<string, string> = {}): void => { response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body) }
  const rows: readonly [string, NonNullable<typeof issuer.misbehave>, RegExp][] = [
    ['500', response => { response.writeHead(500).end() }, /responded with 500/],
    ['a redirect to a link-local address', response => { response.writeHead(302, { location: 'http://169.254.169.254/' }).end() }, /the gateway follows no redirect/],
    ['HTML', response => { response.end('<html>') }, /is not valid JSON/],
    ['no list', response => { json(response, '{}') }, /has no list/],
    ['gzip', response => { json(response, 'x', { 'content-encoding': 'gzip' }) }, /content-encoding/],
    ['too large', response => { json(response, ' '.repeat(300_000)) }, /more than 256 KiB/],
    ['private keys', response => { json(response, JSON.stringify({ keys: [{ ...key.jwk, d: 'AA' }] })) }, /contains a private key/],
    ['1,000 keys', response => { json(response, JSON.stringify({ keys: Array(1_000).fill({ kty: 'EC' }) })) }, /more than 100 keys/],
    ['no key for signatures', response => { json(response, JSON.stringify({ keys: [{ ...key.jwk, use: 'enc' }, { kty: 'oct', k: 'AA' }, { ...weak.jwk, n: 'AQAB' }] })) }, /no key that can verify/],
    ['a broken connection', response => { response.destroy() }, /cannot be reached/]
  ]
  for (const [name, misbehave, problem] of rows) {
    issuer.misbehave = misbehave
    const { gateway } = await guarded(t, { sources: [`corp: {jwt: {issuer: "${issuer.url}", audience: ["${AUDIENCE}"], keys: {url: "${issuer.url}/jwks"}}}`], waitReady: false })
    await until(async () => problem.test(await (await fetch(`${gateway.adminUrl}/readyz`)).text()), name)
    t.equal((await send(gateway, bearer(await issuer.token(key)))).status, 503, name)
    await gateway.close()
  }
  issuer.misbehave = response => { json(response, JSON.stringify({ keys: [{ ...weak.jwk, n: 'AQAB', kid: 'weak' }, { kty: 'oct', k: 'AA' }, 7, key.jwk] })) }
  const { gateway } = await guarded(t, { sources: [jwtSource('corp', issuer.url)] })
  t.equal((await send(gateway, bearer(await issuer.token(key)))).status, 200, 'the usable keys of a set work')
})

t.test('keys from a file; a header of its own; an expensive check is braked', async t => {
  const [key, stranger] = [await keyOf('a'), await keyOf('a')]
  const issuer = await issuerFor(t, [key])
  const source = 'corp: {jwt: {issuer: "https://idp.example.com", audience: ["*"], keys: {file: jwks.json}, header: X-Gateway-Token}}'
  const { gateway, agent } = await guarded(t, { sources: [source], files: { 'jwks.json': JSON.stringify({ keys: [key.jwk] }) } })
  const token = await issuer.token(key, { iss: 'https://idp.example.com', aud: 'any' })
  t.equal((await send(gateway, ['x-gateway-token', token, 'authorization', 'Bearer for-the-agent'])).status, 200)
  t.match(agent.received.at(-1)?.headers, { authorization: 'Bearer for-the-agent', 'x-gateway-token': undefined })
  t.equal((await send(gateway, bearer(token))).status, 401)
  const forged: number[] = []
  for (let i = 0; i < 60; i++) forged.push((await send(gateway, ['x-gateway-token', await issuer.token(stranger, { iss: 'https://idp.example.com', aud: 'any', sub: `s${i}` })])).status)
  t.same(forged.slice(0, 50), Array(50).fill(401))
  t.ok(forged.every(status => status === 401 || status === 429))
  t.equal((await send(gateway, ['x-gateway-token', token])).status, 200, 'a token that is known needs no check')
})

t.test('actors of a delegated token are in log and audit lines, as the caller is', async t => {
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  const act = { sub: 'robot', act: { client_id: 'app', act: { sub: 7, act: { sub: 'first' } } } }
  const token = await issuer.token(key, { act })
  const robot = await issuer.token(key, { sub: 'robot' })
  const SHOWN = ['telemetry: {logs: {level: debug}, audit: {forwarded: true}}']
  const ask = async (gateway: TestGateway, token: string): Promise<unknown> => await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['authorization', `Bearer ${token}`])
  interface Line { readonly msg?: string, readonly caller: { readonly id: string, readonly act?: readonly string[] } }

  const { gateway: plain } = await guarded(t, { sources: [jwtSource('corp', issuer.url)], root: SHOWN, identity: ', audit: subject' })
  await ask(plain, token)
  await until(() => plain.audits().length === 1 && plain.logs().some(({ msg }) => msg === 'request'), 'the lines')
  t.match(plain.audits()[0], { caller: { id: 'ada', act: ['robot', 'app', 'first'] } })
  t.match(plain.logs().find(({ msg }) => msg === 'request'), { caller: { act: ['robot', 'app', 'first'] } })

  const { gateway } = await guarded(t, { sources: [jwtSource('corp', issuer.url)], root: SHOWN })
  await ask(gateway, token)
  await ask(gateway, robot)
  await ask(gateway, await issuer.token(key, { act: Array.from({ length: 13 }).reduce((act: object) => ({ sub: 'robot', act }), {}) }))
  await ask(gateway, await issuer.token(key, { act: 'robot' }))
  await until(() => gateway.audits().length === 4, 'audit lines')
  const [delegated, own, long, odd] = gateway.audits() as unknown as Line[]
  t.equal(delegated?.caller.act?.length, 3)
  t.ok(delegated?.caller.act?.every(one => /^[\w-]{22}$/.test(one)))
  t.equal(delegated?.caller.act?.[0], own?.caller.id, 'one id for a caller who acts for another')
  t.equal(own?.caller.act, undefined)
  t.equal(long?.caller.act?.length, 8, 'the number of actors is bounded')
  t.equal(odd?.caller.act, undefined)
  t.notMatch(JSON.stringify([gateway.audits(), gateway.logs()]), /robot/)
})

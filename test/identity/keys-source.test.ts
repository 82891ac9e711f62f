/** The keys of an issuer in the background: lifetimes, unknown keys, and who waits. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { IssuerKeys } from '#agents/identity/identity.js'
import { Identity, identityFiles } from '#agents/identity/identity.js'
import { LastCredential } from '#identity/last-credential.js'
import { createLogger } from '#telemetry/logging.js'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { discover, isSafeUrl, issuerPool } from '#agents/keys/keys-fetch.js'
import { configOf } from '../helpers/gateway.js'
import { rpc, until } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'
import { AUDIENCE, issuerFor, jwtSource, keyOf } from './issuer.js'
import { guarded } from './kit.js'
import type { IdentityOptions } from '#agents/identity/identity.js'

function options (): IdentityOptions & { readonly counted: string[] } {
  const counted: string[] = []
  const metrics = new Metrics({ process: false })
  Object.assign(metrics, { add: (_name: string, _source: string, outcome: string) => { counted.push(outcome) } })
  return { metrics, log: createLogger({ level: 'silent', format: 'json' }), counted }
}

const configFor = (url: string) => {
  const { identity } = configOf({ yaml: `agents: [{name: a, upstream: {url: "http://h"}}]\nidentity: {sources: {${jwtSource('s', url)}}}` })
  if (identity?.sources['s']?.jwt === undefined) throw new Error('no source')
  return { identity, jwt: identity.sources['s'].jwt }
}

t.test('unknown keys: one fetch for all, then none for a while', async t => {
  const issuer = await issuerFor(t, [await keyOf('a')])
  const how = options()
  const keys = new IssuerKeys('s', configFor(issuer.url).jwt, how)
  t.teardown(() => { keys.close() })
  t.equal(keys.current, null)
  t.equal(keys.failing, true)
  await keys.start()
  t.equal(keys.current?.length, 1)
  t.equal(keys.failing, false)
  const fetched = (): number => issuer.asked.filter(path => path === '/jwks').length
  await Promise.all(Array.from({ length: 200 }, () => keys.refresh()))
  t.equal(fetched(), 2)
  for (let i = 0; i < 20; i++) await keys.refresh()
  t.equal(fetched(), 2)
  t.same(how.counted, ['changed', 'unchanged'])
})

t.test('a slow issuer: a call waits for 2 s at most', async t => {
  const issuer = await issuerFor(t, [await keyOf('a')])
  const keys = new IssuerKeys('s', configFor(issuer.url).jwt, options())
  t.teardown(() => { keys.close() })
  await keys.start()
  issuer.misbehave = () => {}
  const calls = Array.from({ length: 100 }, () => keys.refresh())
  const first = await Promise.race(calls.slice(64).map(async call => { await call; return 'who does not fit does not wait' }))
  t.equal(first, 'who does not fit does not wait')
  await Promise.all(calls)
  t.equal(keys.current?.length, 1, 'the last good keys')
})

t.test('discovery trusts the issuer only', async t => {
  const issuer = await issuerFor(t, [])
  const pool = issuerPool()
  t.teardown(() => pool.destroy())
  t.match(await discover(issuer.url, pool), { url: new URL(`${issuer.url}/jwks`) })
  t.match(await discover(`${issuer.url}/realm`, pool), { problem: /responded with 404/ })
  t.match(await discover(`${issuer.url}/`, pool), { problem: /names another issuer/ })
  for (const [url, safe] of [
    ['https://a/b', true], ['http://127.0.0.1:1/', true], ['http://localhost/', true], ['http://[::1]/', true], ['http://169.254.169.254/', false],
    ['http://127.0.0.1.example/', false], ['https://u:p@h/', false], ['file:///etc/passwd', false], ['no url', false]
  ] as const) t.equal(isSafeUrl(url), safe, url)
})

t.test('a reload keeps what has not changed', async t => {
  const issuer = await issuerFor(t, [await keyOf('a')])
  const how = options()
  const { identity } = configFor(issuer.url)
  const first = await Identity.prepare(identity, null, how)
  t.equal(await Identity.prepare(identity, first, how), first)
  t.not(await Identity.prepare({ ...identity, audit: 'subject' }, first, how), first)
  t.same(how.counted, ['changed'])
  t.same(first?.problems, [])
  first?.close(null)
})

t.test('an outage past maxStale', async t => {
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  let now = 0
  const { identity } = configFor(issuer.url)
  const own = await Identity.prepare(identity, null, { ...options(), clock: () => now })
  t.teardown(() => own?.close(null))
  const ask = async (token: string): Promise<unknown> => await own?.authenticator.authenticate(
    { headers: { authorization: `Bearer ${token}` }, query: '', connection: { peer: undefined, certificate: null, last: new LastCredential() } }, { alternatives: [['s']], anonymous: false, certificates: new Set(), audiences: null }, Date.now(), () => false
  )
  const [known, later] = [await issuer.token(key), await issuer.token(key, { sub: 'later' })]
  t.match(await ask(known), { kind: 'caller' })
  await issuer.stop()
  now = 24 * 3_600_000
  t.match([await ask(known), await ask(later)], [{ kind: 'caller' }, { kind: 'caller' }], 'the last good keys')
  t.same(own?.problems, [])
  now++
  const unavailable = { kind: 'unavailable', source: 's', retryAfter: 5 }
  t.same([await ask(known), await ask(later)], [unavailable, unavailable], 'never 401, and no remembered token outlives its keys')
  t.match(own?.problems, [/identity source s: /])
})

t.test('503 past maxStale, through a gateway', async t => {
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  const { gateway } = await guarded(t, { sources: [`corp: {jwt: {issuer: "${issuer.url}", audience: ["${AUDIENCE}"], keys: {url: "${issuer.url}/jwks", maxStale: 1m}}}`] })
  const ask = async (): Promise<number> => (await rpc(`${gateway.url}/rpc`, undefined, undefined, ['authorization', `Bearer ${await issuer.token(key)}`])).status
  t.equal(await ask(), 200)
  await issuer.stop()
  const { now } = performance
  performance.now = () => now.call(performance) + 61_000
  t.teardown(() => { performance.now = now })
  t.equal(await ask(), 503)
})

t.test('an issuer with an authority of its own', async t => {
  const key = await keyOf('a')
  const files = inTests('fixtures/tls')
  const pem = (name: string): Buffer => readFileSync(join(files, `${name}.pem`))
  const serve = async (cert: string): Promise<string> => {
    const server = createServer({ cert: pem(cert), key: pem(`${cert}.key`) }, (request, response) => {
      response.end(JSON.stringify(request.url === '/jwks' ? { keys: [key.jwk] } : { issuer: url, jwks_uri: `${url}/jwks` }))
    })
    await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
    t.teardown(() => { server.closeAllConnections(); server.close() })
    const url = `https://localhost:${(server.address() as AddressInfo).port}`
    return url
  }
  const [right, wrong] = [await serve('right'), await serve('wrong')]
  const spans = { OTEL_TRACES_EXPORTER: 'console' }
  const root = ['telemetry: {logs: {level: silent}, traces: {enabled: true}}']
  const source = (url: string, ca: string | null): string => jwtSource('corp', url, ca === null ? '' : `, tls: {ca: "${join(files, ca)}"}`)
  const { gateway } = await guarded(t, { sources: [source(right, 'ca.pem')], root, env: spans })
  const issuer = await issuerFor(t, [key])
  const answer = await rpc(`${gateway.url}/rpc`, undefined, undefined, ['authorization', `Bearer ${await issuer.token(key, { iss: right })}`])
  t.equal(answer.status, 200, answer.text)
  const fetches = (): Record<string, unknown>[] => gateway.spans().filter(span => span.name === 'IssuerKeys')
  await until(() => fetches().length === 2, 'a span for the metadata, and one for the keys')
  t.match(fetches()[1], {
    attributes: { 'a2a_gateway.caller.source': 'corp', 'url.path': '/jwks', 'url.scheme': 'https', 'server.address': 'localhost', 'http.response.status_code': 200 }
  })
  for (const [name, url, ca] of [['no authority', right, null], ['another authority', right, 'expired.pem'], ['another name', wrong, 'ca.pem']] as const) {
    const { gateway } = await guarded(t, { sources: [source(url, ca)], waitReady: false, root, env: spans })
    await until(async () => /identity source corp: .*cannot be reached/.test(await (await fetch(`${gateway.adminUrl}/readyz`)).text()), name)
    await until(() => gateway.spans().some(span => span.name === 'IssuerKeys' && (span.attributes as Record<string, unknown>)['error.type'] !== undefined), 'a failed span')
  }
})

t.test('a new authority in the same file', async t => {
  const { identity } = configFor('https://localhost:1')
  const ca = t.testdir({ 'ca.pem': readFileSync(inTests('fixtures/tls/ca.pem')) })
  const file = join(ca, 'ca.pem')
  const source = identity.sources['s']?.jwt
  if (source === undefined) throw new Error('no source')
  const config = { ...identity, sources: { s: { jwt: { ...source, tls: { ca: file } } } } }
  t.same(identityFiles(config), [file])
  const how = options()
  const first = await Identity.prepare(config, null, how)
  t.equal(await Identity.prepare(config, first, how), first)
  writeFileSync(file, readFileSync(inTests('fixtures/clients/ca.pem')))
  const second = await Identity.prepare(config, first, how)
  t.not(second, first)
  writeFileSync(file, 'no certificate')
  await t.rejects(Identity.prepare(config, second, how), /identity: cannot use .*ca\.pem/)
  first?.close(second)
  second?.close(null)
})

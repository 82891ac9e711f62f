/** The keys of an issuer in the background: lifetimes, unknown keys, and who waits. */
import t from 'tap'
import { IssuerKeys } from '../../src/gateway/identity/issuer-keys.js'
import type { IdentityOptions } from '../../src/gateway/identity/identity.js'
import { Identity } from '../../src/gateway/identity/identity.js'
import { createLogger } from '../../src/telemetry/logging.js'
import { Metrics } from '../../src/telemetry/metrics/metrics.js'
import { discover, isSafeUrl, issuerPool } from '../../src/upstream/keys-fetch.js'
import { configOf } from '../helpers/gateway.js'
import { issuerFor, jwtSource, keyOf } from './issuer.js'

function options (): IdentityOptions & { readonly counted: string[] } {
  const counted: string[] = []
  const metrics = new Metrics({ process: false })
  metrics.keyRefresh = (_source, outcome) => { counted.push(outcome) }
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

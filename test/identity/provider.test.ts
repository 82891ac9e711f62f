/** A real identity provider, oidc-provider: discovery, client credentials, device code, two issuers, rotation under load and an outage. */
import t from 'tap'
import type { TestGateway } from '../helpers/gateway.js'
import { MESSAGE, rpc, until } from '../helpers/http.js'
import { jwtSource } from './issuer.js'
import { guarded } from './kit.js'
import { privateKey, provider } from './provider.js'

const send = async (gateway: TestGateway, token: string): Promise<number> =>
  (await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['authorization', `Bearer ${token}`])).status

t.test('client credentials of two issuers that share a kid', async t => {
  const [one, two] = [await provider(t, [await privateKey('key', 'RS256')]), await provider(t, [await privateKey('key', 'ES256')])]
  const { gateway } = await guarded(t, { sources: [jwtSource('one', one.url), jwtSource('two', two.url)], identity: ', audit: subject', root: ['telemetry: {logs: {level: silent}, audit: {forwarded: true}}'] })
  for (const issuer of [one, two]) t.equal(await send(gateway, await issuer.token()), 200)
  await until(() => gateway.audits().length === 2, 'audit lines')
  t.match(gateway.audits(), [{ caller: { source: 'one', client: 'app' } }, { caller: { source: 'two', client: 'app' } }])
  const [header = '', , signature = ''] = (await one.token()).split('.')
  const [, claims = ''] = (await two.token()).split('.')
  t.equal(await send(gateway, `${header}.${claims}.${signature}`), 401)
})

t.test('device code: the caller is the person who signed in', async t => {
  const issuer = await provider(t, [await privateKey('key', 'ES256')])
  const { gateway } = await guarded(t, {
    sources: [jwtSource('corp', issuer.url)],
    identity: ', audit: subject',
    root: ['telemetry: {logs: {level: silent}, audit: {forwarded: true}}']
  })
  t.equal(await send(gateway, await issuer.tokenByDevice('ada')), 200)
  await until(() => gateway.audits().length === 1, 'the audit line')
  t.match(gateway.audits(), [{ caller: { source: 'corp', id: 'ada', client: 'tv' } }])
})

t.test('rotation under load, and an outage', async t => {
  const [old, next] = [await privateKey('old', 'ES256'), await privateKey('next', 'ES256')]
  const issuer = await provider(t, [old])
  const { gateway } = await guarded(t, { sources: [jwtSource('corp', issuer.url)] })
  const before = await issuer.token()
  t.equal(await send(gateway, before), 200)
  const busy = { now: true }
  t.teardown(() => { busy.now = false })
  const statuses: number[] = []
  const load = Promise.all(Array.from({ length: 4 }, async () => { while (busy.now) statuses.push(await send(gateway, before)) }))
  await issuer.restart([next, old])
  t.equal(await send(gateway, await issuer.token()), 200, 'a token of the new key, at once')
  await until(() => statuses.length > 40, 'load')
  busy.now = false
  await load
  t.same([...new Set(statuses)], [200], 'no call was lost')
  const last = await issuer.token()
  await issuer.stop()
  t.equal(await send(gateway, last), 200, 'the issuer is away: a token that nobody has seen')
  await issuer.restart([next])
})

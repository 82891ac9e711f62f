/** A real identity provider, oidc-provider: discovery, client credentials, device code, two issuers, rotation under load and an outage. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JWK } from 'jose'
import { exportJWK } from 'jose'
import Provider from 'oidc-provider'
import t from 'tap'
import type { Test } from 'tap'
import type { TestGateway } from '../helpers/gateway.js'
import { call, MESSAGE, rpc, until } from '../helpers/http.js'
import { AUDIENCE, jwtSource, keyOf } from './issuer.js'
import { basicOf, guarded } from './kit.js'

const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

interface Running {
  readonly url: string
  stop (): Promise<void>
  /** Starts again at the same address, with other keys. */
  restart (keys: readonly JWK[]): Promise<void>
  token (scope?: string): Promise<string>
  /** A person signs in with the browser of another device (RFC 8628). */
  tokenByDevice (login: string): Promise<string>
}

async function privateKey (kid: string, alg: string): Promise<JWK> {
  const key = await keyOf(kid, alg)
  return { ...await exportJWK(key.privateKey), kid, alg, use: 'sig' }
}

async function provider (t: Test, keys: readonly JWK[]): Promise<Running> {
  let server: Server
  const start = async (port: number, keys: readonly JWK[]): Promise<number> => {
    server = createServer((request, response) => { callback(request, response) })
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    const at = (server.address() as AddressInfo).port
    const callback = new Provider(`http://127.0.0.1:${at}`, {
      jwks: { keys },
      clients: [{ client_id: 'app', client_secret: 'not-a-secret', grant_types: ['client_credentials'], id_token_signed_response_alg: keys[0]?.alg, redirect_uris: [], response_types: [] }, { client_id: 'tv', token_endpoint_auth_method: 'none', application_type: 'native', grant_types: [DEVICE], id_token_signed_response_alg: keys[0]?.alg, redirect_uris: [], response_types: [] }],
      features: {
        devInteractions: { enabled: true },
        deviceFlow: { enabled: true },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => AUDIENCE,
          getResourceServerInfo: () => ({ scope: 'billing.read', accessTokenFormat: 'jwt', jwt: { sign: { alg: keys[0]?.alg } } })
        }
      }
    }).callback()
    return at
  }
  const stop = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise(resolve => { server.close(resolve) })
  }
  const port = await start(0, keys)
  const url = `http://127.0.0.1:${port}`
  t.teardown(stop)
  return {
    url,
    stop,
    restart: async keys => {
      await stop()
      await start(port, keys)
    },
    token: async (scope = 'billing.read') => {
      const answer = await call(`${url}/token`, {
        headers: ['authorization', basicOf('app', 'not-a-secret'), 'content-type', 'application/x-www-form-urlencoded'],
        body: new URLSearchParams({ grant_type: 'client_credentials', scope, resource: AUDIENCE }).toString()
      })
      const { access_token: token } = answer.json() as { access_token?: unknown }
      if (typeof token !== 'string') throw new Error(answer.text)
      return token
    },
    tokenByDevice: async login => await tokenByDevice(url, login)
  }
}

const FORM = ['content-type', 'application/x-www-form-urlencoded']

/** The pages of the provider are forms. A browser follows redirects, keeps cookies, and sends the hidden fields. */
async function tokenByDevice (url: string, login: string): Promise<string> {
  const post = async (path: string, body: Record<string, string>): Promise<Record<string, unknown>> =>
    (await call(`${url}${path}`, { headers: FORM, body: new URLSearchParams(body).toString() })).json()
  const asked = await post('/device/auth', { client_id: 'tv', scope: 'openid billing.read', resource: AUDIENCE })
  const cookies = new Map<string, string>()
  const visit = async (at: string, body?: string): Promise<string> => {
    const cookie = [...cookies].map(pair => pair.join('=')).join('; ')
    const answer = await call(new URL(at, url).href, { headers: ['cookie', cookie, ...body === undefined ? [] : FORM], ...body === undefined ? {} : { body } })
    for (const set of answer.headers['set-cookie'] ?? []) {
      const [name = '', value = ''] = (set.split(';')[0] ?? '').split('=')
      cookies.set(name, value)
    }
    return answer.headers.location === undefined ? answer.text : await visit(answer.headers.location)
  }
  let page = await visit(String(asked['verification_uri_complete']))
  for (let form = 0; form < 5; form++) {
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1]
    if (action === undefined) break
    const fields = new URLSearchParams([...page.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].map(([input]): [string, string] =>
      [/name="([^"]*)"/.exec(input)?.[1] ?? '', /value="([^"]*)"/.exec(input)?.[1] ?? '']))
    if (page.includes('name="login"')) {
      fields.set('login', login)
      fields.set('password', 'any')
    }
    page = await visit(action, fields.toString())
  }
  const result = await post('/token', { grant_type: DEVICE, client_id: 'tv', device_code: String(asked['device_code']), resource: AUDIENCE })
  const { access_token: token } = result
  if (typeof token !== 'string') throw new Error(JSON.stringify(result) + page.slice(0, 2_000))
  return token
}

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

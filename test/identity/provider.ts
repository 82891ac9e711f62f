/** oidc-provider, a real identity provider, with a client for the client credentials grant and one for device codes. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JWK } from 'jose'
import { exportJWK } from 'jose'
import Provider from 'oidc-provider'
import type { Test } from 'tap'
import { call } from '../helpers/http.js'
import { AUDIENCE, keyOf } from './issuer.js'
import { basicOf } from './kit.js'

const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

export interface Running {
  readonly url: string
  stop (): Promise<void>
  /** Starts again at the same address, with other keys. */
  restart (keys: readonly JWK[]): Promise<void>
  token (scope?: string, audience?: string): Promise<string>
  /** A person signs in with the browser of another device (RFC 8628). */
  tokenByDevice (login: string): Promise<string>
}

export async function privateKey (kid: string, alg: string): Promise<JWK> {
  const key = await keyOf(kid, alg)
  return { ...await exportJWK(key.privateKey), kid, alg, use: 'sig' }
}

export async function provider (t: Test, keys: readonly JWK[]): Promise<Running> {
  let server: Server
  const start = async (port: number, keys: readonly JWK[]): Promise<number> => {
    server = createServer((request, response) => { callback(request, response) })
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    const at = (server.address() as AddressInfo).port
    const callback = new Provider(`http://127.0.0.1:${at}`, {
      jwks: { keys },
      clients: [
        { client_id: 'app', client_secret: 'not-a-secret', grant_types: ['client_credentials'] },
        { client_id: 'tv', token_endpoint_auth_method: 'none', application_type: 'native', grant_types: [DEVICE] }
      ].map(client => ({ ...client, id_token_signed_response_alg: keys[0]?.alg, redirect_uris: [], response_types: [] })),
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
    token: async (scope = 'billing.read', audience = AUDIENCE) => {
      const answer = await call(`${url}/token`, {
        headers: ['authorization', basicOf('app', 'not-a-secret'), 'content-type', 'application/x-www-form-urlencoded'],
        body: new URLSearchParams({ grant_type: 'client_credentials', scope, resource: audience }).toString()
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

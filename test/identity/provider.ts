/** oidc-provider, a real identity provider, with one client for the client credentials grant. */
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

export interface Running {
  readonly url: string
  stop (): Promise<void>
  /** Starts again at the same address, with other keys. */
  restart (keys: readonly JWK[]): Promise<void>
  token (scope?: string): Promise<string>
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
      clients: [{ client_id: 'app', client_secret: 'not-a-secret', grant_types: ['client_credentials'], id_token_signed_response_alg: keys[0]?.alg, redirect_uris: [], response_types: [] }],
      features: {
        devInteractions: { enabled: false },
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
    }
  }
}

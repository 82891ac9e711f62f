/** An issuer of access tokens: keys, tokens and an endpoint of keys that can misbehave. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CryptoKey, JWK } from 'jose'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { Test } from 'tap'

export interface Key {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
  readonly jwk: JWK
}

export async function keyOf (kid: string, alg = 'ES256'): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, publicKey, jwk: { ...await exportJWK(publicKey), kid, alg, use: 'sig' } }
}

export const AUDIENCE = 'https://agents.example.com/billing'

export interface Issuer {
  readonly url: string
  /** Keys in the set. */
  keys: JWK[]
  /** Replaces the response with the keys. */
  misbehave: ((response: ServerResponse) => void) | null
  /** Paths of requests. */
  readonly asked: string[]
  /** Closes the endpoint. */
  stop (): Promise<void>
  /** Opens the endpoint again at the same address. */
  restart (): Promise<void>
  token (key: Key, claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>
}

export async function issuerFor (t: Test, keys: readonly Key[]): Promise<Issuer> {
  const server = createServer((request, response) => {
    issuer.asked.push(request.url ?? '')
    if (request.url === '/jwks' && issuer.misbehave !== null) return issuer.misbehave(response)
    response.setHeader('content-type', 'application/json')
    if (request.url === '/.well-known/openid-configuration') response.end(JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` }))
    else if (request.url === '/jwks') response.end(JSON.stringify({ keys: issuer.keys }))
    else response.writeHead(404).end()
  })
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const port = await listen(0)
  const issuer: Issuer = {
    url: `http://127.0.0.1:${port}`,
    keys: keys.map(({ jwk }) => jwk),
    misbehave: null,
    asked: [],
    stop: async () => {
      server.closeAllConnections()
      await new Promise(resolve => { server.close(resolve) })
    },
    restart: async () => { await listen(port) },
    token: (key, claims = {}, header = {}) => {
      const now = Math.floor(Date.now() / 1_000)
      const all = { iss: issuer.url, aud: AUDIENCE, sub: 'ada', client_id: 'app', scope: 'a b', iat: now, exp: now + 600, ...claims }
      const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
      return new SignJWT(given).setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header } as { alg: string }).sign(key.privateKey)
    }
  }
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return issuer
}

export function jwtSource (name: string, issuer: string, more = ''): string {
  return `${name}: {jwt: {issuer: "${issuer}", audience: ["${AUDIENCE}"], keys: discover${more}}}`
}

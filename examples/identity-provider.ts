/**
 * A local identity provider for docs/start/secure.md and for tests, not for production: `node dist/examples/identity-provider.js`.
 * It issues access tokens to two clients with the grant `client_credentials` (RFC 6749, section 4.4). The signing key is new at each
 * start. The environment variables are PORT (4000), AUDIENCE (claim `aud`) and LIFETIME of a token (seconds).
 */
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import Provider from 'oidc-provider'

const HOST = '127.0.0.1'

interface Client {
  readonly id: string
  readonly secret: string
  /** Claim `groups` of its tokens. */
  readonly groups: readonly string[]
  /** Scopes that it may request, with blanks between them. */
  readonly scope: string
}

export const CLIENTS: readonly Client[] = [
  { id: 'payments', secret: 'payments-secret', groups: ['finance'], scope: 'pay' },
  { id: 'guest', secret: 'guest-secret', groups: [], scope: '' }
]

export interface IdentityProviderOptions {
  /** 0: any free port. */
  readonly port: number
  /** Claim `aud` of every token: an absolute URL, which nobody requests. */
  readonly audience: string
  /** Lifetime of a token in seconds. */
  readonly lifetime: number
}

export interface IdentityProvider {
  /** The issuer, and the address of the endpoints. */
  readonly url: string
  close (): Promise<void>
}

/** @throws if the port is in use */
export async function startIdentityProvider ({ port, audience, lifetime }: IdentityProviderOptions): Promise<IdentityProvider> {
  const server = createServer()
  server.listen(port, HOST)
  await once(server, 'listening')
  const url = `http://${HOST}:${(server.address() as AddressInfo).port}`
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const key = await exportJWK(privateKey)
  const groups = new Map(CLIENTS.map(client => [client.id, client.groups]))
  const provider = new Provider(url, {
    jwks: { keys: [{ ...key, kid: await calculateJwkThumbprint(key), alg: 'ES256', use: 'sig' }] },
    scopes: ['pay'],
    clients: CLIENTS.map(({ id, secret, scope }) => ({
      client_id: id,
      client_secret: secret,
      ...(scope === '' ? {} : { scope }),
      grant_types: ['client_credentials'],
      id_token_signed_response_alg: 'ES256',
      redirect_uris: [],
      response_types: []
    })),
    extraTokenClaims: (_context: unknown, token: { readonly clientId: string }) => ({ groups: groups.get(token.clientId) ?? [] }),
    ttl: { ClientCredentials: lifetime },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        getResourceServerInfo: () => ({ scope: 'pay', accessTokenFormat: 'jwt', accessTokenTTL: lifetime, jwt: { sign: { alg: 'ES256' } } })
      }
    }
  })
  server.on('request', provider.callback())
  return {
    url,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    }
  }
}

async function main (): Promise<void> {
  const { PORT = '4000', AUDIENCE: audience = 'https://agents.example.com', LIFETIME = '3600' } = process.env
  const provider = await startIdentityProvider({ port: Number(PORT), audience, lifetime: Number(LIFETIME) })
  console.log(`identity provider: ${provider.url} (audience ${audience})`)
  for (const { id, secret, groups, scope } of CLIENTS) {
    console.log(`client ${id}: groups ${groups.join(', ') || '-'}; scopes ${scope || '-'}`)
    const wanted = scope === '' ? '' : ` -d scope=${scope}`
    console.log(`  curl -s ${provider.url}/token -u ${id}:${secret} -d grant_type=client_credentials${wanted}`)
  }
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, () => { provider.close().finally(() => process.exit(0)) })
  }
}

if (process.argv[1] !== undefined && import.meta.filename === realpathSync(process.argv[1])) {
  main().catch((error: NodeJS.ErrnoException) => {
    const { PORT = '4000' } = process.env
    console.error(error.code === 'EADDRINUSE' ? `Port ${PORT} is already in use. Choose another one with PORT.` : error.message)
    process.exit(1)
  })
}

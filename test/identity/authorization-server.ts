/** A real authorization server, oidc-provider, with client credentials and with token exchange (RFC 8693). */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JWK, JWTPayload } from 'jose'
import { createLocalJWKSet, exportJWK, jwtVerify, SignJWT } from 'jose'
import Provider, { errors } from 'oidc-provider'
import type { GrantContext } from 'oidc-provider'
import type { Test } from 'tap'
import { AUDIENCE, keyOf } from './issuer.js'

/** The gateway as a client. The secret has characters that forms encode. */
export const GATEWAY = { id: 'gateway', secret: 'secret of+the%gateway' }
/** Audience of the agent. */
export const AGENT_AUDIENCE = 'https://billing.internal'
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

export interface AuthorizationServer {
  readonly url: string
  readonly endpoint: string
  /** Grant types of the successful token requests of the gateway. */
  readonly grants: string[]
  /** Subjects whose tokens are no longer exchanged. */
  readonly revoked: Set<string>
  /** A token of a caller, for the gateway. */
  token (subject?: string, claims?: JWTPayload): Promise<string>
  /** Verifies a token that the agent got. */
  verify (token: string): Promise<JWTPayload>
}

export async function authorizationServer (t: Test): Promise<AuthorizationServer> {
  const { privateKey, publicKey } = await keyOf('as')
  const [own, open] = await Promise.all([exportJWK(privateKey), exportJWK(publicKey)])
  const keys = createLocalJWKSet({ keys: [{ ...open, kid: 'as', alg: 'ES256' }] })
  const server = createServer((request, response) => { callback(request, response) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const grants: string[] = []
  const revoked = new Set<string>()
  const resource = { scope: 'billing.read billing.write', accessTokenFormat: 'jwt', accessTokenTTL: 600, jwt: { sign: { alg: 'ES256' } } }
  const provider = new Provider(url, {
    jwks: { keys: [{ ...own, kid: 'as', alg: 'ES256', use: 'sig' } as JWK] },
    clients: [
      {
        client_id: GATEWAY.id,
        client_secret: GATEWAY.secret,
        grant_types: ['client_credentials', EXCHANGE],
        id_token_signed_response_alg: 'ES256',
        redirect_uris: [],
        response_types: []
      }
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        getResourceServerInfo: (_ctx: unknown, audience: string) => ({ ...resource, audience })
      }
    }
  })
  const sign = (claims: JWTPayload, life = 600): Promise<string> => {
    const now = Math.floor(Date.now() / 1_000)
    return new SignJWT({ iss: url, iat: now, exp: now + life, ...claims }).setProtectedHeader({ alg: 'ES256', kid: 'as', typ: 'at+jwt' }).sign(privateKey)
  }
  provider.registerGrantType(EXCHANGE, async (context: GrantContext) => {
    const { params, client } = context.oidc
    const { subject_token: token = '', audience, scope } = params
    const { payload } = await jwtVerify(token, keys, { issuer: url, audience: AUDIENCE }).catch(() => {
      throw new errors.InvalidGrant('the subject token is not valid')
    })
    if (params.subject_token_type !== ACCESS_TOKEN || revoked.has(payload.sub ?? '')) throw new errors.InvalidGrant('the subject token is revoked')
    if (audience !== AGENT_AUDIENCE) throw new errors.InvalidTarget('no such audience')
    const claims = { sub: payload.sub ?? '', aud: audience, scope: scope ?? '', client_id: client.clientId, act: { sub: client.clientId } }
    context.body = { access_token: await sign(claims), issued_token_type: ACCESS_TOKEN, token_type: 'Bearer', expires_in: 600, scope }
  }, ['subject_token', 'subject_token_type', 'actor_token', 'actor_token_type', 'requested_token_type', 'audience', 'scope'])
  provider.on('grant.success', context => { grants.push((context as GrantContext).oidc.params['grant_type'] ?? '') })
  const callback = provider.callback()
  return {
    url,
    endpoint: `${url}/token`,
    grants,
    revoked,
    token: (subject = 'ada', claims = {}) => sign({ sub: subject, aud: AUDIENCE, client_id: 'app', scope: 'billing.read', ...claims }),
    verify: async token => (await jwtVerify(token, keys, { issuer: url, audience: AGENT_AUDIENCE })).payload
  }
}

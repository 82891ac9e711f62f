/**
 * The public keys of the gateway as a JSON Web Key Set (RFC 7517), for those who verify what the gateway signs. Lies outside of the paths
 * of agents, and needs no caller.
 */
import type { IncomingMessage } from 'node:http'
import { splitTarget } from '../../../wire/target.js'
import type { Exchange } from '../exchange.js'

export const JWKS = '/.well-known/jwks.json'

/** A public key, with its `kid`. */
export type PublicJwk = Readonly<Record<'kid', string>> & object

/** True for a request for the keys. */
export function asksForKeys ({ method, url = '' }: IncomingMessage, keys: readonly PublicJwk[]): boolean {
  return keys.length > 0 && (method === 'GET' || method === 'HEAD') && splitTarget(url).path === JWKS
}

/**
 * Responds to a request for the keys.
 * @param keys empty: the gateway signs nothing, and the path belongs to the agents
 * @returns false for any other request
 */
export function serveKeys (exchange: Exchange, keys: readonly PublicJwk[]): boolean {
  if (!asksForKeys(exchange.request, keys)) return false
  const body = Buffer.from(JSON.stringify({ keys }))
  exchange.respond(200, [
    'content-type', 'application/jwk-set+json',
    'content-length', String(body.length),
    'cache-control', 'public, max-age=300',
    // Clients in pages of other origins verify signatures too; the keys are public.
    'access-control-allow-origin', '*'
  ], body)
  return true
}

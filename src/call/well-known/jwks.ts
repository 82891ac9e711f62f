/** The public keys of the gateway as a JSON Web Key Set (RFC 7517). Lies outside of the paths of agents, and needs no caller. */
import type { Snapshot } from '#agents/snapshot.js'
import type { PublicJwk } from '#identity/signing-key.js'
import { splitTarget } from '#wire/target.js'
import type { ClientRequest } from '../client-streams.js'
import type { Exchange } from '../exchange.js'
import { respond } from '../reply.js'

const KEY_SET = '/.well-known/jwks.json'

/** True for a request for the key set of the gateway. */
export function asksForKeys (request: ClientRequest, snapshot: Pick<Snapshot, 'agents'>): boolean {
  return asksForWellKnown(request, snapshot, KEY_SET)
}

/**
 * True for a GET or HEAD for a document of the gateway. `server.publicUrl` may have a path of its own, which a proxy in front may remove.
 * @param document path of the document, from the root of the gateway's public URL
 */
export function asksForWellKnown (request: ClientRequest, { agents }: Pick<Snapshot, 'agents'>, document: string): boolean {
  if (request.method !== 'GET' && request.method !== 'HEAD') return false
  const { path } = splitTarget(request.url ?? '')
  if (!path.endsWith(document)) return false
  if (path === document) return true
  return agents.all.some(({ publicBase, config }) => publicBase !== null && pathOf(publicBase, config.path) + document === path)
}

/** The path of `server.publicUrl`. @param agentPath path of the agent below it */
function pathOf (publicBase: string, agentPath: string): string {
  const { pathname } = new URL(publicBase)
  return pathname.slice(0, pathname.length - agentPath.length).replace(/\/$/, '')
}

/** Responds with the key set. The keys may change at any time: clients that meet an unknown `kid` get the set again. */
export function serveKeys (exchange: Exchange, keys: readonly PublicJwk[]): void {
  const body = Buffer.from(JSON.stringify({ keys }))
  respond(exchange, 200, [
    'content-type', 'application/jwk-set+json',
    'content-length', String(body.length),
    'cache-control', 'public, max-age=300',
    // Clients in pages of other origins verify signatures too; the keys are public.
    'access-control-allow-origin', '*'
  ], body)
}

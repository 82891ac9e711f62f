/**
 * The metadata of an agent as a protected resource (RFC 9728): which issuers its access tokens come from, and their scopes. Lies outside of
 * the paths of agents, and needs no caller.
 */
import type { AccessConfig } from '#config/model/model.js'
import { hostName } from '#pipeline/agents.js'
import type { Agent } from '#agents/agent.js'
import type { Snapshot } from '#agents/snapshot.js'
import { splitTarget } from '#wire/target.js'
import { publicOriginOf } from '../client-address.js'
import type { Exchange } from '../exchange.js'
import type { ClientRequest } from '../client-streams.js'
import { respond } from '../reply.js'

export const METADATA = '/.well-known/oauth-protected-resource'

/** The path of an agent behind {@link METADATA}, in the URL that clients use. */
export function pathOf ({ publicBase, config }: Agent): string {
  return publicBase === null ? config.path : new URL(publicBase).pathname.replace(/\/$/, '')
}

/** Returns the agent at the path, if its callers may have access tokens. */
function agentOf (request: ClientRequest, snapshot: Snapshot): Agent | null {
  const { identity } = snapshot
  if (identity === null || identity.issuersFor(null).length === 0) return null
  const agent = agentAt(request, snapshot)
  return agent === null || identity.issuersFor(agent.requirementIn(agent.state)).length === 0 ? null : agent
}

function agentAt (request: ClientRequest, { agents }: Snapshot): Agent | null {
  const { path } = splitTarget(request.url ?? '')
  if (!path.startsWith(METADATA)) return null
  const rest = path.slice(METADATA.length).replace(/\/$/, '')
  const agentMatch = agents.find(hostName(request.headers.host), rest)
  if (agentMatch !== null && agentMatch.rest === '') return agentMatch.agent
  // `server.publicUrl` may have a path of its own.
  return agents.all.find(agent => agent.publicBase !== null && pathOf(agent) === rest) ?? null
}

/** Scopes that a client may have to request, for `scopes_supported` (RFC 9728 §2). */
function scopesOf ({ allow }: AccessConfig): string[] {
  return [...new Set((allow ?? []).flatMap(({ caller }) => caller?.scopes ?? []))]
}

/** True for a request for the metadata of an agent. */
export function asksForMetadata (request: ClientRequest, snapshot: Snapshot): boolean {
  return (request.method === 'GET' || request.method === 'HEAD') && agentOf(request, snapshot) !== null
}

/** Responds to a request for the metadata of an agent. @returns false for any other request */
export function serveMetadata (exchange: Exchange): boolean {
  const { request, snapshot } = exchange
  if (snapshot.identity === null || !asksForMetadata(request, snapshot)) return false
  const agent = agentOf(request, snapshot)
  const origin = publicOriginOf(request, snapshot.trusted)
  if (agent === null || (agent.publicBase === null && origin === null)) return false
  exchange.agent = agent
  const scopes = scopesOf(agent.config.access)
  const body = Buffer.from(JSON.stringify({
    resource: agent.publicBase ?? `${origin?.url ?? ''}${agent.config.path}`,
    authorization_servers: snapshot.identity.issuersFor(agent.requirementIn(agent.state)),
    ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    bearer_methods_supported: ['header']
  }))
  respond(exchange, 200, [
    'content-type', 'application/json',
    'content-length', String(body.length),
    'cache-control', 'public, max-age=300',
    // Clients in pages of other origins read the metadata too; it is public.
    'access-control-allow-origin', '*',
    'vary', origin?.proxied === true ? 'X-Forwarded-Host, X-Forwarded-Proto' : 'Accept-Encoding'
  ], body)
  return true
}

/** URL of the metadata of the agent (RFC 9728 §3.1): the path of the agent follows the well-known one. */
export function metadataUrl ({ request, identity, agent, snapshot: { trusted } }: Exchange): string | null {
  if (identity === null || agent === null || identity.issuersFor(agent.requirementIn(agent.state)).length === 0) return null
  const base = agent.publicBase ?? publicOriginOf(request, trusted)?.url
  return base === undefined ? null : new URL(base).origin + METADATA + pathOf(agent)
}

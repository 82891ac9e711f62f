/** Finds the agent of a call that a proxy asks about: by the name that the proxy sends, or by host and path. */
import { guard, isPassthrough } from '#pipeline/guard.js'
import { hostName } from '#pipeline/agents.js'
import { authorityConflict, badTarget, hostNotServed, loop } from '#pipeline/rejections.js'
import type { Agent } from '#agents/agent.js'
import type { Snapshot } from '#agents/snapshot.js'
import { hasPassedHere } from '#upstream/via.js'
import { checkTarget, isAtOrBelow, splitTarget } from '#wire/target.js'
import { isServed } from '#call/client-address.js'
import type { RouteTarget } from '#call/route-target.js'
import type { MeshRequest } from './request.js'

/** Name of the agent in the metadata of ext_proc and in `context_extensions` of ext_authz. */
export const AGENT = 'a2a-agent'

/** An agent that the proxy names. Null: the proxy names none. */
export type NamedAgent = Agent | 'unknown' | null

export function namedAgent ({ agents }: Snapshot, name: string | undefined): NamedAgent {
  return name === undefined ? null : agents.all.find(agent => agent.name === name) ?? 'unknown'
}

/** Finds the agent of an HTTP request, and what the guard has against it. */
export function targetOf (request: MeshRequest, { agents, hosts, trusted }: Snapshot, named: NamedAgent): RouteTarget {
  const { path, query } = splitTarget(request.url)
  const reason = checkTarget(request.url)
  const rejection = reason !== null
    ? badTarget(reason)
    : guard(request) ?? (request.hasOtherHost ? authorityConflict : null) ??
      (hasPassedHere(request.headers.via) ? loop : hosts !== null && !isServed(request, hosts, trusted) ? hostNotServed : null)
  const agentMatch = named === null ? (reason === null ? agents.find(hostName(request.headers.host), path) : null) : placeIn(named, path)
  if (agentMatch === null || rejection !== null) {
    return { kind: 'a2a', agent: agentMatch?.agent ?? null, path: agentMatch?.rest ?? path, query, rejection, last: false }
  }
  const { agent, rest } = agentMatch
  return {
    kind: isPassthrough(agent.config, agent.knownRouter, rest) ? 'passthrough' : 'a2a', agent, path: rest, query, rejection, last: false
  }
}

/** Routes of a proxy may add the path of the agent, or not. */
function placeIn (named: Agent | 'unknown', path: string): { readonly agent: Agent, readonly rest: string } | null {
  if (named === 'unknown') return null
  const { path: own } = named.config
  return { agent: named, rest: own !== '' && isAtOrBelow(path, own) ? path.slice(own.length) : path }
}

/** Agents that are called by gRPC, by host; '' for any host. Null where several agents have one host: only a name tells them apart. */
type Places = ReadonlyMap<string, Agent | null>

const cache = new WeakMap<Snapshot, Places>()

function placesOf (snapshot: Snapshot): Places {
  let places = cache.get(snapshot)
  if (places === undefined) {
    const byHost = new Map<string, Agent | null>()
    for (const agent of snapshot.agents.all) {
      const host = agent.config.host ?? ''
      if (agent.config.grpc !== null) byHost.set(host, byHost.has(host) ? null : agent)
    }
    cache.set(snapshot, places = byHost)
  }
  return places
}

/** Finds the agent of a gRPC call, whose path names no agent. */
export function grpcAgentOf (snapshot: Snapshot, host: string | undefined, named: NamedAgent): Agent | null {
  if (named !== null) return named === 'unknown' ? null : named
  const places = placesOf(snapshot)
  const name = hostName(host).replace(/\.$/, '')
  return places.has(name) ? places.get(name) ?? null : places.get('') ?? null
}

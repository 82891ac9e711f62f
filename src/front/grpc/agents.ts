/** Finds the agent of a gRPC call: by listener, and on one listener by host. No gRPC client can send a path of its own. */
import type { HostPort } from '#config/model/model.js'
import type { Agent } from '#agents/agent.js'
import type { Snapshot } from '#agents/snapshot.js'
import { hostName } from '#pipeline/agents.js'

/** Names a listener: its address in the configuration, or the shared listener. */
export type ListenerName = string

export const SHARED: ListenerName = 'shared'

export function listenerName (listen: HostPort | null): ListenerName {
  return listen === null ? SHARED : `${listen.host} ${listen.port}`
}

/** Agents by listener and host; '' for an agent of any host. */
type Places = ReadonlyMap<string, Agent>

const known = new WeakMap<Snapshot, Places>()

function placesOf (snapshot: Snapshot): Places {
  let places = known.get(snapshot)
  if (places === undefined) {
    const served = snapshot.agents.all.flatMap(agent => (agent.config.grpc === null ? [] : [{ agent, listen: agent.config.grpc.listen }]))
    places = new Map(served.map(({ agent, listen }) => [`${listenerName(listen)} ${agent.config.host ?? ''}`, agent]))
    known.set(snapshot, places)
  }
  return places
}

/** @param host header of the request, with an optional port */
export function agentAt (snapshot: Snapshot, listener: ListenerName, host: string | undefined): Agent | null {
  const places = placesOf(snapshot)
  return places.get(`${listener} ${hostName(host).replace(/\.$/, '')}`) ?? places.get(`${listener} `) ?? null
}

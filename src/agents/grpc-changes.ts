/** Settings of the open HTTP/2 listeners after a reload: their agents and their TLS files change, but no listener opens or closes. */
import type { AgentConfig, Config, HostPort, ListenerTlsConfig } from '#config/model/model.js'
import type { GrpcListenerConfig } from '#config/model/grpc-model.js'
import type { MeshListenerConfig } from '#config/model/mesh-model.js'
import { listenerName } from '#front/grpc/agents.js'

/** Listeners are opened at start only. */
export function grpcInEffect (before: Config, after: Config): GrpcListenerConfig | null {
  const [old, wanted] = [before.server.grpc, after.server.grpc]
  if (old === null || wanted === null) return old
  return { ...wanted, listen: old.listen, maxConcurrentStreams: old.maxConcurrentStreams, tls: tlsInEffect(old.tls, wanted.tls) }
}

/** As {@link grpcInEffect}, for the listener of a mesh. */
export function meshInEffect (before: Config, after: Config): MeshListenerConfig | null {
  const [old, wanted] = [before.server.mesh, after.server.mesh]
  return old === null || wanted === null ? old : { listen: old.listen, tls: tlsInEffect(old.tls, wanted.tls) }
}

function tlsInEffect (old: ListenerTlsConfig | null, wanted: ListenerTlsConfig | null): ListenerTlsConfig | null {
  return old === null || wanted === null ? old : { ...wanted, clientCertificate: old.clientCertificate }
}

/**
 * An agent keeps its listener. A new agent can use a listener that is open; with another one, it is not served by gRPC. A mesh carries the
 * calls of any agent.
 */
export function grpcAgentsInEffect (before: Config, after: Config): readonly AgentConfig[] {
  const open = new Set(Object.values(grpcListens(before)).map(listenerName))
  const { grpc, mesh } = before.server
  if (grpc !== null && grpc.listen !== null) open.add(listenerName(null))
  const old = new Map(before.agents.map(agent => [agent.name, agent]))
  return after.agents.map(agent => {
    if (agent.grpc === null) return agent
    const earlier = old.get(agent.name)?.grpc ?? null
    const listen = earlier === null ? agent.grpc.listen : earlier.listen
    if (!open.has(listenerName(listen)) && mesh === null) return { ...agent, grpc: null }
    if (listenerName(listen) === listenerName(agent.grpc.listen)) return agent
    // Its card names the address of the listener that is open.
    return { ...agent, grpc: { ...agent.grpc, listen, publicAddress: earlier?.publicAddress ?? agent.grpc.publicAddress } }
  })
}

/** The listener of each agent that is served by gRPC; null for the shared one. */
export function grpcListens ({ agents }: Config): Readonly<Record<string, HostPort | null>> {
  return Object.fromEntries(agents.flatMap(({ name, grpc }) => (grpc === null ? [] : [[name, grpc.listen]])))
}

/** gRPC after a reload: listeners open and close at a restart only. */
import type { AgentConfig, Config, HostPort, ListenerTlsConfig } from '../model/model.js'
import type { AgentGrpcConfig, GrpcListenerConfig } from '../model/grpc-model.js'
import { hostPortText } from './host-port.js'

/** Returns TLS with the new files. Everything else stays until a restart. */
export function tlsInEffect (before: ListenerTlsConfig | null, after: ListenerTlsConfig | null): ListenerTlsConfig | null {
  return before === null || after === null ? before : { ...after, clientCertificate: before.clientCertificate }
}

export function grpcInEffect (before: GrpcListenerConfig | null, after: GrpcListenerConfig | null): GrpcListenerConfig | null {
  return before === null || after === null ? before : { ...before, tls: tlsInEffect(before.tls, after.tls) }
}

/**
 * Returns the agents with the listeners that are open. An agent whose new listener is not open stays at its old one, or is not served by
 * gRPC.
 */
export function agentsInEffect (before: Config, after: Config): readonly AgentConfig[] {
  const shared = before.server.grpc?.listen ?? null
  const open = new Set(before.agents.flatMap(({ grpc }) => grpc === null || grpc.listen === null ? [] : [hostPortText(grpc.listen)]))
  const isOpen = ({ listen }: AgentGrpcConfig): boolean =>
    listen === null ? isSame(shared, after.server.grpc?.listen ?? null) : open.has(hostPortText(listen))
  return after.agents.map(agent => {
    const { grpc } = agent
    if (grpc === null || isOpen(grpc)) return agent
    const old = before.agents.find(({ name }) => name === agent.name)?.grpc ?? null
    return { ...agent, grpc: old === null ? null : { ...grpc, listen: old.listen, publicAddress: old.publicAddress } }
  })
}

/** Returns the names of the agents whose new listener needs a restart. */
export function waitingForListener (effective: Config, wanted: Config): string[] {
  const inEffect = new Map(effective.agents.map(({ name, grpc }) => [name, grpc]))
  return wanted.agents.flatMap(({ name, grpc }) => {
    const now = inEffect.get(name) ?? null
    return grpc === null || (now !== null && isSame(now.listen, grpc.listen)) ? [] : [name]
  })
}

function isSame (one: HostPort | null, other: HostPort | null): boolean {
  return one === null || other === null ? one === other : hostPortText(one) === hostPortText(other)
}

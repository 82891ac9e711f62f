/** `server.grpc` and `agents[].grpc` of a valid file as the gateway uses them. */
import type { AgentGrpcConfig, GrpcListenerConfig } from '../model/grpc-model.js'
import type { HostPort, ListenerTlsConfig } from '../model/model.js'
import { parseGrpcUpstream } from './grpc-formats.js'
import { hostPortText, parseHostPort } from './host-port.js'

export interface GrpcListenerFile extends Omit<GrpcListenerConfig, 'listen' | 'tls'> {
  readonly listen: string | null
  readonly publicAddress: string | null
  readonly tls: ListenerTlsFile
}

/** TLS of a listener as the file gives it. */
export type ListenerTlsFile = { readonly [K in keyof ListenerTlsConfig]: K extends 'clientCertificate' ? ListenerTlsConfig[K] : string | null }

export interface AgentGrpcFile extends Omit<AgentGrpcConfig, 'listen' | 'upstream'> {
  readonly enabled: boolean
  readonly listen: string | null
  readonly upstream: string | null
}

/**
 * @param agents whether agents have listeners of their own
 * @returns null when there is no listener for gRPC
 */
export function grpcListener (
  { listen, maxConcurrentStreams }: GrpcListenerFile,
  tls: ListenerTlsConfig | null,
  agents: readonly { readonly grpc: AgentGrpcFile }[]
): GrpcListenerConfig | null {
  if (listen === null && !agents.some(({ grpc }) => grpc.enabled && grpc.listen !== null)) return null
  return { listen: addressOf(listen), tls, maxConcurrentStreams }
}

/** @returns null for an agent that no listener serves by gRPC */
export function agentGrpc (agent: { readonly grpc: AgentGrpcFile, readonly host: string | null }, server: GrpcListenerFile): AgentGrpcConfig | null {
  const { enabled, listen, upstream, passthrough } = agent.grpc
  if (!enabled || (listen === null && server.listen === null)) return null
  return {
    listen: addressOf(listen),
    publicAddress: publicGrpcAddress(agent.grpc.publicAddress, agent.host, addressOf(listen), server.publicAddress),
    upstream: upstream === null ? null : parseGrpcUpstream(upstream),
    passthrough
  }
}

/**
 * Returns the address of an agent for clients.
 * @param own the agent's own address, as the file gives it
 * @param listen the agent's own listener
 * @param shared address of the shared listener, as the file gives it
 * @returns null when these do not determine an address
 */
export function publicGrpcAddress (own: string | null, host: string | null, listen: HostPort | null, shared: string | null): string | null {
  if (own !== null) return own
  const base = addressOf(shared)
  const name = host?.replace(/^\[|\]$/g, '').toLowerCase() ?? base?.host
  const port = listen?.port ?? base?.port ?? 0
  return name === undefined || port === 0 ? null : hostPortText({ host: name, port })
}

function addressOf (text: string | null): HostPort | null {
  return text === null ? null : parseHostPort(text)
}

/** `server.grpc` and `agents[].grpc` of a valid file as the gateway uses them. */
import type { HostPort } from '../model/listener-model.js'
import type { AgentGrpcConfig, GrpcListenerConfig } from './grpc-schema.js'
import type { ListenerTlsConfig } from './tls-schema.js'
import type { AgentGrpcKeys, GrpcListenerKeys } from './grpc-schema.js'
import type { Config } from '../model/model.js'
import { parseGrpcUpstream } from './grpc-formats.js'
import { hostPortText, isEveryInterface, parseHostPort } from './host-port.js'

/**
 * @param agents whether agents have listeners of their own
 * @returns null when there is no listener for gRPC
 */
export function grpcListener (
  { listen, maxConcurrentStreams }: GrpcListenerKeys,
  tls: ListenerTlsConfig | null,
  agents: readonly { readonly grpc: AgentGrpcKeys }[]
): GrpcListenerConfig | null {
  if (listen === null && !agents.some(({ grpc }) => grpc.enabled && grpc.listen !== null)) return null
  return { listen: addressOf(listen), tls, maxConcurrentStreams }
}

interface AgentFile {
  readonly grpc: AgentGrpcKeys
  readonly host: string | null
  readonly upstream: { readonly url: string }
}

/**
 * @param shared hosts of the `upstream.url` of several agents
 * @param mesh whether a mesh carries calls
 * @returns null for an agent that nothing serves by gRPC
 */
export function agentGrpc (agent: AgentFile, server: GrpcListenerKeys, shared: ReadonlySet<string>, mesh: boolean): AgentGrpcConfig | null {
  const { enabled, listen, upstream, passthrough } = agent.grpc
  if (!enabled || (listen === null && server.listen === null && !mesh)) return null
  return {
    listen: addressOf(listen),
    publicAddress: publicGrpcAddress(agent.grpc.publicAddress, agent.host, addressOf(listen), sharedGrpcAddress(server)),
    upstream: upstream === null ? null : parseGrpcUpstream(upstream),
    sharedHost: shared.has(hostOf(agent.upstream.url)),
    passthrough
  }
}

/**
 * Returns the address of an agent for clients.
 * @param own the agent's own address, as the file gives it
 * @param listen the agent's own listener
 * @param shared address of the shared listener, as the file gives it
 * @returns null when these do not determine an address: with port 0, or with a listener on every interface and no name
 */
export function publicGrpcAddress (own: string | null, host: string | null, listen: HostPort | null, shared: string | null): string | null {
  if (own !== null) return own.toLowerCase()
  const base = addressOf(shared)
  const name = (host?.replace(/^\[|\]$/g, '') ?? base?.host ?? (isConcrete(listen) ? listen.host : undefined))?.toLowerCase()
  const port = listen?.port ?? base?.port ?? 0
  return name === undefined || port === 0 ? null : hostPortText({ host: name, port })
}

/**
 * Returns `server.grpc.publicAddress`, or the address of the listener if clients can use that address: one host, one port.
 * @returns null for neither
 */
export function sharedGrpcAddress ({ publicAddress, listen }: Pick<GrpcListenerKeys, 'publicAddress' | 'listen'>): string | null {
  const address = addressOf(listen)
  return publicAddress ?? (isConcrete(address) ? hostPortText(address) : null)
}

function isConcrete (address: HostPort | null): address is HostPort {
  return address !== null && address.port !== 0 && !isEveryInterface(address)
}

/** Returns a configuration without gRPC and without a mesh, for an application that has no listener for HTTP/2. */
export function withoutGrpc (config: Config): Config {
  const { server, agents } = config
  return { ...config, server: { ...server, grpc: null, mesh: null }, agents: agents.map(agent => ({ ...agent, grpc: null })) }
}

/** Returns the hosts that the `upstream.url` of more than one agent has. */
export function sharedHosts (agents: readonly { readonly upstream: { readonly url: string } }[]): ReadonlySet<string> {
  const hosts = new Set<string>()
  return new Set(agents.map(({ upstream }) => hostOf(upstream.url)).filter(host => hosts.size === hosts.add(host).size))
}

/** Returns the host of a URL, with one name for all addresses of this machine. */
function hostOf (url: string): string {
  const { hostname } = new URL(url)
  return /^(?:localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/.test(hostname) ? 'localhost' : hostname
}

function addressOf (text: string | null): HostPort | null {
  return text === null ? null : parseHostPort(text)
}

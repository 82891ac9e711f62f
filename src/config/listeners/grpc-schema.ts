/** `server.grpc` and `agents[].grpc`. */
import type { GrpcUpstreamConfig, HostPort } from '../model/listener-model.js'
import type { ListenerTlsConfig } from './tls-schema.js'
import { listenerTls } from './tls-schema.js'
import type { TypeOf } from '../schema/schema-builder.js'
import { count, flag, list, nullable, section, string } from '../schema/schema-builder.js'

export const grpcListener = section('Where clients call the agents by gRPC. Changes need a restart.', {
  listen: nullable(
    'Address of the listener for gRPC, in the form of `server.listen`. Requests name their agent by its `host`. `null`: no shared ' +
      'listener; agents can have their own, `agents[].grpc.listen`.',
    'host-port'
  ),
  publicAddress: nullable(
    'Host and port at which clients reach the listener, such as `agents.example.com:443`; the gateway writes it into the cards it ' +
      'serves. The `host` of an agent replaces the host. `null`: the address in `listen`, if that names one host and one port; otherwise ' +
      'the key is required with `listen`, unless each agent has its own. With `server.mesh`: the address of the proxy.',
    'grpc-address'
  ),
  tls: listenerTls(
    'TLS of all gRPC listeners, 1.2 or later. The gateway reads the files again when they change. Paths are relative to the ' +
      'configuration file.',
    'HTTP/2 in clear text'
  ),
  maxConcurrentStreams: count(
    'Maximum number of calls at one time on one connection of a client. For more calls, the client opens further connections, or waits.',
    128, 1, 65535
  )
})

export const agentGrpc = section('How clients call the agent by gRPC, if its card has a gRPC interface. Needs `server.grpc.listen`, ' +
  '`listen` here, or `server.mesh.listen`. Changes of `listen` need a restart.', {
  enabled: flag('Whether the gateway serves the gRPC interfaces of the card. `false`: it removes them from the card.', true),
  listen: nullable(
    'Address of a listener for this agent, in the form of `server.listen`. `null`: the shared listener, `server.grpc.listen`. Agents on ' +
      'one listener need different values of `host`.',
    'host-port'
  ),
  publicAddress: nullable(
    'Host and port at which gRPC clients reach this agent. `null`: the `host` of the agent, or the host of `server.grpc.publicAddress`, ' +
      'with the port of `listen`; without `listen`, with the port of `server.grpc.publicAddress`. Without these hosts: the address in ' +
      '`listen`, if that names one host.',
    'grpc-address'
  ),
  upstream: nullable(
    "The agent's gRPC server: `grpc://host:port` in clear text, or `grpcs://host:port` with TLS as in `upstream.tls`. `null`: the host " +
      'of `upstream.url` and the port of the interface in the card, with TLS if `upstream.url` is https. Required where agents share the ' +
      'host of `upstream.url`.',
    'grpc-upstream'
  ),
  passthrough: list(
    'Full names of services whose calls the gateway forwards without inspection. A service of A2A is not allowed.',
    { ...string('grpc-service'), examples: ['grpc.health.v1.Health'] },
    []
  )
})

/** `server.grpc`, as in the file. */
export type GrpcListenerKeys = TypeOf<typeof grpcListener>

/** `agents[].grpc`, as in the file. */
export type AgentGrpcKeys = TypeOf<typeof agentGrpc>

/** Settings of all gRPC listeners: the shared listener, and those of agents with a port of their own. */
export interface GrpcListenerConfig {
  /** Address of the shared listener. Null: only agents with `AgentGrpcConfig.listen` are served. */
  readonly listen: HostPort | null
  /** TLS of all gRPC listeners. Null: clear-text HTTP/2 with prior knowledge (h2c). */
  readonly tls: ListenerTlsConfig | null
  /** Largest number of calls at once on one connection, `SETTINGS_MAX_CONCURRENT_STREAMS` of RFC 9113 §6.5.2. */
  readonly maxConcurrentStreams: number
}

/** Settings of gRPC for one agent. */
export interface AgentGrpcConfig {
  /** Address of a listener for this agent. Agents may share one if their `host` differs. Null: the shared listener. */
  readonly listen: HostPort | null
  /** `host:port` of the agent for clients, in the form of served cards. Null only with `card.signature: verbatim`. */
  readonly publicAddress: string | null
  /** The agent's gRPC server. Null: the host of `upstream.url` and the port of the interface in the card. */
  readonly upstream: GrpcUpstreamConfig | null
  /** True where other agents have the host of `upstream.url`: a port in the card could be theirs, and is not used. Absent: false. */
  readonly sharedHost?: boolean
  /** Full names of services whose calls are forwarded without inspection, such as `grpc.health.v1.Health`. */
  readonly passthrough: readonly string[]
}

/** Listeners and connections: `server.grpc`, `server.mesh`, `agents[].grpc`, and TLS on both sides. */

export interface HostPort { readonly host: string, readonly port: number }

/** TLS of a listener for clients. Files are PEM, with absolute paths. */
export interface ListenerTlsConfig {
  /** File of the certificate and its issuers. */
  readonly cert: string
  readonly key: string
  /** File of the authorities that issue client certificates. Not null unless `clientCertificate` is `none`. */
  readonly clientCa: string | null
  /** `request`: a client may present no certificate, but not an invalid one. `require`: no connection without a valid certificate. */
  readonly clientCertificate: 'none' | 'request' | 'require'
}

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

/** Address of a gRPC server, plain or with the TLS settings of `upstream.tls`. */
export interface GrpcUpstreamConfig extends HostPort {
  readonly tls: boolean
}

// `server.mesh`: the listener for proxies that ask the gateway about each call, such as Envoy.

export interface MeshListenerConfig {
  readonly listen: HostPort
  /** Null: clear-text HTTP/2 with prior knowledge (h2c). */
  readonly tls: ListenerTlsConfig | null
}

/** TLS of connections that the gateway opens. `ca`, `cert` and `key` are paths of PEM files, resolved against the configuration file. */
export interface ClientTlsConfig {
  readonly ca: string | null
  readonly cert: string | null
  readonly key: string | null
  readonly serverName: string | null
}

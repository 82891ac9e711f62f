export interface HostPort { readonly host: string, readonly port: number }

/** Address of a gRPC server, plain or with the TLS settings of `upstream.tls`. */
export interface GrpcUpstreamConfig extends HostPort {
  readonly tls: boolean
}

/** The address of a gRPC call: its service and method name version and operation, whatever path the agent's HTTP interfaces have. */
import type { MappedInterface } from '#a2a/card/map.js'
import type { GrpcMethod } from '#a2a/grpc/methods.js'
import { VERSIONS } from '#a2a/versions.js'
import type { AgentConfig } from '#config/model/model.js'
import type { OperationRoute } from '#a2a/route.js'

/** `/<service>/<method>` (gRPC doc/PROTOCOL-HTTP2.md): names of protocol buffers, compared exactly. */
const PATH = /^\/([A-Za-z_][\w.]*)\/[A-Za-z_]\w*$/

/** True for a call to a service that the agent's configuration forwards without inspection. @param path value of `:path` */
export function isGrpcPassthrough ({ grpc }: Pick<AgentConfig, 'grpc'>, path: string): boolean {
  if (grpc === null || grpc.passthrough.length === 0) return false
  const service = PATH.exec(path)?.[1]
  return service !== undefined && grpc.passthrough.includes(service)
}

/** @returns null when the card has no gRPC interface that the gateway serves */
export function grpcRouteOf ({ operation, version }: GrpcMethod, interfaces: readonly MappedInterface[]): OperationRoute | null {
  const versions = VERSIONS.filter(version => interfaces.some(mappedInterface => mappedInterface.binding === 'GRPC' && mappedInterface.version === version))
  if (versions.length === 0) return null
  return {
    kind: 'operation',
    binding: 'GRPC',
    version,
    operation,
    extensionRoute: null,
    tenant: null,
    upstreamPath: '',
    supported: versions.includes(version),
    versions
  }
}

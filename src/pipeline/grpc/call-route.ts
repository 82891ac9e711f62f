/** The address of a gRPC call: its service and method name version and operation, whatever path the agent's HTTP interfaces have. */
import type { MappedInterface } from '../../a2a/card/map.js'
import type { GrpcMethod } from '../../a2a/grpc/methods.js'
import { VERSIONS } from '../../a2a/versions.js'
import type { OperationRoute } from '../request.js'

/** @returns null when the card has no gRPC interface that the gateway serves */
export function grpcRouteOf ({ operation, version }: GrpcMethod, interfaces: readonly MappedInterface[]): OperationRoute | null {
  const versions = VERSIONS.filter(one => interfaces.some(found => found.binding === 'GRPC' && found.version === one))
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

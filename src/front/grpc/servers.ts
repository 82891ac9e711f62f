/** Finds the gRPC server of an agent that gets a call. */
import type { MappedGrpcInterface } from '#a2a/grpc/card-map.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import type { OperationRoute } from '#pipeline/request.js'

/** @returns the server of the version, or of the other version where a policy only observes versions; null without a gRPC interface */
export function serverOf ({ interfaces }: AgentState, { version }: Pick<OperationRoute, 'version'>): MappedGrpcInterface['address'] | null {
  let other: MappedGrpcInterface['address'] | null = null
  for (const one of interfaces) {
    if (one.binding !== 'GRPC') continue
    const { address } = one as MappedGrpcInterface
    if (one.version === version) return address
    other ??= address
  }
  return other
}

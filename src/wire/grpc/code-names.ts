import type { GrpcCodeName } from './codes.js'
import { GRPC_CODES } from './codes.js'

/** All names, in the order of their numbers. */
export const GRPC_CODE_NAMES = Object.keys(GRPC_CODES) as readonly GrpcCodeName[]

/** Returns the name of a status. Clients take a number that gRPC does not define for UNKNOWN (gRPC doc/statuscodes.md). */
export function grpcCodeName (code: number): GrpcCodeName {
  return GRPC_CODE_NAMES[code] ?? 'UNKNOWN'
}

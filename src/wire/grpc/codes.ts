/** Status codes of gRPC (google/rpc/code.proto; gRPC doc/statuscodes.md). */

export type GrpcCodeName =
  | 'OK'
  | 'CANCELLED'
  | 'UNKNOWN'
  | 'INVALID_ARGUMENT'
  | 'DEADLINE_EXCEEDED'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'PERMISSION_DENIED'
  | 'RESOURCE_EXHAUSTED'
  | 'FAILED_PRECONDITION'
  | 'ABORTED'
  | 'OUT_OF_RANGE'
  | 'UNIMPLEMENTED'
  | 'INTERNAL'
  | 'UNAVAILABLE'
  | 'DATA_LOSS'
  | 'UNAUTHENTICATED'

export const GRPC_CODES: Readonly<Record<GrpcCodeName, number>> = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16
}

/** Returns the code that clients give a response without a gRPC status (gRPC doc/http-grpc-status-mapping.md). */
export function codeOfHttpStatus (status: number): GrpcCodeName {
  switch (status) {
    case 400: return 'INTERNAL'
    case 401: return 'UNAUTHENTICATED'
    case 403: return 'PERMISSION_DENIED'
    case 404: return 'UNIMPLEMENTED'
    case 429:
    case 502:
    case 503:
    case 504: return 'UNAVAILABLE'
    default: return 'UNKNOWN'
  }
}

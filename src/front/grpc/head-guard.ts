/** Checks the head of a gRPC call, and its host. */
import type { Rejection } from '#a2a/errors.js'
import { grpcGuard } from '#pipeline/grpc/guard.js'
import { hostNotServed, loop } from '#pipeline/rejections.js'
import type { TrustedProxies } from '#wire/forwarded.js'
import { hasPassedHere } from '#upstream/via.js'
import { isServed } from '#call/client-address.js'
import type { ClientRequest } from '#call/client-streams.js'

/** True for the media types of gRPC with protocol buffers, as gRPC clients spell them. */
export function isGrpc (contentType: string | undefined): boolean {
  return contentType === 'application/grpc' || contentType === 'application/grpc+proto'
}

export function headProblem (request: ClientRequest, hosts: ReadonlySet<string> | null, trusted: TrustedProxies): Rejection | null {
  const fault = grpcGuard(request)
  if (fault !== null) return fault
  if (hasPassedHere(request.headers.via)) return loop
  return hosts !== null && !isServed(request, hosts, trusted) ? hostNotServed : null
}

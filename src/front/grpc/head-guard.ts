/** Checks the head of a gRPC call: what two readers could take for different calls (gRPC doc/PROTOCOL-HTTP2.md, RFC 9113 §8). */
import type { Rejection } from '../../a2a/errors.js'
import { EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER, VERSION_HEADER } from '../../a2a/versions.js'
import { guard } from '../../pipeline/guard.js'
import {
  authorityConflict, badHost, binaryMetadata, duplicateHeader, hostNotServed, loop, metadataNotAscii
} from '../../pipeline/rejections.js'
import type { TrustedProxies } from '../../wire/forwarded.js'
import { hasPassedHere } from '../../upstream/via.js'
import { isServed } from '../http/client-address.js'
import type { GrpcRequest } from './client-stream.js'

/** Headers of gRPC that a call has once. `pipeline/guard.ts` knows those of HTTP. */
const ONCE: readonly string[] = ['grpc-timeout', 'grpc-encoding', 'te']
/** A server that decodes every key with this suffix could find the headers of A2A there. */
const NOT_BINARY: ReadonlySet<string> = new Set([EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER, VERSION_HEADER].map(name => `${name}-bin`))
/** RFC 9110 §5.5 allows more; gRPC does not. */
const ASCII = /^[\t\x20-\x7e]*$/

/** True for the media types of gRPC with protocol buffers, as gRPC clients spell them. */
export function isGrpc (contentType: string | undefined): boolean {
  return contentType === 'application/grpc' || contentType === 'application/grpc+proto'
}

export function grpcGuard (request: GrpcRequest, hosts: ReadonlySet<string> | null, trusted: TrustedProxies): Rejection | null {
  const { rawHeaders, headers } = request
  const authority = headers[':authority']
  let once = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    const value = rawHeaders[i + 1] as string
    if (name.startsWith(':')) continue
    if (NOT_BINARY.has(name)) return binaryMetadata(name)
    if (!ASCII.test(value)) return metadataNotAscii(name)
    if (name === 'host' && authority !== undefined && value !== authority) return authorityConflict
    const at = ONCE.indexOf(name)
    if (at < 0) continue
    if ((once & 1 << at) !== 0) return duplicateHeader(name)
    once |= 1 << at
  }
  if (headers.host === undefined || headers.host === '') return badHost
  const found = guard(request)
  if (found !== null) return found
  if (hasPassedHere(headers.via)) return loop
  return hosts !== null && !isServed(request, hosts, trusted) ? hostNotServed : null
}

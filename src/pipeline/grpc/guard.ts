/** Checks the head of a gRPC call: what two readers could take for different calls (gRPC doc/PROTOCOL-HTTP2.md, RFC 9113 §8). */
import type { Rejection } from '#a2a/errors.js'
import { EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER, VERSION_HEADER } from '#a2a/versions.js'
import { guard } from '../guard.js'
import { authorityConflict, badHost, binaryMetadata, duplicateHeader, metadataNotAscii } from '../rejections.js'
import type { RequestHead } from '../request-head.js'

/** Headers of gRPC that a call has once. `../guard.ts` knows those of HTTP. */
const ONCE: readonly string[] = ['grpc-timeout', 'grpc-encoding', 'te']
/** A server that decodes every key with this suffix could find the headers of A2A there. */
const NOT_BINARY: ReadonlySet<string> = new Set([EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER, VERSION_HEADER].map(name => `${name}-bin`))
/** RFC 9110 §5.5 allows more; gRPC does not. */
const ASCII = /^[\t\x20-\x7e]*$/

/** @param head with `:authority` among its headers, where the client sent one, and in `host` */
export function grpcGuard (head: RequestHead): Rejection | null {
  const { rawHeaders, headers } = head
  const authority = headers[':authority']
  let once = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    const value = rawHeaders[i + 1] as string
    // Pseudo-headers.
    if (name.startsWith(':')) continue
    if (NOT_BINARY.has(name)) return binaryMetadata(name)
    if (!ASCII.test(value)) return metadataNotAscii(name)
    if (name === 'host' && authority !== undefined && value !== authority) return authorityConflict
    const at = ONCE.indexOf(name)
    if (at < 0) continue
    if ((once & 1 << at) !== 0) return duplicateHeader(name)
    once |= 1 << at
  }
  return headers.host === undefined || headers.host === '' ? badHost : guard(head)
}

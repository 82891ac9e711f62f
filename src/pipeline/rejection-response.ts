/** Writes a rejection as a whole response, or as the last event of a stream. */
import type { Caller, Rejection } from '#a2a/errors.js'
import { decisionHeader, writeRejection } from '#a2a/errors.js'
import { grpcStatusOf } from '#a2a/grpc/status.js'
import { eventBytes } from '#wire/sse/write.js'

export interface RejectionResponse {
  readonly status: number
  /** Reason phrase; '' for the usual phrase of the status. */
  readonly phrase: string
  /** Flat list: name, value, name, value. Every response also gets the headers Date and Connection. */
  readonly headers: string[]
  readonly body: Buffer
}

/**
 * Writes a rejection as a whole response. Over gRPC, the headers are the whole response: one HEADERS frame that ends the stream, with
 * status 200 and the trailers of the rejection.
 * @param httpStatus the status, when it differs from that of the reason. Over gRPC: the agent's, which determines the code
 * @param more further headers, names and values
 */
export function rejectionResponse (
  rejection: Rejection,
  caller: Caller,
  httpStatus?: number,
  more: readonly string[] = []
): RejectionResponse {
  const { status, phrase, contentType, body } = writeRejection(rejection, caller, httpStatus)
  if (caller.binding === 'GRPC') {
    const headers = ['content-type', contentType, ...grpcStatusOf(rejection, httpStatus).trailers, ...more]
    // gRPC, doc/compression.md: a rejection of an encoding names the encodings that the server reads.
    if (rejection.reason === 'CONTENT_ENCODING_NOT_SUPPORTED') headers.push('grpc-accept-encoding', 'identity,gzip')
    return { status, phrase, headers, body }
  }
  const headers: string[] = [
    'content-type',
    contentType,
    'content-length',
    String(body.length),
    'cache-control',
    'no-store',
    'gateway-decision',
    decisionHeader(rejection.rule),
    ...more
  ]
  if (rejection.allow !== undefined) headers.push('allow', rejection.allow)
  // RFC 9110 §12.5.3
  if (rejection.reason === 'CONTENT_ENCODING_NOT_SUPPORTED') headers.push('accept-encoding', 'gzip')
  if (rejection.challenge !== undefined) headers.push('www-authenticate', rejection.challenge)
  if (rejection.retryAfter !== undefined) headers.push('retry-after', String(rejection.retryAfter))
  return { status, phrase, headers, body }
}

/**
 * Writes a rejection as an event. JSON-RPC: a whole response. HTTP+JSON: an event named `error`, which the official SDKs support (reference
 * a2a-protocol.md §4.4). GRPC: no bytes, because the rejection is in the trailers.
 */
export function rejectionEvent (rejection: Rejection, caller: Caller): Buffer {
  const { body } = writeRejection(rejection, { ...caller, eventStream: false })
  if (caller.binding === 'GRPC') return body
  return eventBytes(body, caller.binding === 'JSONRPC' ? null : 'error')
}

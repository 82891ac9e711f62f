/** A response of the gateway to a client that speaks gRPC, as a proxy can write it. */
import { GRPC_CODES } from '#wire/grpc/codes.js'
import { encodeGrpcMessage } from '#wire/grpc/status-text.js'
import { valueOf } from '#pipeline/response-head.js'
import { ownLines } from './changes.js'
import type { MeshResponse } from './response.js'

export interface GrpcRejection {
  readonly code: number
  /** The status of HTTP that a proxy translates into the code, where one exists (gRPC doc/http-grpc-status-mapping.md). */
  readonly httpStatus: number
  /** Flat list, with the fields of the trailers. */
  readonly headers: string[]
  /** Decoded `grpc-message`: Envoy writes it from the body of the response. */
  readonly message: Buffer
}

const HTTP_STATUS: Readonly<Record<number, number>> = {
  [GRPC_CODES.PERMISSION_DENIED]: 403,
  [GRPC_CODES.UNIMPLEMENTED]: 404,
  [GRPC_CODES.UNAVAILABLE]: 503,
  [GRPC_CODES.UNAUTHENTICATED]: 401
}
const NO_MESSAGE = 'The proxy cannot send this response over gRPC; call the agent over HTTP.'

export function grpcRejection ({ head, trailers }: MeshResponse): GrpcRejection {
  const headers = ownLines([...head, ...(trailers ?? [])])
  const code = Number(valueOf(headers, 'grpc-status') ?? GRPC_CODES.INTERNAL)
  // A response with messages, such as an extended card: proxies write errors only.
  if (code === GRPC_CODES.OK) {
    const { UNIMPLEMENTED } = GRPC_CODES
    const status = ['grpc-status', String(UNIMPLEMENTED), 'grpc-message', encodeGrpcMessage(NO_MESSAGE)]
    return { code: UNIMPLEMENTED, httpStatus: 404, headers: status, message: Buffer.from(NO_MESSAGE) }
  }
  const message = decodeURIComponent(valueOf(headers, 'grpc-message') ?? '')
  return { code, httpStatus: HTTP_STATUS[code] ?? 400, headers, message: Buffer.from(message) }
}

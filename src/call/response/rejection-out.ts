/** A rejection to the client: a response, or the last event of a stream, in the binding and version of the call. */
import type { Caller, Rejection } from '../../a2a/errors.js'
import { REASONS } from '../../a2a/errors.js'
import { recordGrpcStatus } from '../telemetry/request-telemetry.js'
import { awaitsEventStream } from '../../pipeline/caller.js'
import { rejectionEvent, rejectionResponse } from '../../pipeline/rejection-response.js'
import { valueOf } from '../../pipeline/response-head.js'
import { readOff } from '../steps/body.js'
import type { Exchange } from '../exchange.js'

/** @param more further headers, names and values */
export function respondRejection (exchange: Exchange, rejection: Rejection, httpStatus?: number, more: readonly string[] = []): void {
  const { request, response, cors } = exchange
  traceError(exchange, rejection)
  const { status, phrase, headers, body } = rejectionResponse(rejection, callerOf(exchange), httpStatus, more)
  if (exchange.binding === 'GRPC') recordGrpcStatus(exchange, Number(valueOf(headers, 'grpc-status')), 'gateway')
  if (cors?.replaces === false) headers.push(...cors.headers)
  if (request.complete) {
    exchange.respond(status, headers, body, phrase)
  } else {
    // The response ends only when the request has ended. Node closes the connection at the end of the response if the client sent
    // `Connection: close`.
    exchange.begin(status, headers, phrase)
    response.write(body)
    readOff(request, () => { response.end() })
  }
}

/** Ends an event stream that stands between two events. */
export function endWithRejection (exchange: Exchange, rejection: Rejection): void {
  traceError(exchange, rejection)
  exchange.stream?.finish()
  exchange.response.end(rejectionEvent(rejection, callerOf(exchange)))
}

function callerOf ({ binding, version, idToken, label, request, statedVersion, mediaType }: Exchange): Caller {
  return {
    binding,
    version,
    id: idToken(),
    eventStream: awaitsEventStream(label, request.headers.accept),
    statedVersion,
    mediaType
  }
}

function traceError ({ binding, span }: Exchange, { reason }: Rejection): void {
  if (binding === 'JSONRPC') span.rpcError(REASONS[reason].rpc, 'gateway')
}

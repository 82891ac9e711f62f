/** Writes the response of a call: the gateway's own, a rejection, or the agent's. Nothing else writes a head or rejects a call. */
import type { Caller, Rejection } from '#a2a/errors.js'
import { REASONS } from '#a2a/errors.js'
import { grpcStatusOf } from '#a2a/grpc/status.js'
import { awaitsEventStream, mediaTypeOf } from '#pipeline/caller.js'
import { rejectionEvent, rejectionResponse } from '#pipeline/rejection-response.js'
import type { Guarded } from '#guard.js'
import { endOwner, guarded, listen, listenOnce } from '#guard.js'
import { internal, stopped } from '#pipeline/rejections.js'
import { valueOf } from '#pipeline/response-head.js'
import type { Outcome } from '#telemetry/metrics/metrics.js'
import { withAppHeaders } from './app-headers.js'
import type { ClientRequest } from './client-streams.js'
import { withCors } from './cors-headers.js'
import type { Exchange } from './exchange.js'
import { settle } from './outcome.js'
import { END } from './step.js'
import { recordGrpcStatus } from './telemetry/request-telemetry.js'

/**
 * Responds with a rejection in the caller's binding and version. When the response has begun, a gRPC call ends with the status of the
 * rejection, and any other response is broken off.
 * @param more further headers, names and values
 * @returns the result of the step that rejects the call
 */
export function reject (
  exchange: Exchange,
  rejection: Rejection,
  outcome: Outcome,
  httpStatus?: number,
  more: readonly string[] = []
): typeof END {
  settle(exchange, outcome)
  countRejection(exchange, rejection)
  const { response } = exchange
  if (response.headersSent || response.destroyed) {
    terminate(exchange, rejection)
    return END
  }
  respondRejection(exchange, rejection, httpStatus, more)
  exchange.span.set('a2a_gateway.decision', 'reject')
  exchange.span.set('a2a_gateway.rule', rejection.rule)
  if (outcome === 'rejected') logRejection(exchange, rejection)
  return END
}

/** Counts the rejection, unless the client has disconnected. The console shows the first rejection of a call. */
export function countRejection (exchange: Exchange, rejection: Rejection): void {
  const { agentName, response, services } = exchange
  exchange.rejection ??= rejection
  if (!response.destroyed) services.metrics.add('refusals_total', agentName, rejection.rule)
}

/**
 * Rejects the agent's response: sends another response in its place, or a last event when a stream has begun. The gateway reads nothing
 * more from the agent.
 */
export function rejectResponse (exchange: Exchange, rejection: Rejection, outcome: Outcome): void {
  settle(exchange, outcome)
  countRejection(exchange, rejection)
  exchange.forwarding?.abort()
  const { response } = exchange
  if (response.destroyed) return
  exchange.span.set('a2a_gateway.rule', rejection.rule)
  logRejection(exchange, rejection)
  if (!response.headersSent) respondRejection(exchange, rejection)
  else if (exchange.stream?.atBoundary === true) endWithRejection(exchange, rejection)
  else terminate(exchange, rejection)
}

/** Ends a call after a fault of the gateway. */
export function fail (exchange: Exchange, error: unknown): void {
  endOwner(exchange, error)
}

/** Ends a call after an error that the guard has reported. */
export function endAfterError (exchange: Exchange): void {
  try {
    exchange.forwarding?.abort()
    reject(exchange, internal, 'gateway_error')
  } catch (error) {
    exchange.response.destroy()
    throw error
  }
}

/**
 * Ends a response because the gateway stops. An event stream ends with a comment that states the reason, unless it stands within an
 * event; a gRPC call ends with a status. Any other response is broken off, so that the client notices the cut.
 */
export function endForShutdown (exchange: Exchange): void {
  exchange.forwarding?.abort()
  settle(exchange, 'gateway_error')
  const { response, stream } = exchange
  if (response.endWith !== undefined) {
    if (response.headersSent) terminate(exchange, stopped)
    else reject(exchange, stopped, 'gateway_error')
  } else if (stream?.atBoundary === true && !response.destroyed) {
    stream.finish()
    response.end(': the gateway is shutting down\n\n')
  } else resetResponse(exchange)
}

/**
 * Sends a whole response of the gateway.
 * @param headers flat list of names and values
 * @returns the result of the step that responds
 */
export function respond (exchange: Exchange, status: number, headers: string[], body: Buffer | null, phrase = ''): typeof END {
  begin(exchange, status, headers, phrase)
  exchange.response.end(body !== null && exchange.request.method !== 'HEAD' ? body : undefined)
  return END
}

/**
 * Sends one message of the gateway with status 200. Over gRPC, the status of the call follows it.
 * @param headers flat list of names and values
 */
export function respondMessage (exchange: Exchange, headers: string[], body: Buffer): typeof END {
  const { response, cors } = exchange
  if (cors?.replaces === false) headers.push(...cors.headers)
  if (exchange.binding !== 'GRPC') return respond(exchange, 200, headers, body)
  begin(exchange, 200, headers)
  response.write(body)
  recordGrpcStatus(exchange, 0, 'gateway')
  response.endWith?.(['grpc-status', '0'])
  return END
}

/** Writes the head of the response. @param headers flat list of names and values */
export function begin (exchange: Exchange, status: number, headers: string[], phrase = ''): void {
  const { request, response, services, limits, cors } = exchange
  // A process that stops closes connections of HTTP/1.1 by a header, which has no meaning in HTTP/2 (RFC 9113 §8.2.2).
  if (
    services.inFlight.draining &&
    request.httpVersion !== '2.0' &&
    valueOf(headers, 'connection') === null
  ) headers.push('connection', 'close')
  const left = limits?.left
  if (left !== undefined && left !== null) headers.push(...left.headers)
  const all = withAppHeaders(response, cors?.replaces === true ? withCors(headers, cors) : headers)
  if (phrase === '') response.writeHead(status, all)
  else response.writeHead(status, phrase, all)
}

/** @returns false when the client reads too slowly; the agent's response resumes when the client has read the buffered data */
export function write (exchange: Exchange, chunk: Buffer): boolean {
  const { response } = exchange
  if (response.write(chunk)) return true
  if (!exchange.slow) {
    exchange.slow = true
    listen(exchange, response, 'drain', () => { exchange.forwarding?.resume() })
  }
  return false
}

/** Ends a response that has begun. */
function terminate (exchange: Exchange, rejection: Rejection): void {
  const { response } = exchange
  if (response.endWith === undefined || response.destroyed) resetResponse(exchange)
  else {
    const { code, trailers } = grpcStatusOf(rejection)
    recordGrpcStatus(exchange, code, 'gateway')
    response.endWith(trailers)
  }
}

/**
 * Breaks off a response that has begun, so that no client takes it for complete. A client of HTTP/1.0 may recognize only the end of the
 * connection, so that connection is reset.
 */
function resetResponse ({ request, response }: Exchange): void {
  if (request.httpVersion === '1.0') request.socket.resetAndDestroy()
  response.destroy()
}

function logRejection ({ agent }: Exchange, { rule, reason, customReason, message }: Rejection): void {
  agent?.rejected({ at: new Date().toISOString(), rule, reason: customReason ?? reason, message })
}

/** @param more further headers, names and values */
function respondRejection (exchange: Exchange, rejection: Rejection, httpStatus?: number, more: readonly string[] = []): void {
  const { request, response, cors } = exchange
  traceError(exchange, rejection)
  const { status, phrase, headers, body } = rejectionResponse(rejection, callerOf(exchange), httpStatus, more)
  if (exchange.binding === 'GRPC') recordGrpcStatus(exchange, Number(valueOf(headers, 'grpc-status')), 'gateway')
  if (cors?.replaces === false) headers.push(...cors.headers)
  if (request.complete) {
    respond(exchange, status, headers, body, phrase)
    return
  }
  // The response ends only when the request has ended. Node closes the connection at the end of the response if the client sent
  // `Connection: close`.
  begin(exchange, status, headers, phrase)
  response.write(body)
  readOff(exchange, request, () => { response.end() })
}

/** Ends an event stream that stands between two events. */
function endWithRejection (exchange: Exchange, rejection: Rejection): void {
  traceError(exchange, rejection)
  exchange.stream?.finish()
  exchange.response.end(rejectionEvent(rejection, callerOf(exchange)))
}

/** How the client reads responses of the gateway. */
export function callerOf ({ binding, version, idToken, label, request, asked }: Exchange): Caller {
  return {
    binding,
    version,
    id: idToken(),
    eventStream: awaitsEventStream(label, request.headers.accept),
    statedVersion: asked?.stated ?? false,
    mediaType: mediaTypeOf(request.headers['content-type'])
  }
}

function traceError ({ binding, span }: Exchange, { reason }: Rejection): void {
  if (binding === 'JSONRPC') span.rpcError(REASONS[reason].rpc, 'gateway')
}

const READ_OFF_BYTES = 16 * 1024 * 1024
const READ_OFF_MS = 5_000

/**
 * Reads and discards the rest of a request that was rejected. Closing at once would reset the connection, and the client might never see
 * the response (RFC 9112 §9.6). Reading without bounds would let the client send for ever.
 */
function readOff (owner: Guarded, request: ClientRequest, done: () => void): void {
  let left = READ_OFF_BYTES
  const timer = setTimeout(guarded(owner, () => { request.socket.destroy() }), READ_OFF_MS).unref()
  listen(owner, request, 'data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) request.socket.destroy()
  })
  listenOnce(owner, request, 'end', done)
  listenOnce(owner, request, 'close', () => { clearTimeout(timer) })
  request.resume()
}

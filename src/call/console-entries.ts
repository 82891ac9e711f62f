/** What the console shows of a call that has ended: its outcome, and its request for the playground. */
import type { Rejection } from '#a2a/errors.js'
import type { Ended, Found } from '#console/decisions.js'
import type { KeptRequest, ReceivedRequest } from '#console/playground/request-log.js'
import { cut } from '#console/text.js'
import type { Outcome } from '#telemetry/metrics/metrics.js'
import type { Exchange } from './exchange.js'

/** Largest number of requested extensions that the console shows of one call. */
const EXTENSIONS = 20
const NO_URIS: readonly string[] = []
const NOTHING_FOUND: readonly Found[] = []

export function endedCall (
  exchange: Exchange,
  outcome: Outcome,
  seconds: number,
  refusal: Rejection | null,
  found: readonly Found[] | null
): Ended {
  const { requested, principal, identity } = exchange
  const { taskId, contextId } = exchange.task
  return {
    at: Date.now(),
    agent: exchange.agentName,
    operation: exchange.operation,
    binding: exchange.binding,
    version: exchange.version,
    front: exchange.transport.front,
    outcome,
    status: exchange.response.statusCode,
    grpcStatus: exchange.grpcStatus,
    seconds,
    requestId: exchange.id,
    traceId: exchange.span.traceId,
    taskId: taskId === null ? null : cut(taskId),
    contextId: contextId === null ? null : cut(contextId),
    extensions: requested.length === 0 ? NO_URIS : requested.slice(0, EXTENSIONS).map(cut),
    caller: principal === null ? null : (identity?.describe(principal) ?? null),
    port: exchange.request.socket.remotePort ?? 0,
    refusal,
    found: found ?? NOTHING_FOUND
  }
}

/** @param refusal null when the call was not rejected */
export function keptRequest (exchange: Exchange, received: ReceivedRequest, outcome: Outcome, refusal: Rejection | null): KeptRequest {
  return {
    id: exchange.id,
    at: Date.now(),
    agent: exchange.agentName,
    operation: exchange.operation,
    binding: exchange.binding,
    version: exchange.version,
    outcome,
    rule: refusal?.rule ?? null,
    caller: exchange.principal,
    received
  }
}

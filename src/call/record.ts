/** Starts a call, and records its end: once, in one place, for metrics, span, log, audit and console. */
import { releaseCapacity, releaseUnsent } from './capacity.js'
import { schedule } from './event-loop-batch.js'
import type { Received } from './exchange.js'
import { Exchange } from './exchange.js'
import { settleAborted } from './outcome.js'
import { listen } from '#guard.js'
import { endAfterError, fail } from './reply.js'
import { callEntry, logCall } from './telemetry/request-telemetry.js'
import type { Rejection } from '#a2a/errors.js'
import type { Ended, PhaseFindings } from '#console/entry.js'
import type { KeptRequest, ReceivedRequest } from '#console/playground/request-log.js'
import { truncate } from '#console/text.js'
import type { Outcome } from '#telemetry/metrics/metrics.js'

/** The exchange of a call that a front has received. Its end is recorded after the `close` event of the response. */
export function startExchange (received: Omit<Received, 'endAfterError'>): Exchange {
  const { request, response, services, snapshot, transport, target } = received
  const exchange = new Exchange({ request, response, services, snapshot, transport, target, endAfterError })
  listen(exchange, response, 'close', () => { end(exchange) })
  return exchange
}

/** Called when the response closes, complete or not. */
function end (exchange: Exchange): void {
  if (exchange.ended) return
  exchange.ended = true
  const { forwarding, push, response, startedAt } = exchange
  releaseCapacity(exchange)
  if (forwarding === null) releaseUnsent(exchange)
  else push?.unknown()
  if (!response.writableFinished) {
    settleAborted(exchange)
    forwarding?.abort()
  }
  const seconds = (performance.now() - startedAt) / 1_000
  schedule('record', exchange, () => { record(exchange, seconds) }, fail)
}

function record (exchange: Exchange, seconds: number): void {
  const { agentName, response, services, span, found: findings, rejection } = exchange
  services.heldBytes.release(exchange.held)
  exchange.atEnd?.()
  exchange.atEnd = null
  const outcome = exchange.outcome ?? 'forwarded'
  if (exchange.stream !== null) services.metrics.addAmount('streams_active', -1, agentName)
  const { operation, binding, version, transport: { front } } = exchange
  services.metrics.add('requests_total', agentName, operation, binding, version, outcome, front)
  services.metrics.observe('request_duration_seconds', seconds, span, agentName, operation, outcome)
  if (span.recording) describeResult(exchange)
  span.end(outcome, response.statusCode)
  services.inFlight.delete(exchange)
  const { decisions, requests } = services
  if (services.audit.forwarded && exchange.forwarding !== null && exchange.label !== 'Preflight') {
    services.audit.record(callEntry(exchange, outcome, exchange.active))
  }
  if (decisions !== null && decisions.wants(outcome, findings)) {
    decisions.add(endedCall(exchange, outcome, seconds, rejection, findings))
  }
  if (requests !== null && exchange.received !== null) requests.add(keptRequest(exchange, exchange.received, outcome, rejection))
  if (exchange.rejectedSource === null || exchange.identity === null) logCall(exchange, outcome, seconds, 0)
  else exchange.identity.failedRequests.record(exchange.rejectedSource, omitted => { logCall(exchange, outcome, seconds, omitted) })
}

/** Sets the names that only the response has. The span has those of the request. */
function describeResult ({ named, result, span }: Exchange): void {
  if (result === null) return
  const { taskId, contextId } = named()
  if (taskId === null && result.taskId !== null) span.set('a2a.task.id', result.taskId)
  if (contextId === null && result.contextId !== null) span.set('a2a.context.id', result.contextId)
}

// What the console shows of a call that has ended: its outcome, and its request for the playground.

/** Largest number of requested extensions that the console shows of one call. */
const EXTENSIONS = 20
const NO_URIS: readonly string[] = []
const NOTHING_FOUND: readonly PhaseFindings[] = []
const NO_ANSWERS: Ended['answers'] = []

function endedCall (
  exchange: Exchange,
  outcome: Outcome,
  seconds: number,
  rejection: Rejection | null,
  findings: readonly PhaseFindings[] | null
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
    taskId: taskId === null ? null : truncate(taskId),
    contextId: contextId === null ? null : truncate(contextId),
    extensions: requested.length === 0 ? NO_URIS : requested.slice(0, EXTENSIONS).map(truncate),
    caller: principal === null ? null : (identity?.describe(principal) ?? null),
    port: exchange.request.socket.remotePort ?? 0,
    refusal: rejection,
    found: findings ?? NOTHING_FOUND,
    answers: exchange.answers ?? NO_ANSWERS
  }
}

/** @param rejection null when the call was not rejected */
function keptRequest (exchange: Exchange, received: ReceivedRequest, outcome: Outcome, rejection: Rejection | null): KeptRequest {
  return {
    id: exchange.id,
    at: Date.now(),
    agent: exchange.agentName,
    operation: exchange.operation,
    binding: exchange.binding,
    version: exchange.version,
    outcome,
    rule: rejection?.rule ?? null,
    caller: exchange.principal,
    received
  }
}

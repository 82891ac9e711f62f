/** Starts a call, and records its end: once, in one place, for metrics, span, log, audit and console. */
import { endedCall, keptRequest } from './console-entries.js'
import { leave, releaseUnsent } from './capacity.js'
import { schedule } from './event-loop-batch.js'
import type { Received } from './exchange.js'
import { Exchange } from './exchange.js'
import { settleAborted } from './outcome.js'
import { listen } from '#guard.js'
import { endAfterError, fail } from './reply.js'
import { callEntry, logCall } from './telemetry/request-telemetry.js'

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
  leave(exchange)
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
  const { agentName, response, services, span, found, rejection } = exchange
  services.heldBytes.give(exchange.held)
  exchange.atEnd?.()
  exchange.atEnd = null
  const outcome = exchange.outcome ?? 'forwarded'
  if (exchange.stream !== null) services.metrics.streamClosed(agentName)
  const { operation, binding, version, transport: { front } } = exchange
  services.metrics.request({ agent: agentName, operation, binding, version, outcome, front }, seconds, span)
  if (span.recording) describeResult(exchange)
  span.end(outcome, response.statusCode)
  services.inFlight.delete(exchange)
  const { decisions, requests } = services
  if (services.audit.forwarded && exchange.forwarding !== null && exchange.label !== 'Preflight') {
    services.audit.record(callEntry(exchange, outcome, exchange.active))
  }
  if (decisions !== null && decisions.wants(outcome, found)) {
    decisions.add(endedCall(exchange, outcome, seconds, rejection, found))
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

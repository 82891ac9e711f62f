/** Handles an agent that sends no response, or no response that can be forwarded. */
import type { FailureKind } from '#upstream/failure.js'
import { failureRejection } from '#upstream/failure.js'
import type { Exchange } from '../exchange.js'
import { reject } from '../reply.js'

/** Ends the exchange with a response of the gateway, or breaks the connection when the agent's response has begun. */
export function agentFailed (exchange: Exchange, kind: FailureKind): void {
  exchange.forwarding?.abort()
  exchange.services.metrics.add('upstream_errors_total', exchange.agentName, kind)
  reject(exchange, failureRejection(kind, exchange.services.overload.retryAfter), 'upstream_error')
}

/** Headers of a replaced error page that clients act upon. */
const KEPT: readonly string[] = ['www-authenticate', 'retry-after']

/**
 * Replaces an error page of the agent's framework, which may hold a stack trace, with a response of the gateway with the same status. Over
 * gRPC: replaces a response without a gRPC status, and the HTTP status determines the code.
 */
export function pageReplaced (exchange: Exchange, status: number, headers: readonly string[]): void {
  exchange.forwarding?.abort()
  exchange.services.metrics.add('upstream_errors_total', exchange.agentName, 'protocol')
  reject(exchange, {
    reason: 'UPSTREAM_FAILED',
    message: exchange.binding === 'GRPC'
      ? `The agent responded with HTTP ${status} and no gRPC status.`
      : `The agent responded with HTTP ${status} and an HTML page instead of an A2A response.`,
    rule: 'gateway/upstream-html',
    metadata: { kind: 'protocol', status: String(status) }
  }, 'upstream_error', status, headers.filter((_, i) => KEPT.includes(headers[i - i % 2] as string)))
}

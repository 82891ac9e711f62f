/**
 * Gets the credentials that the agent needs (`upstream.credentials`), after all decisions about the request and before the gateway calls
 * the agent. Credentials that are known cost no turn of the event loop.
 */
import { credentialOf } from '../../identity/credentials.js'
import { connectionOf } from '../client-connection.js'
import * as rejections from '../../identity/rejections.js'
import { challengesOf } from '../../identity/challenge.js'
import type { Agent } from '../../gateway/agent.js'
import type { Prepared } from '../../gateway/credentials/agent-credentials.js'
import { recordRejectedExchange, watchTokenRequest } from '../telemetry/credentials-telemetry.js'
import type { Bytes } from '../../wire/chunked-buffer.js'
import type { TrustedProxies } from '../../wire/forwarded.js'
import { clientIp } from '../../wire/forwarded.js'
import type { Exchange } from '../exchange.js'
import { metadataUrl } from '../identify.js'

export interface OutboundCall {
  readonly agent: Agent
  readonly trusted: TrustedProxies
  /** The bytes that the agent gets; null where the gateway does not read them. */
  readonly body: () => Bytes | null
}

/**
 * Calls `then` with the credentials in place. Rejects the request when they cannot be had.
 * @returns the result of `then`; false when the request was rejected, or when the client is gone. Never rejects
 */
export function withOutbound (exchange: Exchange, call: OutboundCall, then: () => boolean): boolean | Promise<boolean> {
  const { agent: { credentials, name } } = call
  if (credentials === null) return then()
  const { request, principal, carrier, services: { metrics } } = exchange
  const settle = (prepared: Prepared): boolean => {
    // The client may have disconnected.
    if (exchange.response.destroyed) return false
    if ('failed' in prepared) {
      reject(exchange, call, prepared.failed)
      return false
    }
    exchange.outbound = prepared
    return then()
  }
  const prepared = credentials.prepare({
    principal,
    token: () => (carrier === null ? null : credentialOf({ headers: request.headers, query: '', connection: connectionOf(request.socket) }, carrier)),
    body: call.body,
    count: (kind, outcome) => { metrics.upstreamCredential(name, kind, outcome) },
    watch: endpoint => watchTokenRequest(exchange, endpoint)
  })
  if (!(prepared instanceof Promise)) return settle(prepared)
  return prepared.then(settle).catch((error: unknown) => {
    exchange.failed(error)
    return false
  })
}

function reject (exchange: Exchange, { agent, trusted }: OutboundCall, failed: 'rejected' | 'unavailable'): void {
  if (failed === 'unavailable') return exchange.reject(rejections.noUpstreamCredentials, 'gateway_error')
  const { identity, request } = exchange
  const rejection = rejections.exchangeRejected
  recordRejectedExchange(exchange, rejection, clientIp(request.headers, request.socket.remoteAddress, trusted) ?? null)
  const challenges = challengesOf(identity?.authenticator.carriers ?? [], agent.name, {
    metadata: metadataUrl(exchange, { agent, trusted }),
    error: rejection.message
  })
  exchange.reject(rejection, 'rejected', undefined, challenges.flatMap(challenge => ['www-authenticate', challenge]))
}

/** Takes note of the agent's response to a request with a token. @param status of the response */
export function settleToken ({ outbound, agentName, services: { metrics } }: Exchange, status: number): void {
  const sent = outbound?.sent ?? null
  if (sent !== null && sent.by.source.settled(sent.held, status)) metrics.upstreamCredential(agentName, sent.by.kind, 'dropped')
}

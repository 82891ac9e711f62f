/**
 * Gets the credentials that the agent needs (`upstream.credentials`), after all decisions about the request and before the gateway calls
 * the agent. Credentials that are known cost no turn of the event loop.
 */
import { credentialOf } from '#identity/credentials.js'
import { connectionOf } from '../client-connection.js'
import * as rejections from '#identity/rejections.js'
import { challengesOf } from '#identity/challenge.js'
import type { Prepared } from '#agents/credentials/agent-credentials.js'
import { recordRejectedExchange, watchTokenRequest } from '../telemetry/credentials-telemetry.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import { clientIp } from '#wire/forwarded.js'
import type { Exchange } from '../exchange.js'
import { metadataUrl } from '../well-known/resource-metadata.js'
import { payloadOf } from '#a2a/payload.js'
import { bodyOf } from '#pipeline/request.js'
import type { Result } from '../step.js'
import { after } from '../run.js'
import type { Work } from '../work.js'
import { reject } from '../reply.js'

/** Gets the credentials for the agent. Rejects the request when the gateway cannot have them. */
export function getCredentials (exchange: Exchange): Result | Promise<Result> {
  const credentials = exchange.agent?.credentials ?? null
  if (credentials === null) return
  const { request, principal, carrier, work, unread, agentName, services: { metrics } } = exchange
  if (work !== null && credentials.needsBody) work.edited = editedBody(work)
  const body = work === null ? unread?.body ?? null : work.edited
  const prepared = credentials.prepare({
    principal,
    token: () => (carrier === null
      ? null
      : credentialOf({ headers: request.headers, query: '', connection: connectionOf(request.socket) }, carrier)),
    body: () => body,
    count: (kind, outcome) => { metrics.add('upstream_credentials_total', agentName, kind, outcome) },
    watch: endpoint => watchTokenRequest(exchange, endpoint)
  })
  return after(exchange, prepared, keep)
}

function keep (exchange: Exchange, prepared: Prepared): Result {
  if ('failed' in prepared) return rejectMissing(exchange, prepared.failed)
  exchange.outbound = prepared
}

/** The body to forward. @throws TypeError when the message of a gRPC call has no place for an edit */
export function editedBody ({ route, sent, bytes, changed, parsed: { operation, explicit }, evaluation }: Work): Bytes {
  const whole = explicit ?? changed
  return bodyOf(evaluation, whole ?? sent, whole ?? bytes, payloadOf(route.binding, route.version, operation, 'request'))
}

function rejectMissing (exchange: Exchange, failed: 'rejected' | 'unavailable'): Result {
  if (failed === 'unavailable') return reject(exchange, rejections.noUpstreamCredentials, 'gateway_error')
  const { identity, request, snapshot: { trusted } } = exchange
  const rejection = rejections.exchangeRejected
  recordRejectedExchange(exchange, rejection, clientIp(request.headers, request.socket.remoteAddress, trusted) ?? null)
  const challenges = challengesOf(identity?.authenticator.carriers ?? [], exchange.agentName, {
    metadata: metadataUrl(exchange),
    error: rejection.message
  })
  return reject(exchange, rejection, 'rejected', undefined, challenges.flatMap(challenge => ['www-authenticate', challenge]))
}

/** Takes note of the agent's response to a request with a token. @param status of the response */
export function settleToken ({ outbound, agentName, services: { metrics } }: Exchange, status: number): void {
  const sent = outbound?.sent ?? null
  if (sent !== null && sent.by.source.settled(sent.held, status)) {
    metrics.add(
      'upstream_credentials_total', agentName, sent.by.kind, 'dropped'
    )
  }
}

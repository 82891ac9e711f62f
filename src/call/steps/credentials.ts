/**
 * Gets the credentials that the agent needs (`upstream.credentials`), after all decisions about the request and before the gateway calls
 * the agent. Credentials that are known cost no turn of the event loop.
 */
import { credentialOf } from '#identity/credentials.js'
import { connectionOf } from '../client-connection.js'
import * as rejections from '#identity/rejections.js'
import { challengesOf } from '#identity/challenge.js'
import type { Prepared } from '#agents/credentials/agent-credentials.js'
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
import type { Rejection } from '#a2a/errors.js'
import { violation } from '#policy/violation.js'
import { auditEntry } from '../telemetry/request-telemetry.js'
import type { Watch } from '#agents/credentials/sent-token.js'

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

/* Reports the credentials that an agent gets to metrics, spans, log and audit. Never reports a secret, or words of a token endpoint. */

/** Opens a span for a request to a token endpoint. @returns a function that ends the span */
function watchTokenRequest (exchange: Exchange, endpoint: URL): ReturnType<Watch> {
  const { span, agentName, services: { log } } = exchange
  const ended = span.recording ? span.dialled('TokenRequest', attributesOf(endpoint)) : null
  return (response, news) => {
    ended?.(response.status, response.kind === 'token' ? null : response.status === null ? 'unreachable' : response.kind)
    if (!news) return
    if (response.kind !== 'failed') log.info({ agent: agentName }, 'the gateway gets access tokens for the agent again')
    else log.warn({ agent: agentName, problem: response.problem, request_id: exchange.id }, 'cannot get an access token for the agent')
  }
}

function attributesOf ({ hostname, port, protocol, pathname }: URL): Parameters<Exchange['span']['dialled']>[1] {
  return {
    'http.request.method': 'POST',
    'server.address': hostname,
    'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
    'url.scheme': protocol.slice(0, -1),
    'url.path': pathname
  }
}

/** Writes an audit line for a caller whose token the authorization server does not accept, within the bounds of failed authentications. */
function recordRejectedExchange (exchange: Exchange, rejection: Rejection, client: string | null): void {
  const { identity, principal, services: { audit } } = exchange
  if (identity === null || principal === null) return
  const credentialViolation = violation({
    mode: 'enforce',
    reason: rejection.reason,
    extension: 'gateway',
    rule: 'exchange',
    path: 'header',
    message: rejection.message,
    isStandalone: true
  })
  const entry = { ...auditEntry(exchange, 'request', 'rejected', [], [credentialViolation]), exchange: 'rejected', client }
  exchange.rejectedSource = `exchange ${principal.source}`
  identity.failures.record(exchange.rejectedSource, omitted => {
    audit.record(omitted === 0 ? entry : { ...entry, lines_omitted: omitted })
  })
}

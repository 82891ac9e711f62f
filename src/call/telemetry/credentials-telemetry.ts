/** Reports the credentials that an agent gets to metrics, spans, log and audit. Never reports a secret, or words of a token endpoint. */
import type { Rejection } from '#a2a/errors.js'
import type { Exchange } from '../exchange.js'
import { violation } from '#policy/violation.js'
import { auditEntry } from './request-telemetry.js'
import type { Watch } from '#agents/credentials/sent-token.js'

/** Opens a span for a request to a token endpoint. @returns a function that ends the span */
export function watchTokenRequest (exchange: Exchange, endpoint: URL): ReturnType<Watch> {
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
export function recordRejectedExchange (exchange: Exchange, rejection: Rejection, client: string | null): void {
  const { identity, principal, services: { audit } } = exchange
  if (identity === null || principal === null) return
  const found = violation({
    mode: 'enforce',
    reason: rejection.reason,
    extension: 'gateway',
    rule: 'exchange',
    path: 'header',
    message: rejection.message,
    isStandalone: true
  })
  const entry = { ...auditEntry(exchange, 'request', 'rejected', [], [found]), exchange: 'rejected', client }
  exchange.rejectedSource = `exchange ${principal.source}`
  identity.failures.record(exchange.rejectedSource, omitted => {
    audit.record(omitted === 0 ? entry : { ...entry, lines_omitted: omitted })
  })
}

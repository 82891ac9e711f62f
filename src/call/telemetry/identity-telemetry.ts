/** Reports callers, and requests without one, to metrics, span, log and audit. Never reports credentials. */
import type { Rejection } from '#a2a/errors.js'
import type { Authentication, Problem } from '#identity/authentication.js'
import type { Principal } from '#identity/principal.js'
import { violation } from '#policy/violation.js'
import type { Exchange } from '../exchange.js'
import type { Identity } from '#agents/identity/identity.js'
import { auditEntry } from './request-telemetry.js'

export function recordCaller (exchange: Exchange, identity: Identity, principal: Principal): void {
  const { services: { metrics }, span } = exchange
  for (const source of principal.sources) metrics.add('authentications_total', exchange.agentName, source, 'ok')
  if (!span.recording) return
  span.set('enduser.pseudo.id', identity.describe(principal).id)
  span.set('a2a_gateway.caller.source', principal.source)
}

/**
 * Records the time that an authentication took. Requests without credentials are not recorded.
 * @param verified true when the result needed a signature to be verified
 * @param startedAt ms of performance.now()
 */
export function recordDuration (exchange: Exchange, authentication: Authentication, verified: boolean, startedAt: number): void {
  const { kind } = authentication
  if (kind !== 'caller' && kind !== 'failed' && kind !== 'unavailable' && kind !== 'incomplete') return
  const source = authentication.kind === 'caller' ? authentication.principal.source : authentication.source ?? 'other'
  const remembered = authentication.kind === 'caller' && authentication.principal.kind === 'jwt'
  const cache = verified ? 'miss' : remembered ? 'hit' : 'none'
  exchange.services.metrics.observe('authentication_duration_seconds', (performance.now() - startedAt) / 1_000, null, source, cache)
}

export interface Failure {
  readonly source: string
  readonly problem: Problem
  readonly rejection: Rejection
  /** Address of the client. */
  readonly client: string | null
  /** Id of the limit that the failure exceeds; null for none. */
  readonly limit: string | null
}

/** Writes a log line and an audit line, within bounds. A request without credentials is no failure: the log has its line anyway. */
export function recordFailure (exchange: Exchange, identity: Identity, { source, problem, rejection, client, limit }: Failure): void {
  const { services: { log, audit }, agentName, id } = exchange
  const identityViolation = violation({
    mode: 'enforce',
    reason: rejection.reason,
    extension: 'gateway',
    rule: 'authentication',
    path: 'header',
    message: rejection.message,
    isStandalone: true
  })
  const entry = { ...auditEntry(exchange, 'request', 'rejected', [], [identityViolation]), client, ...(limit === null ? {} : { limit }) }
  identity.failures.record(source, omitted => {
    log.warn(
      { agent: agentName, source, problem, client, request_id: id, ...(omitted === 0 ? {} : { omitted }) },
      'the credentials of a caller are not accepted'
    )
    audit.record(omitted === 0 ? entry : { ...entry, lines_omitted: omitted })
  })
}

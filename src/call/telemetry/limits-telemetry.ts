/** Reports requests that exceed a limit to metrics, span and audit. A flood must not fill a disk: audit lines are bounded. */
import type { Rejection } from '#a2a/errors.js'
import { violation } from '#policy/violation.js'
import type { Exchange } from '../exchange.js'
import { auditEntry } from './request-telemetry.js'

/** @param id of the limit */
export function recordLimited (exchange: Exchange, id: string, rejection: Rejection): void {
  const { services: { metrics, audit, limits }, agentName, span } = exchange
  metrics.add('rate_limited_total', agentName, id)
  if (span.recording) {
    span.name(exchange.operation)
    span.set('a2a_gateway.limit', id)
  }
  limits.lines.record(id, omitted => {
    const found = violation({
      mode: 'enforce',
      reason: rejection.reason,
      extension: 'gateway',
      rule: rejection.rule.slice('gateway/'.length),
      path: 'header',
      message: rejection.message,
      isStandalone: true
    })
    const entry = { ...auditEntry(exchange, 'request', 'rejected', [], [found]), limit: id }
    audit.record(omitted === 0 ? entry : { ...entry, lines_omitted: omitted })
  })
}

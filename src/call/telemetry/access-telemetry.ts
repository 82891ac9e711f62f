/** Reports decisions of the access lists to metrics, span, log and audit, and rejects requests that they deny. */
import type { Exchange } from '../exchange.js'
import type { AccessOutcome } from '#pipeline/access/access.js'
import { auditEntry, countViolations } from './request-telemetry.js'
import { noteViolations } from '../outcome.js'
import { reject } from '../reply.js'

/** Reports a decision. Its violations are reported with those of the rules. */
export function recordAccess (exchange: Exchange, { rule, decision, mode }: AccessOutcome): void {
  exchange.accessRule = rule
  exchange.services.metrics.add('access_decisions_total', exchange.agentName, rule, decision, mode)
  if (exchange.span.recording) exchange.span.set('a2a_gateway.access.rule', rule)
}

/**
 * Reports a decision that was made from the head, with its violations, and rejects the request if it is denied.
 * @param outcome null: not decided yet
 * @returns true when the request may go on
 */
export function applyAccess (exchange: Exchange, outcome: AccessOutcome | null): boolean {
  if (outcome === null) return true
  recordAccess(exchange, outcome)
  const { rejection, violations } = outcome
  if (violations.length > 0) {
    countViolations(exchange, 'request', violations)
    noteViolations(exchange, 'request', violations, [])
    exchange.services.audit.record(auditEntry(exchange, 'request', rejection === null ? 'observed' : 'rejected', [], violations))
  }
  if (rejection === null) return true
  reject(exchange, rejection, 'rejected')
  return false
}

/** Reports calls that agents send on behalf of others to metrics, span and audit. */
import type { Delegation, DelegationProblem } from '#pipeline/access/delegation.js'
import { noteViolations } from '../outcome.js'
import type { Exchange } from '../exchange.js'
import { auditEntry, countViolations } from './request-telemetry.js'

/** Reports the decision from the head of a request, with its violations. */
export function recordDelegation (exchange: Exchange, { depth, problem, rejection, violations }: Delegation): void {
  const { agentName, span, services: { metrics, audit } } = exchange
  metrics.add('delegations_total', agentName, problem ?? (depth === 0 ? 'direct' : 'delegated'))
  if (span.recording) span.set('a2a_gateway.delegation.depth', depth)
  if (violations.length === 0) return
  countViolations(exchange, 'request', violations)
  noteViolations(exchange, 'request', violations, [])
  audit.record(auditEntry(exchange, 'request', rejection === null ? 'observed' : 'rejected', [], violations))
}

/** Counts a request that its initiator may not send, as its body shows. Its violations are reported with those of the rules. */
export function countDelegation ({ agentName, services: { metrics } }: Exchange, problem: DelegationProblem): void {
  metrics.add('delegations_total', agentName, problem)
}

/** Reports the decision about a request to span, metrics and audit. Reports URIs and paths only, never data. */
import type { Call } from '../a2a/message/call.js'
import type { Decision } from '../policy/request/decision.js'
import type { Violation } from '../policy/violation.js'
import type { AuditEntry } from '../telemetry/audit.js'
import type { Exchange } from '../front/http/exchange.js'

export function recordDecision (exchange: Exchange, call: Call, requested: readonly string[], decision: Decision): void {
  const { span } = exchange
  span.name(call.operation)
  span.set('a2a.method.name', call.operation)
  span.set('a2a_gateway.agent', exchange.agentName)
  if (exchange.binding === 'JSONRPC') {
    span.set('rpc.system', 'jsonrpc')
    if (call.idValue !== null) span.set('jsonrpc.request.id', String(call.idValue))
  }
  if (requested.length > 0) span.set('a2a.extension.requested', requested as string[])
  if (requested.length > 0 || decision.active.length > 0) span.set('a2a.extension.active', decision.active as string[])
  if (decision.injected.length > 0) span.set('a2a.extension.injected', decision.injected as string[])
  if (decision.missing.length > 0) span.set('a2a.extension.missing', decision.missing as string[])
  if (decision.rejection === null) span.set('a2a_gateway.decision', decision.violations.length === 0 ? 'forward' : 'observe')
  if (decision.rejection === null && decision.edited.length > 0) span.set('a2a_gateway.edited', decision.edited as string[])
  // A decision without violations, for example one that only injects, is the normal case. The span records it; an audit line per call would
  // hide the other lines.
  if (decision.violations.length === 0) return
  countViolations(exchange, 'request', decision.violations)
  const edited = decision.rejection === null ? decision.edited : []
  exchange.saw('request', decision.violations, edited)
  exchange.services.audit.record(
    auditEntry(
      exchange,
      'request',
      decision.rejection !== null ? 'rejected' : edited.length > 0 ? 'edited' : 'observed',
      edited,
      decision.violations
    )
  )
}

export function countViolations (exchange: Exchange, phase: 'request' | 'response', violations: readonly Violation[]): void {
  for (const found of violations) {
    exchange.services.metrics.violation(
      exchange.agentName,
      found.extension,
      found.rule,
      phase,
      found.mode === 'enforce' ? 'enforce' : 'observe'
    )
  }
}

/** @param violations at least one; the first enforced violation decides */
export function auditEntry (
  exchange: Exchange,
  phase: 'request' | 'response',
  decision: AuditEntry['decision'],
  edited: readonly string[],
  violations: readonly Violation[]
): AuditEntry {
  const deciding = violations.find(found => found.mode === 'enforce') ?? (violations[0] as Violation)
  return {
    phase,
    agent: exchange.agentName,
    operation: exchange.label,
    binding: exchange.binding,
    version: exchange.version,
    decision,
    reason: deciding.customReason ?? deciding.reason,
    extension: deciding.extension,
    rule: deciding.rule,
    edited,
    violations: violations.map(found => ({
      reason: found.customReason ?? found.reason,
      extension: found.extension,
      rule: found.rule,
      path: found.path,
      message: found.message
    })),
    trace_id: exchange.span.traceId,
    client: exchange.request.socket.remoteAddress ?? null,
    request_id: exchange.id
  }
}

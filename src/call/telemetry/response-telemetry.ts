/**
 * Reports the findings of a response to metrics, audit and span. Reports names, paths and values that policies observe, never other data.
 */
import type { EchoPlan } from '#pipeline/echo.js'
import type { ActivationReport, Measure, ResponseDecision } from '#policy/response/evaluator.js'
import type { Exchange } from '../exchange.js'
import { spend } from '../steps/limits.js'
import { auditEntry, countViolations, taskEntry } from './request-telemetry.js'
import { noteTask, noteViolations } from '../outcome.js'
import type { AuditEntry } from '#telemetry/audit-fields.js'

/** Maximum audit lines of one response. Each event of a stream may cause a line. */
const LINES = 20

const BECOMES = ['forward', 'observe', 'edit', 'reject'] as const

export class ResponseTelemetry {
  private readonly exchange: Exchange
  private lines = 0
  /** Number of audit lines that were left out, and the last of these lines. */
  private omitted = 0
  private lastOmitted: AuditEntry | null = null
  /** Index in BECOMES: the most severe decision so far. */
  private becomes = 0
  private readonly edited = new Set<string>()

  constructor (exchange: Exchange) {
    this.exchange = exchange
  }

  decision (decision: ResponseDecision): void {
    const { exchange } = this
    const { violations, edited } = decision
    for (const { name, value } of decision.attributes) exchange.span.observed(name, value)
    for (const measure of decision.measures) countMeasure(exchange, measure)
    if (exchange.limits !== null && decision.measures.length > 0) spend(exchange, decision.measures)
    for (const name of edited) this.edited.add(name)
    const becomes = decision.rejection !== null ? 3 : edited.length > 0 ? 2 : violations.length > 0 ? 1 : 0
    this.becomes = Math.max(this.becomes, becomes)
    if (decision.results.length > 0) this.results(decision)
    if (violations.length === 0) return
    countViolations(exchange, 'response', violations)
    noteViolations(exchange, 'response', violations, edited)
    const entry = auditEntry(
      exchange,
      'response',
      decision.rejection !== null ? 'rejected' : edited.length > 0 ? 'edited' : 'observed',
      edited,
      violations
    )
    if (decision.rejection !== null || this.lines < LINES) {
      this.lines++
      exchange.services.audit.record(entry)
    } else {
      this.omitted++
      this.lastOmitted = entry
    }
  }

  private results ({ results, rejection }: ResponseDecision): void {
    const { exchange, exchange: { services: { audit } } } = this
    // No task of a list is the call's own.
    const [first] = results
    if (first !== undefined && results.length === 1) noteTask(exchange, first)
    if (!audit.forwarded || rejection !== null) return
    for (const result of results) {
      if (result.taskId === null || result.state === null) continue
      const before = audit.states.change(exchange.agentName, result.taskId, result.state)
      if (before !== undefined) audit.record(taskEntry(exchange, result, before))
    }
  }

  end (truth: ActivationReport): void {
    const { span, services } = this.exchange
    span.set('a2a_gateway.answer', BECOMES[this.becomes] as string)
    if (this.edited.size > 0) span.set('a2a_gateway.answer.edited', [...this.edited])
    for (const kind of ['confirmed', 'absent', 'unexpected'] as const) {
      if (truth[kind].length > 0) span.set(`a2a.extension.${kind}`, truth[kind] as string[])
    }
    if (this.lastOmitted !== null) services.audit.record({ ...this.lastOmitted, violations: [], lines_omitted: this.omitted })
  }
}

/** Counts the extensions that the agent confirmed, did not confirm, or confirmed without a request. */
export function countActivations (exchange: Exchange, plan: EchoPlan, report: ActivationReport): void {
  const { metrics } = exchange.services
  const { labels } = plan.policy
  for (const echo of ['confirmed', 'absent', 'unexpected'] as const) {
    for (const uri of report[echo]) {
      metrics.add(
        'activations_total', exchange.agentName, labels.get(uri) ?? 'other',
        echo !== 'unexpected' && plan.injected.includes(uri) ? 'gateway' : 'client', echo
      )
    }
  }
}

function countMeasure ({ agentName, services: { metrics } }: Exchange, { extension, metric, type, by, value }: Measure): void {
  if (type === 'counter') metrics.addAmount('observed_total', value, agentName, extension, metric, by)
  else metrics.set('observed_value', value, agentName, extension, metric, by)
}

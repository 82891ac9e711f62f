/** Reports answers of policy servers to metrics, span, log and audit. The reason for administrators goes to the audit log only. */
import { withAnswers } from '#console/policy-answers.js'
import type { Notice } from '#pipeline/external/obligations.js'
import type { Settled } from '#pipeline/external/settle.js'
import type { DecisionFailure } from '#upstream/decisions/exchange.js'
import type { Exchange } from '../exchange.js'
import { noticeEntry } from './request-telemetry.js'

/** Answers of one call that its audit lines name. */
const KEPT = 20

/** Opens a span for a question. @returns a function for its end */
export function watchQuestion (
  exchange: Exchange,
  use: string,
  { hostname, port, protocol, pathname }: URL
): (failure: DecisionFailure | null) => void {
  const { span, agentName, services: { log } } = exchange
  const ended = span.recording
    ? span.dialled('ExternalDecision', {
      'http.request.method': 'POST',
      'server.address': hostname,
      'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
      'url.scheme': protocol.slice(0, -1),
      'url.path': pathname
    })
    : null
  return failure => {
    ended?.(failure === null ? 200 : null, failure)
    if (failure !== null && failure !== 'cancelled') {
      log.warn({ agent: agentName, decision_point: use, problem: failure, request_id: exchange.id }, 'no decision of the policy server')
    }
  }
}

/** Reports answers with their consequences. Their violations are reported with those of the rules. */
export function recordAnswers (exchange: Exchange, settled: readonly Settled[], notices: readonly Notice[]): void {
  const { agentName, span, services: { metrics, audit, decisions } } = exchange
  if (decisions !== null) exchange.answers = withAnswers(exchange.answers, settled)
  for (const { asking, outcome, answer, refused } of settled) {
    metrics.add('external_decisions_total', agentName, asking.rule, outcome)
    const before = exchange.external ?? []
    if (before.length >= KEPT) continue
    exchange.external = [...before, {
      rule: asking.rule,
      phase: asking.phase,
      mode: asking.mode,
      outcome,
      ...(answer.kind === 'failed' ? { failure: answer.failure } : { cached: answer.cached }),
      ...(answer.kind === 'decided' && answer.id !== null ? { id: answer.id } : {}),
      ...(answer.kind === 'decided' && answer.reasonAdmin !== null ? { reason: answer.reasonAdmin } : {}),
      ...(refused === null ? {} : { refused })
    }]
  }
  if (span.recording && exchange.external !== null) {
    span.set('a2a_gateway.external', exchange.external.map(({ rule, outcome }) => `${rule}: ${outcome}`))
  }
  const [first] = settled
  if (notices.length > 0) audit.record(noticeEntry(exchange, first?.asking.phase ?? 'request', notices))
}

/** Counts the requested extensions, and whether the agent activated them. */
import type { EchoPlan } from '../../../pipeline/echo.js'
import { activationReportOf } from '../../../policy/response/activation-report.js'
import type { ActivationReport } from '../../../policy/response/evaluator.js'
import type { Exchange } from '../exchange.js'

/** Counts activations from the echo header alone. */
export function countEcho (exchange: Exchange, plan: EchoPlan, echoed: readonly string[]): void {
  countActivations(exchange, plan, activationReportOf(plan.policy, plan.outbound, plan.active, echoed))
}

export function countActivations (exchange: Exchange, plan: EchoPlan, truth: ActivationReport): void {
  const { metrics } = exchange.services
  const { labels } = plan.policy
  for (const echo of ['confirmed', 'absent', 'unexpected'] as const) {
    for (const uri of truth[echo]) {
      metrics.activation(exchange.agentName, labels.get(uri) ?? 'other', echo !== 'unexpected' && plan.injected.includes(uri) ? 'gateway' : 'client', echo)
    }
  }
}

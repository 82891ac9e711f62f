/** Counts which extensions were asked for, and whether the agent heeded. */
import type { EchoPlan } from '../../agent/echo.js'
import type { Exchange } from '../exchange.js'

/** Counts what was asked for by what the header alone proves. */
export function countEcho (exchange: Exchange, plan: EchoPlan, echoed: readonly string[]): void {
  const asked = (uri: string): boolean => plan.outbound.includes(uri)
  countActivations(exchange, plan, {
    confirmed: plan.outbound.filter(uri => echoed.includes(uri)),
    absent: plan.outbound.filter(uri => !echoed.includes(uri)),
    unexpected: echoed.filter(uri => !asked(uri))
  })
}

export function countActivations (exchange: Exchange, plan: EchoPlan, truth: Readonly<Record<'confirmed' | 'absent' | 'unexpected', readonly string[]>>): void {
  const { metrics } = exchange.services
  const { labels } = plan.policy
  for (const echo of ['confirmed', 'absent', 'unexpected'] as const) {
    for (const uri of truth[echo]) {
      metrics.activation(exchange.agentName, labels.get(uri) ?? 'other', echo !== 'unexpected' && plan.injected.includes(uri) ? 'gateway' : 'client', echo)
    }
  }
}

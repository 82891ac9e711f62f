import type { LabelsOf } from '#telemetry/metrics/definitions.js'
import type { ObservedSpan } from '#telemetry/metrics/distribution.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'

/** Records one request that ended after `seconds`, as the gateway records it. */
export function ended (metrics: Metrics, labels: LabelsOf<'requests_total'>, seconds: number, span: ObservedSpan | null = null): void {
  const [agent, operation, , , outcome] = labels
  metrics.add('requests_total', ...labels)
  metrics.observe('request_duration_seconds', seconds, span, agent, operation, outcome)
}

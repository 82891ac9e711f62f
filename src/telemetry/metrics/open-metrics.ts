/**
 * The text format of OpenMetrics 1.0, which has exemplars (https://prometheus.io/docs/specs/om/open_metrics_spec/). prom-client's own writer
 * appends `_total` twice to the counters of other classes.
 */
import type { Exemplar } from './distribution.js'
import type { MetricsSnapshot } from './registry.js'

export const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

/** True for a scraper that names the format in `Accept`. Prometheus does, and prefers it. */
export function acceptsOpenMetrics (accept: string | undefined): boolean {
  return accept !== undefined && /application\/openmetrics-text(?![^,]*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(accept)
}

export function openMetrics (snapshot: MetricsSnapshot): string {
  const lines: string[] = []
  for (const { name, help, type, values } of snapshot) {
    const family = String(type) === 'counter' ? name.replace(/_total$/, '') : name
    lines.push(`# TYPE ${family} ${type}`, `# HELP ${family} ${escaped(help)}`)
    for (const { metricName = name, labels, value, exemplar } of values) {
      lines.push(`${metricName}${labelsOf(labels)} ${number(value)}${suffix(exemplar ?? null)}`)
    }
  }
  return `${lines.join('\n')}\n# EOF\n`
}

function suffix (exemplar: Exemplar | null): string {
  return exemplar === null ? '' : ` # ${labelsOf(exemplar.labelSet)} ${number(exemplar.value)} ${exemplar.timestamp}`
}

function labelsOf (labels: MetricsSnapshot[number]['values'][number]['labels']): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped (text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

function number (value: number): string {
  return Number.isFinite(value) || Number.isNaN(value) ? String(value) : value > 0 ? '+Inf' : '-Inf'
}

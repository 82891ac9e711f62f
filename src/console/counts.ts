/** Sums over samples of the registry, so that the page shows what `/metrics` shows. */
import type { MetricsSnapshot } from '../telemetry/metrics/metrics.js'

type Labels = Readonly<Record<string, string | number | undefined>>

/** @param name without the prefix. @param key of a sample's labels; null leaves it out */
export function sumBy (snapshot: MetricsSnapshot, name: string, key: (labels: Labels) => string | null): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { labels, value } of snapshot.find(metric => metric.name === `a2a_gateway_${name}`)?.values ?? []) {
    const at = key(labels)
    if (at !== null) sums.set(at, (sums.get(at) ?? 0) + value)
  }
  return sums
}

/** One key of several label values. */
export function keyOf (...values: readonly (string | number | undefined)[]): string {
  return JSON.stringify(values)
}

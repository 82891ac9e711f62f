/** Sums samples of the metrics registry, so that the page shows the same numbers as `/metrics`. */
import type { MetricsSnapshot } from '#telemetry/metrics/registry.js'

type Labels = Readonly<Record<string, string | number | undefined>>

/**
 * Sums the samples of a metric by key.
 * @param name name without the prefix
 * @param key returns the key of a sample's labels; null omits the sample
 */
export function sumBy (snapshot: MetricsSnapshot, name: string, key: (labels: Labels) => string | null): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { labels, value } of snapshot.find(metric => metric.name === `a2a_gateway_${name}`)?.values ?? []) {
    const at = key(labels)
    if (at !== null) sums.set(at, (sums.get(at) ?? 0) + value)
  }
  return sums
}

/** Joins several label values into one key. */
export function keyOf (...values: readonly (string | number | undefined)[]): string {
  return JSON.stringify(values)
}

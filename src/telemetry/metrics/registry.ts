/**
 * Only this file imports prom-client: the package was renamed after 15.1.3, so a later swap is one line. prom-client collects the metrics
 * and writes the exposition. The numbers themselves are in cells of `LabelledValues`.
 */
import * as prometheus from 'prom-client'
import type { Metric, MetricObjectWithValues, MetricValue } from 'prom-client'
import type { CallbackMetric } from './callback-metric.js'
import { METRICS } from './definitions.js'
import type { MetricDefinition } from './definitions.js'
import type { Distribution, Exemplar } from './distribution.js'

export const PREFIX = 'a2a_gateway_'

/** The metrics of one process, in the form that is sent to another process. */
export type MetricsSnapshot = readonly MetricObjectWithValues<MetricSample>[]

/** `metricName` differs from the name of the metric for samples of histograms. Buckets of prom-client's own ones have a null exemplar. */
type MetricSample = MetricValue<string> & { metricName?: string, exemplar?: Exemplar | null }

/** How samples of several processes become one, by name of the metric, where a sum makes no sense. */
const MERGED: ReadonlyMap<string, 'first' | 'max'> = new Map(
  Object.entries<MetricDefinition>(METRICS).flatMap(([name, { merged }]) => merged === undefined ? [] : [[PREFIX + name, merged] as const])
)

/**
 * Merges snapshots: sums counters, distributions and gauges of open items. For process metrics, prom-client defines the aggregation; where
 * it defines none, the sample of the first process is used.
 */
export function mergeSnapshots (snapshots: readonly MetricsSnapshot[]): { snapshot(): Promise<MetricsSnapshot>; text(): Promise<string> } {
  const samples = snapshots.map(metrics =>
    metrics.map(metric => {
      const aggregator = MERGED.get(metric.name) ?? (metric.aggregator === 'omit' ? 'first' : metric.aggregator)
      return { ...metric, aggregator }
    })
  )
  const registry = prometheus.AggregatorRegistry.aggregate(samples)
  return {
    snapshot: async () => {
      const merged: MetricsSnapshot = await registry.getMetricsAsJSON()
      addExemplars(merged, snapshots)
      return merged
    },
    text: () => registry.metrics()
  }
}

/** Adds the last exemplar of each bucket. prom-client merges only numbers. */
function addExemplars (merged: MetricsSnapshot, parts: readonly MetricsSnapshot[]): void {
  const last = new Map<string, Exemplar>()
  const keyOf = (name: string, { labels }: MetricSample): string => `${name} ${JSON.stringify(labels)}`
  for (const { name, values } of parts.flat()) {
    for (const sample of values) {
      const exemplar = sample.exemplar ?? null
      if (exemplar === null) continue
      const key = keyOf(name, sample)
      if (exemplar.timestamp > (last.get(key)?.timestamp ?? 0)) last.set(key, exemplar)
    }
  }
  if (last.size === 0) return
  for (const { name, type, values } of merged) {
    if (String(type) !== 'histogram') continue
    for (const sample of values) {
      const exemplar = last.get(keyOf(name, sample))
      if (exemplar !== undefined) sample.exemplar = exemplar
    }
  }
}

/** Keeps the metrics of an ended process that stay valid: its counts, but not its last gauge values. */
export function lasting (snapshot: MetricsSnapshot): MetricsSnapshot {
  return snapshot.filter(({ type }) => String(type) === 'counter' || String(type) === 'histogram')
}

/** The metrics of one process, for prom-client. */
export class MetricRegistry {
  readonly contentType: string
  readonly #registry = new prometheus.Registry()

  constructor () {
    this.contentType = this.#registry.contentType
  }

  /** Adds a metric. The registry calls only `get()`, the one method that a collectable metric needs. */
  register (metric: Distribution | CallbackMetric): void {
    this.#registry.registerMetric(metric as unknown as Metric<string>)
  }

  /** Adds Node's process metrics, whose observers cannot be stopped. */
  collectProcessMetrics (): void {
    prometheus.collectDefaultMetrics({ register: this.#registry })
  }

  snapshot (): Promise<MetricsSnapshot> {
    return this.#registry.getMetricsAsJSON()
  }

  /** @returns the exposition, in Prometheus text format 0.0.4 */
  text (): Promise<string> {
    return this.#registry.metrics()
  }

  clear (): void {
    this.#registry.clear()
  }
}

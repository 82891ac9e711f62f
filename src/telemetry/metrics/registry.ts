/**
 * Only this file imports prom-client: the package was renamed after 15.1.3, so a later swap is one line. prom-client collects the metrics
 * and writes the exposition. The numbers themselves are in cells of {@link LabelledValues}.
 */
import * as prometheus from 'prom-client'
import type { Metric, MetricObjectWithValues, MetricValue } from 'prom-client'
import type { CallbackMetric } from './callback-metric.js'
import { definitionOf } from './definitions.js'
import type { MetricName } from './definitions.js'
import { Distribution } from './distribution.js'
import type { Exemplar } from './distribution.js'
import { LabelledValues, NumberCell } from './labelled-values.js'
import type { Labels } from './labelled-values.js'

export const PREFIX = 'a2a_gateway_'

/** The metrics of one process, in the form that is sent to another process. */
export type MetricsSnapshot = readonly MetricObjectWithValues<MetricSample>[]

/** `metricName` differs from the name of the metric for samples of histograms. Buckets of prom-client's own ones have a null exemplar. */
type MetricSample = MetricValue<string> & { metricName?: string, exemplar?: Exemplar | null }

/**
 * Aggregators for samples of several processes where a sum makes no sense. For metrics that prom-client omits, the sample of the first
 * process is used.
 */
const TOGETHER: Readonly<Record<string, 'first' | 'max'>> = {
  [`${PREFIX}card_age_seconds`]: 'first',
  [`${PREFIX}card_max_stale_seconds`]: 'first',
  [`${PREFIX}card_usable`]: 'first',
  [`${PREFIX}cards_held`]: 'first',
  [`${PREFIX}config_info`]: 'first',
  [`${PREFIX}config_last_reload_successful`]: 'first',
  [`${PREFIX}build_info`]: 'first',
  [`${PREFIX}identity_keys_age_seconds`]: 'max',
  [`${PREFIX}memory_limit_bytes`]: 'first',
  [`${PREFIX}observed_value`]: 'max'
}

/** Merges snapshots: sums counters, distributions and gauges of open items. For process metrics, prom-client defines the aggregation. */
export function mergeSnapshots (snapshots: readonly MetricsSnapshot[]): { snapshot(): Promise<MetricsSnapshot>; text(): Promise<string> } {
  const samples = snapshots.map(metrics =>
    metrics.map(metric => {
      const aggregator = TOGETHER[metric.name] ?? (metric.aggregator === 'omit' ? 'first' : metric.aggregator)
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

/** Makes the metrics of one process. */
export class MetricRegistry {
  readonly contentType: string
  private readonly registry: prometheus.Registry

  constructor () {
    this.registry = new prometheus.Registry()
    this.contentType = this.registry.contentType
  }

  counter (name: MetricName): LabelledValues<NumberCell> {
    const tree = new LabelledValues(described(name).labelNames, labels => new NumberCell(labels))
    const counter = new prometheus.Counter({
      ...this.options(name),
      collect () {
        for (const cell of tree.cells) {
          counter.inc(cell.labels, cell.value)
          cell.value = 0
        }
      }
    })
    return tree
  }

  gauge (name: MetricName): LabelledValues<NumberCell> {
    const tree = new LabelledValues(described(name).labelNames, labels => new NumberCell(labels))
    const gauge = new prometheus.Gauge({
      ...this.options(name),
      collect () {
        for (const cell of tree.cells) gauge.set(cell.labels, cell.value)
      }
    })
    return tree
  }

  distribution (metric: MetricName): Distribution {
    const { name, help, labelNames } = described(metric)
    const distribution = new Distribution(name, help, labelNames, definitionOf(metric).buckets ?? [])
    this.register(distribution)
    return distribution
  }

  /** Adds a gauge that has one sample of value 1. @returns a function that replaces the labels of the sample */
  infoGauge (name: MetricName): (labels: Labels) => void {
    const gauge = new prometheus.Gauge(this.options(name))
    return labels => {
      gauge.reset()
      gauge.set(labels, 1)
    }
  }

  /** Adds a gauge without labels, read at each scrape; null = no sample. */
  callbackGauge (name: MetricName, read: () => number | null): void {
    const gauge: prometheus.Gauge = new prometheus.Gauge({
      ...this.options(name),
      collect () {
        gauge.remove()
        const value = readOrNull(read)
        if (value !== null) gauge.set(value)
      }
    })
  }

  /** Adds a counter without labels, read at each scrape. */
  callbackCounter (name: MetricName, read: () => number): void {
    const counter: prometheus.Counter = new prometheus.Counter({
      ...this.options(name),
      collect () {
        counter.reset()
        counter.inc(read())
      }
    })
  }

  /** Adds a gauge with one sample per agent, read at each scrape. */
  agentGauge (name: MetricName, agents: ReadonlyMap<string, () => number | null>): void {
    const gauge: prometheus.Gauge = new prometheus.Gauge({
      ...this.options(name),
      collect () {
        gauge.reset()
        for (const [agent, read] of agents) {
          const value = readOrNull(read)
          if (value !== null) gauge.set({ agent }, value)
        }
      }
    })
  }

  /** Adds a metric that is not prom-client's. The registry calls only `get()`, the one method that a collectable metric needs. */
  register (metric: Distribution | CallbackMetric): void {
    this.registry.registerMetric(metric as unknown as Metric<string>)
  }

  /** Adds Node's process metrics, whose observers cannot be stopped. */
  collectProcessMetrics (): void {
    prometheus.collectDefaultMetrics({ register: this.registry })
  }

  snapshot (): Promise<MetricsSnapshot> {
    return this.registry.getMetricsAsJSON()
  }

  /** @returns the exposition, in Prometheus text format 0.0.4 */
  text (): Promise<string> {
    return this.registry.metrics()
  }

  clear (): void {
    this.registry.clear()
  }

  /** @returns options of a metric in the form that prom-client expects */
  private options (name: MetricName): { name: string, help: string, labelNames: string[], registers: prometheus.Registry[] } {
    return { ...described(name), registers: [this.registry] }
  }
}

function described (name: MetricName): { readonly name: string, readonly help: string, readonly labelNames: string[] } {
  const { help, labels } = definitionOf(name)
  return { name: PREFIX + name, help, labelNames: Object.keys(labels) }
}

/** Reads a value; null when it cannot be read. A value that fails, for example the age of a card, must not fail the whole scrape. */
function readOrNull (read: () => number | null): number | null {
  try {
    const value = read()
    return value === null || !Number.isFinite(value) ? null : value
  } catch {
    return null
  }
}

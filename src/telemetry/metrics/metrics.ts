/** The Prometheus metrics of the gateway. Nothing is registered globally; every `Metrics` has its own registry. */
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { packageVersion } from '#config/paths.js'
import { PLACES } from '#guard.js'
import type { LabelledSample } from './callback-metric.js'
import { CallbackMetric } from './callback-metric.js'
import { METRICS } from './definitions.js'
import type { CounterName, GaugeName, HistogramName, LabelsOf, MetricDefinition, ReadName } from './definitions.js'
import { Distribution } from './distribution.js'
import type { ObservedSpan } from './distribution.js'
import type * as LabelValues from './label-values.js'
import { LabelQuota } from './label-values.js'
import { LabelledValues, NumberCell } from './labelled-values.js'
import { openMetrics } from './open-metrics.js'
import { MetricRegistry, PREFIX } from './registry.js'
import type { MetricsSnapshot } from './registry.js'

type One<List extends readonly string[]> = List[number]

export type Outcome = One<typeof LabelValues.OUTCOMES>
export type FrontName = One<typeof LabelValues.FRONTS>
export type ClientError = One<typeof LabelValues.CLIENT_ERRORS>

/** Counts so far of one label combination of a histogram. */
export interface HistogramCell {
  readonly labels: Readonly<Record<string, string>>
  readonly count: number
  /** Seconds. */
  readonly sum: number
  /** Counts by bucket, not cumulative. */
  readonly counts: readonly number[]
}

/** The samples of a metric: its number; with labels, their values and the number. null = no sample. */
type Reading<Labels extends readonly string[]> = Labels extends readonly []
  ? number | null
  : readonly (readonly [...Labels, number | null])[]

/**
 * The metrics of one process. `definitions.ts` has the names, the labels and their values: a wrong value, or a missing one, does not
 * compile. Values of labels are parameters, and not an array: `add` is called a few times for each call.
 */
export class Metrics {
  /** Content type of {@link text}. */
  readonly contentType: string
  /** True when the histograms of calls keep exemplars. */
  exemplars = false
  readonly #registry = new MetricRegistry()
  readonly #numbers = new Map<string, LabelledValues<NumberCell>>()
  readonly #histograms = new Map<string, Distribution>()
  readonly #callbacks = new Map<string, CallbackMetric>()

  /**
   * `process: false` omits Node's process metrics, whose observers cannot be stopped: for tests. `serves: false` is for the primary of a
   * cluster, which handles no calls.
   */
  constructor ({ process: ofProcess = true, serves = true }: { readonly process?: boolean; readonly serves?: boolean } = {}) {
    this.contentType = this.#registry.contentType
    const quotas = { extensions: new LabelQuota('extensions'), rules: new LabelQuota('rules') }
    for (const [name, definition] of Object.entries<MetricDefinition>(METRICS)) {
      if (definition.process === (serves ? 'primary' : 'serving')) continue
      const labels = definition.labels.map(([label]) => label)
      const { type, help, quota } = definition
      if (type === 'histogram') {
        const histogram = new Distribution(PREFIX + name, help, labels, definition.buckets ?? [])
        this.#histograms.set(name, histogram)
        this.#registry.register(histogram)
        continue
      }
      const callback = new CallbackMetric(PREFIX + name, help, type)
      this.#registry.register(callback)
      if (definition.read === true) {
        this.#callbacks.set(name, callback)
        continue
      }
      const numbers = new LabelledValues(labels, values => new NumberCell(values), quota === undefined ? null : quotas[quota])
      this.#numbers.set(name, numbers)
      callback.read = () => numbers.cells.map(({ labels, value }): LabelledSample => [labels, value])
      // A number without labels is present from the start.
      if (labels.length === 0) numbers.at()
    }
    // Present from the start, so that the first failed reload, and the first unexpected error, is an increase.
    for (const place of PLACES) this.addAmount('unexpected_errors_total', 0, place)
    for (const outcome of ['ok', 'invalid'] as const) this.addAmount('config_reloads_total', 0, outcome)
    this.set('config_last_reload_successful', 1)
    this.read('heap_limit_bytes', () => getHeapStatistics().heap_size_limit)
    this.read('memory_limit_bytes', memoryLimit)
    this.read('build_info', () => [[packageVersion(), process.version, 1]])
    if (ofProcess) this.#registry.collectProcessMetrics()
  }

  /** Adds 1 to a counter. */
  add<Name extends CounterName> (name: Name, ...labels: LabelsOf<Name>): void
  // eslint-disable-next-line max-params
  add (name: CounterName, a?: string, b?: string, c?: string, d?: string, e?: string, f?: string): void {
    this.#cells(name).at(a, b, c, d, e, f).value++
  }

  /** Adds to a counter, or changes a gauge. An amount that is not finite, and a negative amount of a counter, changes nothing. */
  addAmount<Name extends CounterName | GaugeName> (name: Name, amount: number, ...labels: LabelsOf<Name>): void
  // eslint-disable-next-line max-params
  addAmount (name: CounterName | GaugeName, amount: number, a?: string, b?: string, c?: string, d?: string, e?: string, f?: string): void {
    if (!Number.isFinite(amount) || (amount < 0 && METRICS[name].type === 'counter')) return
    this.#cells(name).at(a, b, c, d, e, f).value += amount
  }

  /** Sets a gauge. A value that is not finite changes nothing. */
  set<Name extends GaugeName> (name: Name, value: number, ...labels: LabelsOf<Name>): void
  // eslint-disable-next-line max-params
  set (name: GaugeName, value: number, a?: string, b?: string, c?: string, d?: string): void {
    if (Number.isFinite(value)) this.#cells(name).at(a, b, c, d).value = value
  }

  /**
   * Adds a duration to a histogram.
   * @param span span of the call, for the exemplar; null for none
   */
  observe<Name extends HistogramName> (name: Name, seconds: number, span: ObservedSpan | null, ...labels: LabelsOf<Name>): void
  // eslint-disable-next-line max-params
  observe (name: HistogramName, seconds: number, span: ObservedSpan | null, a?: string, b?: string, c?: string): void {
    this.#histogram(name).tree.at(a, b, c).observe(seconds, this.exemplars ? span : null)
  }

  /** Sets the function that returns the samples of a metric. It is called at every scrape, and replaces an earlier function. */
  read<Name extends ReadName> (name: Name, read: () => Reading<LabelsOf<Name>>): void {
    const callback = this.#callbacks.get(name)
    const { labels }: MetricDefinition = METRICS[name]
    if (callback === undefined) return
    callback.read = () => {
      const reading = read() as Reading<readonly string[]> | number | null
      if (reading === null || typeof reading === 'number') return [[{}, reading]]
      return reading.map((sample): LabelledSample => {
        const value = sample[labels.length]
        return [Object.fromEntries(labels.map(([label], i) => [label, String(sample[i])])), typeof value === 'number' ? value : null]
      })
    }
  }

  /** Returns the counts of a histogram, for a reader that polls. A cell is never removed, and its index stays. */
  cells (name: HistogramName): readonly HistogramCell[] {
    return this.#histogram(name).tree.cells
  }

  /** Returns the metrics for another process, which merges several snapshots. */
  snapshot (): Promise<MetricsSnapshot> {
    return this.#registry.snapshot()
  }

  /** Returns the exposition, in Prometheus text format 0.0.4. */
  text (): Promise<string> {
    return this.#registry.text()
  }

  /** Returns the exposition in the format of OpenMetrics; null without exemplars, for which alone the format is served. */
  async openMetrics (): Promise<string | null> {
    return this.exemplars ? openMetrics(await this.snapshot()) : null
  }

  /** Removes every metric. Numbers recorded afterwards are lost. */
  close (): void {
    this.#registry.clear()
  }

  #cells (name: CounterName | GaugeName): LabelledValues<NumberCell> {
    return this.#numbers.get(name) as LabelledValues<NumberCell>
  }

  #histogram (name: HistogramName): Distribution {
    return this.#histograms.get(name) as Distribution
  }
}

/** @returns null without a memory limit: Node then returns 0, or a number above the total memory */
function memoryLimit (): number | null {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : null
}

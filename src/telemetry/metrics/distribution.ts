import { LabelledValues } from './labelled-values.js'
import type { Labels } from './labelled-values.js'

interface Sample {
  readonly metricName: string
  readonly labels: Record<string, string | number>
  readonly value: number
  readonly exemplar?: Exemplar
}

/** The last traced observation of a bucket, in the form of prom-client. */
export interface Exemplar {
  readonly labelSet: { readonly trace_id: string, readonly span_id: string }
  readonly value: number
  /** Seconds since the epoch. */
  readonly timestamp: number
}

/** The span that an observation belongs to. `spanId` is null when no collector will have the span. */
export interface ObservedSpan { readonly traceId: string | null, readonly spanId: string | null }

/** Counts of one label combination. `counts` is per bucket, not cumulative. Values above the last bound are only in `count`. */
class DistributionCell {
  readonly labels: Labels
  readonly counts: number[]
  sum: number
  count: number
  /** By bucket, with one more for values above the last bound; null without exemplars. */
  exemplars: (Exemplar | undefined)[] | null = null
  private readonly bounds: readonly number[]

  constructor (labels: Labels, bounds: readonly number[]) {
    this.labels = labels
    this.counts = new Array<number>(bounds.length).fill(0)
    this.sum = 0
    this.count = 0
    this.bounds = bounds
  }

  /**
   * Adds one observation. A value that is not finite is ignored, and a negative value counts as zero: a clock must never break a call.
   * @param span null without exemplars
   */
  observe (value: number, span: ObservedSpan | null): void {
    if (!Number.isFinite(value)) return
    const seconds = value > 0 ? value : 0
    this.sum += seconds
    this.count++
    const bounds = this.bounds
    let i = 0
    while (i < bounds.length && seconds > (bounds[i] as number)) i++
    if (i < bounds.length) (this.counts[i] as number)++
    if (span !== null) this.keep(i, seconds, span)
  }

  private keep (bucket: number, value: number, { traceId, spanId }: ObservedSpan): void {
    if (traceId === null || spanId === null) return
    this.exemplars ??= new Array<Exemplar | undefined>(this.bounds.length + 1).fill(undefined)
    this.exemplars[bucket] = { labelSet: { trace_id: traceId, span_id: spanId }, value, timestamp: Date.now() / 1_000 }
  }
}

/**
 * A Prometheus histogram that a prom-client Registry can collect. It has the `get()` that the registry calls on every metric, without
 * prom-client's cost per observation (see labelled-values.ts).
 */
export class Distribution {
  readonly name: string
  readonly help: string
  readonly type: 'histogram'
  readonly aggregator: 'sum'
  readonly tree: LabelledValues<DistributionCell>
  private readonly bounds: readonly number[]

  constructor (name: string, help: string, labelNames: readonly string[], bounds: readonly number[]) {
    this.name = name
    this.help = help
    this.type = 'histogram'
    this.aggregator = 'sum'
    this.bounds = bounds
    this.tree = new LabelledValues(labelNames, labels => new DistributionCell(labels, bounds))
  }

  /** Called by the registry at every scrape. */
  async get (): Promise<{ name: string, help: string, type: string, aggregator: string, values: Sample[] }> {
    const values: Sample[] = []
    for (const cell of this.tree.cells) {
      let cumulative = 0
      for (let i = 0; i < this.bounds.length; i++) {
        cumulative += cell.counts[i] as number
        values.push(this.bucket(cell, i, this.bounds[i] as number, cumulative))
      }
      values.push(this.bucket(cell, this.bounds.length, '+Inf', cell.count))
      values.push({ metricName: `${this.name}_sum`, labels: { ...cell.labels }, value: cell.sum })
      values.push({ metricName: `${this.name}_count`, labels: { ...cell.labels }, value: cell.count })
    }
    return { name: this.name, help: this.help, type: this.type, aggregator: this.aggregator, values }
  }

  private bucket (cell: DistributionCell, i: number, le: number | '+Inf', value: number): Sample {
    const exemplar = cell.exemplars?.[i]
    const sample = { metricName: `${this.name}_bucket`, labels: { ...cell.labels, le }, value }
    return exemplar === undefined ? sample : { ...sample, exemplar }
  }
}

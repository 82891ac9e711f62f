import { clipLabel } from './labelled-values.js'
import type { Labels } from './labelled-values.js'

interface Sample { readonly metricName: string, readonly labels: Record<string, string>, readonly value: number }

/** One sample: its labels and its value. A null value means no sample. */
export type LabelledSample = readonly [labels: Labels, value: number | null]

/**
 * A metric whose values are read at each scrape. A prom-client Registry collects it like a Distribution: the registry needs only `get()`.
 * A reading that fails gives no sample: the age of a card must not fail the whole scrape.
 */
export class CallbackMetric {
  readonly name: string
  readonly help: string
  readonly type: 'gauge' | 'counter'
  readonly aggregator = 'sum'
  /** Returns the samples. */
  read: () => readonly LabelledSample[]

  constructor (name: string, help: string, type: 'gauge' | 'counter', read: () => readonly LabelledSample[] = () => []) {
    this.name = name
    this.help = help
    this.type = type
    this.read = read
  }

  /** Called by the registry at every scrape. */
  async get (): Promise<{ name: string, help: string, type: string, aggregator: string, values: Sample[] }> {
    const values: Sample[] = []
    for (const [rawLabels, value] of this.#samples()) {
      if (value === null || !Number.isFinite(value)) continue
      const labels = Object.fromEntries(Object.entries(rawLabels).map(([name, text]) => [name, clipLabel(text)]))
      values.push({ metricName: this.name, labels, value })
    }
    return { name: this.name, help: this.help, type: this.type, aggregator: this.aggregator, values }
  }

  #samples (): readonly LabelledSample[] {
    try {
      return this.read()
    } catch {
      return []
    }
  }
}

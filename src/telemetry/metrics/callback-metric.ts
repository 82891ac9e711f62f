import { clipLabel } from './labelled-values.js'

interface Sample { readonly metricName: string, readonly labels: Record<string, string>, readonly value: number }

/** One sample: its labels and its value. A null value means no sample. */
export type LabelledSample = readonly [Readonly<Record<string, string>>, number | null]

/**
 * A metric whose values are read at each scrape. A prom-client Registry collects it like a Distribution: the registry needs only `get()`.
 */
export class CallbackMetric {
  readonly name: string
  readonly help: string
  readonly type: 'gauge' | 'counter'
  readonly aggregator: 'sum'
  private readonly read: () => readonly LabelledSample[]

  constructor (name: string, help: string, type: 'gauge' | 'counter', read: () => readonly LabelledSample[]) {
    this.name = name
    this.help = help
    this.type = type
    this.aggregator = 'sum'
    this.read = read
  }

  /** Called by the registry at every scrape. */
  async get (): Promise<{ name: string, help: string, type: string, aggregator: string, values: Sample[] }> {
    const values: Sample[] = []
    for (const [given, value] of this.read()) {
      if (value === null || !Number.isFinite(value)) continue
      const labels = Object.fromEntries(Object.entries(given).map(([name, text]) => [name, clipLabel(text)]))
      values.push({ metricName: this.name, labels, value })
    }
    return { name: this.name, help: this.help, type: this.type, aggregator: this.aggregator, values }
  }
}

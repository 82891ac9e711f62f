/** All metrics that `/metrics` can expose, with their labels. Alerts and dashboards may name only these. */
import { PerformanceObserver } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Test } from 'tap'
import { METRICS } from '#telemetry/metrics/definitions.js'
import type { MetricDefinition } from '#telemetry/metrics/definitions.js'
import { Metrics } from '#telemetry/metrics/metrics.js'

/** Labels that Prometheus adds to scraped metrics. */
export const TARGET_LABELS = ['namespace', 'job', 'instance']

/**
 * Names of samples, each with its labels. Histograms have the names with `_bucket`, `_sum` and `_count`. The list includes Node's own
 * metrics.
 */
export async function everyMetric (t: Test): Promise<Map<string, Set<string>>> {
  const processes = [new Metrics(), new Metrics({ process: false, serves: false })]
  t.teardown(() => { for (const metrics of processes) metrics.close() })
  process.constrainedMemory = () => 1_000_000
  processes.forEach(recordOne)
  await collectGarbage()
  const found = new Map<string, Set<string>>()
  const texts = await Promise.all(processes.map(metrics => metrics.text()))
  for (const line of texts.join('\n').split('\n')) {
    const [, name, labels = ''] = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? /.exec(line) ?? []
    if (name === undefined) continue
    const known = found.get(name) ?? new Set()
    found.set(name, known)
    for (const [, label = ''] of labels.matchAll(/([a-z_]+)="(?:[^"\\]|\\.)*"/g)) known.add(label)
  }
  return found
}

/** Forces a garbage collection, because the metric of its duration has no sample before the first one. */
async function collectGarbage (): Promise<void> {
  setFlagsFromString('--expose-gc')
  const seen = new Promise<void>(resolve => {
    const observer = new PerformanceObserver(() => {
      observer.disconnect()
      resolve()
    })
    observer.observe({ entryTypes: ['gc'] })
  })
  const collect = runInNewContext('gc') as () => void
  collect()
  await seen
}

/** Records one sample of each metric of the process, with the first value of each label. */
export function recordOne (metrics: Metrics): void {
  const { add, set, observe, read } = metrics as unknown as Record<string, (name: string, ...values: unknown[]) => void>
  for (const [name, definition] of Object.entries<MetricDefinition>(METRICS)) {
    const labels = definition.labels.map(([label, values]) => typeof values === 'string' ? label : values[0])
    if (definition.read === true) read?.call(metrics, name, () => labels.length === 0 ? 1 : [[...labels, 1]])
    else if (definition.type === 'histogram') observe?.call(metrics, name, 1, null, ...labels)
    else if (definition.type === 'gauge') set?.call(metrics, name, 1, ...labels)
    else add?.call(metrics, name, ...labels)
  }
}

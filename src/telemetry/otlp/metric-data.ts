/**
 * The metrics of `/metrics` as data of OpenTelemetry's SDK, whose encoders write OTLP. A second set of instruments would count everything
 * twice, and cost each call twice as much.
 */
import { ValueType } from '@opentelemetry/api'
import type { HrTime } from '@opentelemetry/api'
import type { DataPoint, Histogram, MetricData, ResourceMetrics } from '@opentelemetry/sdk-metrics'
import { AggregationTemporality, DataPointType } from '#vendor/opentelemetry.js'
import type { MetricsSnapshot } from '../metrics/registry.js'
import type { Origin } from './origin.js'

type Metric = MetricsSnapshot[number]
type Labels = Record<string, string>

/** The period of the counts. */
interface Period {
  /** Since when counters and histograms count. */
  readonly startTime: HrTime
  readonly endTime: HrTime
}

/** @param since when the metrics began to count, epoch ms */
export function resourceMetrics (snapshot: MetricsSnapshot, { resource, scope }: Origin, since: number, now: number): ResourceMetrics {
  const period = { startTime: hrTime(since), endTime: hrTime(now) }
  const metrics: MetricData[] = []
  for (const metric of snapshot) {
    const data = dataOf(metric, period)
    if (data.dataPoints.length > 0) metrics.push(data)
  }
  return { resource, scopeMetrics: [{ scope, metrics }] }
}

export function pointsIn ({ scopeMetrics }: ResourceMetrics): number {
  return scopeMetrics.reduce((sum, { metrics }) => sum + metrics.reduce((points, { dataPoints }) => points + dataPoints.length, 0), 0)
}

function dataOf (metric: Metric, period: Period): MetricData {
  const common = {
    descriptor: { name: metric.name, description: metric.help, unit: unitOf(metric.name), valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE
  } as const
  switch (String(metric.type)) {
    case 'histogram':
      return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(metric, period) }
    case 'counter':
      return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: numbers(metric, period) }
    default:
      return { ...common, dataPointType: DataPointType.GAUGE, dataPoints: numbers(metric, period) }
  }
}

/** The unit in UCUM. Names end with their unit, counters with `_total` after it. A collector that makes names of units adds none twice. */
function unitOf (name: string): string {
  const stem = name.replace(/_total$/, '')
  return stem.endsWith('_seconds') ? 's' : stem.endsWith('_bytes') ? 'By' : ''
}

function numbers ({ values }: Metric, period: Period): DataPoint<number>[] {
  const points: DataPoint<number>[] = []
  for (const { labels, value } of values) {
    if (Number.isFinite(value)) points.push({ startTime: period.startTime, endTime: period.endTime, attributes: labels as Labels, value })
  }
  return points
}

/** Buckets of Prometheus are cumulative, and each is a sample. In OTLP, a bucket counts the values above the bound before it. */
function histograms ({ name, values }: Metric, period: Period): DataPoint<Histogram>[] {
  const points = new Map<string, { labels: Labels, bounds: number[], cumulative: number[], sum: number, count: number }>()
  for (const { metricName = name, labels: rawLabels, value } of values) {
    const labels: Labels = {}
    for (const key in rawLabels) if (key !== 'le') labels[key] = String(rawLabels[key])
    const key = JSON.stringify(labels)
    let point = points.get(key)
    if (point === undefined) points.set(key, point = { labels, bounds: [], cumulative: [], sum: 0, count: 0 })
    if (metricName.endsWith('_sum')) point.sum = value
    else if (metricName.endsWith('_count')) point.count = value
    else if (Number.isFinite(Number(rawLabels.le))) {
      point.bounds.push(Number(rawLabels.le))
      point.cumulative.push(value)
    }
  }
  return [...points.values()].map(({ labels, bounds, cumulative, sum, count }) => ({
    startTime: period.startTime,
    endTime: period.endTime,
    attributes: labels,
    value: {
      buckets: { boundaries: bounds, counts: [...cumulative, count].map((value, i) => value - (cumulative[i - 1] ?? 0)) },
      sum,
      count
    }
  }))
}

function hrTime (milliseconds: number): HrTime {
  const seconds = Math.floor(milliseconds / 1_000)
  return [seconds, Math.round((milliseconds - seconds * 1_000) * 1e6)]
}

/** Sends the metrics of `/metrics` to a collector from time to time. environment.ts decides whether, and loads this file only then. */
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics'
import { JsonMetricsSerializer, ProtobufMetricsSerializer } from '#vendor/opentelemetry.js'
import type { MetricsSnapshot } from '../metrics/registry.js'
import { delayOf } from './environment.js'
import type { ExportOptions, OtlpProtocol } from './environment.js'
import { CONTENT_TYPES, otlpExporter } from './exporter.js'
import { pointsIn, resourceMetrics } from './metric-data.js'
import type { Origin } from './origin.js'
import { originOf, withEnvironment } from './origin.js'
import { within } from './within.js'

/** Milliseconds between two exports, unless OTEL_METRIC_EXPORT_INTERVAL is set. Equal to the SDK's default. */
const INTERVAL = 60_000
/** Milliseconds that a stop waits for the collector. Spans may take 5 s more, and `serve` ends the process 10 s after the drain. */
const SHUTDOWN_TIMEOUT = 2_000
const TEMPORALITY = 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE'

export interface MetricsExportOptions extends ExportOptions {
  /** Reads all metrics, of all processes. */
  readonly read: () => Promise<MetricsSnapshot>
}

export class MetricsExport {
  private readonly options: MetricsExportOptions
  private readonly origin: Origin
  private readonly exporter: ReturnType<typeof otlpExporter<ResourceMetrics>>
  private readonly timer: NodeJS.Timeout
  private readonly since = Date.now()
  /** The export in flight. There is one at a time: a slow collector gets fewer, and loses nothing, because the numbers are totals. */
  private sending: Promise<void> | null = null
  /** True from the first export that fails to the next one that does not. */
  private failing = false

  constructor (options: MetricsExportOptions, protocol: OtlpProtocol) {
    const { env, log } = options
    this.options = options
    this.origin = originOf(options)
    const { serializeRequest } = protocol === 'http/json' ? JsonMetricsSerializer : ProtobufMetricsSerializer
    this.exporter = withEnvironment(env, () =>
      otlpExporter('METRICS', { contentType: CONTENT_TYPES[protocol], encode: serializeRequest, count: pointsIn })
    )
    const temporality = env[TEMPORALITY]?.trim().toLowerCase() || 'cumulative'
    if (temporality !== 'cumulative') {
      log.warn(
        {}, `${TEMPORALITY} is "${temporality}". The gateway sends cumulative metrics; convert them in the collector (cumulativetodelta)`
      )
    }
    this.timer = setInterval(() => { this.send() }, delayOf(env, 'OTEL_METRIC_EXPORT_INTERVAL', INTERVAL)).unref()
  }

  /** Sends the last numbers, for at most 2 seconds. Never rejects. */
  async shutdown (): Promise<void> {
    clearInterval(this.timer)
    // The export in flight may have read the numbers before the last calls ended.
    const last = (this.sending ?? Promise.resolve()).then(() => this.send())
    if (await within(SHUTDOWN_TIMEOUT, last)) return
    this.options.log.warn({}, `the last metrics were lost: the collector did not accept them within ${SHUTDOWN_TIMEOUT} ms`)
  }

  private send (): Promise<void> {
    this.sending ??= this.export().finally(() => { this.sending = null })
    return this.sending
  }

  private async export (): Promise<void> {
    const { log, read } = this.options
    try {
      const data = resourceMetrics(await read(), this.origin, this.since, Date.now())
      await new Promise<void>((resolve, reject) => {
        this.exporter.export(data, ({ code, error }) => {
          if (code === 0) resolve()
          else reject(error ?? new Error('the export failed'))
        })
      })
      if (this.failing) log.info({}, 'the metrics collector accepts metrics again')
      this.failing = false
    } catch (err) {
      if (!this.failing) log.warn({ err }, 'the metrics collector does not accept metrics')
      this.failing = true
    }
  }
}

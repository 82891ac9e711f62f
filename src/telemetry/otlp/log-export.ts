/** Sends lines of the log and of the audit to a collector, in batches. environment.ts decides whether, and loads this file only then. */
import { JsonLogsSerializer, ProtobufLogsSerializer } from '#vendor/opentelemetry.js'
import { delayOf, positiveOf } from './environment.js'
import type { ExportOptions, OtlpProtocol } from './environment.js'
import { CONTENT_TYPES, otlpExporter } from './exporter.js'
import { logRecord } from './log-records.js'
import type { LogRecord } from './log-records.js'
import type { Origin } from './origin.js'
import { originOf, withEnvironment } from './origin.js'
import { within } from './within.js'

// Defaults of the variables OTEL_BLRP_*, which are those of the SDK.
/** Maximum number of waiting lines. */
const QUEUE = 2_048
/** Maximum number of lines in a batch. */
const BATCH = 512
/** Milliseconds that a line waits for others. */
const DELAY = 1_000
/** Maximum size of all waiting lines, UTF-16 code units: an audit line with many violations has some 20,000. */
const QUEUE_SIZE = 4 * 1024 * 1024
/** Milliseconds that a stop waits for the collector. Spans may take 5 s more, and `serve` ends the process 10 s after the drain. */
const SHUTDOWN_TIMEOUT = 2_000

export interface LogExportOptions extends ExportOptions {
  /** Called with a number of records that were lost. */
  readonly onLost: (records: number) => void
}

export class LogExport {
  private readonly options: LogExportOptions
  private readonly origin: Origin
  private readonly exporter: ReturnType<typeof otlpExporter<readonly LogRecord[]>>
  private readonly size: number
  private readonly batch: number
  private readonly delay: number
  private waiting: string[] = []
  /** Size of the waiting lines. */
  private held = 0
  private timer: NodeJS.Timeout | null = null
  /** The batches in flight, one after the other. */
  private sending: Promise<void> | null = null
  /** True from the first loss to the next batch that the collector accepts. One line about each: the line itself is a record. */
  private failing = false

  constructor (options: LogExportOptions, protocol: OtlpProtocol) {
    const { env } = options
    this.options = options
    this.origin = originOf(options)
    this.size = positiveOf(env, 'OTEL_BLRP_MAX_QUEUE_SIZE', QUEUE)
    this.batch = Math.min(positiveOf(env, 'OTEL_BLRP_MAX_EXPORT_BATCH_SIZE', BATCH), this.size)
    this.delay = delayOf(env, 'OTEL_BLRP_SCHEDULE_DELAY', DELAY)
    const { serializeRequest } = protocol === 'http/json' ? JsonLogsSerializer : ProtobufLogsSerializer
    this.exporter = withEnvironment(env, () =>
      otlpExporter('LOGS', {
        contentType: CONTENT_TYPES[protocol],
        encode: records => serializeRequest(records as LogRecord[]),
        count: records => records.length
      })
    )
  }

  /** Takes a finished line, which is parsed when its batch is sent. Never blocks: a line that finds no room is lost, and counted. */
  add (line: string): void {
    if (this.waiting.length >= this.size || this.held + line.length > QUEUE_SIZE) return this.lose(1, null)
    this.waiting.push(line)
    this.held += line.length
    if (this.waiting.length >= this.batch) this.send()
    else this.timer ??= setTimeout(() => { this.send() }, this.delay).unref()
  }

  /** Sends the remaining lines, for at most 2 seconds. Never rejects. */
  async shutdown (): Promise<void> {
    if (await within(SHUTDOWN_TIMEOUT, this.send())) return
    this.options.onLost(this.waiting.length)
    this.waiting = []
    this.options.log.warn({}, `the last log records were lost: the collector did not accept them within ${SHUTDOWN_TIMEOUT} ms`)
  }

  private send (): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    this.sending ??= this.drain().finally(() => { this.sending = null })
    return this.sending
  }

  private async drain (): Promise<void> {
    while (this.waiting.length > 0) {
      const lines = this.waiting.splice(0, this.batch)
      for (const line of lines) this.held -= line.length
      const records = lines.map(line => logRecord(line, this.origin)).filter(record => record !== null)
      const error = await this.export(records)
      if (error !== null) this.lose(lines.length, error)
      else if (this.failing) {
        this.failing = false
        this.options.log.info({}, 'the log collector accepts records again')
      }
    }
  }

  /** @returns the error, if the collector does not accept the records */
  private export (records: readonly LogRecord[]): Promise<Error | null> {
    return new Promise(resolve => {
      this.exporter.export(records, ({ code, error }) => { resolve(code === 0 ? null : error ?? new Error('the export failed')) })
    })
  }

  /** @param err null when the queue is full */
  private lose (records: number, err: Error | null): void {
    this.options.onLost(records)
    if (this.failing) return
    this.failing = true
    if (err === null) {
      this.options.log.warn(
        {}, 'there are more log records than the log collector accepts; the gateway drops the records that do not fit into the queue'
      )
    } else this.options.log.warn({ err }, 'the log collector does not accept records')
  }
}

import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { Log } from './log.js'

type Done = Parameters<SpanExporter['export']>[1]

/** Milliseconds between two warnings about the same dead collector. */
const QUIET = 60_000

/** Says in our log what the SDK would only tell its global diagnostics: spans that could not be delivered. */
export class ReportingExporter implements SpanExporter {
  private readonly inner: SpanExporter
  private readonly log: Log
  private readonly onLost: (spans: number) => void
  private lost: number
  private warnedAt: number

  constructor (inner: SpanExporter, log: Log, onLost: (spans: number) => void = () => {}) {
    this.inner = inner
    this.log = log
    this.onLost = onLost
    this.lost = 0
    this.warnedAt = -Infinity
  }

  export (spans: ReadableSpan[], done: Done): void {
    this.inner.export(spans, result => {
      if (result.code === 0) this.delivered()
      else this.failed(spans.length, result.error)
      done(result)
    })
  }

  shutdown (): Promise<void> {
    return this.inner.shutdown()
  }

  async forceFlush (): Promise<void> {
    await this.inner.forceFlush?.()
  }

  private delivered (): void {
    if (this.lost === 0) return
    this.log.info({ spans_lost: this.lost }, 'The trace collector takes spans again.')
    this.lost = 0
    this.warnedAt = -Infinity
  }

  private failed (spans: number, err: Error | undefined): void {
    this.lost += spans
    this.onLost(spans)
    const now = performance.now()
    if (now - this.warnedAt < QUIET) return
    this.warnedAt = now
    this.log.warn({ err, spans_lost: this.lost }, 'The trace collector does not take our spans.')
  }
}

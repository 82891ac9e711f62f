import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { Log } from '../log.js'
import { LossReport } from '../loss-report.js'

type Done = Parameters<SpanExporter['export']>[1]

/** Logs spans that could not be delivered. The SDK would report them only to its global diagnostics. */
export class ReportingExporter implements SpanExporter {
  private readonly inner: SpanExporter
  private readonly log: Log
  private readonly losses: LossReport

  constructor (inner: SpanExporter, log: Log, onLost?: (spans: number) => void) {
    this.inner = inner
    this.log = log
    this.losses = new LossReport(log, 'the trace collector does not accept spans', onLost)
  }

  export (spans: ReadableSpan[], done: Done): void {
    this.inner.export(spans, result => {
      if (result.code === 0) this.delivered()
      else this.losses.add(spans.length, result.error)
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
    const lost = this.losses.over()
    if (lost > 0) this.log.info({ spans_lost: lost }, 'the trace collector accepts spans again')
  }
}

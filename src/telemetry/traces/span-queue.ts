import { TraceFlags } from '@opentelemetry/api'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import { BatchSpanProcessor } from '#vendor/opentelemetry.js'
import type { Log } from '../log.js'
import { LossReport } from '../loss-report.js'
import type { SpanEncoder } from './encoded-span.js'
import type { GatewaySpan } from './gateway-span.js'

export interface SpanQueueOptions {
  /** Maximum number of waiting spans. */
  readonly size: number
  readonly log: Log
  readonly onLost?: ((spans: number) => void) | undefined
}

/**
 * Wraps the SDK's queue and counts its spans. A span that finds no room is lost, and the SDK reports that only to its global diagnostics.
 * The wrapper sets the size of the SDK's queue, and never passes more spans than that. The spans in the queue are encoded: one takes a few
 * microseconds when it ends, and the collector of garbage has fewer objects to keep.
 */
export class SpanQueue {
  private readonly size: number
  private readonly losses: LossReport
  private readonly queue: BatchSpanProcessor
  private readonly encoder: SpanEncoder
  /** Spans passed to the SDK, and not yet to the exporter. */
  private waiting = 0

  constructor (exporter: SpanExporter, encoder: SpanEncoder, options: SpanQueueOptions) {
    this.encoder = encoder
    const { size, log, onLost } = options
    this.size = size
    this.losses = new LossReport(
      log,
      'there are more spans than the trace collector accepts; the gateway drops the spans that do not fit into the queue',
      onLost
    )
    this.queue = new BatchSpanProcessor(this.counting(exporter), { maxQueueSize: size })
  }

  onEnd (span: GatewaySpan): void {
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return
    if (this.waiting >= this.size) return this.losses.add(1)
    this.waiting++
    this.queue.onEnd(this.encoder.encode(span) as unknown as ReadableSpan)
  }

  shutdown (): Promise<void> {
    return this.queue.shutdown()
  }

  private counting (exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, done) => {
        this.waiting -= spans.length
        exporter.export(spans, done)
      },
      forceFlush: async () => { await exporter.forceFlush?.() },
      shutdown: () => exporter.shutdown()
    }
  }
}

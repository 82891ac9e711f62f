import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { LineSink } from '../standard-output.js'

/** One span as a line, under the names of its members. */
interface SpanLine {
  /** Distinguishes the line from log and audit lines. */
  readonly span: true
  /** Start of the span: ISO 8601, UTC. */
  readonly time: string
  readonly trace_id: string
  readonly span_id: string
  readonly parent_id: string | null
  readonly name: string
  readonly kind: string | undefined
  readonly duration_ms: number
  /** `UNSET` or `ERROR`. */
  readonly status: string | undefined
  readonly attributes: ReadableSpan['attributes']
}

/** `OTEL_TRACES_EXPORTER=console`: writes one JSON line per span when the span ends, to inspect spans without a collector. */
export class LineExporter implements SpanExporter {
  private readonly lines: LineSink
  private readonly onLost: (spans: number) => void

  constructor (lines: LineSink, onLost: (spans: number) => void = () => {}) {
    this.lines = lines
    this.onLost = onLost
  }

  export (spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    for (const span of spans) {
      if (!this.lines.put(`${JSON.stringify(lineOf(span))}\n`)) this.onLost(1)
    }
    done({ code: 0 })
  }

  async shutdown (): Promise<void> {}
}

function lineOf (span: ReadableSpan): SpanLine {
  const { traceId, spanId } = span.spanContext()
  return {
    span: true,
    time: new Date(milliseconds(span.startTime)).toISOString(),
    trace_id: traceId,
    span_id: spanId,
    parent_id: span.parentSpanContext?.spanId ?? null,
    name: span.name,
    kind: SpanKind[span.kind],
    duration_ms: Math.round(milliseconds(span.duration) * 1_000) / 1_000,
    status: SpanStatusCode[span.status.code],
    attributes: span.attributes
  }
}

/** Converts OpenTelemetry's pair of seconds and nanoseconds to milliseconds. */
function milliseconds ([seconds, nanoseconds]: ReadableSpan['startTime']): number {
  return seconds * 1_000 + nanoseconds / 1e6
}

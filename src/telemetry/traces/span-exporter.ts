import type { SpanExporter } from '@opentelemetry/sdk-trace-base'
import { otlpExporter } from '../otlp/exporter.js'
import type { EncodedSpan, SpanEncoder } from './encoded-span.js'

/** Creates the exporter for spans that are encoded already. */
export function spanExporter (encoder: SpanEncoder): SpanExporter {
  const exporter = otlpExporter<readonly EncodedSpan[]>('TRACES', {
    contentType: encoder.contentType,
    encode: spans => encoder.request(spans),
    count: spans => spans.length
  })
  // The queue passes on what it got: encoded spans.
  return exporter as unknown as SpanExporter
}

import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base'
import { convertLegacyHttpOptions, createOtlpHttpExportDelegate } from '@opentelemetry/otlp-exporter-base/node-http'
import type { SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { EncodedSpan, SpanEncoder } from './encoded-span.js'

/**
 * Creates the SDK's exporter for traces, for spans that are encoded already: the SDK's own class has a fixed serializer. Headers, TLS,
 * compression, timeout and retries follow `OTEL_EXPORTER_OTLP_*` in `process.env`.
 */
export function otlpExporter (encoder: SpanEncoder): SpanExporter {
  const options = convertLegacyHttpOptions({}, 'TRACES', 'v1/traces', { 'Content-Type': encoder.contentType })
  const serializer = {
    serializeRequest: (spans: readonly EncodedSpan[]) => encoder.request(spans),
    // The SDK only passes the response to its global diagnostics, which have no listener.
    deserializeResponse: () => ({})
  }
  const counts = { name: 'span' as const, countItems: (spans: readonly EncodedSpan[]) => spans.length }
  const delegate = createOtlpHttpExportDelegate(options, serializer, 'otlp_http_span_exporter', counts, undefined)
  // The queue passes on what it got: encoded spans.
  return new OTLPExporterBase(delegate) as unknown as SpanExporter
}

import { OTLPExporterBase, convertLegacyHttpOptions, createOtlpHttpExportDelegate } from '#vendor/opentelemetry.js'
import type { OtlpSignal } from './environment.js'

/** Encodes and counts the items of one signal for the exporter. */
export interface Encoding<Items> {
  readonly contentType: string
  /** @returns the body of an OTLP request */
  encode (items: Items): Uint8Array | undefined
  count (items: Items): number
}

const COUNTED = { TRACES: 'span', METRICS: 'metric_data_point', LOGS: 'log' } as const
const COMPONENT: Readonly<Record<OtlpSignal, string>> = {
  TRACES: 'otlp_http_span_exporter',
  METRICS: 'otlp_http_metric_exporter',
  LOGS: 'otlp_http_log_exporter'
}

/**
 * Creates the SDK's exporter with an encoding of the gateway: the SDK's own classes have fixed ones. Address, headers, TLS, compression,
 * timeout and retries follow `OTEL_EXPORTER_OTLP_*` in `process.env`.
 */
export function otlpExporter<Items> (signal: OtlpSignal, encoding: Encoding<Items>): OTLPExporterBase<Items> {
  const options = convertLegacyHttpOptions({}, signal, `v1/${signal.toLowerCase()}`, { 'Content-Type': encoding.contentType })
  const serializer = {
    serializeRequest: (items: Items) => encoding.encode(items),
    // The SDK only passes the response to its global diagnostics, which have no listener.
    deserializeResponse: () => ({})
  }
  const counts = { name: COUNTED[signal], countItems: (items: Items) => encoding.count(items) }
  return new OTLPExporterBase(createOtlpHttpExportDelegate(options, serializer, COMPONENT[signal], counts, undefined))
}

/** The content types of the protocols. */
export const CONTENT_TYPES = { 'http/protobuf': 'application/x-protobuf', 'http/json': 'application/json' } as const

/**
 * The parts of OpenTelemetry's SDK that the gateway uses. The build joins them into `opentelemetry.cjs` (scripts/bundle/vendor.ts), because
 * the packages take 24 MB on disk, most of them unused. Only modules that a start with traces or OTLP loads import this file.
 */
export { emptyResource, defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
export {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  SamplingDecision,
  SimpleSpanProcessor,
  TraceIdRatioBasedSampler
} from '@opentelemetry/sdk-trace-base'
export {
  JsonLogsSerializer, JsonMetricsSerializer, ProtobufLogsSerializer, ProtobufMetricsSerializer
} from '@opentelemetry/otlp-transformer'
export { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics'
export { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base'
export { convertLegacyHttpOptions, createOtlpHttpExportDelegate } from '@opentelemetry/otlp-exporter-base/node-http'

/**
 * A collector of OpenTelemetry: a real HTTP server that reads metrics and log records by the definitions of OTLP 1.x
 * (https://github.com/open-telemetry/opentelemetry-proto), as protobuf and as JSON. A member that OTLP does not have fails.
 */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import protobuf from 'protobufjs'

const { root } = protobuf.parse(`
  syntax = "proto3";
  message ExportMetricsServiceRequest { repeated ResourceMetrics resource_metrics = 1; }
  message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; string schema_url = 3; }
  message ScopeMetrics { InstrumentationScope scope = 1; repeated Metric metrics = 2; string schema_url = 3; }
  message Metric {
    string name = 1; string description = 2; string unit = 3;
    oneof data { Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; }
  }
  message Gauge { repeated NumberDataPoint data_points = 1; }
  message Sum { repeated NumberDataPoint data_points = 1; uint32 aggregation_temporality = 2; bool is_monotonic = 3; }
  message Histogram { repeated HistogramDataPoint data_points = 1; uint32 aggregation_temporality = 2; }
  message NumberDataPoint {
    fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; oneof value { double as_double = 4; sfixed64 as_int = 6; }
    repeated KeyValue attributes = 7; uint32 flags = 8;
  }
  message HistogramDataPoint {
    fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; fixed64 count = 4; optional double sum = 5;
    repeated fixed64 bucket_counts = 6; repeated double explicit_bounds = 7; repeated KeyValue attributes = 9; uint32 flags = 10;
    optional double min = 11; optional double max = 12;
  }
  message ExportLogsServiceRequest { repeated ResourceLogs resource_logs = 1; }
  message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; string schema_url = 3; }
  message ScopeLogs { InstrumentationScope scope = 1; repeated LogRecord log_records = 2; string schema_url = 3; }
  message LogRecord {
    fixed64 time_unix_nano = 1; uint32 severity_number = 2; string severity_text = 3; AnyValue body = 5; repeated KeyValue attributes = 6;
    optional uint32 dropped_attributes_count = 7; fixed32 flags = 8; bytes trace_id = 9; bytes span_id = 10; fixed64 observed_time_unix_nano = 11;
    string event_name = 12;
  }
  message Resource { repeated KeyValue attributes = 1; optional uint32 dropped_attributes_count = 2; }
  message InstrumentationScope { string name = 1; string version = 2; repeated KeyValue attributes = 3; optional uint32 dropped_attributes_count = 4; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue {
    oneof value {
      string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5;
      KeyValueList kvlist_value = 6; bytes bytes_value = 7;
    }
  }
  message ArrayValue { repeated AnyValue values = 1; }
  message KeyValueList { repeated KeyValue values = 1; }`)

interface AnyValue {
  readonly stringValue?: string
  readonly boolValue?: boolean
  readonly intValue?: number
  readonly doubleValue?: number
  readonly arrayValue?: { readonly values?: readonly AnyValue[] }
  readonly kvlistValue?: { readonly values?: readonly KeyValue[] }
}
interface KeyValue { readonly key: string, readonly value?: AnyValue }

interface Points<Point> { readonly dataPoints: readonly Point[], readonly aggregationTemporality?: number, readonly isMonotonic?: boolean }
interface Point { readonly startTimeUnixNano: number, readonly timeUnixNano: number, readonly attributes?: readonly KeyValue[] }
export interface OtlpMetric {
  readonly name: string
  readonly description: string
  readonly unit?: string
  readonly gauge?: Points<Point & { readonly asDouble: number }>
  readonly sum?: Points<Point & { readonly asDouble: number }>
  readonly histogram?: Points<Point & {
    readonly count: number
    readonly sum: number
    readonly bucketCounts: readonly number[]
    readonly explicitBounds: readonly number[]
  }>
}
interface OtlpLogRecord {
  readonly timeUnixNano: number
  readonly severityNumber: number
  readonly severityText: string
  readonly body: AnyValue
  readonly attributes?: readonly KeyValue[]
  readonly flags?: number
  readonly traceId?: Buffer
  readonly spanId?: Buffer
}

/** A log record with plain attributes, and with ids as digits. */
export interface LogRecord {
  readonly severity: readonly [number, string]
  readonly body: unknown
  readonly attributes: Readonly<Record<string, unknown>>
  readonly traceId: string
  readonly spanId: string
  /** Epoch milliseconds. */
  readonly time: number
}

export interface Post {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface Collector {
  readonly url: string
  readonly posts: Post[]
  /** HTTP status of the next responses; 200 at first. */
  status: number
  /** Metrics of each export. */
  metrics (): { readonly resource: Record<string, unknown>, readonly metrics: OtlpMetric[] }[]
  /** All log records so far, with the attributes of their sender. */
  records (): (LogRecord & { readonly resource: Record<string, unknown> })[]
}

/** @param answers false: accepts requests, and does not respond */
export async function startCollector (t: { teardown (fn: () => unknown): unknown }, answers = true): Promise<Collector> {
  const posts: Post[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      posts.push({ path: request.url ?? '', headers: request.headers, body: request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body })
      if (answers) response.writeHead(collector.status, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const accepted = (type: string, path: string): unknown[] =>
    posts.filter(post => post.path.endsWith(path)).map(post => read(type, post))
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    posts,
    status: 200,
    metrics: () =>
      (accepted('ExportMetricsServiceRequest', 'metrics') as { resourceMetrics: { resource: Resource, scopeMetrics: { metrics: OtlpMetric[] }[] }[] }[])
        .flatMap(({ resourceMetrics }) => resourceMetrics)
        .map(one => ({ resource: attributesOf(one.resource.attributes), metrics: one.scopeMetrics.flatMap(({ metrics }) => metrics) })),
    records: () =>
      (accepted('ExportLogsServiceRequest', 'logs') as { resourceLogs: { resource: Resource, scopeLogs: { logRecords: OtlpLogRecord[] }[] }[] }[])
        .flatMap(({ resourceLogs }) => resourceLogs)
        .flatMap(one => one.scopeLogs.flatMap(({ logRecords }) => logRecords).map(record => ({
          severity: [record.severityNumber, record.severityText] as const,
          body: plain(record.body),
          attributes: attributesOf(record.attributes),
          traceId: record.traceId?.toString('hex') ?? '',
          spanId: record.spanId?.toString('hex') ?? '',
          time: record.timeUnixNano / 1e6,
          resource: attributesOf(one.resource.attributes)
        })))
  }
  return collector
}

interface Resource { readonly attributes: readonly KeyValue[] }

function read (name: string, { headers, body }: Post): unknown {
  const type = root.lookupType(name)
  const options = { longs: Number, bytes: Buffer, arrays: false }
  if (headers['content-type'] === 'application/x-protobuf') {
    const message = type.decode(body)
    const again = type.encode(message).finish()
    if (again.length !== body.length) throw new Error(`${name}: ${body.length - again.length} bytes are of fields that OTLP does not have`)
    return type.toObject(message, options)
  }
  // OTLP writes ids as hexadecimal digits, where JSON of protobuf has base64.
  const json: unknown = JSON.parse(body.toString(), (key, value: unknown) =>
    (key === 'traceId' || key === 'spanId') && typeof value === 'string' ? Buffer.from(value, 'hex').toString('base64') : value
  )
  unknownMembers(type, json)
  return type.toObject(type.fromObject(json as Record<string, unknown>), options)
}

function unknownMembers (type: protobuf.Type, value: unknown): void {
  for (const [key, member] of Object.entries(value as object)) {
    const field = type.fields[key]
    if (field === undefined) throw new Error(`${type.name} has no ${key}`)
    if (!(field.resolve().resolvedType instanceof protobuf.Type)) continue
    for (const one of [member].flat()) unknownMembers(field.resolvedType as protobuf.Type, one)
  }
}

/** Attributes as an object. */
export function attributesOf (attributes: readonly KeyValue[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]))
}

function plain (value: AnyValue = {}): unknown {
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(plain)
  if (value.kvlistValue !== undefined) return attributesOf(value.kvlistValue.values)
  return value.stringValue ?? value.boolValue ?? value.intValue ?? value.doubleValue ?? null
}

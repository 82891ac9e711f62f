/** Finished lines of the log and of the audit, as log records of OpenTelemetry. */
import { TraceFlags } from '@opentelemetry/api'
import type { HrTime, SpanContext } from '@opentelemetry/api'
import type { JsonLogsSerializer } from '@opentelemetry/otlp-transformer'
import { parseJson } from '#wire/json/parse-json.js'
import type { Origin } from './origin.js'

/** Numbers of https://opentelemetry.io/docs/specs/otel/logs/data-model/#field-severitynumber: the first of each range. */
const SEVERITY: Readonly<Record<string, number>> = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 }
/** Severity of audit lines, which have no level. */
const AUDIT = 'info'

/** A log record of the SDK. */
export type LogRecord = Parameters<typeof JsonLogsSerializer['serializeRequest']>[0][number]

type Line = Record<string, unknown>

/**
 * Makes the record of a line. Its attributes are the members of the line under their own names, except for those that OTLP has fields for
 * (level, time, msg, trace_id, span_id) and for errors, which have the names of the semantic conventions.
 * @returns null for a line that is not a JSON object, which the gateway does not write
 */
export function logRecord (line: string, { resource, scope }: Origin): LogRecord | null {
  const fields = parse(line)
  if (fields === null) return null
  const { level, time, msg, trace_id: traceId, span_id: spanId, err, ...attributes } = fields
  if (isObject(err)) Object.assign(attributes, exceptionOf(err))
  const severity = typeof level === 'string' ? level : AUDIT
  const at = hrTime(typeof time === 'string' ? Date.parse(time) : NaN)
  return {
    hrTime: at,
    hrTimeObserved: at,
    severityNumber: SEVERITY[severity] ?? 0,
    severityText: severity,
    body: typeof msg === 'string' ? msg : bodyOf(fields),
    attributes: attributes as LogRecord['attributes'],
    droppedAttributesCount: 0,
    resource,
    instrumentationScope: scope,
    ...(typeof traceId === 'string' ? { spanContext: contextOf(traceId, spanId) } : {})
  }
}

function parse (line: string): Line | null {
  try {
    const value: unknown = parseJson(line)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

function isObject (value: unknown): value is Line {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The text of an audit line, which has no message: `request rejected`. */
function bodyOf ({ phase, decision, dropped }: Line): string {
  return typeof dropped === 'number' ? 'audit lines dropped' : [phase, decision].filter(part => typeof part === 'string').join(' ')
}

/** The attributes of an error: https://opentelemetry.io/docs/specs/semconv/exceptions/exceptions-logs/. */
function exceptionOf ({ type, message, stack, ...rest }: Line): Line {
  return {
    'exception.type': type,
    'exception.message': message,
    ...(stack === undefined ? {} : { 'exception.stacktrace': stack }),
    ...(Object.keys(rest).length === 0 ? {} : { err: rest })
  }
}

/** A line without `span_id` belongs to a trace of the client that the gateway did not record. */
function contextOf (traceId: string, spanId: unknown): SpanContext {
  return typeof spanId === 'string'
    ? { traceId, spanId, traceFlags: TraceFlags.SAMPLED }
    : { traceId, traceFlags: TraceFlags.NONE } as SpanContext
}

function hrTime (milliseconds: number): HrTime {
  const time = Number.isFinite(milliseconds) ? milliseconds : Date.now()
  return [Math.floor(time / 1_000), (time % 1_000) * 1e6]
}

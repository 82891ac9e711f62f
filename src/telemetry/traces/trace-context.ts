/** The position in a caller's trace: the parts of a valid W3C `traceparent`. */
export interface TraceParent {
  /** 32 lower-case hex digits. */
  readonly traceId: string
  /** 16 lower-case hex digits: the caller's span. */
  readonly parentId: string
  readonly sampled: boolean
}

// https://www.w3.org/TR/trace-context/#traceparent-header: lower case only; version ff and all-zero ids are invalid.
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZERO_TRACE = '0'.repeat(32)
const ZERO_SPAN = '0'.repeat(16)

/**
 * Parses a `traceparent` header. Returns null when the specification requires a new trace. Repeated headers arrive joined by a comma and
 * are invalid. Versions above 00 may have further data after the flags, which is ignored. The function of OpenTelemetry accepts blanks
 * around the value and any length, and a start without tracing does not load its package.
 */
export function parseTraceParent (header: string | string[] | undefined): TraceParent | null {
  if (typeof header !== 'string' || header.length < 55 || header.length > 512) return null
  const match = TRACEPARENT.exec(header)
  if (match === null) return null
  const [, version, traceId, parentId, flags, rest] = match as unknown as [string, string, string, string, string, string | undefined]
  if (version === 'ff' || traceId === ZERO_TRACE || parentId === ZERO_SPAN) return null
  if (version === '00' && rest !== undefined) return null
  return { traceId, parentId, sampled: (parseInt(flags, 16) & 1) === 1 }
}

/** Formats a `traceparent` header, version 00. */
export function formatTraceParent (traceId: string, spanId: string, sampled: boolean): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`
}

import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, createTraceState, trace } from '@opentelemetry/api'
import type { Context, Span, SpanContext, SpanOptions, Tracer } from '@opentelemetry/api'
import type { IncomingHttpHeaders } from 'node:http'
import type { GrpcCodeName } from '#wire/grpc/codes.js'
import type { Outcome } from '../metrics/metrics.js'
import { formatTraceParent, parseTraceParent } from './trace-context.js'
import type { SpanAttribute } from './span-attributes.js'
import type { Attribute, Attributes, RequestSpan, TracedRequest, TraceHeaders, Tracing } from './span.js'

const STRING_LENGTH = 256
const ARRAY_LENGTH = 64
/** Name of the span until the operation is known. */
const UNNAMED = 'request'
/** `error.type` of a JSON-RPC error without a readable code. */
const UNKNOWN_ERROR = '_OTHER'
/**
 * Statuses of gRPC that are errors of the server (OpenTelemetry semantic conventions for gRPC). Any other status is the caller's error, and
 * the status of the SERVER span stays unset.
 */
const SERVER_ERRORS: ReadonlySet<string> = new Set<GrpcCodeName>([
  'UNKNOWN', 'DEADLINE_EXCEEDED', 'UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS'
])

/** The span of a request that OpenTelemetry records. */
export class RecordedSpan implements RequestSpan {
  readonly traceId: string
  readonly spanId: string | null
  private readonly tracer: Pick<Tracer, 'startSpan'>
  private readonly server: Span
  /**
   * Epoch milliseconds minus `performance.now()`, read once. All spans of a request share this clock. Unlike the SDK's own fallback, the
   * clock has better than millisecond resolution and does not jump.
   */
  private readonly offset: number
  private client: Span | null
  private clientOpen: boolean
  /** End of the call to the agent, once its response has a head. The CLIENT span stays open for an error in the body. */
  private clientEnd: number | null
  /** Code of the JSON-RPC error, or status of gRPC, in the response to the client, as error type; null without an error. */
  private code: string | null
  /** True when the response has a status of gRPC. The status alone then tells whether the span failed. */
  private grpc: boolean
  private operation: string
  private ended: boolean

  constructor (tracer: Pick<Tracer, 'startSpan'>, request: TracedRequest, at: number) {
    this.tracer = tracer
    this.offset = Date.now() - performance.now()
    const options: SpanOptions = { kind: SpanKind.SERVER, startTime: this.offset + at }
    this.server = tracer.startSpan(UNNAMED, options, callerContext(request.headers))
    const recording = this.server.isRecording()
    if (recording) describeHead(this.server, request)
    const { traceId, spanId } = this.server.spanContext()
    this.traceId = traceId
    this.spanId = recording ? spanId : null
    this.client = null
    this.clientOpen = false
    this.clientEnd = null
    this.code = null
    this.grpc = false
    this.operation = UNNAMED
    this.ended = false
  }

  get recording (): boolean {
    return !this.ended && this.server.isRecording()
  }

  name (operation: string): void {
    if (this.ended) return
    this.operation = clip(operation)
    this.server.updateName(this.operation)
  }

  set (key: SpanAttribute, value: Attribute): void {
    if (!this.ended) this.server.setAttribute(key, bound(value))
  }

  observed (key: string, value: Attribute): void {
    if (!this.ended) this.server.setAttribute(key, bound(value))
  }

  dialled (name: string, attributes: Attributes): (statusCode: number | null, error: string | null) => void {
    const span = this.tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime: this.now() }, trace.setSpan(ROOT_CONTEXT, this.server))
    for (const key in attributes) span.setAttribute(key, bound(attributes[key as SpanAttribute] as Attribute))
    return (statusCode, error) => {
      if (statusCode !== null) span.setAttribute('http.response.status_code', statusCode)
      if (error !== null) fail(span, statusCode === null || statusCode < 400 ? error : String(statusCode))
      span.end(this.now())
    }
  }

  upstreamStarted (attributes: Attributes): void {
    if (this.ended) return
    this.closeClient()
    const options: SpanOptions = { kind: SpanKind.CLIENT, startTime: this.now() }
    this.client = this.tracer.startSpan(this.operation, options, trace.setSpan(ROOT_CONTEXT, this.server))
    for (const key in attributes) this.client.setAttribute(key, bound(attributes[key as SpanAttribute] as Attribute))
    this.clientOpen = true
    this.clientEnd = null
  }

  upstreamEnded (statusCode: number | null, error?: Error): void {
    if (this.client === null || !this.clientOpen || this.clientEnd !== null) return
    this.clientEnd = this.now()
    // Only the kind of the error: messages may quote text of the agent or the client.
    const kind = error === undefined ? null : errorKind(error)
    if (statusCode !== null) this.client.setAttribute('http.response.status_code', statusCode)
    if (kind !== null) fail(this.client, kind)
    else if (statusCode !== null && statusCode >= 400) fail(this.client, String(statusCode))
  }

  rpcError (code: number | null, by: 'agent' | 'gateway'): void {
    if (this.ended) return
    this.code = code === null ? UNKNOWN_ERROR : String(code)
    this.server.setAttribute('rpc.system.name', 'jsonrpc')
    if (code !== null) this.server.setAttribute('rpc.response.status_code', this.code)
    if (by === 'gateway' || this.client === null || !this.clientOpen) return
    if (code !== null) this.client.setAttribute('rpc.response.status_code', this.code)
    fail(this.client, this.code)
  }

  grpcStatus (status: GrpcCodeName, by: 'agent' | 'gateway'): void {
    if (this.ended) return
    this.grpc = true
    this.code = SERVER_ERRORS.has(status) ? status : null
    this.server.setAttribute('rpc.system.name', 'grpc')
    this.server.setAttribute('rpc.response.status_code', status)
    if (by === 'gateway' || this.client === null || !this.clientOpen) return
    this.client.setAttribute('rpc.response.status_code', status)
    if (status !== 'OK') fail(this.client, status)
  }

  outgoing (): TraceHeaders {
    const { traceId, spanId, traceFlags, traceState } = (this.client ?? this.server).spanContext()
    const sampled = (traceFlags & TraceFlags.SAMPLED) !== 0
    return { traceparent: formatTraceParent(traceId, spanId, sampled), tracestate: traceState?.serialize() || null }
  }

  end (outcome: Outcome, statusCode: number): void {
    if (this.ended) return
    this.closeClient()
    this.ended = true
    // A proxy of a mesh may show no response.
    if (statusCode > 0) this.server.setAttribute('http.response.status_code', statusCode)
    this.server.setAttribute('a2a_gateway.outcome', outcome)
    if (outcome === 'gateway_error' || outcome === 'upstream_error') fail(this.server, outcome)
    // Semantic conventions: every error object of JSON-RPC is an error; of HTTP statuses, only 5xx is an error of a server.
    else if (this.code !== null) fail(this.server, this.code)
    else if (statusCode >= 500) fail(this.server, String(statusCode))
    // An error event of a stream.
    else if (outcome === 'agent_error' && statusCode < 400 && !this.grpc) fail(this.server, outcome)
    this.server.end(this.now())
  }

  private closeClient (): void {
    if (this.client === null || !this.clientOpen) return
    this.clientOpen = false
    this.client.end(this.clientEnd ?? this.now())
  }

  private now (): number {
    return this.offset + performance.now()
  }
}

/** Opens a CLIENT span without a parent. @returns the function that ends it */
export function startFetch (tracer: Pick<Tracer, 'startSpan'>, name: string, attributes: Attributes): ReturnType<Tracing['startFetch']> {
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT })
  for (const key in attributes) span.setAttribute(key, bound(attributes[key as SpanAttribute] as Attribute))
  return (statusCode, error) => {
    if (statusCode !== null) span.setAttribute('http.response.status_code', statusCode)
    if (error !== null) fail(span, clip(error))
    else if (statusCode !== null && statusCode >= 400) fail(span, String(statusCode))
    span.end()
  }
}

/** Methods that semantic conventions know (RFC 9110, PATCH, QUERY). Any other is `_OTHER`. */
const METHODS: ReadonlySet<string> = new Set(
  ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY']
)
const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 }

/** Sets the attributes of the request's head. */
function describeHead (span: Span, { method = 'GET', url = '/', headers, socket }: TracedRequest): void {
  const scheme = socket?.encrypted === true ? 'https' : 'http'
  const query = url.indexOf('?')
  span.setAttribute('http.request.method', METHODS.has(method) ? method : '_OTHER')
  span.setAttribute('url.path', clip(query < 0 ? url : url.slice(0, query)))
  span.setAttribute('url.scheme', scheme)
  describeServer(span, headers.host, scheme, socket)
}

const HOST = /^(\[[0-9a-fA-F:.]+\]|[^:]*)(?::(\d{1,5}))?$/

/** Sets address and port as the client names them; without a readable Host header, those of the socket. */
function describeServer (span: Span, host: string | undefined, scheme: string, socket: TracedRequest['socket']): void {
  const [, name = '', port] = HOST.exec(host ?? '') ?? []
  if (name !== '') {
    span.setAttribute('server.address', clip(name.startsWith('[') ? name.slice(1, -1) : name))
    span.setAttribute('server.port', port === undefined ? (DEFAULT_PORTS[scheme] ?? 0) : Number(port))
  } else if (socket?.localAddress !== undefined && socket.localPort !== undefined) {
    span.setAttribute('server.address', clip(socket.localAddress))
    span.setAttribute('server.port', socket.localPort)
  }
}

/** Returns the context with the caller's span as parent, or the root when the caller sent no valid one. */
function callerContext (headers: IncomingHttpHeaders): Context {
  const parent = parseTraceParent(headers.traceparent)
  if (parent === null) return ROOT_CONTEXT
  const state = headers.tracestate
  const context: SpanContext = {
    traceId: parent.traceId,
    spanId: parent.parentId,
    traceFlags: parent.sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true
  }
  if (typeof state === 'string') context.traceState = createTraceState(state)
  return trace.setSpanContext(ROOT_CONTEXT, context)
}

function fail (span: Span, kind: string): void {
  span.setAttribute('error.type', kind)
  span.setStatus({ code: SpanStatusCode.ERROR, message: kind })
}

function errorKind (error: Error): string {
  const code: unknown = (error as NodeJS.ErrnoException).code
  return clip(typeof code === 'string' ? code : error.name)
}

function clip (value: string): string {
  return value.length > STRING_LENGTH ? value.slice(0, STRING_LENGTH) : value
}

function bound (value: Attribute): Attribute {
  if (typeof value === 'string') return clip(value)
  if (!Array.isArray(value)) return value
  const length = Math.min(value.length, ARRAY_LENGTH)
  const bounded = new Array<string>(length)
  for (let i = 0; i < length; i++) bounded[i] = clip(value[i] as string)
  return bounded
}

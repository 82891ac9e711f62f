import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { GrpcCodeName } from '#wire/grpc/codes.js'
import type { Log } from '../log.js'
import type { Outcome } from '../metrics/metrics.js'
import type { OtlpProtocol } from '../otlp/environment.js'
import type { LineSink } from '../standard-output.js'
import type { SpanAttribute } from './span-attributes.js'

/** A span attribute. Strings are cut at 256 characters and arrays at 64 elements. */
export type Attribute = string | number | boolean | string[]
export type Attributes = Readonly<Partial<Record<SpanAttribute, Attribute>>>

/** The parts of a request that its span reads. */
export interface TracedRequest {
  readonly headers: IncomingHttpHeaders
  readonly method?: string | undefined
  /** Request target. The span gets its path, never its query. */
  readonly url?: string | undefined
  readonly socket?: Pick<Socket, 'localPort' | 'localAddress'> & { readonly encrypted?: boolean }
}

/** Trace headers for the agent. A null `tracestate` means: send none, even if the client sent one. */
export interface TraceHeaders { readonly traceparent: string, readonly tracestate: string | null }

/**
 * The trace of one request: a SERVER span, and below it a CLIENT span during the call to the agent. The span records every value that it
 * gets: never pass part contents, metadata values or credentials.
 */
export interface RequestSpan {
  /** The trace id of this request, for logs: the gateway's when tracing is on, else the client's, else null. */
  readonly traceId: string | null
  /** The id of the SERVER span; null when the span records nothing, and no collector will have it. */
  readonly spanId: string | null
  /** False when the span records nothing: no value then needs to be computed for it. */
  readonly recording: boolean
  /** Names the span after the operation, e.g. `SendMessage`. */
  name (operation: string): void
  set (key: SpanAttribute, value: Attribute): void
  /** Sets an attribute that a policy names. */
  observed (key: string, value: Attribute): void
  /**
   * Opens a CLIENT span of a request that the gateway needs before it calls the agent.
   * @param name as in `SPAN_NAMES`
   * @returns a function that ends the span, with the status of the response, and with the kind of an error
   */
  dialled (name: string, attributes: Attributes): (statusCode: number | null, error: string | null) => void
  /** Opens the CLIENT span. Called when the gateway dials the agent. */
  upstreamStarted (attributes: Attributes): void
  /** Ends the CLIENT span. Called with the status of the agent's response, or with null and the error that prevented a response. */
  upstreamEnded (statusCode: number | null, error?: Error): void
  /**
   * Records the error of a JSON-RPC response.
   * @param code `error.code`; null when it is not known
   * @param by `agent`: the agent sent the error, so the CLIENT span has it too
   */
  rpcError (code: number | null, by: 'agent' | 'gateway'): void
  /**
   * Records the status of a gRPC response, `OK` too. The last call wins.
   * @param by `agent`: the agent sent the status, so the CLIENT span has it too
   */
  grpcStatus (status: GrpcCodeName, by: 'agent' | 'gateway'): void
  /** Returns headers to send to the agent, or null: the client's own headers pass through unchanged. */
  outgoing (): TraceHeaders | null
  /** Closes all spans. Calls after the first do nothing. */
  end (outcome: Outcome, statusCode: number): void
}

export interface Tracing {
  /** `at`: time when the request head arrived, in milliseconds on the clock of `performance.now()`. */
  startRequest (request: TracedRequest, at: number): RequestSpan
  /**
   * Opens a CLIENT span of its own, for a fetch that no request waits for alone. The returned function ends it, with the status of the
   * response and the kind of a failure.
   */
  startFetch (name: string, attributes: Attributes): (statusCode: number | null, error: string | null) => void
  /** Sends the remaining spans, for at most 5 seconds. Never rejects. */
  shutdown (): Promise<void>
}

export interface TracingOptions {
  /** Undefined: the environment decides, see `createTracing`. */
  readonly enabled: boolean | undefined
  /** The gateway's version, for `service.version`. */
  readonly version: string
  /** Environment with the standard `OTEL_*` variables. */
  readonly env: NodeJS.ProcessEnv
  readonly log: Log
  /** Destination of span lines when the environment selects them; default stdout. */
  readonly lines?: LineSink
  /** Called with a number of spans that were lost. */
  readonly onLost?: (spans: number) => void
}

/** Destination of spans: a collector, or lines on standard output. */
export type ExporterProtocol = OtlpProtocol | 'console'

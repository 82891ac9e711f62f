import type { IncomingHttpHeaders } from 'node:http'
import type { Writable } from 'node:stream'
import type { Log } from '../log.js'
import type { Outcome } from '../metrics/metrics.js'
import type { SpanAttribute } from './span-attributes.js'

/** A span attribute. Strings are cut at 256 characters and arrays at 64 elements. */
export type Attribute = string | number | boolean | string[]
export type Attributes = Readonly<Partial<Record<SpanAttribute, Attribute>>>

/** Trace headers for the agent. A null `tracestate` means: send none, even where the client sent one. */
export interface TraceHeaders { readonly traceparent: string, readonly tracestate: string | null }

/**
 * The trace of one request: a SERVER span, and a CLIENT span below it while the agent is called. Records only what it is
 * given: never pass part contents, metadata values or credentials.
 */
export interface RequestSpan {
  /** The trace this request belongs to, for logs: ours when tracing, else the client's, else null. */
  readonly traceId: string | null
  /** Names the span after the operation, e.g. `SendMessage`. */
  name (operation: string): void
  set (key: SpanAttribute, value: Attribute): void
  /** An attribute that a policy names. */
  observed (key: string, value: Attribute): void
  /** The agent is being dialled: opens the CLIENT span. */
  upstreamStarted (attributes: Attributes): void
  /** The agent answered with this status, or null with the error that prevented it: closes the CLIENT span. */
  upstreamEnded (statusCode: number | null, error?: Error): void
  /** Headers to send to the agent, or null: let the client's own pass through unchanged. */
  outgoing (): TraceHeaders | null
  /** Closes everything. Calls after the first do nothing. */
  end (outcome: Outcome, statusCode: number): void
}

export interface Tracing {
  /** `at`: when the request head arrived, milliseconds on the clock of `performance.now()`. */
  startRequest (headers: IncomingHttpHeaders, at: number): RequestSpan
  /** Sends what is left, for at most 5 seconds. Never rejects. */
  shutdown (): Promise<void>
}

export interface TracingOptions {
  readonly enabled: boolean
  /** The gateway's version, for `service.version`. */
  readonly version: string
  /** Where the standard `OTEL_*` variables are read from. */
  readonly env: NodeJS.ProcessEnv
  readonly log: Log
  /** Where lines go when the environment asks for spans as lines; default stdout. */
  readonly stream?: Writable | undefined
  /** So many spans were not taken by the collector. */
  readonly onLost?: (spans: number) => void
}

/** How spans leave: to a collector, or as lines. */
export type ExporterProtocol = 'http/protobuf' | 'http/json' | 'console'

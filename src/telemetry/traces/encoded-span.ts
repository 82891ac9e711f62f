import { TraceFlags } from '@opentelemetry/api'
import type { SpanContext } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import { emptyResource } from '#vendor/opentelemetry.js'
import type { GatewaySpan } from './gateway-span.js'

const SAMPLED: SpanContext = { traceId: '', spanId: '', traceFlags: TraceFlags.SAMPLED }
const NO_RESOURCE = emptyResource()

/** A span as bytes of an OTLP request, while it waits for its batch. `resource` and `spanContext()` are what the SDK's queue reads. */
export class EncodedSpan {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number

  /** The span is in `bytes` from `start` to `end`. */
  constructor (bytes: Buffer, start: number, end: number) {
    this.bytes = bytes
    this.start = start
    this.end = end
  }

  get resource (): Resource { return NO_RESOURCE }
  spanContext (): SpanContext { return SAMPLED }
}

/** Encodes spans one by one when they end, so that a batch of spans does not block the event loop. */
export interface SpanEncoder {
  readonly contentType: string
  encode (span: GatewaySpan): EncodedSpan
  /** @returns an `ExportTraceServiceRequest` */
  request (spans: readonly EncodedSpan[]): Uint8Array
}

/** W3C's flags of the span. Bit 8 says that bit 9 is known, bit 9 that the parent is in another process. */
export function flags (own: SpanContext, parent: SpanContext | undefined): number {
  return (own.traceFlags & 0xff) | 0x100 | (parent?.isRemote === true ? 0x200 : 0)
}

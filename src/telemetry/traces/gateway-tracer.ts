import { ROOT_CONTEXT, SpanKind, TraceFlags, trace } from '@opentelemetry/api'
import type { Context, Span, SpanContext, SpanOptions, Tracer } from '@opentelemetry/api'
import { RandomIdGenerator, SamplingDecision } from '@opentelemetry/sdk-trace-base'
import type { Sampler } from '@opentelemetry/sdk-trace-base'
import { GatewaySpan } from './gateway-span.js'
import type { SpanOrigin } from './gateway-span.js'

// The packages export getters, which cost as much as a lookup in a Map.
const { NOT_RECORD, RECORD_AND_SAMPLED } = SamplingDecision
const { NONE, SAMPLED } = TraceFlags
const NO_ATTRIBUTES = Object.freeze({})
const NO_LINKS: never[] = []

/** Starts spans as the SDK's tracer does, without its copies of options and attributes. */
export class GatewayTracer implements Pick<Tracer, 'startSpan'> {
  private readonly origin: SpanOrigin
  private readonly sampler: Sampler
  private readonly ids: RandomIdGenerator

  constructor (origin: SpanOrigin, sampler: Sampler) {
    this.origin = origin
    this.sampler = sampler
    this.ids = new RandomIdGenerator()
  }

  /**
   * The sampler sees no attributes: none of OTEL_TRACES_SAMPLER reads them.
   * @param options `startTime` in epoch milliseconds; links are not supported
   * @param context without a span, or with a span whose context is valid
   */
  startSpan (name: string, { kind = SpanKind.INTERNAL, startTime, attributes }: SpanOptions = {}, context: Context = ROOT_CONTEXT): Span {
    const parent = trace.getSpanContext(context)
    const spanId = this.ids.generateSpanId()
    const traceId = parent?.traceId ?? this.ids.generateTraceId()
    const { decision, traceState = parent?.traceState } = this.sampler.shouldSample(context, traceId, name, kind, NO_ATTRIBUTES, NO_LINKS)
    const own: SpanContext = {
      traceId,
      spanId,
      traceFlags: decision === RECORD_AND_SAMPLED ? SAMPLED : NONE
    }
    if (traceState !== undefined) own.traceState = traceState
    if (decision === NOT_RECORD) return trace.wrapSpanContext(own)
    const span = new GatewaySpan(this.origin, own, parent, kind, typeof startTime === 'number' ? startTime : Date.now()).updateName(name)
    return attributes === undefined ? span : span.setAttributes(attributes)
  }
}

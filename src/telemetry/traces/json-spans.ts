/** OTLP as JSON: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. */
import type { AttributeValue, Attributes, HrTime } from '@opentelemetry/api'
import { EncodedSpan, flags } from './encoded-span.js'
import type { SpanEncoder } from './encoded-span.js'
import type { GatewaySpan, SpanOrigin } from './gateway-span.js'

const COMMA = Buffer.from(',')
const END = Buffer.from(']}]}]}')

export class JsonSpans implements SpanEncoder {
  readonly contentType = 'application/json'
  private readonly head: Buffer

  constructor ({ resource, scope }: Pick<SpanOrigin, 'resource' | 'scope'>) {
    const resourceText = JSON.stringify({ attributes: attributesOf(resource.attributes), droppedAttributesCount: 0 })
    const scopeText = JSON.stringify({ name: scope.name, version: scope.version })
    this.head = Buffer.from(`{"resourceSpans":[{"resource":${resourceText},"scopeSpans":[{"scope":${scopeText},"spans":[`)
  }

  encode (span: GatewaySpan): EncodedSpan {
    const context = span.spanContext()
    const parent = span.parentSpanContext
    const bytes = Buffer.from(JSON.stringify({
      traceId: context.traceId,
      spanId: context.spanId,
      parentSpanId: parent?.spanId,
      traceState: context.traceState?.serialize(),
      name: span.name,
      // OTLP has 0 for a span without kind.
      kind: span.kind + 1,
      startTimeUnixNano: nanoseconds(span.startTime),
      endTimeUnixNano: nanoseconds(span.endTime),
      attributes: attributesOf(span.attributes),
      droppedAttributesCount: span.droppedAttributesCount,
      events: span.events,
      droppedEventsCount: 0,
      status: { code: span.status.code, message: span.status.message },
      links: span.links,
      droppedLinksCount: 0,
      flags: flags(context, parent)
    }))
    return new EncodedSpan(bytes, 0, bytes.length)
  }

  request (spans: readonly EncodedSpan[]): Uint8Array {
    return Buffer.concat([this.head, ...spans.flatMap(({ bytes }, i) => i === 0 ? [bytes] : [COMMA, bytes]), END])
  }
}

function attributesOf (attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) }))
}

function valueOf (value: AttributeValue | null | undefined): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: value } : { doubleValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Array.isArray(value) ? { arrayValue: { values: value.map(valueOf) } } : {}
}

/** A decimal text, because a number cannot hold nanoseconds since the epoch. */
function nanoseconds ([seconds, rest]: HrTime): string {
  return String(BigInt(seconds) * 1_000_000_000n + BigInt(rest))
}

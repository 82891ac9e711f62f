/** OTLP as protobuf: https://github.com/open-telemetry/opentelemetry-proto, `trace/v1/trace.proto`. */
import { EncodedSpan, flags } from './encoded-span.js'
import type { SpanEncoder } from './encoded-span.js'
import type { GatewaySpan, SpanOrigin } from './gateway-span.js'
import { ProtobufWriter, utf8Size, varintSize } from './protobuf-writer.js'

/** Bytes of the fields of fixed length in a span, with room to spare. */
const FIXED = 128
/** Tag and length of a span. Most lengths have two bytes. */
const HEAD = 3

export class ProtobufSpans implements SpanEncoder {
  readonly contentType = 'application/x-protobuf'
  private readonly writer: ProtobufWriter
  /** The field `resource` of `ResourceSpans`. */
  private readonly resource: Buffer
  /** The field `scope` of `ScopeSpans`. */
  private readonly scope: Buffer

  constructor ({ resource, scope }: Pick<SpanOrigin, 'resource' | 'scope'>) {
    this.writer = new ProtobufWriter()
    this.resource = message(0x0a, writer => {
      for (const [name, value] of Object.entries(resource.attributes)) if (value !== undefined) writer.attribute(0x0a, name, value)
      writer.reserve(2)
      writer.byte(0x10)
      writer.byte(0)
    })
    this.scope = message(0x0a, writer => {
      string(writer, 0x0a, scope.name)
      if (scope.version) string(writer, 0x12, scope.version)
    })
  }

  encode (span: GatewaySpan): EncodedSpan {
    const { writer } = this
    writer.begin()
    writer.reserve(HEAD + FIXED)
    writer.at += HEAD
    const context = span.spanContext()
    const parent = span.parentSpanContext
    const state = context.traceState?.serialize()
    writer.byte(0x0a)
    writer.hex(context.traceId)
    writer.byte(0x12)
    writer.hex(context.spanId)
    if (state) string(writer, 0x1a, state)
    writer.reserve(FIXED)
    if (parent !== undefined) {
      writer.byte(0x22)
      writer.hex(parent.spanId)
    }
    string(writer, 0x2a, span.name)
    writer.reserve(FIXED)
    writer.byte(0x30)
    // OTLP has 0 for a span without kind.
    writer.varint(span.kind + 1)
    writer.byte(0x39)
    writer.time(span.startTime)
    writer.byte(0x41)
    writer.time(span.endTime)
    const { names, values } = span
    for (let i = 0; i < names.length; i++) writer.attribute(0x4a, names[i] as string, values[i] as string)
    writer.reserve(FIXED)
    writer.byte(0x50)
    writer.varint(span.droppedAttributesCount)
    // Numbers of dropped events and links.
    writer.byte(0x60)
    writer.byte(0)
    writer.byte(0x70)
    writer.byte(0)
    status(writer, span)
    writer.byte(0x85)
    writer.byte(0x01)
    writer.fixed32(flags(context, parent))
    return this.ended()
  }

  request (spans: readonly EncodedSpan[]): Uint8Array {
    const { resource, scope } = this
    let size = 0
    for (const { start, end } of spans) size += end - start
    const scopeSpans = scope.length + size
    const resourceSpans = resource.length + 1 + varintSize(scopeSpans) + scopeSpans
    const writer = new ProtobufWriter(1 + varintSize(resourceSpans) + resourceSpans)
    writer.byte(0x0a)
    writer.varint(resourceSpans)
    writer.copy(resource, 0, resource.length)
    writer.byte(0x12)
    writer.varint(scopeSpans)
    writer.copy(scope, 0, scope.length)
    for (const { bytes, start, end } of spans) writer.copy(bytes, start, end)
    return writer.bytes
  }

  /** Writes tag and length in front of the span. */
  private ended (): EncodedSpan {
    const { writer } = this
    const size = writer.at - writer.start - HEAD
    const excess = 1 + varintSize(size) - HEAD
    if (excess > 0) writer.reserve(excess)
    const { bytes, start, at: end } = writer
    if (excess !== 0) bytes.copyWithin(start + HEAD + excess, start + HEAD, end)
    writer.at = start
    writer.byte(0x12)
    writer.varint(size)
    writer.at = end + excess
    return new EncodedSpan(bytes, start, end + excess)
  }
}

function status (writer: ProtobufWriter, { status: { code, message = '' } }: GatewaySpan): void {
  const text = utf8Size(message)
  const size = 2 + (text === 0 ? 0 : 1 + varintSize(text) + text)
  writer.reserve(size + FIXED)
  writer.byte(0x7a)
  writer.varint(size)
  if (text > 0) {
    writer.byte(0x12)
    writer.text(message, text)
  }
  writer.byte(0x18)
  writer.byte(code)
}

function string (writer: ProtobufWriter, tag: number, value: string): void {
  const size = utf8Size(value)
  writer.reserve(size + 6)
  writer.byte(tag)
  writer.text(value, size)
}

/** Writes one field that holds a message. */
function message (tag: number, write: (writer: ProtobufWriter) => void): Buffer {
  const content = new ProtobufWriter()
  write(content)
  const field = new ProtobufWriter(1 + varintSize(content.at) + content.at)
  field.byte(tag)
  field.varint(content.at)
  field.copy(content.bytes, 0, content.at)
  return field.bytes
}

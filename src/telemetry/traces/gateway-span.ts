/**
 * A span in the form of OpenTelemetry's API (`Span`) and SDK (`ReadableSpan`). The SDK's own class validates and looks up each attribute,
 * and its tracer copies the first ones twice (docs/contributing/benchmarks.md, "Spans"). A test compares both.
 */
import { SpanStatusCode } from '@opentelemetry/api'
import type { AttributeValue, Attributes, HrTime, Span, SpanContext, SpanKind, SpanStatus, TimeInput } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'

/** The parts that all spans of a tracer share. */
export interface SpanOrigin {
  readonly resource: ReadableSpan['resource']
  readonly scope: ReadableSpan['instrumentationScope']
  /** Distinct attributes of a span. Further ones are counted and dropped. */
  readonly attributeCount: number
  /** UTF-16 code units of a string, and of each string of a list. The rest is cut off. */
  readonly attributeLength: number
  /** Called when a span ends. */
  readonly onEnd: (span: GatewaySpan) => void
}

const UNSET: SpanStatus = { code: SpanStatusCode.UNSET }
const NONE: never[] = []

export class GatewaySpan implements Span, ReadableSpan {
  name: string
  status: SpanStatus
  ended: boolean
  droppedAttributesCount: number
  readonly kind: SpanKind
  readonly parentSpanContext?: SpanContext
  /** Names and values of attributes, by position. For about 15 attributes, a search is faster than an object or a Map. */
  readonly names: string[]
  readonly values: AttributeValue[]
  /** Epoch milliseconds, as {@link endedAt}. */
  readonly startedAt: number
  endedAt: number
  private readonly origin: SpanOrigin
  private readonly context: SpanContext

  /** @param parent a valid context */
  constructor (origin: SpanOrigin, context: SpanContext, parent: SpanContext | undefined, kind: SpanKind, startedAt: number) {
    this.origin = origin
    this.context = context
    if (parent !== undefined) this.parentSpanContext = parent
    this.name = ''
    this.kind = kind
    this.status = UNSET
    this.ended = false
    this.droppedAttributesCount = 0
    this.names = []
    this.values = []
    this.startedAt = startedAt
    this.endedAt = startedAt
  }

  spanContext (): SpanContext {
    return this.context
  }

  isRecording (): boolean {
    return !this.ended
  }

  setAttribute (name: string, value: AttributeValue): this {
    if (this.ended || name === '') return this
    const { names, values, origin } = this
    let at = names.indexOf(name)
    if (at < 0) {
      at = names.length
      if (at >= origin.attributeCount) {
        this.droppedAttributesCount++
        return this
      }
      names.push(name)
    }
    values[at] = truncate(value, origin.attributeLength)
    return this
  }

  setAttributes (attributes: Attributes): this {
    for (const name in attributes) this.setAttribute(name, attributes[name] as AttributeValue)
    return this
  }

  setStatus (status: SpanStatus): this {
    if (!this.ended && status.code !== SpanStatusCode.UNSET && this.status.code !== SpanStatusCode.OK) this.status = status
    return this
  }

  updateName (name: string): this {
    if (!this.ended) this.name = name
    return this
  }

  /** @param at epoch milliseconds; other forms count as now */
  end (at?: TimeInput): void {
    if (this.ended) return
    this.ended = true
    this.endedAt = Math.max(this.startedAt, typeof at === 'number' ? at : Date.now())
    this.origin.onEnd(this)
  }

  // The gateway's spans have no events and no links (docs/reference/traces.md).
  addEvent (): this { return this }
  addLink (): this { return this }
  addLinks (): this { return this }
  recordException (): void {}

  get events (): never[] { return NONE }
  get links (): never[] { return NONE }
  get droppedEventsCount (): number { return 0 }
  get droppedLinksCount (): number { return 0 }

  get resource (): ReadableSpan['resource'] { return this.origin.resource }
  get instrumentationScope (): ReadableSpan['instrumentationScope'] { return this.origin.scope }
  get startTime (): HrTime { return hrTime(this.startedAt) }
  get endTime (): HrTime { return hrTime(this.endedAt) }

  get duration (): HrTime {
    const [from, to] = [this.startTime, this.endTime]
    const nanoseconds = to[1] - from[1]
    return nanoseconds < 0 ? [to[0] - from[0] - 1, nanoseconds + 1e9] : [to[0] - from[0], nanoseconds]
  }

  get attributes (): Attributes {
    return Object.fromEntries(this.names.map((name, i) => [name, this.values[i]]))
  }
}

/** Converts epoch milliseconds to seconds and nanoseconds, rounded as by the SDK. */
export function hrTime (milliseconds: number): HrTime {
  return [Math.trunc(milliseconds / 1_000), Math.round((milliseconds % 1_000) * 1e6)]
}

function truncate (value: AttributeValue, length: number): AttributeValue {
  if (length === Infinity) return value
  if (typeof value === 'string') return value.slice(0, length)
  if (!Array.isArray(value)) return value
  return value.map(element => typeof element === 'string' ? element.slice(0, length) : element) as AttributeValue
}

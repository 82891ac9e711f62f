/**
 * An event stream to the client: begins the response, counts the events, and tracks event boundaries.
 *
 * The bytes of one turn of the event loop leave together, the head included. Several events often arrive in one read, and Node puts each
 * write into a chunk of HTTP/1.1 of its own, four buffers for the kernel (docs/contributing/benchmarks.md, "Events of a stream").
 */
import { schedule } from '../event-loop-batch.js'
import { streamHeaders } from '#pipeline/response-head.js'
import { SseCounter } from '#wire/sse/count.js'
import type { Exchange } from '../exchange.js'
import { begin, fail, write } from '../reply.js'

/** Bytes that do not wait for the end of the turn. The agent must be paused in time when the client reads slowly. */
const MAX_BATCH_BYTES = 16_384

export class StreamOut {
  private readonly exchange: Exchange
  private readonly counter = new SseCounter()
  private waiting: Buffer[] = []
  private length = 0
  /** True while a job at the end of the turn will call `flush`. */
  private scheduled = false
  private headSent = false
  private over = false

  /** Sends the head at the end of the turn, because clients wait for it before the first event. */
  constructor (exchange: Exchange, status: number, headers: string[]) {
    this.exchange = exchange
    exchange.stream = this
    exchange.services.metrics.addAmount('streams_active', 1, exchange.agentName)
    begin(exchange, status, streamHeaders(headers))
    this.schedule()
  }

  /** @returns false when the client reads too slowly */
  write (bytes: Buffer): boolean {
    const { exchange, exchange: { response } } = this
    if (this.over) return true
    const events = this.counter.count(bytes)
    if (events > 0) exchange.services.metrics.addAmount('stream_events_total', events, exchange.agentName)
    this.waiting.push(bytes)
    this.length += bytes.length
    if (this.length >= MAX_BATCH_BYTES || response.immediate === true) this.flush()
    else if (!this.scheduled) this.schedule()
    return !response.writableNeedDrain
  }

  /** True when the client gets only complete events, so that another event may follow. */
  get atBoundary (): boolean {
    return this.counter.atBoundary
  }

  /** Sends the waiting bytes, and ignores all further bytes. Code that ends the stream calls this method first. */
  finish (): void {
    this.flush()
    this.over = true
  }

  private flush (): void {
    const { exchange, exchange: { response }, waiting } = this
    if (response.destroyed) return
    if (waiting.length > 0) {
      this.waiting = []
      this.length = 0
      write(exchange, waiting.length === 1 ? waiting[0] as Buffer : Buffer.concat(waiting))
    } else if (!this.headSent) response.flushHeaders()
    this.headSent = true
  }

  private schedule (): void {
    this.scheduled = true
    schedule('respond', this.exchange, () => {
      this.scheduled = false
      this.flush()
    }, fail)
  }
}

/** An event stream to the client: begins the response, counts the events, and tracks event boundaries. */
import { SseCounter } from '../../../wire/sse/count.js'
import type { Exchange } from '../exchange.js'
import { streamHeaders } from '../../../pipeline/response-head.js'

export class StreamOut {
  private readonly exchange: Exchange
  private readonly counter = new SseCounter()

  /** Sends the head at once, because clients wait for it before the first event. */
  constructor (exchange: Exchange, status: number, headers: string[]) {
    this.exchange = exchange
    exchange.stream = this
    exchange.services.metrics.streamOpened(exchange.agentName)
    exchange.begin(status, streamHeaders(headers))
    exchange.response.flushHeaders()
  }

  /** @returns false when the client reads too slowly */
  write (chunk: Buffer): boolean {
    const { exchange } = this
    const events = this.counter.count(chunk)
    if (events > 0) exchange.services.metrics.streamEvents(exchange.agentName, events)
    return exchange.write(chunk)
  }

  /** True when the client has only complete events, so that another event may follow. */
  get atBoundary (): boolean {
    return this.counter.atBoundary
  }
}

/** An event stream that does not wait: the gateway forwards its bytes as they come, and evaluates a copy event by event. */
import { EVENT_LINES } from '../../../pipeline/response-problems.js'
import { SseAmbiguity } from '../../../wire/sse/ambiguity.js'
import type { SsePiece } from '../../../wire/sse/split.js'
import { SseSplitter } from '../../../wire/sse/split.js'
import type { Exchange } from '../exchange.js'
import { schedule } from '../../../gateway/event-loop-batch.js'
import type { ResponseBody } from './body.js'
import { RelayedBody } from './relay.js'
import type { ResponseEnforcement } from './enforcement.js'

export class ObservedStream implements ResponseBody {
  private readonly exchange: Exchange
  private readonly relay: RelayedBody
  private readonly enforcement: ResponseEnforcement
  private readonly splitter: SseSplitter
  private readonly ambiguity = new SseAmbiguity()

  constructor (exchange: Exchange, status: number, headers: string[], enforcement: ResponseEnforcement) {
    this.exchange = exchange
    this.enforcement = enforcement
    this.splitter = new SseSplitter({ bytes: enforcement.limits.event, lines: EVENT_LINES })
    enforcement.pushEcho(headers)
    this.relay = new RelayedBody(exchange, status, headers, true)
  }

  data (chunk: Buffer): boolean {
    schedule('review', this.exchange, () => { this.look(this.splitter.feed(chunk)) })
    return this.relay.data(chunk)
  }

  end (): void {
    this.relay.end()
    schedule('review', this.exchange, () => {
      this.look(this.splitter.end())
      this.enforcement.remember(this.enforcement.dryRunEnd())
    })
  }

  failed (tell: () => void): void {
    tell()
  }

  private look (pieces: readonly SsePiece[]): void {
    for (const piece of pieces) {
      if (this.ambiguity.isIn(piece)) this.enforcement.unread('malformed', true)
      if (piece.kind === 'event') this.enforcement.remember(this.enforcement.evaluate(piece.data, true))
      else if (piece.kind === 'overflow') this.enforcement.unread('too_large', true)
    }
  }
}

/** An event stream that waits for nothing: its bytes go on as they come, and a copy is judged event by event. */
import { EVENT_LINES } from '../../agent/answer-problems.js'
import { SseDoubt } from '../../wire/sse-doubt.js'
import type { SsePiece } from '../../wire/sse-split.js'
import { SseSplitter } from '../../wire/sse-split.js'
import type { Exchange } from '../exchange.js'
import { atEndOfTurn } from '../turn.js'
import type { AnswerBody } from './body.js'
import { RelayedBody } from './relay.js'
import type { Reviewing } from './reviewing.js'

export class ObservedStream implements AnswerBody {
  private readonly exchange: Exchange
  private readonly relay: RelayedBody
  private readonly reviewing: Reviewing
  private readonly splitter: SseSplitter
  private readonly doubt = new SseDoubt()

  constructor (exchange: Exchange, status: number, headers: string[], reviewing: Reviewing) {
    this.exchange = exchange
    this.reviewing = reviewing
    this.splitter = new SseSplitter({ bytes: reviewing.limits.event, lines: EVENT_LINES })
    reviewing.pushEcho(headers)
    this.relay = new RelayedBody(exchange, status, headers, true)
  }

  data (chunk: Buffer): boolean {
    atEndOfTurn('review', this.exchange, () => { this.look(this.splitter.feed(chunk)) })
    return this.relay.data(chunk)
  }

  end (): void {
    this.relay.end()
    atEndOfTurn('review', this.exchange, () => {
      this.look(this.splitter.end())
      this.reviewing.remember(this.reviewing.judgeEnd())
    })
  }

  failed (tell: () => void): void {
    tell()
  }

  private look (pieces: readonly SsePiece[]): void {
    for (const piece of pieces) {
      if (this.doubt.isIn(piece)) this.reviewing.unread('malformed', true)
      if (piece.kind === 'event') this.reviewing.remember(this.reviewing.judge(piece.data, true))
      else if (piece.kind === 'overflow') this.reviewing.unread('too_large', true)
    }
  }
}

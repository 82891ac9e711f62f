/** An answer of a type that is not read, where that is enforced: refused, unless it turns out to be empty. */
import type { Exchange } from '../exchange.js'
import type { AnswerBody } from './body.js'
import { RelayedBody } from './relay.js'
import type { Reviewing } from './reviewing.js'

export class UntypedBody implements AnswerBody {
  private readonly exchange: Exchange
  private readonly status: number
  private readonly headers: string[]
  private readonly reviewing: Reviewing

  constructor (exchange: Exchange, status: number, headers: string[], reviewing: Reviewing) {
    this.exchange = exchange
    this.status = status
    this.headers = headers
    this.reviewing = reviewing
  }

  data (): boolean {
    this.reviewing.unread('content_type')
    return true
  }

  /** Such as what acknowledges a notification. */
  end (): void {
    this.reviewing.pushEcho(this.headers)
    new RelayedBody(this.exchange, this.status, this.headers, false).end()
  }

  /** Nothing has gone out. */
  failed (tell: () => void): void {
    tell()
  }
}

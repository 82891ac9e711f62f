/** A response with a content type that the gateway does not read, under enforcement: rejected unless the body is empty. */
import type { Exchange } from '../exchange.js'
import type { ResponseBody } from './body.js'
import { RelayedBody } from './relay.js'
import type { ResponseEnforcement } from './enforcement.js'

export class UntypedBody implements ResponseBody {
  private readonly exchange: Exchange
  private readonly status: number
  private readonly headers: string[]
  private readonly enforcement: ResponseEnforcement

  constructor (exchange: Exchange, status: number, headers: string[], enforcement: ResponseEnforcement) {
    this.exchange = exchange
    this.status = status
    this.headers = headers
    this.enforcement = enforcement
  }

  data (): boolean {
    this.enforcement.unread('content_type')
    return true
  }

  /** Forwards an empty body, for example the acknowledgement of a notification. */
  end (): void {
    this.enforcement.pushEcho(this.headers)
    new RelayedBody(this.exchange, this.status, this.headers, false).end()
  }

  /** The gateway has sent nothing yet, so nothing is waited for. */
  failed (tell: () => void): void {
    tell()
  }
}

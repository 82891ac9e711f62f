/** A JSON response that does not wait: the gateway forwards it as it comes, and evaluates a copy when it is complete. */
import { joined } from '../body.js'
import type { Exchange } from '../exchange.js'
import { schedule } from '../../../gateway/event-loop-batch.js'
import type { ResponseBody } from './body.js'
import { RelayedBody } from './relay.js'
import type { Exceeded } from './whole.js'
import type { ResponseEnforcement } from './enforcement.js'

export class ObservedJson implements ResponseBody {
  private readonly exchange: Exchange
  private readonly relay: RelayedBody
  private readonly enforcement: ResponseEnforcement
  /** Null when the body exceeds what the gateway reads. */
  private chunks: Buffer[] | null = []
  private size = 0

  constructor (exchange: Exchange, status: number, headers: string[], enforcement: ResponseEnforcement) {
    this.exchange = exchange
    this.enforcement = enforcement
    enforcement.pushEcho(headers)
    this.relay = new RelayedBody(exchange, status, headers, false)
  }

  data (chunk: Buffer): boolean {
    if (this.chunks !== null) {
      this.size += chunk.length
      this.chunks.push(chunk)
      if (this.size > this.enforcement.limits.response) this.giveUp('too_large')
      else if (!this.exchange.hold(chunk.length)) this.giveUp('no_memory')
    }
    return this.relay.data(chunk)
  }

  private giveUp (why: Exceeded): void {
    this.chunks = null
    this.enforcement.unread(why)
  }

  end (): void {
    this.relay.end()
    if (this.chunks === null) return
    const bytes = joined(this.chunks, this.size)
    this.chunks = null
    schedule('review', this.exchange, () => { this.enforcement.remember(this.enforcement.evaluate(bytes, false)) })
  }

  failed (tell: () => void): void {
    this.chunks = null
    tell()
  }
}

/** A response that is read whole before any part goes to the client. */
import { joined } from '../body.js'
import type { Exchange } from '../exchange.js'
import type { ResponseBody } from './body.js'

/** The reason why the gateway keeps no more of the body. */
export type Exceeded = 'too_large' | 'no_memory'

export abstract class WholeBody implements ResponseBody {
  protected readonly exchange: Exchange
  protected chunks: Buffer[] = []
  protected size = 0
  private readonly limit: number

  /** @param limit bytes */
  constructor (exchange: Exchange, limit: number) {
    this.exchange = exchange
    this.limit = limit
  }

  data (chunk: Buffer): boolean {
    this.size += chunk.length
    this.chunks.push(chunk)
    if (this.size > this.limit) return this.exceeded('too_large')
    return this.exchange.hold(chunk.length) || this.exceeded('no_memory')
  }

  end (): void {
    this.whole(joined(this.chunks, this.size))
  }

  /** The gateway has sent nothing yet, so nothing is waited for. */
  failed (tell: () => void): void {
    tell()
  }

  /** Called when the body exceeds the limit or the memory budget. @returns as `data` */
  protected abstract exceeded (why: Exceeded): boolean

  protected abstract whole (bytes: Buffer): void
}

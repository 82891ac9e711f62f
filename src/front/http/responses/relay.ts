/** A response without evaluation: forwards the same bytes as they come. */
import { valueOf } from '../../../pipeline/response-head.js'
import type { Exchange } from '../exchange.js'
import { schedule } from '../../../gateway/event-loop-batch.js'
import type { ResponseBody } from './body.js'
import { StreamOut } from './stream-out.js'

export class RelayedBody implements ResponseBody {
  private readonly exchange: Exchange
  private readonly stream: StreamOut | null
  /** Bytes of the body according to the head; -1 if unknown. */
  private readonly length: number
  private whole: Buffer | null = null

  /** Begins the response. */
  constructor (exchange: Exchange, status: number, headers: string[], eventStream: boolean) {
    this.exchange = exchange
    this.stream = eventStream ? new StreamOut(exchange, status, headers) : null
    this.length = eventStream ? -1 : Number(valueOf(headers, 'content-length') ?? -1)
    if (this.stream === null) exchange.begin(status, headers)
  }

  data (chunk: Buffer): boolean {
    if (this.stream !== null) return this.stream.write(chunk)
    // The chunk is the whole body. It is sent together with the end.
    if (chunk.length === this.length) {
      this.whole = chunk
      return true
    }
    return this.exchange.write(chunk)
  }

  end (): void {
    const { whole } = this
    if (whole === null) this.finish(null)
    else schedule('answer', this.exchange, () => { this.finish(whole) })
  }

  failed (tell: () => void): void {
    tell()
  }

  private finish (rest: Buffer | null): void {
    const { exchange, exchange: { response } } = this
    // The client may have disconnected.
    if (response.destroyed) return
    exchange.settle('forwarded')
    if (rest === null) response.end()
    else response.end(rest)
  }
}

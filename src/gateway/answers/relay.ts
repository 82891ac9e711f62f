/** An answer that nothing looks at: the same bytes, as they come. */
import type { Exchange } from '../exchange.js'
import type { AnswerBody } from './body.js'
import { StreamOut } from './stream-out.js'

export class RelayedBody implements AnswerBody {
  private readonly exchange: Exchange
  private readonly stream: StreamOut | null

  /** Begins the answer. */
  constructor (exchange: Exchange, status: number, headers: string[], eventStream: boolean) {
    this.exchange = exchange
    this.stream = eventStream ? new StreamOut(exchange, status, headers) : null
    if (this.stream === null) {
      exchange.begin(status, headers)
      exchange.resumeOnDrain()
    }
  }

  data (chunk: Buffer): boolean {
    return this.stream === null ? this.exchange.response.write(chunk) : this.stream.write(chunk)
  }

  end (): void {
    this.exchange.settle('forwarded')
    this.exchange.response.end()
  }

  failed (tell: () => void): void {
    tell()
  }
}

/** An answer that is read whole before anything of it goes to the client. */
import type { AnswerBody } from './body.js'

export abstract class WholeBody implements AnswerBody {
  protected chunks: Buffer[] = []
  protected size = 0
  private readonly limit: number

  /** @param limit bytes */
  constructor (limit: number) {
    this.limit = limit
  }

  data (chunk: Buffer): boolean {
    this.size += chunk.length
    this.chunks.push(chunk)
    return this.size <= this.limit || this.exceeded()
  }

  end (): void {
    this.whole(Buffer.concat(this.chunks, this.size))
  }

  /** Nothing has gone out, so nothing is waited for. */
  failed (tell: () => void): void {
    tell()
  }

  /** There is more than is read. @returns as `data` */
  protected abstract exceeded (): boolean

  protected abstract whole (bytes: Buffer): void
}

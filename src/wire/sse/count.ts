import { BLANK, COMMENT, DATA, MARK, SseScan } from './scan.js'

/**
 * Counts the events of a stream as it passes. An event is a block that an EventSource would dispatch: at least one `data` line, up to a
 * blank line (HTML Living Standard §9.2.6). The counter reads bytes only. Chunks may be cut anywhere; line ends are LF, CR or CRLF.
 */
export class SseCounter {
  private readonly scan = new SseScan()
  /** `open`: a line of the current block other than a comment has been seen. `pending`: a `data` line has been seen. */
  private open = false
  private pending = false

  /** True when the bytes seen end between two events, at the beginning of a line. */
  get atBoundary (): boolean {
    return !this.open && !this.scan.midLine
  }

  /** @returns the number of events that end in this chunk */
  count (chunk: Buffer): number {
    const { scan } = this
    let events = 0
    scan.begin(chunk)
    while (scan.next()) {
      const { kind } = scan
      if (kind === COMMENT || kind === MARK) continue
      if (kind === BLANK) {
        if (this.pending) events++
        this.open = this.pending = false
      } else {
        this.open = true
        if (kind === DATA) this.pending = true
      }
    }
    return events
  }
}

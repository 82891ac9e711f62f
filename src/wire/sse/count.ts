import { BLANK, COMMENT, DATA, MARK, SseScan } from './scan.js'

/**
 * Counts the events of a stream as it passes: what an EventSource would dispatch, blocks with at least one `data` line up to a blank
 * line (HTML Living Standard §9.2.6). Looks at bytes only; chunks may be cut anywhere, line ends are LF, CR or CRLF.
 */
export class SseCounter {
  private readonly scan = new SseScan()
  /** Whether a line of a block has been seen that is not a comment, and whether a `data` line. */
  private open = false
  private pending = false

  /** Whether the bytes seen end between two events, at the beginning of a line. */
  get atBoundary (): boolean {
    return !this.open && !this.scan.midLine
  }

  /** @returns how many events ended in this chunk */
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

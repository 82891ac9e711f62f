const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a

/**
 * Counts the events of a stream as it passes: an event ends at a blank line after at least one line that is not a comment
 * (HTML Living Standard §9.2.6). Looks at bytes only; chunks may be cut anywhere.
 */
export class SseCounter {
  /** Bytes seen in the current line. */
  private lineLength = 0
  private comment = false
  private pending = false
  private afterCr = false

  /** @returns how many events ended in this chunk */
  count (chunk: Uint8Array): number {
    let events = 0
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] as number
      if (byte === LF && this.afterCr) {
        this.afterCr = false
        continue
      }
      this.afterCr = byte === CR
      if (byte !== LF && byte !== CR) {
        if (this.lineLength === 0) this.comment = byte === COLON
        this.lineLength++
        continue
      }
      if (this.lineLength > 0) {
        if (!this.comment) this.pending = true
      } else if (this.pending) {
        events++
        this.pending = false
      }
      this.lineLength = 0
    }
    return events
  }
}

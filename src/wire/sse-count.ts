const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const DATA = Buffer.from('data')
const BOM = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Counts the events of a stream as it passes: what an EventSource would dispatch, blocks with at least one `data` line up to a blank
 * line (HTML Living Standard §9.2.6). Looks at bytes only; chunks may be cut anywhere, line ends are LF, CR or CRLF.
 */
export class SseCounter {
  /** Bytes seen in the current line. */
  private length = 0
  /** Whether they are the beginning of `data`, as far as that goes. */
  private matches = true
  /** Whether the current line is a `data` line. */
  private isData = false
  private pending = false
  private afterCr = false
  /** How much of a byte order mark has been seen at the beginning of the stream; -1 when it is past. */
  private bom = 0

  /** @returns how many events ended in this chunk */
  count (chunk: Uint8Array): number {
    let events = 0
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] as number
      if (this.bom >= 0) {
        const mark = byte === BOM[this.bom]
        this.bom = mark && this.bom < 2 ? this.bom + 1 : -1
        if (mark) continue
      }
      if (byte === LF && this.afterCr) {
        this.afterCr = false
        continue
      }
      this.afterCr = byte === CR
      if (byte !== LF && byte !== CR) {
        if (this.length < 4) this.matches = this.matches && byte === DATA[this.length]
        else if (this.length === 4) this.isData = this.matches && byte === COLON
        this.length++
        continue
      }
      if (this.length === 0) {
        if (this.pending) events++
        this.pending = false
      } else if (this.isData || (this.length === 4 && this.matches)) this.pending = true
      this.length = 0
      this.matches = true
      this.isData = false
    }
    return events
  }
}

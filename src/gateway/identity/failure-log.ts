/** Bounds the log and audit lines of failed authentications: a flood of forged credentials must not fill a disk. */

/** Lines of one source in a second. */
const LINES = 10
/** Milliseconds for which failures are counted together. */
const WINDOW = 1_000

type Write = (omitted: number) => void

interface Seen { lines: number, omitted: number, last: Write | null }

export class FailureLog {
  private readonly sources = new Map<string, Seen>()
  private timer: NodeJS.Timeout | null = null

  /**
   * Writes the lines of a failure, now or not at all. At the end of the second, the last failure stands for those without lines.
   * @param write gets the number of failures that the line stands for besides its own
   */
  record (source: string, write: Write): void {
    let seen = this.sources.get(source)
    if (seen === undefined) this.sources.set(source, seen = { lines: 0, omitted: 0, last: null })
    this.timer ??= setTimeout(() => { this.flush() }, WINDOW).unref()
    if (seen.lines < LINES) {
      seen.lines++
      return write(0)
    }
    seen.omitted++
    seen.last = write
  }

  /** Writes the counts so far. */
  flush (): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    const ended = [...this.sources.values()]
    this.sources.clear()
    // The last failure has a line itself.
    for (const { last, omitted } of ended) last?.(omitted - 1)
  }
}

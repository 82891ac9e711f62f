/** Bounds log and audit lines that a stranger can cause, such as those of failed authentications: a flood must not fill a disk. */

/** Lines of one source in a second. */
const LINES = 10
const WINDOW = 1_000

type Write = (omitted: number) => void

interface FailureCount { lines: number, omitted: number, last: Write | null }

export class FailureLog {
  private readonly sources = new Map<string, FailureCount>()
  private readonly lines: number
  private readonly window: number
  private timer: NodeJS.Timeout | null = null

  /** @param lines of one source in a window. @param window milliseconds for which failures are counted together */
  constructor (lines = LINES, window = WINDOW) {
    this.lines = lines
    this.window = window
  }

  /**
   * Writes the lines of a failure, now or not at all. At the end of the window, the last failure stands for those without lines.
   * @param write gets the number of failures that the line stands for besides its own
   */
  record (source: string, write: Write): void {
    let failureCount = this.sources.get(source)
    if (failureCount === undefined) this.sources.set(source, failureCount = { lines: 0, omitted: 0, last: null })
    this.timer ??= setTimeout(() => { this.flush() }, this.window).unref()
    if (failureCount.lines < this.lines) {
      failureCount.lines++
      return write(0)
    }
    failureCount.omitted++
    failureCount.last = write
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

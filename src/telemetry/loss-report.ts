import type { Log } from './log.js'

/** Milliseconds between two warnings about the same. */
const QUIET = 60_000

/** Spans that are lost in one way: each is counted, and said in the log at most once a minute. */
export class LossReport {
  private readonly log: Log
  private readonly message: string
  private readonly onLost: (spans: number) => void
  private lost = 0
  private warnedAt = -Infinity

  constructor (log: Log, message: string, onLost: (spans: number) => void = () => {}) {
    this.log = log
    this.message = message
    this.onLost = onLost
  }

  add (spans: number, err?: Error): void {
    this.lost += spans
    this.onLost(spans)
    const now = performance.now()
    if (now - this.warnedAt < QUIET) return
    this.warnedAt = now
    this.log.warn({ ...(err === undefined ? {} : { err }), spans_lost: this.lost }, this.message)
  }

  /** That it is over: the next is said at once. @returns how many were lost */
  over (): number {
    const { lost } = this
    this.lost = 0
    this.warnedAt = -Infinity
    return lost
  }
}

import type { Log } from './log.js'

/** Milliseconds between two warnings about the same loss. */
const QUIET = 60_000

/** Counts spans that are lost for one reason, and logs a warning at most once a minute. */
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

  /** Ends the loss: the next loss is logged at once. @returns the number of lost spans */
  over (): number {
    const { lost } = this
    this.lost = 0
    this.warnedAt = -Infinity
    return lost
  }
}

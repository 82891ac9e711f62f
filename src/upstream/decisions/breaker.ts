/**
 * Stops asking a server that failed several times in a row: a dead server then costs no time. After a while one question tries again; the
 * others go on without an answer until it has one.
 */

/** Failures in a row that open the breaker. */
const FAILURES = 5
/** First and longest time without questions, ms. It doubles with each failed attempt. */
const PAUSE = 1_000
const LONGEST_PAUSE = 30_000

export class Breaker {
  #failures = 0
  #pause = PAUSE
  /** Time of the next attempt, ms; null while the breaker is closed. */
  #until: number | null = null
  #trying = false
  readonly #now: () => number

  constructor (now: () => number = () => performance.now()) {
    this.#now = now
  }

  get open (): boolean {
    return this.#until !== null
  }

  /** @returns false when no question may go out now */
  enter (): boolean {
    if (this.#until === null) return true
    if (this.#trying || this.#now() < this.#until) return false
    this.#trying = true
    return true
  }

  /** The server has responded. */
  succeeded (): void {
    this.#failures = 0
    this.#pause = PAUSE
    this.#until = null
    this.#trying = false
  }

  failed (): void {
    this.#failures++
    if (this.#until === null) {
      if (this.#failures < FAILURES) return
    } else {
      // Questions that were under way when the breaker opened do not count again.
      if (!this.#trying) return
      this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE)
    }
    this.#trying = false
    this.#until = this.#now() + this.#pause
  }

  /** The question ended without news of the server. */
  left (): void {
    this.#trying = false
  }
}

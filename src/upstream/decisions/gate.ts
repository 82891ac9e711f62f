/** Bounds the questions under way. Further questions wait in order; a question that is cancelled leaves the queue. */
export class Gate {
  readonly #max: number
  readonly #waiting: number
  readonly #queue = new Set<() => void>()
  #open = 0

  /**
   * @param max questions under way at once
   * @param waiting questions that may wait; further ones do not enter
   */
  constructor (max: number, waiting: number) {
    this.#max = max
    this.#waiting = waiting
  }

  get open (): number {
    return this.#open
  }

  get queued (): number {
    return this.#queue.size
  }

  /** @returns false when too many wait, or when the signal ends the wait. After true, call `leave` once */
  enter (signal: AbortSignal): boolean | Promise<boolean> {
    if (this.#open < this.#max) {
      this.#open++
      return true
    }
    if (this.#queue.size >= this.#waiting) return false
    return new Promise(resolve => {
      const go = (): void => {
        signal.removeEventListener('abort', stop)
        this.#open++
        resolve(true)
      }
      const stop = (): void => {
        this.#queue.delete(go)
        resolve(false)
      }
      this.#queue.add(go)
      signal.addEventListener('abort', stop, { once: true })
    })
  }

  leave (): void {
    this.#open--
    const [next] = this.#queue
    if (next === undefined) return
    this.#queue.delete(next)
    next()
  }
}

/** Which of our own code has run, and how often, as V8 itself counts it. */
import { Session } from 'node:inspector'
import type { Profiler } from 'node:inspector'

/** Counts that count as different: once, twice, three times, ... as AFL has them. As a bit; none for never. */
function bucket (count: number): number {
  return count === 0 ? 0 : 1 << (count < 4 ? count - 1 : count < 8 ? 3 : count < 16 ? 4 : count < 32 ? 5 : count < 128 ? 6 : 7)
}

/**
 * Must begin before the code that it watches is imported. Asking takes from half a millisecond to tens of them, so that it is asked for many inputs at once.
 *
 * V8 tells of blocks, but leaves out those that ran as often as the block around them: which blocks a run has depends on the run. So it is kept by the
 * character of each function's source whether that has run, and in which numbers.
 */
export class Coverage {
  readonly #session = new Session()
  readonly #own: (url: string) => boolean
  /** By script, start and end of a function: the buckets of each character. */
  readonly #seen = new Map<string, Uint8Array>()
  #scratch = new Uint8Array(1024)
  /** Characters of code that have run, and of those that ran in several numbers each number. */
  covered = 0
  features = 0

  /** @param own whether a script is watched, by its URL */
  constructor (own: (url: string) => boolean) {
    this.#own = own
    this.#session.connect()
    this.#post('Profiler.enable')
    this.#post('Profiler.startPreciseCoverage', { detailed: true, callCount: true })
  }

  /** Forgets what has run since it was last asked. */
  reset (): void {
    this.#post('Profiler.takePreciseCoverage')
  }

  /** @returns whether something has run since it was last asked that never had. Of a batch of inputs, counts say nothing; nothing is kept of it. */
  isNew (): boolean {
    for (const [seen, now, length] of this.#functions()) for (let i = 0; i < length; i++) if (seen[i] === 0 && now[i] !== 0) return true
    return false
  }

  /** Takes in what has run since it was last asked. @returns whether it is new, in itself or in how often it ran */
  take (): boolean {
    const before = this.features
    for (const [seen, now, length] of this.#functions()) {
      for (let i = 0; i < length; i++) {
        const had = seen[i] as number
        const has = had | (now[i] as number)
        if (has === had) continue
        if (had === 0) this.covered++
        this.features++
        seen[i] = has
      }
    }
    return this.features > before
  }

  stop (): void {
    this.#session.disconnect()
  }

  /** What was seen of each function that has run, and what is now; the latter only until the next is asked for. */
  * #functions (): Generator<readonly [seen: Uint8Array, now: Uint8Array, length: number]> {
    const { result } = this.#post('Profiler.takePreciseCoverage') as Profiler.TakePreciseCoverageReturnType
    for (const { url, functions } of result) {
      if (!this.#own(url)) continue
      for (const { ranges } of functions) {
        const [whole] = ranges
        if (whole === undefined || whole.count === 0) continue
        const { startOffset, endOffset } = whole
        const length = endOffset - startOffset
        if (this.#scratch.length < length) this.#scratch = new Uint8Array(length * 2)
        // Blocks come after those that they are in.
        for (const range of ranges) this.#scratch.fill(bucket(range.count), range.startOffset - startOffset, range.endOffset - startOffset)
        const key = `${url} ${startOffset} ${endOffset}`
        let seen = this.#seen.get(key)
        if (seen === undefined) this.#seen.set(key, seen = new Uint8Array(length))
        yield [seen, this.#scratch, length]
      }
    }
  }

  /** Of the same thread: the answer comes before the call returns. */
  #post (method: string, parameters?: object): unknown {
    let answer: unknown
    this.#session.post(method, parameters, (error, result) => {
      if (error !== null) throw new Error(`${method}: ${error.message}`)
      answer = result
    })
    return answer
  }
}

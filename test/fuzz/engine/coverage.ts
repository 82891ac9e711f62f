/** Reports which functions of the project's code have run, and how often, from V8's own counters. */
import { Session } from 'node:inspector'
import type { Profiler } from 'node:inspector'

/** Maps a count to its bucket (once, twice, three times, ... as in AFL), as a bit. The result is 0 for no run. */
function bucket (count: number): number {
  return count === 0 ? 0 : 1 << (count < 4 ? count - 1 : count < 8 ? 3 : count < 16 ? 4 : count < 32 ? 5 : count < 128 ? 6 : 7)
}

/**
 * Measures coverage. Create the object before the import of the watched code. A query takes from half a millisecond to tens of
 * milliseconds, so one query covers many inputs.
 *
 * V8 reports blocks, but leaves out blocks that ran as often as the enclosing block, so the reported blocks depend on the run. The class
 * therefore records for each character of a function's source if it has run, and in which count buckets.
 */
export class Coverage {
  readonly #session = new Session()
  readonly #own: (url: string) => boolean
  /** The buckets of each character, by script, start and end of a function. */
  readonly #seen = new Map<string, Uint8Array>()
  #scratch = new Uint8Array(1024)
  /** `covered`: the number of characters of code that have run. `features`: the number of buckets over these characters. */
  covered = 0
  features = 0

  /** @param own true for the URL of a script to watch */
  constructor (own: (url: string) => boolean) {
    this.#own = own
    this.#session.connect()
    this.#post('Profiler.enable')
    this.#post('Profiler.startPreciseCoverage', { detailed: true, callCount: true })
  }

  /** Discards the counts since the last query. */
  reset (): void {
    this.#post('Profiler.takePreciseCoverage')
  }

  /**
   * @returns true when code has run since the last query that never ran before. The result is not recorded, because the counts of a batch
   *   of inputs have no meaning.
   */
  isNew (): boolean {
    for (const [seen, now, length] of this.#functions()) for (let i = 0; i < length; i++) if (seen[i] === 0 && now[i] !== 0) return true
    return false
  }

  /** Records the code that has run since the last query. @returns true when the code or its count is new */
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

  /**
   * The recorded buckets and the current buckets of each function that has run. The current buckets are valid only until the next
   * iteration.
   */
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
        // Inner blocks come after the blocks that enclose them.
        for (const range of ranges) this.#scratch.fill(bucket(range.count), range.startOffset - startOffset, range.endOffset - startOffset)
        const key = `${url} ${startOffset} ${endOffset}`
        let seen = this.#seen.get(key)
        if (seen === undefined) this.#seen.set(key, seen = new Uint8Array(length))
        yield [seen, this.#scratch, length]
      }
    }
  }

  /** The session is in the same thread, so the callback runs before the call returns. */
  #post (method: string, parameters?: object): unknown {
    let answer: unknown
    this.#session.post(method, parameters, (error, result) => {
      if (error !== null) throw new Error(`${method}: ${error.message}`)
      answer = result
    })
    return answer
  }
}

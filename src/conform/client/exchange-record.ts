/** One exchange while it lasts: what has arrived, the pieces that are still due, and the end, which comes once. */
import type { Exchange, Line } from '../model.js'

/** Milliseconds until a response counts as missing. */
const TIMEOUT = 8_000
/** Milliseconds until a piece counts as late. */
const LATE = 2_000

export interface ExchangeOptions {
  /** Number of pieces that the agent sends one after the other. */
  readonly pieces: number
  /** Called when the client has a piece, or when the piece is late. Absent: the agent waits for nobody. */
  readonly release?: ((piece: number) => void) | undefined
  /** Milliseconds. */
  readonly timeout?: number | undefined
  /** Closes the connection. */
  readonly close: (end: Exchange['end']) => void
  /** Gets the exchange when it ends. */
  readonly done: (exchange: Exchange) => void
}

export class ExchangeRecord {
  status = 0
  headers: readonly Line[] = []
  trailers: readonly Line[] = []
  chunks: Buffer[] = []
  /** Number of pieces that have arrived or are late. */
  piece = 0
  settled = false
  readonly #options: ExchangeOptions
  readonly #late: number[] = []
  readonly #timer: NodeJS.Timeout
  #lateTimer: NodeJS.Timeout | undefined

  constructor (options: ExchangeOptions) {
    this.#options = options
    const { timeout = TIMEOUT } = options
    this.#timer = setTimeout(() => { this.settle('timeout', `no complete response within ${timeout} ms`) }, timeout)
  }

  /** Waits for the next piece. */
  watch (): void {
    clearTimeout(this.#lateTimer)
    const { release, pieces } = this.#options
    if (this.settled || release === undefined || this.piece >= pieces) return
    this.#lateTimer = setTimeout(() => {
      this.#late.push(this.piece)
      this.arrived()
    }, LATE)
  }

  /** A piece has arrived: the agent may send the next one. */
  arrived (): void {
    this.#options.release?.(this.piece++)
    this.watch()
  }

  /** Ends the exchange. Later calls do nothing. */
  settle (end: Exchange['end'], problem: string | null = null): void {
    if (this.settled) return
    this.settled = true
    clearTimeout(this.#timer)
    clearTimeout(this.#lateTimer)
    this.#options.close(end)
    const { status, headers, trailers, chunks } = this
    this.#options.done({ status, headers, trailers, body: Buffer.concat(chunks), end, late: this.#late, problem })
  }
}

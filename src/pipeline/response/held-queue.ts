/** Pieces of a stream that wait for their decisions, one at a time and in order: events over HTTP, messages over gRPC. */
import type { ResponseDecision } from '#policy/response/evaluator.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import type { ResponseDriver } from './driver.js'
import type { Enforcement } from './enforcement.js'

export abstract class HeldQueue<Piece, Kind extends Enforcement = Enforcement> {
  protected readonly enforcement: Kind
  protected readonly driver: ResponseDriver
  /** Number of the current event, from 1. */
  protected events = 0
  /** Nothing more is sent. */
  protected over = false
  private queue: readonly Piece[] = []
  private at = 0
  /** An event waits for its record to be stored. */
  private waiting = false
  /** Work to do after the last piece, once the agent is done. */
  private last: (() => void) | null = null

  constructor (enforcement: Kind) {
    this.enforcement = enforcement
    this.driver = enforcement.driver
  }

  /** The held part of an incomplete event is never sent. */
  failed (report: () => void): void {
    this.after(() => {
      this.over = true
      report()
    })
  }

  /** Handles the next piece: sends it, or settles the decision about it. */
  protected abstract take (piece: Piece): void

  /** Sends a piece that is not rejected, with its edits. @param piece null at the end of the stream */
  protected abstract send (decision: ResponseDecision, piece: Piece | null): void

  protected add (pieces: readonly Piece[]): void {
    this.queue = this.queue.length === 0 ? pieces : this.queue.concat(pieces)
  }

  /** @param last work after the last piece */
  protected after (last: () => void): void {
    this.last = last
    this.run()
  }

  /** Continues until an event waits. @returns false to pause the agent */
  protected run (): boolean {
    while (!this.waiting && !this.over) {
      const piece = this.queue[this.at++]
      if (piece !== undefined) {
        this.take(piece)
        continue
      }
      this.queue = NO_ITEMS
      this.at = 0
      const { last } = this
      this.last = null
      if (last === null) break
      last()
    }
    if (this.over) this.queue = NO_ITEMS
    return this.over || (!this.waiting && !this.driver.blocked)
  }

  /**
   * @param piece null at the end of the stream
   * @param bytes that were evaluated; null at the end of the stream
   */
  protected settle (decision: ResponseDecision, piece: Piece | null, bytes: Bytes | null): void {
    const owned = this.enforcement.settled(decision, bytes, piece === null ? 0 : this.events)
    if (owned instanceof Promise) {
      return this.wait(owned.then(async decision => {
        await this.enforcement.remember(decision)
        return decision
      }), piece)
    }
    const stored = this.enforcement.remember(owned)
    if (stored === null) return this.act(owned, piece)
    this.wait(stored.then(() => owned), piece)
  }

  protected reject (rejection: NonNullable<ResponseDecision['rejection']>): void {
    this.over = true
    this.enforcement.reject(rejection)
  }

  private wait (settled: Promise<ResponseDecision>, piece: Piece | null): void {
    this.waiting = true
    settled.then(decision => {
      this.waiting = false
      if (this.driver.gone) this.over = true
      else this.act(decision, piece)
      if (this.run()) this.driver.resume()
    }).catch((error: unknown) => { this.driver.abort(error) })
  }

  private act (decision: ResponseDecision, piece: Piece | null): void {
    if (decision.rejection === null) this.send(decision, piece)
    else this.reject(decision.rejection)
  }
}

const NO_ITEMS: readonly never[] = []

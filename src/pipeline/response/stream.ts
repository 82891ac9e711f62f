/** Event streams that rules read. */
import type { ResponseDecision } from '../../policy/response/evaluator.js'
import { editJson } from '../../wire/json/edit.js'
import { SseAmbiguity } from '../../wire/sse/ambiguity.js'
import type { SsePiece } from '../../wire/sse/split.js'
import { SseSplitter } from '../../wire/sse/split.js'
import { commentBytes, withData } from '../../wire/sse/write.js'
import { EVENT_LINES } from '../response-problems.js'
import type { Body, ResponseDriver } from './driver.js'
import type { Enforcement } from './enforcement.js'
import { noticesOf } from './enforcement.js'
import type { RelayedBody } from './relay.js'

/** Forwards an event stream as it arrives, and evaluates a copy, event by event. */
export class ObservedStream implements Body {
  private readonly enforcement: Enforcement
  private readonly relay: RelayedBody
  private readonly splitter: SseSplitter
  private readonly ambiguity = new SseAmbiguity()
  private events = 0

  constructor (enforcement: Enforcement, status: number, headers: string[]) {
    this.enforcement = enforcement
    this.splitter = new SseSplitter({ bytes: enforcement.limits.event, lines: EVENT_LINES })
    this.relay = enforcement.relay(status, headers)
  }

  chunk (bytes: Buffer): boolean {
    this.enforcement.driver.schedule('evaluate', () => { this.look(this.splitter.feed(bytes)) })
    return this.relay.chunk(bytes)
  }

  end (): void {
    const { enforcement } = this
    this.relay.end()
    enforcement.driver.schedule('evaluate', () => {
      this.look(this.splitter.end())
      enforcement.remember(enforcement.evaluateEnd())
    })
  }

  failed (report: () => void): void {
    report()
  }

  private look (pieces: readonly SsePiece[]): void {
    const { enforcement } = this
    for (const piece of pieces) {
      if (piece.kind !== 'pass') this.events++
      if (this.ambiguity.isIn(piece)) enforcement.unreadable('malformed', this.events)
      if (piece.kind === 'event') enforcement.remember(enforcement.evaluate(piece.data, this.events))
      else if (piece.kind === 'overflow') enforcement.unreadable('too_large', this.events)
    }
  }
}

type Event = Extract<SsePiece, { kind: 'event' }>

/** Blank lines and a byte order mark do not make a head go out that waits. */
const NOTHING = /^[\r\n\u00ef\u00bb\u00bf]*$/
/** Bytes of blank lines that wait for the head. */
const AHEAD = 64

/** Holds each event of a stream until its evaluation is done, one at a time and in order. Comments go out at once while no event waits. */
export class HeldStream implements Body {
  private readonly enforcement: Enforcement
  private readonly driver: ResponseDriver
  private readonly status: number
  private readonly headers: string[]
  private readonly splitter: SseSplitter
  private readonly ambiguity = new SseAmbiguity()
  private begun = false
  /** Blank lines before the head has gone out. */
  private ahead = Buffer.alloc(0)
  private queue: SsePiece[] = []
  private at = 0
  private events = 0
  /** An event waits for its record to be stored. */
  private waiting = false
  /** Work to do after the last piece, once the agent is done. */
  private last: (() => void) | null = null
  private over = false

  constructor (enforcement: Enforcement, status: number, headers: string[]) {
    this.enforcement = enforcement
    this.driver = enforcement.driver
    this.status = status
    this.headers = headers
    this.splitter = new SseSplitter({ bytes: enforcement.limits.event, lines: EVENT_LINES })
    if (!enforcement.evaluator.holdsHead) this.begin()
  }

  chunk (bytes: Buffer): boolean {
    this.add(this.splitter.feed(bytes))
    return this.run()
  }

  end (): void {
    this.add(this.splitter.end())
    this.last = () => { this.settle(this.enforcement.evaluateEnd(), null) }
    this.run()
  }

  /** The held part of an incomplete event is never sent. */
  failed (report: () => void): void {
    this.last = () => {
      this.over = true
      report()
    }
    this.run()
  }

  private add (pieces: SsePiece[]): void {
    if (this.queue.length === 0) this.queue = pieces
    else this.queue.push(...pieces)
  }

  /** Continues until an event waits. @returns false to pause the agent */
  private run (): boolean {
    while (!this.waiting && !this.over) {
      const piece = this.queue[this.at++]
      if (piece !== undefined) {
        this.take(piece)
        continue
      }
      this.queue = []
      this.at = 0
      const { last } = this
      this.last = null
      if (last === null) break
      last()
    }
    if (this.over) this.queue = []
    return this.over || (!this.waiting && !this.driver.blocked)
  }

  private take (piece: SsePiece): void {
    if (piece.kind !== 'pass') this.events++
    if (this.ambiguity.isIn(piece) && this.enforcement.unreadable('malformed', this.events)) this.over = true
    else if (piece.kind === 'event') this.settle(this.enforcement.evaluate(piece.data, this.events), piece)
    else if (piece.kind === 'overflow' && this.enforcement.unreadable('too_large', this.events)) this.over = true
    else this.pass(piece.bytes)
  }

  /** @param event null at the end of the stream */
  private settle (decision: ResponseDecision, event: Event | null): void {
    const owned = this.enforcement.owned(decision, event === null ? 0 : this.events)
    if (owned instanceof Promise) {
      return this.wait(owned.then(async decision => {
        await this.enforcement.remember(decision)
        return decision
      }), event)
    }
    const stored = this.enforcement.remember(owned)
    if (stored === null) return this.act(owned, event)
    this.wait(stored.then(() => owned), event)
  }

  private wait (settled: Promise<ResponseDecision>, event: Event | null): void {
    this.waiting = true
    settled.then(decision => {
      this.waiting = false
      if (this.driver.gone) this.over = true
      else this.act(decision, event)
      if (this.run()) this.driver.resume()
    }).catch((error: unknown) => { this.driver.abort(error) })
  }

  private act (decision: ResponseDecision, event: Event | null): void {
    if (decision.rejection !== null) {
      this.over = true
      return this.enforcement.reject(decision.rejection)
    }
    this.begin()
    for (const notice of noticesOf(decision)) this.driver.write(commentBytes(`gateway-decision: ${notice}`))
    if (event !== null) {
      this.driver.write(decision.edits.length === 0 ? event.bytes : withData(event.bytes, editJson(event.data, decision.edits)))
      return
    }
    this.over = true
    this.driver.finish([])
  }

  private pass (bytes: Buffer): void {
    if (!this.begun && this.ahead.length + bytes.length <= AHEAD && NOTHING.test(bytes.toString('latin1'))) {
      this.ahead = Buffer.concat([this.ahead, bytes])
      return
    }
    this.begin()
    this.driver.write(bytes)
  }

  private begin (): void {
    if (this.begun) return
    this.begun = true
    this.enforcement.begin(this.status, this.headers, true)
    if (this.ahead.length > 0) this.driver.write(this.ahead)
  }
}

/** Event streams that rules read. */
import type { ResponseDecision } from '#policy/response/evaluator.js'
import { editJson } from '#wire/json/edit.js'
import { SseAmbiguity } from '#wire/sse/ambiguity.js'
import type { SsePiece } from '#wire/sse/split.js'
import { SseSplitter } from '#wire/sse/split.js'
import { commentBytes, withData } from '#wire/sse/write.js'
import { EVENT_LINES } from '../response-problems.js'
import type { Body } from './driver.js'
import type { Enforcement } from './enforcement.js'
import { noticesOf } from './enforcement.js'
import { HeldQueue } from './held-queue.js'
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

const NO_BYTES = Buffer.alloc(0)
/** Blank lines and a byte order mark tell a client nothing, so they may wait as long as the head does. */
const BLANK_START = /^[\r\n\u00ef\u00bb\u00bf]*$/
/** Maximum bytes of comments, `id:`, `retry:` and blank lines that wait for the head. */
const MAX_AHEAD_BYTES = 4_096
/**
 * Milliseconds after the first of these lines, from which the next one sends the head. Agents send such lines to keep a connection open
 * that a client, or a proxy before it, closes when nothing arrives: every 15 s in the drafts for the SDKs.
 */
const MAX_AHEAD_MS = 10_000

/**
 * Holds each event of a stream until its evaluation is done, one at a time and in order. Comments go out at once while no event waits. A
 * head that waits for the first event holds the comments and the lines `id:` and `retry:` before the event too, up to limits of bytes and
 * time.
 */
export class HeldStream extends HeldQueue<SsePiece> implements Body {
  private readonly status: number
  private readonly headers: string[]
  private readonly splitter: SseSplitter
  private readonly ambiguity = new SseAmbiguity()
  private begun = false
  /** Lines without data before the head has gone out. */
  private ahead: Buffer = NO_BYTES
  /** When the first of these lines that is not blank arrived; null before. */
  private aheadSince: number | null = null

  constructor (enforcement: Enforcement, status: number, headers: string[]) {
    super(enforcement)
    this.status = status
    this.headers = headers
    this.splitter = new SseSplitter({ bytes: enforcement.limits.event, lines: EVENT_LINES })
    if (!enforcement.evaluator.buffersHead || this.driver.headFirst) this.begin()
  }

  chunk (bytes: Buffer): boolean {
    this.add(this.splitter.feed(bytes))
    return this.run()
  }

  end (): void {
    this.add(this.splitter.end())
    this.after(() => { this.settle(this.enforcement.evaluateEnd(), null, null) })
  }

  protected override take (piece: SsePiece): void {
    if (piece.kind !== 'pass') this.events++
    if (this.ambiguity.isIn(piece) && this.enforcement.unreadable('malformed', this.events)) this.over = true
    else if (piece.kind === 'event') this.settle(this.enforcement.evaluate(piece.data, this.events), piece, piece.data)
    else if (piece.kind === 'overflow' && this.enforcement.unreadable('too_large', this.events)) this.over = true
    else this.forward(piece.bytes)
  }

  protected override send (decision: ResponseDecision, event: SsePiece | null): void {
    this.begin()
    for (const notice of noticesOf(decision)) this.driver.write(commentBytes(`gateway-decision: ${notice}`))
    if (event !== null) {
      const edited = event.kind === 'event' && (decision.edits.length > 0 || decision.changed !== undefined)
      this.driver.write(edited ? withData(event.bytes, editJson(decision.changed ?? event.data, decision.edits)) : event.bytes)
      return
    }
    this.over = true
    this.driver.finish([])
  }

  private forward (bytes: Buffer): void {
    if (!this.begun && this.mayWait(bytes)) {
      this.ahead = Buffer.concat([this.ahead, bytes])
      return
    }
    this.begin()
    this.driver.write(bytes)
  }

  /** True when lines without data may wait for the first event, as the head does. */
  private mayWait (bytes: Buffer): boolean {
    if (this.ahead.length + bytes.length > MAX_AHEAD_BYTES) return false
    if (BLANK_START.test(bytes.toString('latin1'))) return true
    const now = performance.now()
    this.aheadSince ??= now
    return now - this.aheadSince < MAX_AHEAD_MS
  }

  private begin (): void {
    if (this.begun) return
    this.begun = true
    this.enforcement.begin(this.status, this.headers, true)
    if (this.ahead.length > 0) this.driver.write(this.ahead)
  }
}

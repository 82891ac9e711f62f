/**
 * An event stream whose events wait for their decisions, one at a time and in order. Other pieces are forwarded at once when no event
 * waits.
 */
import { EVENT_LINES } from '../../../pipeline/response-problems.js'
import type { ResponseDecision } from '../../../policy/response/evaluator.js'
import { editJson } from '../../../wire/json/edit.js'
import { SseAmbiguity } from '../../../wire/sse/ambiguity.js'
import type { SsePiece } from '../../../wire/sse/split.js'
import { SseSplitter } from '../../../wire/sse/split.js'
import { commentBytes, withData } from '../../../wire/sse/write.js'
import type { Exchange } from '../exchange.js'
import type { ResponseBody } from './body.js'
import type { ResponseEnforcement } from './enforcement.js'
import { noticesOf } from './enforcement.js'
import { StreamOut } from './stream-out.js'

type Event = Extract<SsePiece, { kind: 'event' }>

/** Matches blank lines and a byte order mark. They carry no data, and do not trigger sending the header. */
const NOTHING = /^[\r\n\u00ef\u00bb\u00bf]*$/
/** Maximum bytes of such pieces that wait for the header. */
const AHEAD = 64

export class HeldStream implements ResponseBody {
  private readonly exchange: Exchange
  private readonly status: number
  private readonly headers: string[]
  private readonly enforcement: ResponseEnforcement
  private readonly splitter: SseSplitter
  private readonly ambiguity = new SseAmbiguity()
  /** Null while the header waits. */
  private out: StreamOut | null = null
  /** Pieces without data that came before the header was sent. */
  private ahead = Buffer.alloc(0)
  private queue: SsePiece[] = []
  private at = 0
  /** True while an event waits until its task state is stored. */
  private waiting = false
  /** The step that is left to do when the agent has ended, well or not. */
  private last: (() => void) | null = null
  private over = false

  constructor (exchange: Exchange, status: number, headers: string[], enforcement: ResponseEnforcement) {
    this.exchange = exchange
    this.status = status
    this.headers = headers
    this.enforcement = enforcement
    this.splitter = new SseSplitter({ bytes: enforcement.limits.event, lines: EVENT_LINES })
    if (!enforcement.holdsHead) this.begin()
  }

  data (chunk: Buffer): boolean {
    this.add(this.splitter.feed(chunk))
    return this.run()
  }

  end (): void {
    this.add(this.splitter.end())
    this.last = () => { this.settle(this.enforcement.dryRunEnd(), null) }
    this.run()
  }

  /** An incomplete event that is held is never sent. */
  failed (tell: () => void): void {
    this.last = () => {
      this.over = true
      tell()
    }
    this.run()
  }

  private add (pieces: SsePiece[]): void {
    if (this.queue.length === 0) this.queue = pieces
    else this.queue.push(...pieces)
  }

  /** Handles the queue until a step has to wait. @returns true when the agent may continue */
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
    return this.over || (!this.waiting && !this.exchange.response.writableNeedDrain)
  }

  private take (piece: SsePiece): void {
    if (this.ambiguity.isIn(piece) && this.enforcement.unread('malformed', true)) this.over = true
    else if (piece.kind === 'event') return this.settle(this.enforcement.evaluate(piece.data, true), piece)
    else if (piece.kind === 'overflow' && this.enforcement.unread('too_large', true)) this.over = true
    else this.pass(piece.bytes)
  }

  /** @param event null at the end */
  private settle (decision: ResponseDecision, event: Event | null): void {
    const written = this.enforcement.remember(decision)
    if (written === null) return this.act(decision, event)
    this.waiting = true
    written.then(() => {
      this.waiting = false
      // The client may have disconnected.
      if (this.exchange.response.destroyed) this.over = true
      else this.act(decision, event)
      if (this.run()) this.exchange.forwarding?.resume()
    }).catch((error: unknown) => { this.exchange.failed(error) })
  }

  private act (decision: ResponseDecision, event: Event | null): void {
    if (decision.rejection !== null) {
      this.over = true
      return this.enforcement.reject(decision.rejection)
    }
    for (const notice of noticesOf(decision)) this.begin().write(commentBytes(`gateway-decision: ${notice}`))
    if (event === null) return this.finish()
    this.begin().write(decision.edits.length === 0 ? event.bytes : withData(event.bytes, editJson(event.data, decision.edits)))
  }

  private pass (bytes: Buffer): void {
    if (this.out === null && this.ahead.length + bytes.length <= AHEAD && NOTHING.test(bytes.toString('latin1'))) this.ahead = Buffer.concat([this.ahead, bytes])
    else this.begin().write(bytes)
  }

  private finish (): void {
    this.begin()
    this.over = true
    this.exchange.settle('forwarded')
    this.exchange.response.end()
  }

  private begin (): StreamOut {
    if (this.out !== null) return this.out
    this.enforcement.pushEcho(this.headers)
    this.out = new StreamOut(this.exchange, this.status, this.headers)
    if (this.ahead.length > 0) this.out.write(this.ahead)
    return this.out
  }
}

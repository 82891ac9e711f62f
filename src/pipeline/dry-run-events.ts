/** Evaluates an event stream event by event, and collects the bytes that the client gets. */
import type { Caller, Rejection } from '../a2a/errors.js'
import { decisionHeader } from '../a2a/errors.js'
import type { Limits } from '../config/model/model.js'
import type { ResponseEvaluator, ResponseDecision } from '../policy/response/evaluator.js'
import { callViolation, rejectionOf } from '../policy/violation.js'
import { editJson } from '../wire/json/edit.js'
import { SseAmbiguity } from '../wire/sse/ambiguity.js'
import type { SsePiece } from '../wire/sse/split.js'
import { SseSplitter } from '../wire/sse/split.js'
import { commentBytes, withData } from '../wire/sse/write.js'
import type { UnreadableReason } from './response-problems.js'
import { ambiguousStream, EVENT_LINES, eventTooLarge } from './response-problems.js'
import type { EvaluatedResult } from './dry-run-response.js'
import { rejectionEvent } from './rejection-response.js'

export interface EvaluatedEvents {
  readonly events: number
  readonly notEvaluated: UnreadableReason | null
  readonly results: readonly EvaluatedResult[]
  readonly rejection: Rejection | null
  readonly rejectedEvent: number | null
  /** URIs of the client's header, as known when the first event is sent. */
  readonly shown: readonly string[]
  readonly bytes: Buffer
  /** True when a part of the stream was sent. A rejection is then the last event of the stream. */
  readonly begun: boolean
}

/** Blank lines and a byte order mark do not cause a waiting header to be sent. */
const NOTHING = /^[\r\n\u00ef\u00bb\u00bf]{0,64}$/

export function dryRunEvents (evaluator: ResponseEvaluator, body: Buffer, caller: Caller, limits: Limits, at: (event: number) => void): EvaluatedEvents {
  const splitter = new SseSplitter({ bytes: limits.event, lines: EVENT_LINES })
  const stream = new EvaluatedStream(evaluator, caller, limits, at)
  stream.take(splitter.feed(body))
  stream.take(splitter.end())
  stream.end()
  return stream.evaluated
}

class EvaluatedStream {
  private readonly evaluator: ResponseEvaluator
  private readonly caller: Caller
  private readonly limits: Limits
  private readonly at: (event: number) => void
  private readonly out: Buffer[] = []
  private readonly ambiguity = new SseAmbiguity()
  private readonly results: EvaluatedResult[] = []
  private events = 0
  private rejection: Rejection | null = null
  private unread: UnreadableReason | null = null
  private shown: readonly string[] | null = null

  constructor (evaluator: ResponseEvaluator, caller: Caller, limits: Limits, at: (event: number) => void) {
    this.at = at
    this.evaluator = evaluator
    this.caller = caller
    this.limits = limits
    if (!evaluator.holdsHead) this.begin()
  }

  get evaluated (): EvaluatedEvents {
    const { events, results, rejection } = this
    return { events, notEvaluated: this.unread, results, rejection, rejectedEvent: rejection === null ? null : events, shown: this.shown ?? [], bytes: Buffer.concat(this.out), begun: this.shown !== null }
  }

  take (pieces: readonly SsePiece[]): void {
    for (const piece of pieces) {
      if (this.rejection !== null) return
      if (this.ambiguity.isIn(piece) && this.ambiguous(piece.kind === 'event')) return
      if (piece.kind === 'event') this.event(piece.bytes, piece.data)
      else if (piece.kind === 'overflow') this.overflow(piece.bytes)
      else this.pass(piece.bytes)
    }
  }

  /** Evaluates what only the last event shows. */
  end (): void {
    if (this.rejection !== null) return
    const decision = this.evaluator.end()
    if (decision !== null) {
      this.results.push({ event: 0, decision })
      if (this.rejected(decision.rejection)) return
      this.annotate(decision)
    }
    this.begin()
  }

  private event (bytes: Buffer, data: Buffer): void {
    this.at(++this.events)
    const decision = this.evaluator.evaluate(data, true)
    this.results.push({ event: this.events, decision })
    if (this.rejected(decision.rejection)) return
    this.begin()
    this.annotate(decision)
    this.out.push(decision.edits.length === 0 ? bytes : withData(bytes, editJson(data, decision.edits)))
  }

  /** @returns true when the stream is rejected */
  private ambiguous (event: boolean): boolean {
    this.unread = 'malformed'
    if (!this.evaluator.enforces) return false
    if (event) this.at(++this.events)
    return this.rejected(rejectionOf([callViolation('enforce', ambiguousStream)]))
  }

  private overflow (bytes: Buffer): void {
    this.events++
    this.unread = 'too_large'
    if (this.evaluator.enforces && this.rejected(rejectionOf([callViolation('enforce', eventTooLarge(this.limits.event))]))) return
    this.pass(bytes)
  }

  private pass (bytes: Buffer): void {
    if (!NOTHING.test(bytes.toString('latin1'))) this.begin()
    this.out.push(bytes)
  }

  /** Sends the header with the extensions that are known now. */
  private begin (): void {
    this.shown ??= this.evaluator.shown()
  }

  private annotate ({ annotations }: ResponseDecision): void {
    for (const name of annotations) this.out.push(commentBytes(`gateway-decision: ${decisionHeader(name, 'warn')}`))
  }

  private rejected (rejection: Rejection | null): boolean {
    if (rejection === null) return false
    this.rejection = rejection
    this.out.push(rejectionEvent(rejection, this.caller))
    return true
  }
}

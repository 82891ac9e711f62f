/** An event stream that is judged event by event, and what of it goes to the client. */
import type { Caller, Refusal } from '../a2a/errors.js'
import { decisionHeader } from '../a2a/errors.js'
import type { Limits } from '../config/model.js'
import type { AnswerReview, Verdict } from '../policy/answer.js'
import { callViolation, refusalOf } from '../policy/violation.js'
import { editJson } from '../wire/json-edit.js'
import { SseDoubt } from '../wire/sse-doubt.js'
import type { SsePiece } from '../wire/sse-split.js'
import { SseSplitter } from '../wire/sse-split.js'
import { commentBytes, withData } from '../wire/sse-write.js'
import type { Unread } from './answer-problems.js'
import { doubtful, EVENT_LINES, eventTooLarge } from './answer-problems.js'
import type { JudgedResult } from './judge-answer.js'
import { refusalEvent } from './refusal-answer.js'

export interface JudgedEvents {
  readonly events: number
  readonly notJudged: Unread | null
  readonly results: readonly JudgedResult[]
  readonly refusal: Refusal | null
  readonly refusedEvent: number | null
  /** URIs of the client's header: known when the first event goes out. */
  readonly shown: readonly string[]
  readonly bytes: Buffer
  /** Whether anything of it has gone out; then a refusal is its last event. */
  readonly begun: boolean
}

/** Blank lines and a byte order mark do not make a header go out that waits. */
const NOTHING = /^[\r\n\u00ef\u00bb\u00bf]{0,64}$/

export function judgeEvents (review: AnswerReview, body: Buffer, caller: Caller, limits: Limits, at: (event: number) => void): JudgedEvents {
  const splitter = new SseSplitter({ bytes: limits.event, lines: EVENT_LINES })
  const stream = new JudgedStream(review, caller, limits, at)
  stream.take(splitter.feed(body))
  stream.take(splitter.end())
  stream.end()
  return stream.judged
}

class JudgedStream {
  private readonly review: AnswerReview
  private readonly caller: Caller
  private readonly limits: Limits
  private readonly at: (event: number) => void
  private readonly out: Buffer[] = []
  private readonly doubt = new SseDoubt()
  private readonly results: JudgedResult[] = []
  private events = 0
  private refusal: Refusal | null = null
  private unread: Unread | null = null
  private shown: readonly string[] | null = null

  constructor (review: AnswerReview, caller: Caller, limits: Limits, at: (event: number) => void) {
    this.at = at
    this.review = review
    this.caller = caller
    this.limits = limits
    if (!review.holdsHead) this.begin()
  }

  get judged (): JudgedEvents {
    const { events, results, refusal } = this
    return { events, notJudged: this.unread, results, refusal, refusedEvent: refusal === null ? null : events, shown: this.shown ?? [], bytes: Buffer.concat(this.out), begun: this.shown !== null }
  }

  take (pieces: readonly SsePiece[]): void {
    for (const piece of pieces) {
      if (this.refusal !== null) return
      if (this.doubt.isIn(piece) && this.doubted(piece.kind === 'event')) return
      if (piece.kind === 'event') this.event(piece.bytes, piece.data)
      else if (piece.kind === 'overflow') this.overflow(piece.bytes)
      else this.pass(piece.bytes)
    }
  }

  /** What only the last event shows. */
  end (): void {
    if (this.refusal !== null) return
    const verdict = this.review.end()
    if (verdict !== null) {
      this.results.push({ event: 0, verdict })
      if (this.refused(verdict.refusal)) return
      this.annotate(verdict)
    }
    this.begin()
  }

  private event (bytes: Buffer, data: Buffer): void {
    this.at(++this.events)
    const verdict = this.review.judge(data, true)
    this.results.push({ event: this.events, verdict })
    if (this.refused(verdict.refusal)) return
    this.begin()
    this.annotate(verdict)
    this.out.push(verdict.edits.length === 0 ? bytes : withData(bytes, editJson(data, verdict.edits)))
  }

  /** @returns whether it is refused */
  private doubted (event: boolean): boolean {
    this.unread = 'malformed'
    if (!this.review.enforces) return false
    if (event) this.at(++this.events)
    return this.refused(refusalOf([callViolation('enforce', doubtful)]))
  }

  private overflow (bytes: Buffer): void {
    this.events++
    this.unread = 'too_large'
    if (this.review.enforces && this.refused(refusalOf([callViolation('enforce', eventTooLarge(this.limits.event))]))) return
    this.pass(bytes)
  }

  private pass (bytes: Buffer): void {
    if (!NOTHING.test(bytes.toString('latin1'))) this.begin()
    this.out.push(bytes)
  }

  /** The header goes out, with the extensions that are known now. */
  private begin (): void {
    this.shown ??= this.review.shown()
  }

  private annotate ({ annotations }: Verdict): void {
    for (const name of annotations) this.out.push(commentBytes(`gateway-decision: ${decisionHeader(name, 'warn')}`))
  }

  private refused (refusal: Refusal | null): boolean {
    if (refusal === null) return false
    this.refusal = refusal
    this.out.push(refusalEvent(refusal, this.caller))
    return true
  }
}

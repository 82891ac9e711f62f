/** One answer and its review, on the gateway's side: verdicts are recorded, what they say of the task is remembered, and the header tells what is known. */
import { answerTooLarge, doubtful, encoded, eventTooLarge, noMemoryForAnswer, notJson } from '../../agent/answer-problems.js'
import type { Unread } from '../../agent/answer-problems.js'
import type { EchoPlan } from '../../agent/echo.js'
import { pushEcho } from '../../agent/echo.js'
import * as refusals from '../../agent/refusals.js'
import type { CallProblem } from '../../a2a/call.js'
import type { Refusal } from '../../a2a/errors.js'
import { decisionHeader } from '../../a2a/errors.js'
import type { AnswerReview, Verdict } from '../../policy/answer.js'
import type { TaskRecord } from '../../policy/task-memory.js'
import { callViolation, GATEWAY, refusalOf } from '../../policy/violation.js'
import type { Exchange } from '../exchange.js'
import { countActivations } from './count-activations.js'
import { AnswerRecord } from './record.js'

export interface ReviewPlan {
  readonly review: AnswerReview
  /** Bytes of an answer that is read whole, and of one event. */
  readonly limits: { readonly response: number, readonly event: number }
  /** @returns a promise, which never rejects, where that takes time */
  readonly remember: (taskId: string, fields: TaskRecord) => Promise<unknown> | null
}

/** The rule of reviews for what is no JSON. */
const NOT_JSON = 'answer-json'

const FORWARD: Verdict = { refusal: null, violations: [], edits: [], edited: [], annotations: [], attributes: [], measures: [], remember: null }

export class Reviewing {
  readonly limits: ReviewPlan['limits']
  private readonly exchange: Exchange
  private readonly review: AnswerReview
  private readonly remembers: ReviewPlan['remember']
  private readonly echo: EchoPlan
  private readonly record: AnswerRecord

  /** @param echoed the agent's header */
  constructor (exchange: Exchange, plan: ReviewPlan, echo: EchoPlan, echoed: readonly string[]) {
    this.exchange = exchange
    this.review = plan.review
    this.limits = plan.limits
    this.remembers = plan.remember
    this.echo = echo
    this.record = new AnswerRecord(exchange)
    this.review.echoed(echoed)
    exchange.atEnd = () => { this.finish() }
  }

  get reads (): boolean {
    return this.review.reads
  }

  get holds (): boolean {
    return this.review.holds
  }

  get enforces (): boolean {
    return this.review.enforces
  }

  get holdsHead (): boolean {
    return this.review.holdsHead
  }

  pushEcho (headers: string[]): void {
    pushEcho(headers, this.echo, this.review.shown())
  }

  /** @param bytes the whole body, or the data of one event */
  judge (bytes: Buffer, stream: boolean): Verdict {
    return this.recorded(() => this.review.judge(bytes, stream))
  }

  /** At the clean end of a stream. */
  judgeEnd (): Verdict {
    return this.recorded(() => this.review.end() ?? FORWARD)
  }

  /** Before anybody sees the answer. @returns what that has to wait for */
  remember ({ remember }: Verdict): Promise<unknown> | null {
    return remember === null ? null : this.remembers(remember.taskId, remember.fields)
  }

  /** Forwarded, or refused where that is enforced, because it cannot be read. @returns whether it was refused */
  unread (reason: Unread | 'no_memory', event = false): boolean {
    const { exchange, review } = this
    exchange.services.metrics.answerUnread(exchange.agentName, reason)
    if (!review.enforces) return false
    const violations = [callViolation('enforce', this.problemOf(reason, event))]
    const refusal = refusalOf(violations)
    this.record.verdict({ ...FORWARD, refusal, violations })
    if (refusal !== null) this.refuse(refusal)
    return true
  }

  refuse (refusal: Refusal): void {
    this.exchange.refuseAnswer(refusal, refusal.reason === 'INTERNAL_ERROR' ? 'gateway_error' : 'rejected')
  }

  /** A review that fails is a fault of the gateway: what is enforced is not let through for that. */
  private recorded (judge: () => Verdict): Verdict {
    try {
      const verdict = judge()
      this.record.verdict(verdict)
      const { exchange } = this
      if (verdict.violations.some(found => found.extension === GATEWAY && found.rule === NOT_JSON)) exchange.services.metrics.answerUnread(exchange.agentName, 'malformed')
      return verdict
    } catch (error) {
      this.failed(error)
      return this.review.enforces ? { ...FORWARD, refusal: refusals.internal } : FORWARD
    }
  }

  private problemOf (reason: Unread | 'no_memory', event: boolean): CallProblem {
    if (reason === 'too_large') return event ? eventTooLarge(this.limits.event) : answerTooLarge(this.limits.response)
    if (reason === 'no_memory') return noMemoryForAnswer
    return reason === 'encoding' ? encoded : reason === 'malformed' ? doubtful : notJson
  }

  private finish (): void {
    try {
      const truth = this.review.truth()
      this.record.end(truth)
      countActivations(this.exchange, this.echo, truth)
    } catch (error) {
      this.failed(error)
    }
  }

  private failed (error: unknown): void {
    this.exchange.services.log.error({ err: error, request_id: this.exchange.id }, 'an answer could not be judged')
  }
}

/** What tells the caller of rules that the answer breaks and that it was forwarded all the same. */
export function noticesOf ({ annotations }: Verdict): string[] {
  return annotations.map(rule => decisionHeader(rule, 'warn'))
}

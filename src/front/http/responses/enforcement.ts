/** Connects one response with its evaluation: records decisions, stores task state, and sets the extension header. */
import { responseTooLarge, ambiguousStream, encoded, eventTooLarge, noMemoryForResponse, notJson } from '../../../pipeline/response-problems.js'
import type { UnreadableReason } from '../../../pipeline/response-problems.js'
import type { EchoPlan } from '../../../pipeline/echo.js'
import { pushEcho } from '../../../pipeline/echo.js'
import * as rejections from '../../../pipeline/rejections.js'
import type { CallProblem } from '../../../a2a/message/call.js'
import type { Rejection } from '../../../a2a/errors.js'
import { decisionHeader } from '../../../a2a/errors.js'
import type { ResponseEvaluator, ResponseDecision } from '../../../policy/response/evaluator.js'
import type { TaskRecord } from '../../../policy/task/memory.js'
import { callViolation, GATEWAY, rejectionOf } from '../../../policy/violation.js'
import type { Exchange } from '../exchange.js'
import { countActivations } from './count-activations.js'
import { ResponseRecord } from './response-telemetry.js'

export interface EvaluationPlan {
  readonly evaluator: ResponseEvaluator
  /** Maximum bytes of a response that is read whole, and of one event. */
  readonly limits: { readonly response: number, readonly event: number }
  /** @returns a promise, which never rejects, when storing takes time */
  readonly remember: (taskId: string, fields: TaskRecord) => Promise<unknown> | null
}

/** The rule for a response that is not JSON. */
const NOT_JSON = 'answer-json'

const FORWARD: ResponseDecision = { rejection: null, violations: [], edits: [], edited: [], annotations: [], attributes: [], measures: [], remember: null }

export class ResponseEnforcement {
  readonly limits: EvaluationPlan['limits']
  private readonly exchange: Exchange
  private readonly evaluator: ResponseEvaluator
  private readonly remembers: EvaluationPlan['remember']
  private readonly echo: EchoPlan
  private readonly record: ResponseRecord

  /** @param echoed extensions in the agent's header */
  constructor (exchange: Exchange, plan: EvaluationPlan, echo: EchoPlan, echoed: readonly string[]) {
    this.exchange = exchange
    this.evaluator = plan.evaluator
    this.limits = plan.limits
    this.remembers = plan.remember
    this.echo = echo
    this.record = new ResponseRecord(exchange)
    this.evaluator.echoed(echoed)
    exchange.atEnd = () => { this.finish() }
  }

  get reads (): boolean {
    return this.evaluator.reads
  }

  get holds (): boolean {
    return this.evaluator.holds
  }

  get enforces (): boolean {
    return this.evaluator.enforces
  }

  get holdsHead (): boolean {
    return this.evaluator.holdsHead
  }

  pushEcho (headers: string[]): void {
    pushEcho(headers, this.echo, this.evaluator.shown())
  }

  /** @param bytes the whole body, or the data of one event */
  evaluate (bytes: Buffer, stream: boolean): ResponseDecision {
    return this.recorded(() => this.evaluator.evaluate(bytes, stream))
  }

  /** Evaluates the clean end of a stream. */
  dryRunEnd (): ResponseDecision {
    return this.recorded(() => this.evaluator.end() ?? FORWARD)
  }

  /** Stores the task state of a decision. Called before the client gets the response. @returns a promise to wait for, or null */
  remember ({ remember }: ResponseDecision): Promise<unknown> | null {
    return remember === null ? null : this.remembers(remember.taskId, remember.fields)
  }

  /**
   * Handles a response that the gateway cannot read: records the reason, and rejects the response if a policy enforces. @returns true when
   * evaluation is enforced, so that the caller must not forward the response
   */
  unread (reason: UnreadableReason | 'no_memory', event = false): boolean {
    const { exchange, evaluator } = this
    exchange.services.metrics.answerUnread(exchange.agentName, reason)
    if (!evaluator.enforces) return false
    const violations = [callViolation('enforce', this.problemOf(reason, event))]
    const rejection = rejectionOf(violations)
    this.record.decision({ ...FORWARD, rejection, violations })
    if (rejection !== null) this.reject(rejection)
    return true
  }

  reject (rejection: Rejection): void {
    this.exchange.rejectResponse(rejection, rejection.reason === 'INTERNAL_ERROR' ? 'gateway_error' : 'rejected')
  }

  /**
   * Runs an evaluation and records its decision. An evaluation that throws is a fault of the gateway: an enforced response is then
   * rejected, not forwarded.
   */
  private recorded (evaluate: () => ResponseDecision): ResponseDecision {
    try {
      const decision = evaluate()
      this.record.decision(decision)
      const { exchange } = this
      if (decision.violations.some(found => found.extension === GATEWAY && found.rule === NOT_JSON)) exchange.services.metrics.answerUnread(exchange.agentName, 'malformed')
      return decision
    } catch (error) {
      this.failed(error)
      return this.evaluator.enforces ? { ...FORWARD, rejection: rejections.internal } : FORWARD
    }
  }

  private problemOf (reason: UnreadableReason | 'no_memory', event: boolean): CallProblem {
    if (reason === 'too_large') return event ? eventTooLarge(this.limits.event) : responseTooLarge(this.limits.response)
    if (reason === 'no_memory') return noMemoryForResponse
    return reason === 'encoding' ? encoded : reason === 'malformed' ? ambiguousStream : notJson
  }

  private finish (): void {
    try {
      const truth = this.evaluator.activationReport()
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

/** Notices for the caller about rules that the response violates, when the response is forwarded all the same. */
export function noticesOf ({ annotations }: ResponseDecision): string[] {
  return annotations.map(rule => decisionHeader(rule, 'warn'))
}

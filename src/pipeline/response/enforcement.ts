/** Evaluates one response for all kinds of bodies. */
import type { CallProblem } from '#a2a/message/call.js'
import type { Rejection } from '#a2a/errors.js'
import { decisionHeader } from '#a2a/errors.js'
import type { ResponseDecision, ResponseEvaluator } from '#policy/response/evaluator.js'
import { callViolation, rejectionOf } from '#policy/violation.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import type { EchoPlan } from '../echo.js'
import { pushEcho } from '../echo.js'
import { internal } from '../rejections.js'
import type { UnreadableReason } from '../response-problems.js'
import { ambiguousStream, encoded, eventTooLarge, noMemoryForResponse, notJson, responseTooLarge } from '../response-problems.js'
import type { EvaluationPlan, ResponseDriver } from './driver.js'
import { ResponseAsks } from '../external/response.js'
import { ResponseOwnership } from './ownership.js'
import type { RelayedBody } from './relay.js'
import { relayed } from './relay.js'
import { whenReady } from '#wire/when-ready.js'

const FORWARD: ResponseDecision = {
  rejection: null,
  violations: [],
  edits: [],
  edited: [],
  annotations: [],
  attributes: [],
  measures: [],
  results: [],
  remember: null
}

/** Evaluates one response: decisions, task records, and rejections of bytes that rules cannot read. */
export class Enforcement {
  readonly evaluator: ResponseEvaluator
  readonly limits: EvaluationPlan['limits']
  readonly driver: ResponseDriver
  private readonly echo: EchoPlan
  private readonly stop: () => void
  /** Null: nothing in the response needs an owner. */
  private readonly ownership: ResponseOwnership | null
  /** Null: no policy server decides about the response. */
  private readonly asks: ResponseAsks | null

  /** @param echoed URIs of the agent's header */
  constructor (
    { evaluator, limits, ownership = null, external = null }: EvaluationPlan,
    echo: EchoPlan,
    echoed: readonly string[],
    driver: ResponseDriver,
    stop: () => void
  ) {
    this.evaluator = evaluator
    this.limits = limits
    this.driver = driver
    this.echo = echo
    this.stop = stop
    this.ownership = ownership === null ? null : new ResponseOwnership(ownership, driver)
    this.asks = external === null ? null : new ResponseAsks(external, driver)
    evaluator.echoed(echoed)
    driver.evaluating(() => evaluator.activationReport())
  }

  /** Starts the response with the extensions that are known now. */
  begin (status: number, headers: string[], stream: boolean, notices: readonly string[] = []): void {
    const shown = this.evaluator.shown()
    pushEcho(headers, this.echo, shown)
    for (const notice of notices) headers.push('gateway-decision', notice)
    this.driver.begin(status, headers, stream, shown)
  }

  relay (status: number, headers: string[]): RelayedBody {
    const shown = this.evaluator.shown()
    pushEcho(headers, this.echo, shown)
    return relayed(this.driver, status, headers, shown)
  }

  /** @param bytes the whole body, or the data of an event */
  evaluate (bytes: Bytes, event: number | null): ResponseDecision {
    this.driver.before(event)
    return this.recorded(event, () => this.evaluator.evaluate(bytes, event !== null))
  }

  /** At the clean end of a stream: rules that only the last event shows. */
  evaluateEnd (): ResponseDecision {
    return this.recorded(0, () => this.evaluator.end())
  }

  /**
   * Applies `access.tasks`, and then the answers of policy servers.
   * @param bytes the evaluated body, or the data of the event; null at the end of a stream
   * @returns a promise when the store or a server needs time
   */
  settled (decision: ResponseDecision, bytes: Bytes | null, event: number | null): ResponseDecision | Promise<ResponseDecision> {
    const owned = this.ownership === null ? decision : this.ownership.apply(decision, event)
    const { asks } = this
    if (asks === null || bytes === null) return owned
    const again = (changed: Buffer): ResponseDecision => this.evaluator.evaluate(changed, event !== null)
    const askPolicyServer = (responseDecision: ResponseDecision): ResponseDecision | Promise<ResponseDecision> => asks.apply(
      responseDecision, bytes, event, { again }
    )
    return whenReady(owned, askPolicyServer)
  }

  /** Stores before the client sees the response. */
  remember ({ remember }: ResponseDecision): Promise<unknown> | null {
    return remember === null ? null : this.driver.remember(remember.taskId, remember.fields)
  }

  /** @param event from 1; null for a whole response. @returns true when the response is rejected */
  unreadable (reason: UnreadableReason | 'no_memory', event: number | null): boolean {
    if (!this.evaluator.quiet) this.driver.unreadable(reason)
    if (!this.evaluator.enforces) return false
    const violations = [callViolation('enforce', this.problemOf(reason, event !== null))]
    const rejection = rejectionOf(violations)
    this.driver.evaluated({ ...FORWARD, rejection, violations }, event)
    if (rejection !== null) this.reject(rejection)
    return true
  }

  reject (rejection: Rejection): void {
    this.stop()
    this.driver.reject(rejection)
  }

  /** A failing evaluator is a fault of the gateway: an enforced response is then rejected. */
  private recorded (event: number | null, evaluate: () => ResponseDecision | null): ResponseDecision {
    try {
      const decision = evaluate()
      if (decision === null) return FORWARD
      this.driver.evaluated(decision, event)
      return decision
    } catch (error) {
      this.driver.fault(error)
      return this.evaluator.enforces ? { ...FORWARD, rejection: internal } : FORWARD
    }
  }

  protected problemOf (reason: UnreadableReason | 'no_memory', event: boolean): CallProblem {
    if (reason === 'too_large') return event ? eventTooLarge(this.limits.event) : responseTooLarge(this.limits.response)
    if (reason === 'no_memory') return noMemoryForResponse
    return reason === 'encoding' ? encoded : reason === 'malformed' ? ambiguousStream : notJson
  }
}

/** Values of `gateway-decision` for rules that the response breaks without a rejection. */
export function noticesOf ({ annotations }: ResponseDecision): string[] {
  return annotations.map(rule => decisionHeader(rule, 'warn'))
}

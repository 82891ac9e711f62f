/** Effects of a response machine on one exchange, and its facts for telemetry: for all bindings. */
import type { EchoPlan } from '#pipeline/echo.js'
import type { Notice } from '#pipeline/external/obligations.js'
import type { Answered, Asking, Settled } from '#pipeline/external/settle.js'
import type { ResponseDriver, ResponsePlan, Unusable } from '#pipeline/response/driver.js'
import type { UnreadableReason } from '#pipeline/response-problems.js'
import type { ActivationReport, ResponseDecision } from '#policy/response/evaluator.js'
import { activationReportOf } from '#policy/response/activation-report.js'
import { OWNER_RULE } from '#policy/access/ownership.js'
import type { TaskRecord } from '#policy/task/memory.js'
import { GATEWAY } from '#policy/violation.js'
import type { Rejection } from '#a2a/errors.js'
import type { FailureKind } from '#upstream/failure.js'
import { failureKind } from '#upstream/failure.js'
import { schedule } from './event-loop-batch.js'
import type { Guarded } from '#guard.js'
import { agentFailed, pageReplaced } from './response/agent-failure.js'
import type { Exchange } from './exchange.js'
import { askFor } from './external-questions.js'
import { recordAnswers } from './telemetry/external-telemetry.js'
import { countActivations, ResponseTelemetry } from './telemetry/response-telemetry.js'
import { reserveMemory } from './capacity.js'
import { noteOwner } from './outcome.js'
import { fail, rejectResponse } from './reply.js'

/** Stores fields of a task. @returns a promise, which never rejects, when that takes time */
export type Remember = (taskId: string, fields: TaskRecord) => Promise<unknown> | null

export const STORES_NOTHING: Remember = () => null

export const KNOWS_NOBODY: ResponseDriver['owners'] = () => 'unavailable'

/** The rules of evaluators for a response that they cannot read. */
const UNREAD: ReadonlySet<string> = new Set(['answer-json', 'answer-protobuf'])

/** Bytes of a response about a push notification configuration that are kept until it is complete. */
const MAX_HELD = 65_536

/** Failures before the agent got the request. */
const UNSENT: ReadonlySet<FailureKind> = new Set<FailureKind>(['refused', 'dns', 'connect_timeout', 'tls', 'queue_timeout', 'resources'])

/** Effects of a response machine on one exchange, and its facts for telemetry: for all bindings. */
export abstract class ExchangeDriver implements ResponseDriver {
  readonly remember: Remember
  readonly owners: ResponseDriver['owners']
  protected readonly exchange: Exchange
  private readonly plan: ResponsePlan
  private readonly dispatchedAt = performance.now()
  /** Set when rules read the response. */
  private telemetry: ResponseTelemetry | null = null
  /** Bytes of a response that counts push notification configurations: the client gets them when the count is up to date. */
  protected held: Buffer[] | null
  private heldBytes = 0

  constructor (exchange: Exchange, plan: ResponsePlan, remember = STORES_NOTHING, owners = KNOWS_NOBODY) {
    this.exchange = exchange
    this.plan = plan
    this.remember = remember
    this.owners = owners
    this.held = exchange.push?.readsResponse === true ? [] : null
  }

  abstract begin (status: number, headers: string[], stream: boolean): void
  abstract write (bytes: Buffer): boolean
  abstract finish (rest: readonly Buffer[]): void
  /** Sends bytes to the client. @returns false when the client reads too slowly */
  protected abstract send (bytes: Buffer): boolean

  /** Keeps bytes until the count is up to date, or sends all of them when the response is too long to keep. */
  protected keep (held: Buffer[], bytes: Buffer): boolean {
    this.heldBytes += bytes.length
    held.push(bytes)
    if (this.heldBytes <= MAX_HELD) return true
    this.held = null
    let ready = true
    for (const buffer of held) ready = this.send(buffer)
    return ready
  }

  /** Calls `then` when the count is up to date. @param counted null when there is nothing to wait for */
  protected whenCounted (counted: Promise<unknown> | null, then: () => void): void {
    if (counted === null) then()
    else counted.then(then, (error: unknown) => { fail(this.exchange, error) })
  }

  /** The head of the agent's response is here. @param status of HTTP */
  protected responded (status: number): void {
    const { exchange } = this
    const { agentName, operation, span, services: { metrics } } = exchange
    metrics.observe('upstream_duration_seconds', (performance.now() - this.dispatchedAt) / 1_000, span, agentName, operation)
    span.upstreamEnded(status)
  }

  /** @returns the kind of the failure */
  protected broke (error: Error): FailureKind {
    const { exchange } = this
    const kind = failureKind(error)
    if (UNSENT.has(kind)) exchange.push?.unsent()
    exchange.span.upstreamEnded(null, error)
    exchange.services.log.warn({ agent: exchange.agentName, kind, err: error, request_id: exchange.id }, 'the agent failed')
    return kind
  }

  reject (rejection: Rejection): void {
    rejectResponse(this.exchange, rejection, rejection.reason === 'INTERNAL_ERROR' ? 'gateway_error' : 'rejected')
  }

  unusable (why: Unusable, status: number, headers: readonly string[]): void {
    if (why === 'page') pageReplaced(this.exchange, status, headers)
    else agentFailed(this.exchange, why)
  }

  ask (asks: readonly Asking[]): readonly Answered[] | Promise<readonly Answered[]> {
    return askFor(this.exchange, asks)
  }

  answered (settled: readonly Settled[], notices: readonly Notice[]): void {
    recordAnswers(this.exchange, settled, notices)
  }

  resume (): void {
    this.exchange.forwarding?.resume()
  }

  reserveMemory (bytes: number): boolean {
    return reserveMemory(this.exchange, bytes)
  }

  schedule (kind: 'evaluate' | 'respond', run: () => void): void {
    schedule(kind, this.exchange, run, fail)
  }

  get gone (): boolean {
    return this.exchange.response.destroyed
  }

  get headFirst (): boolean {
    return this.exchange.response.headFirst === true
  }

  get blocked (): boolean {
    return this.exchange.response.writableNeedDrain
  }

  get retryAfter (): number {
    return this.exchange.services.overload.retryAfter
  }

  /** Counts activations by the header alone. */
  echoed (plan: EchoPlan, echoed: readonly string[]): void {
    countActivations(this.exchange, plan, activationReportOf(plan.policy, plan.outbound, plan.active, echoed))
  }

  evaluating (report: () => ActivationReport): void {
    const { exchange, plan: { echo } } = this
    const telemetry = new ResponseTelemetry(exchange)
    this.telemetry = telemetry
    exchange.atEnd = () => {
      try {
        const activations = report()
        telemetry.end(activations)
        if (echo !== null) countActivations(exchange, echo, activations)
      } catch (error) {
        this.fault(error)
      }
    }
  }

  before (): void {}

  evaluated (decision: ResponseDecision): void {
    if (decision.violations.some(violation => violation.extension === GATEWAY && violation.rule === OWNER_RULE)) {
      noteOwner(this.exchange, decision.rejection?.reason === 'STATE_UNAVAILABLE' ? 'unavailable' : 'mismatch')
    }
    this.telemetry?.decision(decision)
    if (decision.violations.some(violation => violation.extension === GATEWAY && UNREAD.has(violation.rule))) this.unreadable('malformed')
  }

  unreadable (reason: UnreadableReason | 'no_memory'): void {
    this.exchange.services.metrics.add('answers_unread_total', this.exchange.agentName, reason)
  }

  fault (error: unknown): void {
    this.exchange.services.log.error({ err: error, request_id: this.exchange.id }, 'a response could not be evaluated')
  }

  abort (error: unknown): void {
    fail(this.exchange, error)
  }

  /** What an error ends that a listener of the agent's response throws. */
  get owner (): Guarded {
    return this.exchange
  }
}

/** Drives the response machine of HTTP from an agent's connection: its bytes go to the client, its facts to telemetry. */
import type { EchoPlan } from '../../pipeline/echo.js'
import type { ResponseDriver, ResponsePlan, Unusable } from '../../pipeline/response/driver.js'
import { ResponseMachine } from '../../pipeline/response.js'
import type { UnreadableReason } from '../../pipeline/response-problems.js'
import type { ActivationReport, ResponseDecision } from '../../policy/response/evaluator.js'
import { activationReportOf } from '../../policy/response/activation-report.js'
import { OWNER_RULE } from '../../policy/access/ownership.js'
import type { TaskRecord } from '../../policy/task/memory.js'
import { GATEWAY } from '../../policy/violation.js'
import type { Rejection } from '../../a2a/errors.js'
import type { AgentError } from '../../a2a/message/error-scan.js'
import { ErrorScan } from '../../a2a/message/error-scan.js'
import type { FailureKind } from '../../upstream/failure.js'
import { failureKind } from '../../upstream/failure.js'
import type { Receiver } from '../../upstream/forward.js'
import { isStreaming } from '../../gateway/concurrency-limit.js'
import { schedule } from '../../gateway/event-loop-batch.js'
import { agentFailed, pageReplaced } from './agent-failure.js'
import type { Exchange } from './exchange.js'
import { settleToken } from './credentials/outbound.js'
import { countActivations, ResponseTelemetry } from './response-telemetry.js'
import { StreamOut } from './stream-out.js'

/** Stores fields of a task. @returns a promise, which never rejects, when that takes time */
export type Remember = (taskId: string, fields: TaskRecord) => Promise<unknown> | null

const STORES_NOTHING: Remember = () => null
const KNOWS_NOBODY: ResponseDriver['owners'] = () => 'unavailable'
/** The rules of evaluators for a response that they cannot read. */
const UNREAD: ReadonlySet<string> = new Set(['answer-json', 'answer-protobuf'])

/** Bytes of a response about a push notification configuration that are held until it is complete. */
export const MAX_HELD = 65_536
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

  constructor (exchange: Exchange, plan: ResponsePlan, remember = STORES_NOTHING, owners = KNOWS_NOBODY) {
    this.exchange = exchange
    this.plan = plan
    this.remember = remember
    this.owners = owners
  }

  abstract begin (status: number, headers: string[], stream: boolean): void
  abstract write (bytes: Buffer): boolean
  abstract finish (rest: readonly Buffer[]): void

  /** The head of the agent's response is here. @param status of HTTP */
  protected responded (status: number): void {
    const { exchange } = this
    const { agentName, operation, span, services: { metrics } } = exchange
    metrics.upstream(agentName, operation, (performance.now() - this.dispatchedAt) / 1_000, span)
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
    this.exchange.rejectResponse(rejection, rejection.reason === 'INTERNAL_ERROR' ? 'gateway_error' : 'rejected')
  }

  unusable (why: Unusable, status: number, headers: readonly string[]): void {
    if (why === 'page') pageReplaced(this.exchange, status, headers)
    else agentFailed(this.exchange, why)
  }

  resume (): void {
    this.exchange.forwarding?.resume()
  }

  hold (bytes: number): boolean {
    return this.exchange.hold(bytes)
  }

  schedule (kind: 'evaluate' | 'respond', run: () => void): void {
    schedule(kind, this.exchange, run)
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
    if (decision.violations.some(found => found.extension === GATEWAY && found.rule === OWNER_RULE)) {
      this.exchange.sawOwner(decision.rejection?.reason === 'STATE_UNAVAILABLE' ? 'unavailable' : 'mismatch')
    }
    this.telemetry?.decision(decision)
    if (decision.violations.some(found => found.extension === GATEWAY && UNREAD.has(found.rule))) this.unreadable('malformed')
  }

  unreadable (reason: UnreadableReason | 'no_memory'): void {
    this.exchange.services.metrics.responseUnread(this.exchange.agentName, reason)
  }

  fault (error: unknown): void {
    this.exchange.services.log.error({ err: error, request_id: this.exchange.id }, 'a response could not be evaluated')
  }

  abort (error: unknown): void {
    this.exchange.failed(error)
  }
}

export class AgentResponse extends ExchangeDriver implements Receiver {
  private readonly machine: ResponseMachine
  /** Null for a response whose HTTP status alone tells whether the agent failed. */
  private readonly errors: ErrorScan | null
  /** Bytes of a response that counts push notification configurations: the client gets them when the count is up to date. */
  private held: Buffer[] | null
  private heldBytes = 0
  private status = 0
  /** Set when an event stream has started. */
  private stream: StreamOut | null = null

  constructor (exchange: Exchange, plan: ResponsePlan, remember = STORES_NOTHING, owners = KNOWS_NOBODY) {
    super(exchange, plan, remember, owners)
    this.machine = new ResponseMachine(plan, this)
    this.held = exchange.push?.readsResponse === true ? [] : null
    this.errors = exchange.binding === 'JSONRPC' || isStreaming(exchange.label) ? new ErrorScan(exchange.binding) : null
  }

  head (status: number, rawHeaders: readonly Buffer[] | readonly string[]): void {
    const { exchange } = this
    this.responded(status)
    this.status = status
    if (status >= 400) exchange.agentErred()
    if (exchange.outbound !== null) settleToken(exchange, status)
    this.machine.onHead(status, rawHeaders)
  }

  data (chunk: Buffer): boolean {
    if (this.errors !== null) this.scanned(this.errors.chunk(chunk))
    return this.machine.onChunk(chunk)
  }

  end (): void {
    if (this.errors !== null) this.scanned(this.errors.end())
    this.machine.onEnd()
  }

  /** True when the rest of the response is only forwarded. */
  get relays (): boolean {
    return this.machine.relays && this.held === null
  }

  private scanned (error: AgentError | null): void {
    if (error === null) return
    const { exchange } = this
    exchange.agentErred()
    if (exchange.binding === 'JSONRPC') exchange.span.rpcError(error.code, 'agent')
  }

  failed (error: Error): void {
    const kind = this.broke(error)
    this.machine.onFailure(() => { agentFailed(this.exchange, kind) })
  }

  begin (status: number, headers: string[], stream: boolean): void {
    if (stream) this.stream = new StreamOut(this.exchange, status, headers)
    else this.exchange.begin(status, headers)
  }

  write (bytes: Buffer): boolean {
    if (this.held !== null && this.stream === null) {
      this.heldBytes += bytes.length
      this.held.push(bytes)
      return this.heldBytes <= MAX_HELD || this.release(this.held)
    }
    return this.stream === null ? this.exchange.write(bytes) : this.stream.write(bytes)
  }

  finish (rest: readonly Buffer[]): void {
    const { exchange, exchange: { response } } = this
    if (response.destroyed) return
    if (exchange.push !== null && this.held !== null) {
      const bytes = this.stream === null ? [...this.held, ...rest] : rest
      const body = this.stream === null ? Buffer.concat(bytes) : null
      this.held = null
      const counted = exchange.push.read(exchange.binding === 'JSONRPC', this.status, body)
      if (counted === null) return this.finish(bytes)
      counted.then(() => { this.finish(bytes) }, (error: unknown) => { exchange.failed(error) })
      return
    }
    exchange.settleForwarded()
    const last = rest.length - 1
    for (let i = 0; i < last; i++) response.write(rest[i] as Buffer)
    response.end(rest[last])
  }

  /** Sends bytes of a response that is too long to hold. */
  private release (held: readonly Buffer[]): boolean {
    this.held = null
    let ready = true
    for (const bytes of held) ready = this.exchange.write(bytes)
    return ready
  }
}

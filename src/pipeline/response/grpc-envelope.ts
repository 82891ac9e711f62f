/**
 * Head and trailers of a gRPC response. Both name the extensions that the agent activated: agents of the JavaScript SDK do so in the head,
 * those of the Go SDK in the trailers, and clients look in either place.
 */
import type { ResponseDecision, ResponseEvaluator } from '#policy/response/evaluator.js'
import type { EchoPlan } from '../echo.js'
import { pushEcho, shownEcho, takeEcho } from '../echo.js'
import type { GrpcResponseDriver } from './grpc-driver.js'
import { noticesOf } from './enforcement.js'

const NONE: readonly string[] = []

export class GrpcEnvelope {
  readonly headers: string[]
  /** URIs that the agent has named so far. */
  readonly echoed: string[]
  /** `grpc-status` of the agent; null before its trailers. */
  code: number | null = null
  /** Evaluates the messages; null when nothing does. */
  evaluator: ResponseEvaluator | null = null
  private readonly driver: GrpcResponseDriver
  private readonly plan: EchoPlan | null
  private readonly stream: boolean
  private readonly alone: boolean
  private trailers: string[] = []
  private notices: Set<string> | null = null
  private begun = false

  /**
   * @param headers of the agent
   * @param plan null leaves the extension headers as they are
   * @param alone the response is one frame of headers, which are its trailers
   */
  constructor (driver: GrpcResponseDriver, headers: string[], plan: EchoPlan | null, stream: boolean, alone: boolean) {
    this.alone = alone
    this.driver = driver
    this.headers = headers
    this.plan = plan
    this.stream = stream
    this.echoed = plan === null ? [] : takeEcho(headers)
  }

  /** Sends the head with the extensions that are known now. A head that is alone waits for the end of the evaluation. */
  begin (): void {
    if (this.begun || this.alone) return
    this.begun = true
    this.driver.begin(200, this.headers, this.stream, this.pushShown(this.headers))
  }

  /**
   * Takes the agent's trailers; empty for a head that is alone. Comes before the evaluation of messages that wait for it: trailers can
   * prove an activation.
   */
  ended (trailers: string[], code: number): void {
    this.trailers = trailers
    this.code = code
    if (this.plan === null) return
    const late = takeEcho(trailers)
    if (late.length > 0) {
      this.echoed.push(...late)
      this.evaluator?.echoed(this.echoed)
    }
    if (this.evaluator === null && code === 0) this.driver.echoed(this.plan, this.echoed)
  }

  /** Reports broken rules to the caller: in the trailers, as values of `gateway-decision`. */
  notice (decision: ResponseDecision): void {
    for (const notice of noticesOf(decision)) (this.notices ??= new Set()).add(notice)
  }

  /** Sends the last bytes and the trailers. */
  finish (rest: readonly Buffer[]): void {
    this.begin()
    const trailers = this.alone ? this.headers : this.trailers
    this.pushShown(trailers)
    if (this.notices !== null) for (const notice of this.notices) trailers.push('gateway-decision', notice)
    if (this.alone) this.driver.trailersOnly(trailers, this.code ?? 0)
    else this.driver.trailers(rest, trailers, this.code ?? 0)
  }

  private pushShown (list: string[]): readonly string[] {
    const { plan } = this
    if (plan === null) return NONE
    const shown = this.evaluator === null ? shownEcho(plan, this.echoed) : this.evaluator.shown()
    pushEcho(list, plan, shown)
    return shown
  }
}

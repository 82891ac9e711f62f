/**
 * An agent's response on its way to the client, as one state machine: head, chunks and end go in; writes, rejections and task records come
 * out. Pure: a {@link ResponseDriver} has the sockets, the stores and the telemetry. The HTTP front drives it from an agent's connection,
 * `explain` and policy tests from a recording.
 */
import { copyResponseHeaders } from '#wire/headers.js'
import { pushEcho, shownEcho, takeEcho } from './echo.js'
import type { Body, ResponseDriver, ResponsePlan } from './response/driver.js'
import { Enforcement } from './response/enforcement.js'
import { RelayedBody, relayed } from './response/relay.js'
import { HeldStream, ObservedStream } from './response/stream.js'
import { ExtendedCardBody, HeldJson, ObservedJson, UntypedBody } from './response/whole.js'
import { isEmpty, isEventStream, OF_THE_GATEWAY, replacedFor, valueOf } from './response-head.js'
import { isEncoded, unreadByHeader } from './response-problems.js'

export class ResponseMachine {
  private readonly plan: ResponsePlan
  private readonly driver: ResponseDriver
  /** Null before the head, and when the gateway responds in place of the agent. */
  private body: Body | null = null
  /** Set by a rejection: the machine ignores the rest of the agent's response, and a failure of the agent. */
  private over = false

  constructor (plan: ResponsePlan, driver: ResponseDriver) {
    this.plan = plan
    this.driver = driver
  }

  /** @param rawHeaders names and values as received */
  onHead (status: number, rawHeaders: readonly Buffer[] | readonly string[]): void {
    const headers: string[] = []
    copyResponseHeaders(rawHeaders, OF_THE_GATEWAY, headers)
    const replaced = this.plan.anyPage ? null : replacedFor(status, valueOf(headers, 'content-type'))
    if (replaced !== null) return this.driver.unusable(replaced, status, headers)
    this.body = this.pick(status, headers)
  }

  /** True when nothing reads the rest of the response. */
  get relays (): boolean {
    return this.body instanceof RelayedBody
  }

  /** @returns false to pause the agent until `resume` of the driver */
  onChunk (bytes: Buffer): boolean {
    return this.body === null || this.body.chunk(bytes)
  }

  onEnd (): void {
    this.body?.end()
  }

  /** The agent's connection broke. @param report ends the call, once, when all that came before has gone out */
  onFailure (report: () => void): void {
    if (this.over) return
    if (this.body === null) report()
    else this.body.failed(report)
  }

  private stopper (): () => void {
    return () => {
      this.body = null
      this.over = true
    }
  }

  private pick (status: number, headers: string[]): Body | null {
    const { plan: { echo, evaluation, card }, driver } = this
    const success = status >= 200 && status <= 299
    let shown: readonly string[] = []
    if (echo !== null) {
      const echoed = takeEcho(headers)
      if (success && evaluation !== null) {
        return enforced(new Enforcement(evaluation, echo, echoed, driver, this.stopper()), status, headers)
      }
      shown = shownEcho(echo, echoed)
      pushEcho(headers, echo, shown)
      if (status < 400) driver.echoed(echo, echoed)
    }
    // The gateway forwards errors of the agent unchanged.
    if (card === null || !success) return relayed(driver, status, headers, shown)
    if (!isEncoded(headers)) return new ExtendedCardBody(driver, status, headers, card, this.stopper())
    driver.unusable('protocol', status, headers)
    return null
  }
}

function enforced (enforcement: Enforcement, status: number, headers: string[]): Body | null {
  const { evaluator, limits } = enforcement
  if (!evaluator.readsBody || isEmpty(status, headers)) return enforcement.relay(status, headers)
  const stream = isEventStream(valueOf(headers, 'content-type'))
  const unread =
    unreadByHeader(headers, stream) ?? (!stream && Number(valueOf(headers, 'content-length') ?? 0) > limits.response ? 'too_large' : null)
  if (unread === 'content_type' && evaluator.enforces && !stream) return new UntypedBody(enforcement, status, headers)
  if (unread !== null) return enforcement.unreadable(unread, null) ? null : enforcement.relay(status, headers)
  if (stream) return evaluator.buffersBody ? new HeldStream(enforcement, status, headers) : new ObservedStream(enforcement, status, headers)
  return evaluator.buffersBody ? new HeldJson(enforcement, status, headers) : new ObservedJson(enforcement, status, headers)
}

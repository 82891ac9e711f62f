/**
 * An agent's gRPC response on its way to the client, as one state machine: head, chunks and trailers go in; writes, rejections and task
 * records come out. Rules and rejections are those of {@link ResponseMachine}; the messages are protocol buffers, and errors are trailers.
 */
import type { GrpcMethod } from '#a2a/grpc/methods.js'
import { copyResponseHeaders } from '#wire/headers.js'
import type { ResponsePlan } from './response/driver.js'
import type { GrpcBody, GrpcResponseDriver } from './response/grpc-driver.js'
import { GrpcEnforcement } from './response/grpc-enforcement.js'
import { GrpcEnvelope } from './response/grpc-envelope.js'
import { HeldMessages, ObservedMessages, RelayedMessages } from './response/grpc-stream.js'
import { CardMessage, HeldUnary, ObservedUnary } from './response/grpc-unary.js'
import { OF_THE_GATEWAY, replacedFor, valueOf } from './response-head.js'

/** Content-Length is wrong once a message is edited, and of no use in gRPC. */
const NOT_COPIED: ReadonlySet<string> = new Set([...OF_THE_GATEWAY, 'content-length'])
/** A status in front of the messages has no meaning, and clients could take it for the status of the call. */
const NOT_IN_HEAD: ReadonlySet<string> = new Set([...NOT_COPIED, 'grpc-status', 'grpc-message', 'grpc-status-details-bin'])
const GRPC = /^application\/grpc(?:[+;]|$)/i
const PROTOBUF = /^application\/grpc(?:\+proto)?(?:;|$)/i
const CODE = /^(?:0|[1-9]\d{0,2})$/

export class GrpcResponseMachine {
  private readonly plan: ResponsePlan
  private readonly driver: GrpcResponseDriver
  private readonly method: Pick<GrpcMethod, 'response' | 'streaming'> | null
  /** Null before the head, after the trailers, and when the gateway responds in place of the agent. */
  private body: GrpcBody | null = null
  private envelope: GrpcEnvelope | null = null
  /** The machine ignores the rest of the agent's response, and a failure of the agent. */
  private over = false

  /** @param method null for a service that is only forwarded; then the plan reads nothing */
  constructor (plan: ResponsePlan, driver: GrpcResponseDriver, method: Pick<GrpcMethod, 'response' | 'streaming'> | null) {
    this.plan = plan
    this.driver = driver
    this.method = method
  }

  /**
   * @param rawHeaders names and values as received, with `:status`
   * @param last true when the head ends the stream: it then holds the trailers
   */
  onHead (rawHeaders: readonly string[], last: boolean): void {
    const { driver } = this
    const status = Number(valueOf(rawHeaders, ':status') ?? 200)
    const headers: string[] = []
    copyResponseHeaders(rawHeaders, last ? NOT_COPIED : NOT_IN_HEAD, headers)
    const type = valueOf(headers, 'content-type')
    const code = last ? codeOf(headers) : null
    if (code === null && (status !== 200 || type === null || !GRPC.test(type))) {
      this.over = true
      return driver.unusable(replacedFor(status, null) ?? 'page', status, headers)
    }
    if (last && code === null) {
      this.over = true
      return driver.unusable('protocol', status, headers)
    }
    if (type === null) headers.push('content-type', 'application/grpc')
    const envelope = new GrpcEnvelope(driver, headers, this.plan.echo, this.method?.streaming ?? false, last)
    if (code === null) {
      this.envelope = envelope
      this.body = this.pick(envelope)
      return
    }
    // The agent has sent the whole response.
    const body = code === 0 ? this.pick(envelope) : null
    this.stop()
    envelope.ended([], code)
    if (code === 0) body?.end()
    else envelope.finish([])
  }

  /** @returns false to pause the agent until `resume` of the driver */
  onChunk (bytes: Buffer): boolean {
    return this.body === null || this.body.chunk(bytes)
  }

  /** @param rawTrailers names and values as received; empty when the agent ended the stream without trailers */
  onTrailers (rawTrailers: readonly string[]): void {
    const { body, envelope, driver } = this
    if (body === null || envelope === null) return
    this.stop()
    const trailers: string[] = []
    copyResponseHeaders(rawTrailers, NOT_COPIED, trailers)
    const code = codeOf(trailers)
    if (code !== null) {
      envelope.ended(trailers, code)
      return body.end()
    }
    body.failed(() => { driver.unusable('protocol', 200, envelope.headers) })
  }

  /** The agent's stream broke. @param report ends the call, once, when all that came before has gone out */
  onFailure (report: () => void): void {
    if (this.over) return
    if (this.body === null) report()
    else this.body.failed(report)
  }

  private stop (): void {
    this.body = null
    this.over = true
  }

  private pick (envelope: GrpcEnvelope): GrpcBody | null {
    const { plan: { echo, evaluation, card }, driver, method } = this
    if (method === null) return new RelayedMessages(driver, envelope)
    const { response: table, streaming } = method
    const stop = (): void => { this.stop() }
    if (echo !== null && evaluation !== null) {
      const enforcement = new GrpcEnforcement({ evaluation, echo, table }, envelope, driver, stop)
      const { readsBody, buffersBody } = evaluation.evaluator
      if (!readsBody) return new RelayedMessages(driver, envelope)
      if (!PROTOBUF.test(valueOf(envelope.headers, 'content-type') ?? '')) {
        return enforcement.unreadable('content_type', null) ? null : new RelayedMessages(driver, envelope)
      }
      if (streaming) return buffersBody ? new HeldMessages(enforcement) : new ObservedMessages(driver, enforcement)
      return buffersBody ? new HeldUnary(driver, enforcement) : new ObservedUnary(driver, enforcement)
    }
    return card === null ? new RelayedMessages(driver, envelope) : new CardMessage(driver, envelope, card, table, stop)
  }
}

/** Returns `grpc-status`; null when it is missing, malformed, or there twice: clients differ on which line counts. */
function codeOf (headers: readonly string[]): number | null {
  const value = valueOf(headers, 'grpc-status')
  if (value === null || !CODE.test(value)) return null
  for (let i = 0, count = 0; i < headers.length; i += 2) if (headers[i] === 'grpc-status' && count++ > 0) return null
  return Number(value)
}

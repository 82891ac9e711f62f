/** Drives the response machine of gRPC from an agent's stream: its messages and trailers go to the client, its facts to telemetry. */
import type { GrpcMethod } from '#a2a/grpc/methods.js'
import { GrpcResponseMachine } from '#pipeline/grpc-response.js'
import type { GrpcResponseDriver } from '#pipeline/response/grpc-driver.js'
import type { ResponseDriver, ResponsePlan } from '#pipeline/response/driver.js'
import { recordGrpcStatus } from '#call/telemetry/request-telemetry.js'
import type { GrpcReceiver } from '#upstream/grpc/forward.js'
import { StreamReset } from '#upstream/grpc/forward.js'
import { GRPC_CODES } from '#wire/grpc/codes.js'
import { GrpcCounter } from '#wire/grpc/count.js'
import { agentFailed } from '#call/response/agent-failure.js'
import type { Remember } from '#call/exchange-driver.js'
import { ExchangeDriver } from '#call/exchange-driver.js'
import { settleToken } from '#call/steps/credentials.js'
import type { Exchange } from '#call/exchange.js'
import { noteAgentError, settle, settleForwarded } from '#call/outcome.js'
import { begin, write } from '#call/reply.js'
import { GrpcDeframer } from '#wire/grpc/deframer.js'
import { readProtobuf } from '#wire/protobuf/read.js'

/** HTTP statuses that mean to the sources of credentials what these codes mean. */
const REJECTED_CREDENTIALS: ReadonlyMap<number, number> = new Map([[GRPC_CODES.UNAUTHENTICATED, 401], [GRPC_CODES.PERMISSION_DENIED, 403]])
const OK = 200

export class GrpcAgentResponse extends ExchangeDriver implements GrpcReceiver, GrpcResponseDriver {
  private readonly machine: GrpcResponseMachine
  private readonly method: GrpcMethod | null
  private counter: GrpcCounter | null = null

  /** @param method null for a service that is only forwarded */
  constructor (
    exchange: Exchange,
    plan: ResponsePlan,
    method: GrpcMethod | null,
    remember?: Remember,
    owners?: ResponseDriver['owners']
  ) {
    super(exchange, plan, remember, owners)
    this.method = method
    this.machine = new GrpcResponseMachine(plan, this, method)
  }

  head (rawHeaders: readonly string[], last: boolean): void {
    this.responded(Number(rawHeaders[1]))
    this.machine.onHead(rawHeaders, last)
  }

  data (chunk: Buffer): boolean {
    return this.machine.onChunk(chunk)
  }

  end (trailers: readonly string[]): void {
    this.machine.onTrailers(trailers)
  }

  failed (error: Error): void {
    const kind = this.broke(error)
    this.machine.onFailure(() => {
      if (error instanceof StreamReset) this.agentReset(error.rstCode)
      else agentFailed(this.exchange, kind)
    })
  }

  begin (status: number, headers: string[], stream: boolean): void {
    const { exchange } = this
    begin(exchange, status, headers)
    if (!stream) return
    this.counter = new GrpcCounter()
    exchange.stream = AT_NO_BOUNDARY
    exchange.services.metrics.addAmount('streams_active', 1, exchange.agentName)
    // Clients wait for the head before the first message.
    exchange.response.flushHeaders()
  }

  write (bytes: Buffer): boolean {
    return this.held === null ? this.send(bytes) : this.keep(this.held, bytes)
  }

  /** The machine of gRPC ends responses with trailers. */
  finish (): void {}

  trailers (rest: readonly Buffer[], trailers: string[], code: number): void {
    const { exchange, held } = this
    if (exchange.response.destroyed) return
    if (held !== null) {
      this.held = null
      const bytes = [...held, ...rest]
      return this.whenCounted(this.counted(Buffer.concat(bytes), code), () => { this.trailers(bytes, trailers, code) })
    }
    this.ended(code)
    for (const bytes of rest) this.send(bytes)
    exchange.response.endWith?.(trailers)
  }

  trailersOnly (headers: string[], code: number): void {
    const { exchange } = this
    if (exchange.response.destroyed) return
    this.held = null
    const counted = exchange.push?.readsResponse === true ? this.counted(null, code) : null
    this.whenCounted(counted, () => {
      if (exchange.response.destroyed) return
      this.ended(code)
      begin(exchange, OK, headers)
      exchange.response.end()
    })
  }

  private ended (code: number): void {
    const { exchange } = this
    if (exchange.outbound !== null) settleToken(exchange, REJECTED_CREDENTIALS.get(code) ?? OK)
    recordGrpcStatus(exchange, code, 'agent')
    if (code !== GRPC_CODES.OK) noteAgentError(exchange)
    settleForwarded(exchange)
  }

  /** Counts push notification configurations. @param body the messages with their prefixes */
  private counted (body: Buffer | null, code: number): Promise<unknown> | null {
    const { exchange: { push }, method } = this
    return push === null || method === null ? null : push.read(false, code === GRPC_CODES.OK ? OK : 500, pushResponseOf(body, method))
  }

  protected send (bytes: Buffer): boolean {
    const { exchange, counter } = this
    if (counter !== null) {
      const messages = counter.count(bytes)
      if (messages > 0) exchange.services.metrics.addAmount('stream_events_total', messages, exchange.agentName)
    }
    return write(exchange, bytes)
  }

  /** The client gets the code that the agent sent. */
  private agentReset (code: number): void {
    const { exchange } = this
    exchange.services.metrics.add('upstream_errors_total', exchange.agentName, 'reset')
    settle(exchange, 'upstream_error')
    exchange.response.reset?.(code)
  }
}

const AT_NO_BOUNDARY = { atBoundary: false, finish: (): void => {} }

// Reads the response to a call about push notification configurations, for the count of `push.perTask`.

/** A configuration is small. */
const LIMITS = { depth: 32, members: 1_000 }

/**
 * @param body messages with their prefixes
 * @returns the message as the JSON body of an HTTP+JSON response; null when it cannot be read
 */
function pushResponseOf (body: Buffer | null, { response }: GrpcMethod): Buffer | null {
  if (body === null) return null
  const [message] = new GrpcDeframer(body.length).feed(body)
  if (message === undefined || message.compressed) return null
  const read = readProtobuf(message.bytes, response, LIMITS)
  return read.ok ? Buffer.from(JSON.stringify(read.value)) : null
}

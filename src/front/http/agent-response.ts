/** Drives the response machine of HTTP from an agent's connection: its bytes go to the client, its facts to telemetry. */
import type { ResponsePlan } from '#pipeline/response/driver.js'
import { ResponseMachine } from '#pipeline/response.js'
import type { AgentError } from '#a2a/message/error-scan.js'
import { ErrorScan } from '#a2a/message/error-scan.js'
import type { Receiver } from '#upstream/forward.js'
import { isStreaming } from '#a2a/operations.js'
import { agentFailed } from '#call/response/agent-failure.js'
import type { Exchange } from '#call/exchange.js'
import { settleToken } from '#call/steps/credentials.js'
import { StreamOut } from '#call/response/stream-out.js'
import { STORES_NOTHING, KNOWS_NOBODY, ExchangeDriver } from '#call/exchange-driver.js'
import { noteAgentError, settleForwarded } from '#call/outcome.js'
import { begin, write } from '#call/reply.js'

export class AgentResponse extends ExchangeDriver implements Receiver {
  private readonly machine: ResponseMachine
  /** Null for a response whose HTTP status alone tells whether the agent failed. */
  private readonly errors: ErrorScan | null
  private status = 0
  /** Set when an event stream has started. */
  private stream: StreamOut | null = null

  constructor (exchange: Exchange, plan: ResponsePlan, remember = STORES_NOTHING, owners = KNOWS_NOBODY) {
    super(exchange, plan, remember, owners)
    this.machine = new ResponseMachine(plan, this)
    this.errors = exchange.binding === 'JSONRPC' || isStreaming(exchange.label) ? new ErrorScan(exchange.binding) : null
  }

  head (status: number, rawHeaders: readonly Buffer[] | readonly string[]): void {
    const { exchange } = this
    this.responded(status)
    this.status = status
    if (status >= 400) noteAgentError(exchange)
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

  get streams (): boolean {
    return this.stream !== null
  }

  /** True when the rest of the response is only forwarded. */
  get relays (): boolean {
    return this.machine.relays && this.held === null
  }

  private scanned (error: AgentError | null): void {
    if (error === null) return
    const { exchange } = this
    noteAgentError(exchange)
    if (exchange.binding === 'JSONRPC') exchange.span.rpcError(error.code, 'agent')
  }

  failed (error: Error): void {
    const kind = this.broke(error)
    this.machine.onFailure(() => { agentFailed(this.exchange, kind) })
  }

  begin (status: number, headers: string[], stream: boolean): void {
    if (stream) this.stream = new StreamOut(this.exchange, status, headers)
    else begin(this.exchange, status, headers)
  }

  write (bytes: Buffer): boolean {
    // An event stream goes out as it comes: the count takes it for unread.
    return this.held !== null && this.stream === null ? this.keep(this.held, bytes) : this.send(bytes)
  }

  protected send (bytes: Buffer): boolean {
    return this.stream === null ? write(this.exchange, bytes) : this.stream.write(bytes)
  }

  finish (rest: readonly Buffer[]): void {
    const { exchange, exchange: { response } } = this
    if (response.destroyed) return
    if (exchange.push !== null && this.held !== null) {
      const bytes = this.stream === null ? [...this.held, ...rest] : rest
      const body = this.stream === null ? Buffer.concat(bytes) : null
      this.held = null
      return this.whenCounted(exchange.push.read(exchange.binding === 'JSONRPC', this.status, body), () => { this.finish(bytes) })
    }
    settleForwarded(exchange)
    this.stream?.finish()
    const last = rest.length - 1
    for (let i = 0; i < last; i++) response.write(rest[i] as Buffer)
    response.end(rest[last])
  }
}

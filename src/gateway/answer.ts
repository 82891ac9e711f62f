/** Passes an agent's answer on to the client: the agent's bytes, less what belongs to one connection or to the gateway. */
import { EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER } from '../a2a/versions.js'
import type { AgentPolicy } from '../policy/compiled.js'
import type { Receiver } from '../upstream/forward.js'
import { failureKind, failureRefusal } from '../upstream/failure.js'
import type { FailureKind } from '../upstream/failure.js'
import { splitList } from '../wire/header-list.js'
import { copyResponseHeaders } from '../wire/headers.js'
import { SseCounter } from '../wire/sse-count.js'
import type { Exchange } from './exchange.js'

/** What negotiation left to do on the way back. */
export interface EchoPlan {
  readonly policy: AgentPolicy
  /** Header name the client used, which its echo comes back in. */
  readonly headerName: string
  /** URIs as the client asked for them. */
  readonly requested: readonly string[]
  readonly outbound: readonly string[]
  readonly injected: readonly string[]
}

const DROP: ReadonlySet<string> = new Set(['gateway-decision'])
/** The longest end of an event: two line ends of two bytes. */
const TAIL = 4
/** Of an error page that is replaced, what clients act upon. */
const KEPT: readonly string[] = ['www-authenticate', 'retry-after']
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

export class Answer implements Receiver {
  protected readonly exchange: Exchange
  private readonly echo: EchoPlan | null
  private readonly dispatchedAt: number
  private counter: SseCounter | null = null
  protected closed = false

  /** @param echo null leaves the extension headers of the answer as they are */
  constructor (exchange: Exchange, echo: EchoPlan | null) {
    this.exchange = exchange
    this.echo = echo
    this.dispatchedAt = performance.now()
  }

  head (status: number, rawHeaders: readonly Buffer[]): void {
    const { exchange } = this
    exchange.services.metrics.upstream(exchange.agentName, exchange.label, (performance.now() - this.dispatchedAt) / 1_000)
    exchange.span.upstreamEnded(status)
    const headers: string[] = []
    copyResponseHeaders(rawHeaders, DROP, headers)
    const type = valueOf(headers, 'content-type')
    if (this.replaced(status, headers, type)) return
    if (this.echo !== null) this.translateEcho(this.echo, status, headers)
    this.pass(status, headers, type)
  }

  /** @returns whether the agent's answer is none that an A2A client could read, and was replaced */
  protected replaced (status: number, headers: readonly string[], type: string | null): boolean {
    if (REDIRECTS.has(status)) {
      this.give('redirect')
      return true
    }
    // An error page of the agent's framework may hold a stack trace.
    if (status < 400 || type === null || !/^text\/html\b/i.test(type)) return false
    this.replacePage(status, headers)
    return true
  }

  protected pass (status: number, headers: string[], type: string | null): void {
    const { exchange } = this
    const { response } = exchange
    const stream = type !== null && /^text\/event-stream\b/i.test(type)
    if (stream) {
      exchange.streaming = true
      exchange.services.metrics.streamOpened(exchange.agentName)
      this.counter = new SseCounter()
      if (valueOf(headers, 'cache-control') === null) headers.push('cache-control', 'no-cache')
      if (valueOf(headers, 'x-accel-buffering') === null) headers.push('x-accel-buffering', 'no')
    }
    exchange.begin(status, headers)
    if (stream) response.flushHeaders()
    response.on('drain', () => { exchange.forwarding?.resume() })
  }

  data (chunk: Buffer): boolean {
    if (this.closed) return true
    const { exchange } = this
    if (this.counter !== null) {
      const events = this.counter.count(chunk)
      if (events > 0) exchange.services.metrics.streamEvents(exchange.agentName, events)
      exchange.streamTail = (exchange.streamTail + chunk.toString('latin1', Math.max(0, chunk.length - TAIL))).slice(-TAIL)
    }
    return exchange.response.write(chunk)
  }

  end (): void {
    if (this.closed) return
    this.exchange.settle('forwarded')
    this.exchange.response.end()
  }

  failed (error: Error): void {
    if (this.closed) return
    const kind = failureKind(error)
    this.exchange.span.upstreamEnded(null, error)
    this.exchange.services.log.warn({ agent: this.exchange.agentName, kind, err: error, request_id: this.exchange.id }, 'the agent failed')
    this.give(kind)
  }

  /** Ends the exchange with a gateway-made answer, or a broken connection when the agent's has begun. */
  protected give (kind: FailureKind): void {
    this.closed = true
    const { exchange } = this
    exchange.forwarding?.abort()
    exchange.services.metrics.upstreamError(exchange.agentName, kind)
    exchange.refuse(failureRefusal(kind), 'upstream_error')
  }

  private replacePage (status: number, headers: readonly string[]): void {
    this.closed = true
    const { exchange } = this
    exchange.forwarding?.abort()
    exchange.services.metrics.upstreamError(exchange.agentName, 'protocol')
    exchange.refuse({
      reason: 'UPSTREAM_FAILED',
      message: `The agent answered HTTP ${status} with an HTML page instead of an A2A answer.`,
      rule: 'gateway/upstream-html',
      metadata: { kind: 'protocol', status: String(status) }
    }, 'upstream_error', status, headers.filter((_, i) => KEPT.includes(headers[i - i % 2] as string)))
  }

  /** The client sees the echo in the spelling it used, without URIs that only the gateway asked for. */
  private translateEcho (plan: EchoPlan, status: number, headers: string[]): void {
    const echoed: string[] = []
    let kept = 0
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] as string
      if (name === EXTENSIONS_HEADER || name === LEGACY_EXTENSIONS_HEADER) {
        splitList(headers[i + 1] as string, echoed)
      } else {
        headers[kept++] = name
        headers[kept++] = headers[i + 1] as string
      }
    }
    headers.length = kept
    const shown = echoed.filter((uri, i) => echoed.indexOf(uri) === i && !(plan.policy.hidden.has(uri) && plan.injected.includes(uri)))
    if (shown.length > 0) headers.push(plan.headerName, shown.map(uri => plan.policy.names.asAsked(uri, plan.requested)).join(','))
    if (status < 400) this.count(plan, echoed)
  }

  private count (plan: EchoPlan, echoed: readonly string[]): void {
    const { metrics } = this.exchange.services
    const agent = this.exchange.agentName
    const { labels } = plan.policy
    for (const uri of plan.outbound) {
      metrics.activation(agent, labels.get(uri) ?? 'other', plan.injected.includes(uri) ? 'gateway' : 'client', echoed.includes(uri) ? 'confirmed' : 'absent')
    }
    for (const uri of echoed) {
      if (!plan.outbound.includes(uri)) metrics.activation(agent, labels.get(uri) ?? 'other', 'client', 'unexpected')
    }
  }
}

/** Redirects and HTML error pages are what they are: no A2A client asked. */
export class PlainAnswer extends Answer {
  protected override replaced (): boolean {
    return false
  }
}

/** @param headers flat list with lower-case names */
export function valueOf (headers: readonly string[], name: string): string | null {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === name) return headers[i + 1] as string
  }
  return null
}

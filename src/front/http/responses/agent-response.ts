/** Forwards an agent's response to the client: the agent's bytes, without headers that belong to one connection or to the gateway. */
import { OF_THE_GATEWAY, replacedFor, valueOf } from '../../../pipeline/response-head.js'
import type { EchoPlan } from '../../../pipeline/echo.js'
import type { Receiver } from '../../../upstream/forward.js'
import { failureKind } from '../../../upstream/failure.js'
import { copyResponseHeaders } from '../../../wire/headers.js'
import type { Exchange } from '../exchange.js'
import { agentFailed, pageReplaced } from './agent-failure.js'
import type { ResponseBody } from './body.js'
import type { ExtendedCardPlan } from './extended-card.js'
import { pickBody } from './pick.js'
import type { EvaluationPlan } from './enforcement.js'

/** Steps to take with a response in addition to forwarding it. */
export interface ResponsePlan {
  /** Null: the extension headers of the response stay unchanged. */
  readonly echo: EchoPlan | null
  /** Plan for an extended card. */
  readonly card: ExtendedCardPlan | null
  /** Null: the gateway does not read the response. Needs `echo`. */
  readonly evaluator: EvaluationPlan | null
  /** True: redirects and HTML error pages are forwarded unchanged, because the caller is no A2A client. */
  readonly anyPage: boolean
}

/** Forwards the response and does nothing else. */
export const RELAYED: ResponsePlan = { echo: null, card: null, evaluator: null, anyPage: false }
/** Like RELAYED, for requests that are no A2A operation. */
export const PLAIN: ResponsePlan = { echo: null, card: null, evaluator: null, anyPage: true }

export class AgentResponse implements Receiver {
  private readonly exchange: Exchange
  private readonly plan: ResponsePlan
  private readonly dispatchedAt: number
  /** Null before the head of the response, and when the gateway responds in the agent's place. */
  private body: ResponseBody | null = null

  constructor (exchange: Exchange, plan: ResponsePlan) {
    this.exchange = exchange
    this.plan = plan
    this.dispatchedAt = performance.now()
  }

  head (status: number, rawHeaders: readonly Buffer[]): void {
    const { exchange, plan } = this
    exchange.services.metrics.upstream(exchange.agentName, exchange.label, (performance.now() - this.dispatchedAt) / 1_000)
    exchange.span.upstreamEnded(status)
    const headers: string[] = []
    copyResponseHeaders(rawHeaders, OF_THE_GATEWAY, headers)
    const replaced = plan.anyPage ? null : replacedFor(status, valueOf(headers, 'content-type'))
    if (replaced === 'redirect') return agentFailed(exchange, 'redirect')
    if (replaced === 'page') return pageReplaced(exchange, status, headers)
    this.body = pickBody(exchange, plan, status, headers)
  }

  data (chunk: Buffer): boolean {
    return this.body === null || this.body.data(chunk)
  }

  end (): void {
    this.body?.end()
  }

  failed (error: Error): void {
    const { exchange } = this
    const kind = failureKind(error)
    exchange.span.upstreamEnded(null, error)
    exchange.services.log.warn({ agent: exchange.agentName, kind, err: error, request_id: exchange.id }, 'the agent failed')
    if (this.body === null) agentFailed(exchange, kind)
    else this.body.failed(() => { agentFailed(exchange, kind) })
  }
}

/** Passes an agent's answer on to the client: the agent's bytes, less what belongs to one connection or to the gateway. */
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

/** What is to be done with an answer beside passing it on. */
export interface ResponsePlan {
  /** Null leaves the extension headers of the answer as they are. */
  readonly echo: EchoPlan | null
  /** Of an extended card. */
  readonly card: ExtendedCardPlan | null
  /** Null: nothing of it is read. Needs `echo`. */
  readonly evaluator: EvaluationPlan | null
  /** Redirects and HTML error pages are what they are: no A2A client asked. */
  readonly anyPage: boolean
}

/** Nothing but passed on. */
export const RELAYED: ResponsePlan = { echo: null, card: null, evaluator: null, anyPage: false }
/** The same for what is no operation of A2A. */
export const PLAIN: ResponsePlan = { echo: null, card: null, evaluator: null, anyPage: true }

export class AgentResponse implements Receiver {
  private readonly exchange: Exchange
  private readonly plan: ResponsePlan
  private readonly dispatchedAt: number
  /** Null before the head, and where the gateway answers in the agent's place. */
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

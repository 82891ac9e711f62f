/**
 * The extended card. The response is a card, so the gateway rewrites its interface URLs like those of the public card. The card belongs to
 * the caller: the gateway reads it for this request only, and never keeps or shares it.
 */
import { rewriteCard } from '../../../a2a/card/rewrite.js'
import type { RewriteOptions } from '../../../a2a/card/rewrite.js'
import { isObject, own } from '../../../a2a/fields.js'
import type { JsonLimits } from '../../../wire/json/json.js'
import { parseStrict } from '../../../wire/json/json.js'
import { memberSpan } from '../../../wire/json/span.js'
import { noMemory } from '../../../pipeline/rejections.js'
import type { Exchange } from '../exchange.js'
import { agentFailed } from './agent-failure.js'
import { headersOfChanged } from '../../../pipeline/response-head.js'
import type { Exceeded } from './whole.js'
import { WholeBody } from './whole.js'

export interface ExtendedCardPlan {
  readonly rewrite: RewriteOptions
  /** Bytes. */
  readonly size: number
  readonly json: JsonLimits
}

export class ExtendedCardBody extends WholeBody {
  private readonly status: number
  private readonly headers: readonly string[]
  private readonly plan: ExtendedCardPlan

  constructor (exchange: Exchange, status: number, headers: readonly string[], plan: ExtendedCardPlan) {
    super(exchange, plan.size)
    this.status = status
    this.headers = headers
    this.plan = plan
  }

  protected override exceeded (why: Exceeded): boolean {
    this.chunks = []
    if (why === 'too_large') agentFailed(this.exchange, 'too_large')
    else this.exchange.rejectResponse(noMemory(this.exchange.services.overload.retryAfter), 'rejected')
    return true
  }

  protected override whole (bytes: Buffer): void {
    const body = this.rewritten(bytes)
    if (body === null) return agentFailed(this.exchange, 'protocol')
    const headers = headersOfChanged(this.headers.filter((_, i) => this.headers[i - i % 2] !== 'cache-control'), body.length)
    headers.push('cache-control', 'private, no-store')
    this.exchange.settle('forwarded')
    this.exchange.respond(this.status, headers, body)
  }

  /** @returns null when the response is no card that can be rewritten; an unchanged card would lead clients past the gateway */
  private rewritten (bytes: Buffer): Buffer | null {
    const parsed = parseStrict(bytes, this.plan.json)
    if (!parsed.ok || !isObject(parsed.value)) return null
    const { rewrite } = this.plan
    if (this.exchange.binding === 'HTTP+JSON') return Buffer.from(JSON.stringify(rewriteCard(parsed.value, rewrite)))
    const card = own(parsed.value, 'result')
    // A JSON-RPC error has HTTP status 200.
    if (card === undefined) return Object.hasOwn(parsed.value, 'error') ? bytes : null
    const span = memberSpan(bytes, ['result'])
    if (!isObject(card) || span === null) return null
    // The envelope keeps its bytes, so that the id keeps its digits.
    return Buffer.concat([bytes.subarray(0, span.start), Buffer.from(JSON.stringify(rewriteCard(card, rewrite))), bytes.subarray(span.end)])
  }
}

/**
 * The extended card: an answer that is a card, so its interface URLs are rewritten like the public card's. It is the caller's own:
 * read for this request only, never kept, never shared.
 */
import { rewriteCard } from '../a2a/card-rewrite.js'
import type { RewriteOptions } from '../a2a/card-rewrite.js'
import { isObject, own } from '../a2a/fields.js'
import type { JsonLimits } from '../wire/json.js'
import { parseStrict } from '../wire/json.js'
import { memberSpan } from '../wire/json-span.js'
import type { EchoPlan } from './answer.js'
import { Answer, valueOf } from './answer.js'
import type { Exchange } from './exchange.js'

export interface ExtendedCardLimits { readonly size: number, readonly json: JsonLimits }

/** Would name the agent's own representation, not the rewritten one. */
const STALE: ReadonlySet<string> = new Set(['content-length', 'etag', 'last-modified', 'cache-control', 'content-md5', 'digest', 'content-digest', 'repr-digest', 'accept-ranges'])

export class ExtendedCardAnswer extends Answer {
  private readonly rewrite: RewriteOptions
  private readonly limits: ExtendedCardLimits
  private readonly chunks: Buffer[] = []
  private size = 0
  private status = 0
  private headers: string[] = []
  /** Errors of the agent are passed on as they are. */
  private readThrough = false

  constructor (exchange: Exchange, echo: EchoPlan | null, rewrite: RewriteOptions, limits: ExtendedCardLimits) {
    super(exchange, echo)
    this.rewrite = rewrite
    this.limits = limits
  }

  protected override pass (status: number, headers: string[], type: string | null): void {
    if (status < 200 || status > 299) {
      this.readThrough = true
      return super.pass(status, headers, type)
    }
    const encoding = valueOf(headers, 'content-encoding')
    if (encoding !== null && encoding.toLowerCase() !== 'identity') return this.give('protocol')
    this.status = status
    this.headers = headers
  }

  override data (chunk: Buffer): boolean {
    if (this.readThrough || this.closed) return super.data(chunk)
    this.size += chunk.length
    if (this.size > this.limits.size) this.give('too_large')
    else this.chunks.push(chunk)
    return true
  }

  override end (): void {
    if (this.readThrough || this.closed) return super.end()
    const body = this.rewritten(Buffer.concat(this.chunks, this.size))
    if (body === null) return this.give('protocol')
    const headers: string[] = []
    for (let i = 0; i < this.headers.length; i += 2) {
      if (!STALE.has(this.headers[i] as string)) headers.push(this.headers[i] as string, this.headers[i + 1] as string)
    }
    headers.push('content-length', String(body.length), 'cache-control', 'private, no-store')
    this.exchange.settle('forwarded')
    this.exchange.respond(this.status, headers, body)
  }

  /** @returns null when this is no card that could be rewritten: served as it is, it would lead past the gateway */
  private rewritten (bytes: Buffer): Buffer | null {
    const parsed = parseStrict(bytes, this.limits.json)
    if (!parsed.ok || !isObject(parsed.value)) return null
    if (this.exchange.binding === 'HTTP+JSON') return Buffer.from(JSON.stringify(rewriteCard(parsed.value, this.rewrite)))
    const card = own(parsed.value, 'result')
    // A JSON-RPC error, which rides on HTTP 200.
    if (card === undefined) return Object.hasOwn(parsed.value, 'error') ? bytes : null
    const span = memberSpan(bytes, ['result'])
    if (!isObject(card) || span === null) return null
    // The envelope keeps its bytes, so that the id keeps its digits.
    return Buffer.concat([bytes.subarray(0, span.start), Buffer.from(JSON.stringify(rewriteCard(card, this.rewrite))), bytes.subarray(span.end)])
  }
}

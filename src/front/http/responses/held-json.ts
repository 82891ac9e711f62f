/** A JSON response that waits for its decision: collect, evaluate, store task state, then forward, edit or reject. */
import type { ResponseDecision } from '../../../policy/response/evaluator.js'
import { editJson } from '../../../wire/json/edit.js'
import type { Exchange } from '../exchange.js'
import { schedule } from '../../../gateway/event-loop-batch.js'
import { headersOfChanged } from '../../../pipeline/response-head.js'
import { RelayedBody } from './relay.js'
import type { ResponseEnforcement } from './enforcement.js'
import { noticesOf } from './enforcement.js'
import type { Exceeded } from './whole.js'
import { WholeBody } from './whole.js'

export class HeldJson extends WholeBody {
  private readonly status: number
  private readonly headers: string[]
  private readonly enforcement: ResponseEnforcement
  /** Set when the body exceeds what the gateway reads. */
  private relay: RelayedBody | null = null

  constructor (exchange: Exchange, status: number, headers: string[], enforcement: ResponseEnforcement) {
    super(exchange, enforcement.limits.response)
    this.status = status
    this.headers = headers
    this.enforcement = enforcement
  }

  override data (chunk: Buffer): boolean {
    return this.relay === null ? super.data(chunk) : this.relay.data(chunk)
  }

  override end (): void {
    if (this.relay === null) schedule('review', this.exchange, () => { super.end() })
    else this.relay.end()
  }

  protected override exceeded (why: Exceeded): boolean {
    const { chunks } = this
    this.chunks = []
    if (this.enforcement.unread(why)) return true
    this.enforcement.pushEcho(this.headers)
    this.relay = new RelayedBody(this.exchange, this.status, this.headers, false)
    let more = true
    for (const chunk of chunks) more = this.relay.data(chunk)
    return more
  }

  protected override whole (bytes: Buffer): void {
    const decision = this.enforcement.evaluate(bytes, false)
    const act = (): void => { schedule('answer', this.exchange, () => { this.act(decision, bytes) }) }
    const written = this.enforcement.remember(decision)
    if (written === null) return act()
    written.then(act).catch((error: unknown) => { this.exchange.failed(error) })
  }

  private act (decision: ResponseDecision, bytes: Buffer): void {
    const { exchange, enforcement, chunks } = this
    this.chunks = []
    // The client may have disconnected.
    if (exchange.response.destroyed) return
    if (decision.rejection !== null) return enforcement.reject(decision.rejection)
    const edited = decision.edits.length === 0 ? bytes : editJson(bytes, decision.edits)
    const headers = edited === bytes ? this.headers : headersOfChanged(this.headers, edited.length)
    enforcement.pushEcho(headers)
    for (const notice of noticesOf(decision)) headers.push('gateway-decision', notice)
    exchange.settle('forwarded')
    exchange.begin(this.status, headers)
    if (edited === bytes && chunks.length > 1) for (const chunk of chunks) exchange.response.write(chunk)
    exchange.response.end(edited === bytes && chunks.length > 1 ? undefined : edited)
  }
}

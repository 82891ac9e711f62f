/** Responses that are read whole: JSON, and extended cards. */
import type { ResponseDecision } from '#policy/response/evaluator.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import { collected, whole } from '#wire/chunked-buffer.js'
import { editJson } from '#wire/json/edit.js'
import { whenSettled } from '#wire/when-ready.js'
import type { ExtendedCardPlan } from '../card/extended-card.js'
import { rewriteExtendedCard } from '../card/extended-card.js'
import { noMemory } from '../rejections.js'
import { headersOfChanged } from '../response-head.js'
import type { Body, ResponseDriver } from './driver.js'
import type { Enforcement } from './enforcement.js'
import { noticesOf } from './enforcement.js'
import type { RelayedBody } from './relay.js'

/** Reads the whole body before the client gets any of it. */
abstract class WholeBody implements Body {
  protected readonly driver: ResponseDriver
  protected chunks: Buffer[] = []
  protected size = 0
  private readonly limit: number

  /** @param limit bytes */
  constructor (driver: ResponseDriver, limit: number) {
    this.driver = driver
    this.limit = limit
  }

  chunk (bytes: Buffer): boolean {
    this.size += bytes.length
    this.chunks.push(bytes)
    if (this.size > this.limit) return this.exceeded('too_large')
    return this.driver.reserveMemory(bytes.length) || this.exceeded('no_memory')
  }

  end (): void {
    this.whole(collected(this.chunks, this.size))
  }

  failed (report: () => void): void {
    report()
  }

  /** @returns as `chunk` */
  protected abstract exceeded (why: 'too_large' | 'no_memory'): boolean

  protected abstract whole (bytes: Bytes): void
}

/** Evaluates a JSON response, stores its task record, and then forwards, edits or rejects the response. */
export class HeldJson extends WholeBody {
  private readonly enforcement: Enforcement
  private readonly status: number
  private readonly headers: string[]
  /** Set when the response is larger than the limit. */
  private relay: RelayedBody | null = null

  constructor (enforcement: Enforcement, status: number, headers: string[]) {
    super(enforcement.driver, enforcement.limits.response)
    this.enforcement = enforcement
    this.status = status
    this.headers = headers
  }

  override chunk (bytes: Buffer): boolean {
    return this.relay === null ? super.chunk(bytes) : this.relay.chunk(bytes)
  }

  override end (): void {
    if (this.relay === null) this.driver.schedule('evaluate', () => { super.end() })
    else this.relay.end()
  }

  protected override exceeded (why: 'too_large' | 'no_memory'): boolean {
    const { chunks } = this
    this.chunks = []
    if (this.enforcement.unreadable(why, null)) return true
    this.relay = this.enforcement.relay(this.status, this.headers)
    let more = true
    for (const chunk of chunks) more = this.relay.chunk(chunk)
    return more
  }

  protected override whole (bytes: Bytes): void {
    const decision = this.enforcement.settled(this.enforcement.evaluate(bytes, null), bytes, null)
    whenSettled(decision, decision => { this.store(decision, bytes) }, error => { this.driver.abort(error) })
  }

  private store (decision: ResponseDecision, bytes: Bytes): void {
    const act = (): void => { this.driver.schedule('respond', () => { this.act(decision, bytes) }) }
    const stored = this.enforcement.remember(decision)
    if (stored === null) return act()
    stored.then(act).catch((error: unknown) => { this.driver.abort(error) })
  }

  private act (decision: ResponseDecision, bytes: Bytes): void {
    const { driver, chunks } = this
    this.chunks = []
    if (driver.gone) return
    if (decision.rejection !== null) return this.enforcement.reject(decision.rejection)
    const changed = decision.changed ?? null
    const edited = decision.edits.length === 0 ? changed : editJson(changed ?? whole(bytes), decision.edits)
    this.enforcement.begin(
      this.status,
      edited === null ? this.headers : headersOfChanged(this.headers, edited.length),
      false,
      noticesOf(decision)
    )
    driver.finish(edited === null ? chunks : [edited])
  }
}

/** Forwards a JSON response as it arrives, and evaluates a copy at the end. */
export class ObservedJson implements Body {
  private readonly enforcement: Enforcement
  private readonly relay: RelayedBody
  /** Null when the response is larger than the limit. */
  private chunks: Buffer[] | null = []
  private size = 0

  constructor (enforcement: Enforcement, status: number, headers: string[]) {
    this.enforcement = enforcement
    this.relay = enforcement.relay(status, headers)
  }

  chunk (bytes: Buffer): boolean {
    const { enforcement, enforcement: { driver, limits } } = this
    if (this.chunks !== null) {
      this.size += bytes.length
      this.chunks.push(bytes)
      const why = this.size > limits.response ? 'too_large' : driver.reserveMemory(bytes.length) ? null : 'no_memory'
      if (why !== null) {
        this.chunks = null
        enforcement.unreadable(why, null)
      }
    }
    return this.relay.chunk(bytes)
  }

  end (): void {
    const { enforcement, chunks } = this
    this.relay.end()
    if (chunks === null) return
    this.chunks = null
    const bytes = collected(chunks, this.size)
    enforcement.driver.schedule('evaluate', () => { enforcement.remember(enforcement.evaluate(bytes, null)) })
  }

  failed (report: () => void): void {
    this.chunks = null
    report()
  }
}

/** Rejects a response of a type that rules cannot read, unless its body is empty: an acknowledgement. */
export class UntypedBody implements Body {
  private readonly enforcement: Enforcement
  private readonly status: number
  private readonly headers: string[]

  constructor (enforcement: Enforcement, status: number, headers: string[]) {
    this.enforcement = enforcement
    this.status = status
    this.headers = headers
  }

  chunk (): boolean {
    this.enforcement.unreadable('content_type', null)
    return true
  }

  end (): void {
    this.enforcement.relay(this.status, this.headers).end()
  }

  failed (report: () => void): void {
    report()
  }
}

/** Rewrites the interface URLs of an extended card, which belongs to one caller: never cached, never shared. */
export class ExtendedCardBody extends WholeBody {
  private readonly status: number
  private readonly headers: readonly string[]
  private readonly plan: ExtendedCardPlan
  private readonly stop: () => void

  constructor (driver: ResponseDriver, status: number, headers: readonly string[], plan: ExtendedCardPlan, stop: () => void) {
    super(driver, plan.size)
    this.stop = stop
    this.status = status
    this.headers = headers
    this.plan = plan
  }

  protected override exceeded (why: 'too_large' | 'no_memory'): boolean {
    this.chunks = []
    this.stop()
    if (why === 'too_large') this.driver.unusable('too_large', this.status, this.headers)
    else this.driver.reject(noMemory(this.driver.retryAfter))
    return true
  }

  protected override whole (bytes: Bytes): void {
    const body = rewriteExtendedCard(whole(bytes), this.plan)
    if (body === null) return this.driver.unusable('protocol', this.status, this.headers)
    const headers = headersOfChanged(this.headers.filter((_, i) => this.headers[i - i % 2] !== 'cache-control'), body.length)
    headers.push('cache-control', 'private, no-store')
    this.driver.begin(this.status, headers, false, [])
    this.driver.finish([body])
  }
}

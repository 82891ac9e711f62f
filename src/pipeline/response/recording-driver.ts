/** The driver of a response machine that a recording feeds, for the offline tools. */
import type { Rejection } from '#a2a/errors.js'
import type { ActivationReport, ResponseDecision } from '#policy/response/evaluator.js'
import { copyResponseHeaders } from '#wire/headers.js'
import type { DryAsk, DryRun } from '../dry-run-operation.js'
import type { Answered, Asking, Settled } from '../external/settle.js'
import { takeEcho } from '../echo.js'
import { rejectionEvent, rejectionResponse } from '../rejection-response.js'
import { isEventStream, OF_THE_GATEWAY, streamHeaders, valueOf } from '../response-head.js'
import type { UnreadableReason } from '../response-problems.js'
import type { OwnedNames, OwnersOf, ResponseDriver, Unusable } from './driver.js'
import type { RejectionResponse } from '../rejection-response.js'

export interface PlainResponse {
  readonly status: number
  /** Flat list: name, value, name, value. */
  readonly headers: readonly string[]
  readonly body: Buffer
  /** Only over gRPC: the body is its messages, with their prefixes, and the status follows. Flat list. */
  readonly trailers?: readonly string[]
}

/** Reasons for a response, or a part of it, that is not evaluated. */
export type NotEvaluatedReason =
  | 'not-an-operation' | 'redirect' | 'page' | 'error-status' | 'extended-card' | 'no-rules' | 'known-by-header' | 'empty'
  | UnreadableReason

/** The evaluation of a whole response, or of one event of a stream. */
export interface EvaluatedResult {
  /** From 1; null for a whole response, 0 for the end of a stream. */
  readonly event: number | null
  readonly decision: ResponseDecision
}

/** The client's response. Every response has Date and Connection besides. */
export interface ClientResponse extends RejectionResponse {
  /** The body is the agent's, byte by byte. */
  readonly unchanged: boolean
  /** Only over gRPC: flat list with `grpc-status`. `headers` is empty when there is nothing but trailers. */
  readonly trailers?: readonly string[]
}

export interface ResponseDryRun {
  readonly stream: boolean
  /** Number of events, up to the rejected one; 0 without a stream. */
  readonly events: number
  /** Null: evaluated. */
  readonly notEvaluated: NotEvaluatedReason | null
  readonly results: readonly EvaluatedResult[]
  /** Null: forwarded. */
  readonly rejection: Rejection | null
  /** The rejected event, from 1; null when no event is rejected. */
  readonly rejectedEvent: number | null
  /** The questions for policy servers about the response. */
  readonly external: readonly DryAsk[]
  /** The activations at the end; null when nothing needs them. */
  readonly activationReport: ActivationReport | null
  /** URIs of the extension header that the client gets. */
  readonly shown: readonly string[]
  readonly client: ClientResponse
}

/** The gateway's own response in place of one that no A2A client can read; its text is no matter of policies. */
const REPLACED: ClientResponse = { status: 502, phrase: '', headers: [], body: Buffer.alloc(0), unchanged: false }

/** Keeps all that the machine does with a recorded response. */
export class RecordingDriver implements ResponseDriver {
  readonly gone = false
  readonly blocked = false
  readonly headFirst = false
  readonly retryAfter = 0
  readonly before: (event: number | null) => void
  protected readonly dryRun: DryRun
  protected readonly response: PlainResponse
  protected readonly received: string[] = []
  protected readonly results: EvaluatedResult[] = []
  protected readonly out: Buffer[] = []
  protected head: { readonly status: number, readonly headers: string[], readonly shown: readonly string[] } | null = null
  protected unread: UnreadableReason | null = null
  protected replaced: 'redirect' | 'page' | null = null
  protected rejection: Rejection | null = null
  protected events = 0
  protected readonly asked: DryAsk[] = []
  protected report: (() => ActivationReport) | null = null

  constructor (dryRun: DryRun, response: PlainResponse, before: (event: number | null) => void) {
    this.dryRun = dryRun
    this.response = response
    this.before = event => {
      this.events = event ?? 0
      before(event)
    }
    copyResponseHeaders(response.headers, OF_THE_GATEWAY, this.received)
  }

  begin (status: number, headers: string[], stream: boolean, shown: readonly string[]): void {
    this.head = { status, headers: stream ? streamHeaders(headers) : headers, shown }
  }

  write (bytes: Buffer): boolean {
    this.out.push(bytes)
    return true
  }

  finish (rest: readonly Buffer[]): void {
    this.out.push(...rest)
  }

  reject (rejection: Rejection): void {
    this.rejection ??= rejection
    if (this.head !== null) this.out.push(rejectionEvent(rejection, this.dryRun.caller))
  }

  unusable (why: Unusable): void {
    this.replaced = why === 'redirect' ? 'redirect' : 'page'
  }

  remember (): null {
    return null
  }

  /** Tasks and contexts of the response belong to the caller. */
  owners (names: OwnedNames, owner: string): OwnersOf {
    return names.map(() => owner)
  }

  /** Questions without a recorded answer have no effect. */
  ask (asks: readonly Asking[]): readonly Answered[] {
    const answered = asks.flatMap(asking => {
      const answer = this.dryRun.answers?.(asking) ?? null
      return answer === null ? [] : [{ asking, answer }]
    })
    this.asked.push(...asks.filter(asking => answered.every(entry => entry.asking !== asking)).map(asking => ({ asking, settled: null })))
    return answered
  }

  answered (settled: readonly Settled[]): void {
    this.asked.push(...settled.map(entry => ({ asking: entry.asking, settled: entry })))
  }

  resume (): void {}

  reserveMemory (): boolean {
    return true
  }

  schedule (_kind: unknown, run: () => void): void {
    run()
  }

  echoed (): void {}

  evaluating (report: () => ActivationReport): void {
    this.report = report
  }

  evaluated (decision: ResponseDecision, event: number | null): void {
    if (event !== null && event > 0) this.events = event
    // A decision that only says why the response cannot be read is the rejection itself.
    if (this.unread === null || decision.rejection === null || event === 0) this.results.push({ event, decision })
  }

  unreadable (reason: UnreadableReason | 'no_memory'): void {
    this.unread = reason === 'no_memory' ? 'too_large' : reason
  }

  fault (error: unknown): void {
    throw error
  }

  abort (error: unknown): void {
    throw error
  }

  result (): ResponseDryRun {
    const { response, rejection, head } = this
    const stream = this.replaced === null && isEventStream(valueOf(this.received, 'content-type'))
    return {
      stream,
      events: stream ? this.events : 0,
      notEvaluated: this.notEvaluated(),
      results: this.results,
      rejection,
      rejectedEvent: rejection !== null && stream && this.events > 0 ? this.events : null,
      external: this.asked,
      activationReport: this.report?.() ?? null,
      shown: this.shown(),
      client: this.replaced !== null
        ? REPLACED
        : head === null
          ? { ...rejectionResponse(rejection as Rejection, this.dryRun.caller), unchanged: false }
          : this.sent(head.status, head.headers, response.body)
    }
  }

  private sent (status: number, headers: string[], received: Buffer): ClientResponse {
    const body = Buffer.concat(this.out)
    return { status, phrase: '', headers, body, unchanged: body.equals(received) }
  }

  /** The extension header of a response that keeps its own names the agent's URIs. */
  protected shown (): readonly string[] {
    const { head, dryRun: { plan } } = this
    if (head === null) return []
    return plan !== null && plan.echo === null ? takeEcho([...this.received]) : head.shown
  }

  private notEvaluated (): NotEvaluatedReason | null {
    const { response: { status, body }, dryRun: { plan } } = this
    if (plan === null) return 'not-an-operation'
    if (this.replaced !== null) return this.replaced
    if (this.unread !== null) return this.unread
    const success = status >= 200 && status <= 299
    if (plan.evaluation === null || !success) {
      return plan.anyPage ? 'not-an-operation' : success ? (plan.card === null ? 'no-rules' : 'extended-card') : 'error-status'
    }
    if (!plan.evaluation.evaluator.readsBody && this.results.length === 0) return 'known-by-header'
    return status === 204 || status === 205 || body.length === 0 ? 'empty' : null
  }
}

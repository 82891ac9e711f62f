/** Drives the machine for gRPC responses from a recording, for the offline tools. */
import type { Rejection } from '#a2a/errors.js'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import { grpcStatusOf } from '#a2a/grpc/status.js'
import { takeEcho } from '../echo.js'
import { GrpcResponseMachine } from '../grpc-response.js'
import { rejectionResponse } from '../rejection-response.js'
import { valueOf } from '../response-head.js'
import { FORWARD_ANY_PAGE } from './driver.js'
import type { GrpcResponseDriver } from './grpc-driver.js'
import { RecordingDriver } from './recording-driver.js'
import type { ClientResponse, NotEvaluatedReason, PlainResponse, ResponseDryRun } from './recording-driver.js'
import type { DryRun } from '../dry-run-operation.js'

/**
 * Evaluates a recorded gRPC response.
 * @param before as in `dryRunResponse`
 */
export function grpcDryRunResponse (dryRun: DryRun, response: PlainResponse, before: (event: number | null) => void): ResponseDryRun {
  const { call, caller, plan } = dryRun
  const method = call === null ? null : grpcMethodFor(call.operation, caller.version)
  const driver = new GrpcRecordingDriver(dryRun, response, before, method?.streaming === true)
  const machine = new GrpcResponseMachine(plan ?? FORWARD_ANY_PAGE, driver, method)
  const { headers, body, trailers = [] } = response
  const status = [':status', String(response.status)]
  if (body.length === 0) {
    machine.onHead([...status, ...headers, ...trailers], true)
  } else {
    machine.onHead([...status, ...headers], false)
    machine.onChunk(body)
    machine.onTrailers(trailers)
  }
  return driver.result()
}

/** The gateway's own status in place of a response that no client can read; its text is no matter of policies. */
const REPLACED: ClientResponse = {
  status: 200,
  phrase: '',
  headers: [],
  body: Buffer.alloc(0),
  unchanged: false,
  trailers: ['grpc-status', '14']
}

class GrpcRecordingDriver extends RecordingDriver implements GrpcResponseDriver {
  private readonly stream: boolean
  private last: readonly string[] | null = null

  constructor (dryRun: DryRun, response: PlainResponse, before: (event: number | null) => void, stream: boolean) {
    super(dryRun, response, before)
    this.stream = stream
  }

  override begin (status: number, headers: string[], _stream: boolean, shown: readonly string[]): void {
    this.head = { status, headers, shown }
  }

  override reject (rejection: Rejection): void {
    this.rejection ??= rejection
  }

  trailers (rest: readonly Buffer[], trailers: string[]): void {
    this.out.push(...rest)
    this.last = trailers
  }

  trailersOnly (headers: string[]): void {
    this.last = headers
  }

  override result (): ResponseDryRun {
    const { rejection, stream, events } = this
    return {
      stream,
      events: stream ? events : 0,
      notEvaluated: this.notEvaluatedReason(),
      results: this.results,
      rejection,
      rejectedEvent: rejection !== null && stream && events > 0 ? events : null,
      external: this.asked,
      activationReport: this.report?.() ?? null,
      shown: this.shown(),
      client: this.client()
    }
  }

  /** The extension header may be in the head, in the trailers, or in both. */
  protected override shown (): readonly string[] {
    const { head, last } = this
    return this.replaced === null ? [...new Set(takeEcho(lowered([...head?.headers ?? [], ...last ?? []])))] : []
  }

  private client (): ClientResponse {
    const { rejection, head, last, dryRun, response } = this
    if (this.replaced !== null) return REPLACED
    const body = Buffer.concat(this.out)
    const sent = { status: 200, phrase: '', headers: lowered(head?.headers ?? []), body, unchanged: body.equals(response.body) }
    if (rejection === null) return { ...sent, trailers: lowered(last ?? []) }
    if (head !== null) return { ...sent, unchanged: false, trailers: grpcStatusOf(rejection).trailers }
    return { ...sent, unchanged: false, trailers: rejectionResponse(rejection, dryRun.caller).headers }
  }

  private notEvaluatedReason (): NotEvaluatedReason | null {
    const { response: { body }, dryRun: { plan } } = this
    if (plan === null) return 'not-an-operation'
    if (this.replaced !== null) return this.replaced
    if (this.unread !== null) return this.unread
    if (this.rejection !== null) return null
    const success = this.last === null || valueOf(this.last, 'grpc-status') === '0'
    if (!success && this.results.length === 0) return 'error-status'
    if (plan.evaluation === null) return plan.card === null ? 'no-rules' : 'extended-card'
    if (!plan.evaluation.evaluator.readsBody && this.results.length === 0) return 'known-by-header'
    return body.length === 0 ? 'empty' : null
  }
}

/** Returns headers with their names as HTTP/2 sends them. */
function lowered (headers: readonly string[]): string[] {
  return headers.map((text, i) => i % 2 === 0 ? text.toLowerCase() : text)
}

/** Drives the response machine from a recording: all that the gateway would do with an agent's whole response, for the offline tools. */
import type { Rejection } from '#a2a/errors.js'
import type { ActivationReport, ResponseDecision } from '#policy/response/evaluator.js'
import type { DryAsk, DryRun } from './dry-run.js'
import type { RejectionResponse } from './rejection-response.js'
import { PLAIN } from './response/driver.js'
import { grpcDryRunResponse } from './response/grpc-recording.js'
import { RecordingDriver } from './response/recording-driver.js'
import { ResponseMachine } from './response.js'
import type { UnreadableReason } from './response-problems.js'

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

/**
 * @param dryRun of the request, which is forwarded; its plan is used up
 * @param before is called before an event is evaluated, with its number from 1; null for a whole response
 */
export function dryRunResponse (
  dryRun: DryRun,
  response: PlainResponse,
  before: (event: number | null) => void = () => {}
): ResponseDryRun {
  if (dryRun.caller.binding === 'GRPC') return grpcDryRunResponse(dryRun, response, before)
  const driver = new RecordingDriver(dryRun, response, before)
  const machine = new ResponseMachine(dryRun.plan ?? PLAIN, driver)
  machine.onHead(response.status, response.headers)
  if (response.body.length > 0) machine.onChunk(response.body)
  machine.onEnd()
  return driver.result()
}

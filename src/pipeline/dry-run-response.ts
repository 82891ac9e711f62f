/**
 * Takes an agent's whole response and returns everything that the gateway would make of it. The counterpart of `dry-run.ts`, for the
 * offline tools.
 */
import type { CallProblem } from '../a2a/message/call.js'
import type { Rejection } from '../a2a/errors.js'
import type { Limits } from '../config/model/model.js'
import type { ActivationReport, ResponseDecision } from '../policy/response/evaluator.js'
import { callViolation, rejectionOf } from '../policy/violation.js'
import { copyResponseHeaders } from '../wire/headers.js'
import { isEventStream, OF_THE_GATEWAY, replacedFor, valueOf } from './response-head.js'
import type { UnreadableReason } from './response-problems.js'
import { responseTooLarge, encoded, notJson, unreadByHeader } from './response-problems.js'
import type { ClientResponse } from './client-response.js'
import { rejectedResponse, streamResponse, wholeResponse } from './client-response.js'
import { shownEcho, takeEcho } from './echo.js'
import type { DryRun } from './dry-run.js'
import { dryRunEvents } from './dry-run-events.js'

export interface PlainResponse {
  readonly status: number
  /** Flat list: name, value, name, value. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** Reason why the response, or a part of it, was not evaluated. */
export type NotEvaluatedReason =
  | 'not-an-operation' | 'redirect' | 'page' | 'error-status' | 'extended-card' | 'nothing-to-say' | 'known-by-header' | 'empty'
  | UnreadableReason

/** Result of one whole response, or of one event of a stream. */
export interface EvaluatedResult {
  /** From 1; null for a whole response, 0 for the end of a stream. */
  readonly event: number | null
  readonly decision: ResponseDecision
}

export interface ResponseDryRun {
  readonly stream: boolean
  /** Number of events, up to the rejected event; 0 when the response is not a stream. */
  readonly events: number
  /** Null: the response is evaluated. */
  readonly notEvaluated: NotEvaluatedReason | null
  readonly results: readonly EvaluatedResult[]
  /** Null: the response is forwarded. */
  readonly rejection: Rejection | null
  /** Number of the rejected event, from 1; null when no event is rejected. */
  readonly rejectedEvent: number | null
  /** Activation of extensions as known at the end; null when nobody requests it. */
  readonly truth: ActivationReport | null
  /** URIs of the header that the client gets. */
  readonly shown: readonly string[]
  readonly client: ClientResponse
}

/**
 * Evaluates one response.
 * @param dryRun of the request, which is forwarded; its evaluator serves only one response
 * @param at receives the number of the event before its evaluation, from 1; null for a whole response
 */
export function dryRunResponse (dryRun: DryRun, response: PlainResponse, limits: Limits, at: (event: number | null) => void = () => {}): ResponseDryRun {
  const { evaluation, caller, call } = dryRun
  const received: string[] = []
  copyResponseHeaders(response.headers, OF_THE_GATEWAY, received)
  const type = valueOf(received, 'content-type')
  const stream = isEventStream(type)
  if (evaluation === null || call === null || dryRun.route?.kind !== 'operation') return { ...nothing(stream, 'not-an-operation'), client: asReceived(response, received, stream) }
  const extension = dryRun.route.extensionRoute !== null
  const replaced = extension ? null : replacedFor(response.status, type)
  if (replaced !== null) return { ...nothing(false, replaced), client: REPLACED }

  const off = evaluation.policy.mode === 'off'
  const unechoed = [...received]
  const echoed = takeEcho(unechoed)
  const headers = off ? received : unechoed
  const withEcho = (uris: readonly string[]): string[] => off || uris.length === 0 ? headers : [...headers, evaluation.headerName, uris.join(',')]
  const success = response.status >= 200 && response.status <= 299
  const card = success && isCard(dryRun)
  const evaluator = success ? dryRun.evaluator : null
  if (evaluator === null) {
    const uris = off ? echoed : shownEcho({ ...evaluation, injected: evaluation.decision.injected }, echoed)
    const why = extension ? 'not-an-operation' : card ? 'extended-card' : success ? 'nothing-to-say' : 'error-status'
    return { ...nothing(stream, why), shown: uris, client: asReceived(response, withEcho(uris), stream) }
  }
  evaluator.echoed(echoed)
  const unlooked = (why: NotEvaluatedReason): ResponseDryRun => {
    const uris = evaluator.shown()
    return { ...nothing(stream, why), truth: evaluator.activationReport(), shown: uris, client: asReceived(response, withEcho(uris), stream) }
  }
  if (!evaluator.reads) return unlooked('known-by-header')
  if (response.status === 204 || response.status === 205 || response.body.length === 0) return unlooked('empty')
  const unread = problemOf(response, received, stream, limits)
  if (unread !== null) {
    const rejection = evaluator.enforces ? rejectionOf([callViolation('enforce', unread.problem)]) : null
    return rejection === null ? unlooked(unread.why) : { ...nothing(stream, unread.why), rejection, truth: evaluator.activationReport(), client: rejectedResponse(rejection, caller) }
  }
  if (stream) {
    const { begun, bytes, ...evaluated } = dryRunEvents(evaluator, response.body, caller, limits, at)
    const client = evaluated.rejection !== null && !begun ? rejectedResponse(evaluated.rejection, caller) : streamResponse(response.status, withEcho(evaluated.shown), bytes, response.body)
    return { stream, ...evaluated, truth: evaluator.activationReport(), client }
  }
  const early = evaluator.holds ? null : evaluator.shown()
  at(null)
  const decision = evaluator.evaluate(response.body, false)
  const evaluated = { ...nothing(false, null), results: [{ event: null, decision }], truth: evaluator.activationReport() }
  if (decision.rejection !== null) return { ...evaluated, rejection: decision.rejection, client: rejectedResponse(decision.rejection, caller) }
  const uris = early ?? evaluator.shown()
  return { ...evaluated, shown: uris, client: wholeResponse(response, withEcho(uris), decision) }
}

/** Placeholder for the gateway's own response, which replaces a response that no A2A client can read. Policies do not apply to it. */
const REPLACED: ClientResponse = { status: 502, phrase: '', headers: [], body: Buffer.alloc(0), unchanged: false }

function nothing (stream: boolean, notEvaluated: NotEvaluatedReason | null): Omit<ResponseDryRun, 'client'> {
  return { stream, events: 0, notEvaluated, results: [], rejection: null, rejectedEvent: null, truth: null, shown: [] }
}

function asReceived ({ status, body }: PlainResponse, headers: readonly string[], stream: boolean): ClientResponse {
  return stream ? streamResponse(status, headers, body, body) : { status, phrase: '', headers, body, unchanged: true }
}

/** The gateway reads the extended card only to rewrite it, not to evaluate it. */
function isCard ({ call }: DryRun): boolean {
  return call?.operation === 'GetExtendedAgentCard'
}

function problemOf ({ body }: PlainResponse, headers: readonly string[], stream: boolean, limits: Limits): { readonly why: UnreadableReason, readonly problem: CallProblem } | null {
  const why = unreadByHeader(headers, stream)
  if (why !== null) return { why, problem: why === 'encoding' ? encoded : notJson }
  return stream || body.length <= limits.response ? null : { why: 'too_large', problem: responseTooLarge(limits.response) }
}

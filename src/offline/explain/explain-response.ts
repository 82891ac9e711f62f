/** Explains what the gateway would do with the recorded response to a request. Uses the same evaluation functions as policy tests. */
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import { grpcCodeName } from '#wire/grpc/code-names.js'
import { valueOf } from '#pipeline/response-head.js'
import { dryRunResponse } from '#pipeline/dry-run-response.js'
import { rejectionEvent } from '#pipeline/rejection-response.js'
import type { AgentConfig } from '#config/model/model.js'
import { parseJson } from '#wire/json/parse-json.js'
import { externalShown } from './external-shown.js'
import type { ExchangeTraces } from './response-trace.js'
import type { RejectionShown, ResponseExplanation } from './explanation.js'
import type { RecordedResponse } from '../recording/recorded-response.js'
import { recordedGrpcResponse } from '../recording/grpc-response.js'
import { CannotExplain } from './cannot-explain.js'
import { grpcStatusShown } from './grpc-status.js'
import { compareHeaders } from '../display.js'
import type { NotEvaluatedReason, ResponseDryRun } from '#pipeline/response/recording-driver.js'
import type { DryRun } from '#pipeline/dry-run-operation.js'

/**
 * Explains a recorded response.
 * @param dryRun dry run of the request
 * @param traces the tracer of that dry run
 * @returns null when the request is not forwarded to an agent
 */
export function explainResponse (
  recorded: RecordedResponse,
  dryRun: DryRun,
  config: AgentConfig,
  traces: ExchangeTraces
): ResponseExplanation | null {
  if (dryRun.forwarded === null) return null
  const received = receivedOf(recorded, dryRun)
  const evaluated = dryRunResponse(dryRun, received, traces.at)
  const { rejection, results, client, stream } = evaluated
  const ruled = traces.ruled()
  const names = (list: readonly string[]): string[] => [...new Set(list)]
  return {
    status: received.status,
    ...(received.trailers === undefined ? {} : { grpcStatus: statusName(received.trailers) }),
    bodyBytes: received.body.length,
    events: stream ? evaluated.events : null,
    notes: received.notes,
    read: evaluated.notEvaluated === null,
    why: whyOf(evaluated, dryRun, config),
    results: traces.responses(config.policies),
    checks: results.flatMap(({ event, decision }) =>
      decision.violations
        .filter(violation => !ruled.has(violation))
        .map(violation => ({
          event,
          rule: `${violation.extension}/${violation.rule}`,
          verdict: violation.mode === 'enforce' ? ('broken' as const) : ('observed' as const),
          reason: violation.customReason ?? violation.reason,
          path: violation.path,
          message: violation.message
        }))
    ),
    ...externalShown(evaluated.external),
    activation: evaluated.activationReport,
    shown: evaluated.shown,
    edited: rejection === null || stream ? names(results.flatMap(({ decision }) => decision.edited)) : [],
    annotations: rejection === null || stream ? names(results.flatMap(({ decision }) => decision.annotations)) : [],
    attributes: names(results.flatMap(({ decision }) => decision.attributes.map(({ name }) => name))),
    measures: measuresOf(evaluated),
    remembered: counted(results.flatMap(({ decision }) => [...(decision.remember?.fields.keys() ?? [])])).map(([field, times]) => ({
      field,
      times
    })),
    decision: rejection === null ? 'forward' : 'reject',
    rule: rejection?.rule ?? null,
    reason: rejection === null ? null : (rejection.customReason ?? rejection.reason),
    refusedEvent: evaluated.rejectedEvent,
    delivered:
      rejection !== null && !isAfterwards(evaluated)
        ? null
        : {
            status: client.status,
            ...(client.trailers === undefined ? {} : { grpcStatus: statusName(client.trailers) }),
            ...compareHeaders(
              [...received.headers, ...received.trailers ?? []],
              [...client.headers, ...client.trailers ?? []],
              ['gateway-decision', 'grpc-status']
            ),
            body: { bytes: client.body.length, unchanged: client.unchanged }
          },
    refusal: rejection === null ? null : rejectionOf(evaluated, dryRun)
  }
}

/** @throws CannotExplain for a response that gRPC cannot carry */
function receivedOf (recorded: RecordedResponse, { call, caller }: DryRun): RecordedResponse {
  const method = caller.binding === 'GRPC' && call !== null ? grpcMethodFor(call.operation, caller.version) : null
  const received = method === null ? recorded : recordedGrpcResponse(recorded, method)
  if (typeof received === 'string') throw new CannotExplain(received)
  return received
}

function statusName (trailers: readonly string[]): string {
  return grpcCodeName(Number(valueOf(trailers, 'grpc-status') ?? 2))
}

/** True when the stream has already begun, so the rejection is its last event. */
function isAfterwards ({ stream, rejection, client }: ResponseDryRun): boolean {
  if (client.trailers !== undefined) return rejection !== null && client.headers.length > 0
  return stream && rejection !== null && !client.headers.some((name, i) => i % 2 === 0 && name === 'gateway-decision')
}

function rejectionOf (evaluated: ResponseDryRun, { caller }: DryRun): RejectionShown | null {
  const { client, rejection } = evaluated
  if (rejection === null) return null
  const headers = client.trailers ?? client.headers
  const pairs = headers.flatMap((name, i) => i % 2 === 0 ? [{ name, value: headers[i + 1] ?? '' }] : [])
  const grpc = client.trailers === undefined ? null : grpcStatusShown(client.trailers)
  if (grpc !== null) return { status: client.status, phrase: 'OK', headers: pairs, body: '', grpc }
  if (isAfterwards(evaluated)) return { status: client.status, phrase: '', headers: [], body: rejectionEvent(rejection, caller).toString() }
  return { status: client.status, phrase: client.phrase === '' ? 'OK' : client.phrase, headers: pairs, body: client.body.toString() }
}

function whyOf ({ notEvaluated }: ResponseDryRun, { plan, evaluation }: DryRun, { responses }: AgentConfig): string {
  if (notEvaluated === 'no-rules') {
    if (evaluation?.policy.mode === 'off') return 'the agent\'s mode is off'
    return responses === 'off' ? 'the agent\'s responses are off' : 'no policy applies to this response'
  }
  return notEvaluated === null
    ? plan?.evaluation?.evaluator.enforces === true
      ? 'policies act on it'
      : 'policies observe it'
    : WHY[notEvaluated]
}

const WHY: Readonly<Record<Exclude<NotEvaluatedReason, 'no-rules'>, string>> = {
  'not-an-operation': 'the request is not an operation of A2A',
  redirect: 'a redirect: the client gets an error of the gateway instead',
  page: 'an HTML page: the client gets an error of the gateway instead',
  'error-status': 'an error of the agent is forwarded unchanged',
  'extended-card': 'an extended card is only rewritten',
  'known-by-header': 'the response header is enough to determine the active extensions',
  empty: 'there is no body',
  too_large: 'it is larger than the limit',
  encoding: 'it has a Content-Encoding',
  content_type: 'it is neither JSON nor an event stream',
  malformed: 'it cannot be read'
}

function measuresOf ({ results }: ResponseDryRun): ResponseExplanation['measures'] {
  const all = results.flatMap(({ decision }) => decision.measures)
  return counted(all.map(({ extension, metric, by, type }) => JSON.stringify([extension, metric, by, type]))).map(([key, times]) => {
    const [policy, metric, by, type] = parseJson(key) as [string, string, string, 'counter' | 'gauge']
    return { policy, metric, by, type, times }
  })
}

/** Returns each distinct entry with its number of occurrences. */
function counted (list: readonly string[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const text of list) counts.set(text, (counts.get(text) ?? 0) + 1)
  return [...counts]
}

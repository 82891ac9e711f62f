/** Compares the expectations of a test for a response with the result of the gateway. */
import { isDeepStrictEqual } from 'node:util'
import type { GrpcMethod } from '#a2a/grpc/methods.js'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { Binding } from '#a2a/versions.js'
import { valueOf } from '#pipeline/response-head.js'
import type { Violation } from '#policy/violation.js'
import { grpcCodeName } from '#wire/grpc/code-names.js'
import { GrpcDeframer } from '#wire/grpc/deframer.js'
import { parseJson } from '#wire/json/parse-json.js'
import { resolvePointer } from '#wire/json/pointer.js'
import { SseSplitter } from '#wire/sse/split.js'
import type { Exchanged } from '../recording/exchange.js'
import { messageObject } from '../recording/grpc-target.js'
import type { Mismatch } from './expectations.js'
import { absent, compareSets, nameOf } from './expectations.js'
import type { RecordedResponse } from '../recording/recorded-response.js'
import type { ResponseExpectation } from './test-model.js'
import type { ResponseDryRun } from '#pipeline/response/recording-driver.js'
import type { DryRun } from '#pipeline/dry-run-operation.js'

/** Returns the violations of all events. */
export function responseViolations ({ results }: ResponseDryRun): Violation[] {
  return results.flatMap(({ decision }) => decision.violations)
}

/**
 * Returns the expectations that do not hold.
 * @param received response of the agent
 */
export function responseMismatches (
  expect: ResponseExpectation,
  response: ResponseDryRun,
  received: RecordedResponse,
  { caller: { binding, version }, call }: DryRun
): Mismatch[] {
  const mismatches: Mismatch[] = []
  const compare = (key: string, expected: unknown, got: unknown): void => {
    if (expected !== undefined && !isDeepStrictEqual(expected, got)) mismatches.push({ key: `answer.${key}`, expected, got })
  }
  const set = (key: string, expected: readonly string[] | undefined, got: readonly string[]): void => {
    if (expected !== undefined) compareSets(`answer.${key}`, expected, got, mismatches)
  }
  const { rejection, results, client, activationReport } = response
  const decision = rejection === null ? 'forward' : 'reject'
  compare('decision', expect.decision, decision)
  if (decision !== expect.decision) return mismatches
  if (rejection !== null) {
    compare('rule', expect.rule, rejection.rule)
    compare('reason', expect.reason, rejection.customReason ?? rejection.reason)
    compare('path', expect.path, responseViolations(response).find(responseViolation => responseViolation.mode === 'enforce')?.path)
    if (expect.message !== undefined && !rejection.message.includes(expect.message)) {
      mismatches.push({ key: 'answer.message', expected: expect.message, got: rejection.message })
    }
    compare('event', expect.event, response.rejectedEvent ?? undefined)
  }
  if (client.trailers === undefined) compare('status', expect.status, client.status)
  else compare('grpcStatus', expect.grpcStatus, grpcCodeName(Number(valueOf(client.trailers, 'grpc-status'))))
  set('violations', expect.violations, responseViolations(response).map(nameOf))
  set(
    'edited',
    expect.edited,
    results.flatMap(({ decision }) => decision.edited)
  )
  set(
    'annotations',
    expect.annotations,
    results.flatMap(({ decision }) => decision.annotations)
  )
  for (const key of ['confirmed', 'absent', 'unexpected'] as const) set(key, expect[key], activationReport?.[key] ?? [])
  set('shown', expect.shown, response.shown)
  if (expect.body !== undefined) {
    const result = binding === 'GRPC'
      ? grpcResult(response, grpcMethodFor(call?.operation ?? 'Other', version))
      : clientResult(response, binding)
    for (const [pointer, expected] of Object.entries(expect.body)) {
      compare(`body ${pointer}`, expected ?? absent, resolvePointer(result, pointer) ?? absent)
    }
  }
  compare('unchanged', expect.unchanged, client.body.equals(received.body))
  compareNamed('attributes', expect.attributes, attributesOf(response), compare)
  compareNamed('measures', expect.measures, measuresOf(response), compare)
  return mismatches
}

/** Reports a rejected exchange in `before`. These exchanges only build up task state, and a rejected exchange stores none. */
export function beforeMismatches (index: number, { dryRun, response }: Exchanged): Mismatch[] {
  const rejection = dryRun.rejection ?? response?.rejection ?? null
  return rejection === null
    ? []
    : [
        {
          key: `before[${index}]`,
          expected: 'forward',
          got: `reject, ${dryRun.rejection === null ? 'of the response ' : ''}by ${rejection.rule}: ${rejection.message}`
        }
      ]
}

function compareNamed (
  key: string,
  expected: ResponseExpectation['attributes'],
  got: ReadonlyMap<string, unknown>,
  compare: (key: string, expected: unknown, got: unknown) => void
): void {
  for (const [name, value] of Object.entries(expected ?? {})) compare(`${key} ${name}`, value ?? absent, got.get(name) ?? absent)
}

/** Returns the attributes. The last value of a name counts, as in a span. */
function attributesOf ({ results }: ResponseDryRun): Map<string, unknown> {
  return new Map(results.flatMap(({ decision }) => decision.attributes.map(({ name, value }) => [name, value] as const)))
}

function measuresOf ({ results }: ResponseDryRun): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { extension, metric, by, type, value } of results.flatMap(({ decision }) => decision.measures)) {
    const name = `${extension}/${metric}${by === '' ? '' : `/${by}`}`
    counts.set(name, type === 'counter' ? (counts.get(name) ?? 0) + value : value)
  }
  return counts
}

/** Returns `result` of JSON-RPC, or the body of HTTP+JSON. For a stream: the same of each event, by event number. */
function clientResult ({ stream, client }: ResponseDryRun, binding: Binding): unknown {
  const result = (bytes: Buffer): unknown => {
    const value = parsed(bytes)
    return binding === 'JSONRPC' ? (value as { readonly result?: unknown } | null)?.result : value
  }
  if (!stream) return result(client.body)
  const splitter = new SseSplitter({ bytes: Infinity, lines: Infinity })
  const events = [...splitter.feed(client.body), ...splitter.end()].flatMap(piece => piece.kind === 'event' ? [piece.data] : [])
  return Object.fromEntries(events.map((data, i) => [String(i + 1), result(data)]))
}

/** Returns the message that the client gets. For a stream: each message, by its number. */
function grpcResult ({ client }: ResponseDryRun, method: GrpcMethod | null): unknown {
  const messages = new GrpcDeframer(Infinity).feed(client.body).map(({ bytes }) => messageObject(bytes, method?.response))
  return method?.streaming === true ? Object.fromEntries(messages.map((message, i) => [String(i + 1), message])) : messages[0]
}

function parsed (bytes: Buffer): unknown {
  try {
    return parseJson(bytes)
  } catch {
    return null
  }
}

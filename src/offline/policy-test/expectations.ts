/** Compares the expectations of a test with the result of the gateway. */
import { isDeepStrictEqual } from 'node:util'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import { grpcStatusOf } from '#a2a/grpc/status.js'
import { writeRejection } from '#a2a/errors.js'
import { EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER } from '#a2a/versions.js'
import type { Violation } from '#policy/violation.js'
import { grpcCodeName } from '#wire/grpc/code-names.js'
import { parseJson } from '#wire/json/parse-json.js'
import { messageObject } from '../recording/grpc-target.js'
import { readList, splitList } from '#wire/header-list.js'
import { resolvePointer } from '#wire/json/pointer.js'
import type { Expectation } from './test-model.js'
import { URI_SETS } from './test-model.js'
import type { DryRun, Forwarded } from '#pipeline/dry-run-operation.js'

/** One key of `expect` that does not hold. Undefined stands for an absent value. */
export interface Mismatch { readonly key: string, readonly expected: unknown, readonly got: unknown }

/**
 * Returns the expectations that do not hold.
 * @param sent the client's body, null when there is none
 */
export function mismatches (expect: Expectation, dryRun: DryRun, sent: Buffer | null): Mismatch[] {
  const differences: Mismatch[] = []
  const compare = (key: string, expected: unknown, got: unknown): void => {
    if (expected !== undefined && !isDeepStrictEqual(expected, got)) differences.push({ key, expected, got })
  }
  const isPaused = (dryRun.evaluation?.decision.pause ?? null) !== null
  const decision = isPaused ? 'pause' : dryRun.rejection !== null ? 'reject' : dryRun.kind === 'card' ? 'the gateway responds' : 'forward'
  compare('decision', expect.decision, decision)
  if (decision !== expect.decision) return differences
  const { rejection } = dryRun
  if (rejection !== null) {
    compare('rule', expect.rule, rejection.rule)
    compare('reason', expect.reason, rejection.customReason ?? rejection.reason)
    compare('path', expect.path, violationsOf(dryRun).find(violation => violation.mode === 'enforce')?.path)
    if (expect.message !== undefined && !rejection.message.includes(expect.message)) {
      differences.push({ key: 'message', expected: expect.message, got: rejection.message })
    }
    if (dryRun.caller.binding === 'GRPC') compare('grpcStatus', expect.grpcStatus, grpcCodeName(grpcStatusOf(rejection).code))
    else compare('status', expect.status, writeRejection(rejection, dryRun.caller).status)
  }
  if (expect.violations !== undefined) compareSets('violations', expect.violations, violationsOf(dryRun).map(nameOf), differences)
  for (const key of URI_SETS) {
    const expected = expect[key]
    if (expected !== undefined) compareSets(key, expected, urisOf(dryRun, key), differences)
  }
  if (dryRun.forwarded !== null) compareForwarded(expect, dryRun, dryRun.forwarded, sent, compare)
  return differences
}

export function violationsOf (dryRun: DryRun): readonly Violation[] {
  return dryRun.evaluation?.decision.violations ?? []
}

/** Returns `extension/rule`, as in the header gateway-decision. */
export function nameOf ({ extension, rule }: Violation): string {
  return `${extension}/${rule}`
}

function urisOf ({ evaluation }: DryRun, key: typeof URI_SETS[number]): readonly string[] {
  if (evaluation === null) return []
  if (key === 'forbidden') return evaluation.decision.forbidden?.uris ?? []
  return key === 'requested' ? evaluation.requested : evaluation.decision[key]
}

export function compareSets (key: string, expected: readonly string[], got: readonly string[], mismatches: Mismatch[]): void {
  const distinct = [...new Set(got)]
  if (!isDeepStrictEqual(expected.toSorted(), distinct.toSorted())) mismatches.push({ key, expected, got: distinct })
}

type Compare = (key: string, expected: unknown, got: unknown) => void

function compareForwarded (expect: Expectation, dryRun: DryRun, forwarded: Forwarded, sent: Buffer | null, compare: Compare): void {
  for (const [name, expected] of Object.entries(expect.headers ?? {})) {
    if (name.toLowerCase() === EXTENSIONS_HEADER) {
      const uris = expected === null ? [] : listed(expected)
      const got = readList(forwarded.headers, [EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER]).values
      if (!isDeepStrictEqual(uris, got)) compare(`headers.${name}`, expected ?? absent, got.length === 0 ? undefined : got.join(','))
    } else {
      compare(`headers.${name}`, expected ?? absent, headerOf(forwarded.headers, name) ?? absent)
    }
  }
  if (expect.body !== undefined) {
    const object = requestObject(dryRun, forwarded)
    for (const [pointer, expected] of Object.entries(expect.body)) {
      compare(`body ${pointer}`, expected ?? absent, resolvePointer(object, pointer) ?? absent)
    }
  }
  if (expect.unchanged !== undefined) compare('unchanged', expect.unchanged, same(sent, forwarded.body))
}

/** Marks an absent value in a report. */
export const absent = Symbol('absent')

function same (sent: Buffer | null, body: Buffer | null): boolean {
  return (sent ?? NO_BYTES).equals(body ?? NO_BYTES)
}

const NO_BYTES = Buffer.alloc(0)

function headerOf (headers: readonly string[], name: string): string | undefined {
  const lines: string[] = []
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name.toLowerCase()) lines.push(headers[i + 1] ?? '')
  return lines.length === 0 ? undefined : lines.join(', ')
}

function listed (text: string): string[] {
  const values: string[] = []
  splitList(text, values)
  return values
}

/** Returns the request object that the agent receives: `params` of JSON-RPC, the body of HTTP+JSON, the message of gRPC. */
function requestObject (dryRun: DryRun, { body }: Forwarded): unknown {
  const { caller: { binding, version }, call } = dryRun
  if (binding === 'GRPC') {
    return call === null
      ? undefined
      : messageObject(body ?? NO_BYTES, grpcMethodFor(call.operation, version)?.request)
  }
  if (body === null) return undefined
  const value = parseJson(body) as Record<string, unknown> | null
  return binding === 'JSONRPC' ? value?.params : value
}

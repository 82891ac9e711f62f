/** Compares what a test expects of an answer with what the gateway would make of it. */
import { isDeepStrictEqual } from 'node:util'
import type { Binding } from '../a2a/versions.js'
import type { AnswerJudgement } from '../agent/judge-answer.js'
import type { Violation } from '../policy/violation.js'
import { resolvePointer } from '../wire/json-pointer.js'
import { SseSplitter } from '../wire/sse-split.js'
import type { Exchanged } from './exchange.js'
import type { Mismatch } from './expectations.js'
import { absent, compareSets, nameOf } from './expectations.js'
import type { RecordedAnswer } from './recorded-answer.js'
import type { AnswerExpectation } from './test-model.js'

/** Of all its events. */
export function answerViolations ({ results }: AnswerJudgement): Violation[] {
  return results.flatMap(({ verdict }) => verdict.violations)
}

/** @param received what the agent answers */
export function answerMismatches (expect: AnswerExpectation, answer: AnswerJudgement, received: RecordedAnswer, binding: Binding): Mismatch[] {
  const found: Mismatch[] = []
  const compare = (key: string, expected: unknown, got: unknown): void => {
    if (expected !== undefined && !isDeepStrictEqual(expected, got)) found.push({ key: `answer.${key}`, expected, got })
  }
  const set = (key: string, expected: readonly string[] | undefined, got: readonly string[]): void => {
    if (expected !== undefined) compareSets(`answer.${key}`, expected, got, found)
  }
  const { refusal, results, client, truth } = answer
  const decision = refusal === null ? 'forward' : 'reject'
  compare('decision', expect.decision, decision)
  if (decision !== expect.decision) return found
  if (refusal !== null) {
    compare('rule', expect.rule, refusal.rule)
    compare('reason', expect.reason, refusal.customReason ?? refusal.reason)
    compare('path', expect.path, answerViolations(answer).find(one => one.mode === 'enforce')?.path)
    if (expect.message !== undefined && !refusal.message.includes(expect.message)) found.push({ key: 'answer.message', expected: expect.message, got: refusal.message })
    compare('event', expect.event, answer.refusedEvent ?? undefined)
  }
  compare('status', expect.status, client.status)
  set('violations', expect.violations, answerViolations(answer).map(nameOf))
  set('edited', expect.edited, results.flatMap(({ verdict }) => verdict.edited))
  set('annotations', expect.annotations, results.flatMap(({ verdict }) => verdict.annotations))
  for (const key of ['confirmed', 'absent', 'unexpected'] as const) set(key, expect[key], truth?.[key] ?? [])
  set('shown', expect.shown, answer.shown)
  if (expect.body !== undefined) {
    const result = clientResult(answer, binding)
    for (const [pointer, expected] of Object.entries(expect.body)) compare(`body ${pointer}`, expected ?? absent, resolvePointer(result, pointer) ?? absent)
  }
  compare('unchanged', expect.unchanged, client.body.equals(received.body))
  compareNamed('attributes', expect.attributes, attributesOf(answer), compare)
  compareNamed('measures', expect.measures, measuresOf(answer), compare)
  return found
}

/** What runs before is there to be remembered: what is refused would not be. */
export function beforeMismatches (index: number, { judgement, answer }: Exchanged): Mismatch[] {
  const refusal = judgement.refusal ?? answer?.refusal ?? null
  return refusal === null ? [] : [{ key: `before[${index}]`, expected: 'forward', got: `reject, ${judgement.refusal === null ? 'of the answer ' : ''}by ${refusal.rule}: ${refusal.message}` }]
}

function compareNamed (key: string, expected: AnswerExpectation['attributes'], got: ReadonlyMap<string, unknown>, compare: (key: string, expected: unknown, got: unknown) => void): void {
  for (const [name, value] of Object.entries(expected ?? {})) compare(`${key} ${name}`, value ?? absent, got.get(name) ?? absent)
}

/** The last of a name counts, as in a span. */
function attributesOf ({ results }: AnswerJudgement): Map<string, unknown> {
  return new Map(results.flatMap(({ verdict }) => verdict.attributes.map(({ name, value }) => [name, value] as const)))
}

function measuresOf ({ results }: AnswerJudgement): Map<string, number> {
  const found = new Map<string, number>()
  for (const { extension, metric, by, type, value } of results.flatMap(({ verdict }) => verdict.measures)) {
    const name = `${extension}/${metric}${by === '' ? '' : `/${by}`}`
    found.set(name, type === 'counter' ? (found.get(name) ?? 0) + value : value)
  }
  return found
}

/** `result` of JSON-RPC, the body of HTTP+JSON; of a stream the same of each event, by its number. */
function clientResult ({ stream, client }: AnswerJudgement, binding: Binding): unknown {
  const result = (bytes: Buffer): unknown => {
    const value = parsed(bytes)
    return binding === 'JSONRPC' ? (value as { readonly result?: unknown } | null)?.result : value
  }
  if (!stream) return result(client.body)
  const splitter = new SseSplitter({ bytes: Infinity, lines: Infinity })
  const events = [...splitter.feed(client.body), ...splitter.end()].flatMap(piece => piece.kind === 'event' ? [piece.data] : [])
  return Object.fromEntries(events.map((data, i) => [String(i + 1), result(data)]))
}

function parsed (bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown
  } catch {
    return null
  }
}

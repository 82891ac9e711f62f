/**
 * Questions about a request, and the request after the answers. The engine says what it needs as data and goes on with the answers; it
 * never waits. The proxy and the dry run call the same functions.
 */
import type { Call } from '#a2a/message/call.js'
import type { Payload } from '#a2a/payload.js'
import { payloadOf } from '#a2a/payload.js'
import { hasResults } from '#a2a/operations.js'
import type { Principal } from '#identity/principal.js'
import type { Decision } from '#policy/request/decision.js'
import { rejectionOf } from '#policy/violation.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import { whole } from '#wire/chunked-buffer.js'
import { plainHeaderName, withoutHeaders } from '#wire/header-names.js'
import type { JsonPath } from '#wire/json/edit.js'
import type { RequestHead } from '../request-head.js'
import type { OperationRoute } from '#a2a/route.js'
import type { Effects, Target } from './obligations.js'
import { withoutPlaces } from './obligations.js'
import type { AskedCall, CompiledExternal, ExternalPlan } from './plan.js'
import { sentValues } from './plan.js'
import type { QuestionSubject, CallFacts } from './question.js'
import { factsOf, MAX_QUESTION, questionOf } from './question.js'
import type { Answered, Asking, Settled } from './settle.js'
import { settle } from './settle.js'
import type { RequestEvaluation } from '../request-evaluation.js'

/** A request that the rules of the gateway accept. */
export interface AcceptedRequest {
  readonly agent: string
  readonly route: OperationRoute
  readonly call: Call
  readonly head: RequestHead
  readonly caller: Principal | null
  readonly evaluation: RequestEvaluation
}

/** Keys from the root of the body to the request object. */
function rootOf ({ request }: Call): JsonPath {
  return request === null || request.path === '' ? [] : [request.path]
}

/** Returns the questions about a request, in order: those of the agent, then those of its policies. */
export function asksOf (plan: ExternalPlan, request: AcceptedRequest): readonly Asking[] {
  const { route, call, head, evaluation } = request
  if (evaluation.decision.rejection !== null) return []
  const facts = factsOf(request)
  const asked: AskedCall = { route, call, head, evaluation, facts }
  const entries = plan.entries.filter(entry => entry.request && entry.applies(asked))
  const mode = (setting: 'enforce' | 'observe'): Asking['mode'] => plan.observes ? 'observe' : setting
  const message = (entry: CompiledExternal): unknown => entry.send === 'message'
    ? sentMessage(call, evaluation.decision, entry.redact)
    : undefined
  return [
    ...entries.map(entry => askingOf(facts, { rule: entry.id, policy: null, use: entry.use, mode: mode(entry.mode) }, call, {
      phase: 'request', selected: null, message: message(entry), results: []
    })),
    ...evaluation.decision.asked.map(rule => {
      const name = `${rule.policy}/${rule.rule}`
      const policy = { name: rule.policy, uri: rule.uri, rule: rule.rule, path: rule.values[0]?.path ?? '' }
      const own = mode(rule.mode === 'enforce' ? 'enforce' : 'observe')
      return askingOf(facts, { rule: name, policy, use: rule.use, mode: own }, call, {
        phase: 'request', selected: { rule: name, values: sentValues(rule, rootOf(call)) }, message: undefined, results: []
      })
    })
  ]
}

/** The request object without what the entry redacts, and without what the gateway's own rules remove. */
function sentMessage (call: Call, { edits }: Decision, redact: CompiledExternal['redact']): unknown {
  const root = rootOf(call)
  const removed = edits.filter(edit => edit.value === null && root.every((step, i) => edit.path[i] === step))
    .map(edit => edit.path.slice(root.length).map(String))
  return withoutPlaces(call.request?.object ?? null, [...redact, ...removed])
}

/** @param call whose numbers a question with values must keep */
export function askingOf (
  facts: CallFacts,
  by: Pick<Asking, 'rule' | 'policy' | 'use' | 'mode'>,
  call: Pick<Call, 'inexact'>,
  asked: QuestionSubject
): Asking {
  const hasValues = asked.selected !== null || asked.message !== undefined
  const body = JSON.stringify(questionOf(facts, asked))
  const unaskable = hasValues && call.inexact !== null ? 'inexact' : Buffer.byteLength(body) > MAX_QUESTION ? 'too_large' : null
  return { ...by, phase: asked.phase, body, unaskable }
}

/** A request after the answers. */
export interface AnsweredRequest {
  readonly evaluation: RequestEvaluation
  /** The body that the policy servers have changed, and the call in it; null for the body as it was. */
  readonly changed: { readonly bytes: Buffer, readonly call: Call } | null
  /** Values to remove from each result of the response. */
  readonly redactions: Effects['redactions']
  readonly notices: Effects['notices']
  readonly settled: readonly Settled[]
}

export interface AnswerOptions {
  /** The decoded body. */
  readonly bytes: Bytes
  /** Reads and evaluates a body that has changed, by the gateway's own rules. */
  readonly evaluateAgain: (bytes: Buffer) => { readonly call: Call, readonly evaluation: RequestEvaluation }
}

/** Applies answers to a request. Changed data is evaluated again, by the rules of the gateway. */
export function answeredRequest (request: AcceptedRequest, answered: readonly Answered[], options: AnswerOptions): AnsweredRequest {
  const { route, call, head, evaluation } = request
  const { settled, violations, effects } = settle(answered, targetOf(request))
  const { redactions, notices } = effects
  const decision = withViolations(evaluation.decision, violations)
  const result = { changed: null, redactions, notices, settled }
  if (decision.rejection !== null) return { ...result, evaluation: { ...evaluation, decision } }
  if (effects.edits.length === 0) {
    return { ...result, evaluation: { ...evaluation, decision: withHeaders(decision, head, effects.headers, false) } }
  }
  const payload = payloadOf(route.binding, route.version, call.operation, 'request')
  const bytes = edited(payload, call.explicit ?? options.bytes, effects)
  if (bytes === null) {
    const unfulfilled = settled.map(entry => entry.outcome !== 'allow'
      ? entry
      : { ...entry, refused: 'has no place in the message', outcome: 'obligation' as const })
    const { violations } = settle(unfulfilled.map(rejectedAnswer), targetOf(request))
    return { ...result, settled: unfulfilled, evaluation: { ...evaluation, decision: withViolations(evaluation.decision, violations) } }
  }
  const again = options.evaluateAgain(bytes)
  const decided = withViolations(again.evaluation.decision, violations)
  return {
    ...result,
    changed: { bytes, call: again.call },
    evaluation: { ...again.evaluation, decision: withHeaders(decided, head, effects.headers, true) }
  }
}

/** An answer that cannot be carried out denies. */
function rejectedAnswer (entry: Settled): Answered {
  return entry.outcome === 'obligation' && entry.answer.kind === 'decided'
    ? { ...entry, answer: { ...entry.answer, decision: false, obligations: [] } }
    : entry
}

/** @returns null when a message of protobuf has no place for a value */
export function edited (payload: Payload, bytes: Bytes, { edits }: Pick<Effects, 'edits'>): Buffer | null {
  try {
    return payload.edit(whole(bytes), edits)
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}

function targetOf ({ route, call, evaluation: { decision } }: AcceptedRequest): Target {
  return {
    phase: 'request',
    value: call.request?.object,
    root: rootOf(call),
    fixed: decision.verbatim ? 'would change a request that an extension requires to arrive as sent' : null,
    reads: hasResults(call.operation) && route.extensionRoute === null
  }
}

export function withViolations (decision: Decision, added: Decision['violations']): Decision {
  if (added.length === 0) return decision
  const violations = [...added, ...decision.violations]
  return { ...decision, violations, rejection: decision.rejection ?? rejectionOf(violations) }
}

/** Headers that describe the body as the client sent it. */
const OF_THE_BODY: ReadonlySet<string> = new Set(['content-encoding', 'content-digest', 'repr-digest', 'digest', 'content-md5'])

/**
 * Adds headers to the request for the agent.
 * @param changed true when the body is not the one that the client sent: headers that describe it are left out
 */
export function withHeaders (decision: Decision, head: RequestHead, added: Effects['headers'], changed: boolean): Decision {
  if (added.length === 0 && !changed) return decision
  const replaced = new Set([...added.map(([name]) => plainHeaderName(name)), ...(changed ? OF_THE_BODY : [])])
  const remaining = withoutHeaders(decision.headers ?? head.rawHeaders, replaced)
  return { ...decision, headers: [...remaining, ...added.flat()] }
}

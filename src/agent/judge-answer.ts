/** An agent's whole answer in, all that the gateway would make of it out: the counterpart of `judge.ts`, for the offline tools. */
import type { CallProblem } from '../a2a/call.js'
import type { Refusal } from '../a2a/errors.js'
import type { Limits } from '../config/model.js'
import type { ActivationTruth, Verdict } from '../policy/answer.js'
import { callViolation, refusalOf } from '../policy/violation.js'
import { copyResponseHeaders } from '../wire/headers.js'
import { isEventStream, OF_THE_GATEWAY, replacedFor, valueOf } from './answer-head.js'
import type { Unread } from './answer-problems.js'
import { answerTooLarge, encoded, notJson, unreadByHeader } from './answer-problems.js'
import type { ClientAnswer } from './client-answer.js'
import { refusedAnswer, streamAnswer, wholeAnswer } from './client-answer.js'
import { shownEcho, takeEcho } from './echo.js'
import type { Judgement } from './judge.js'
import { judgeEvents } from './judge-events.js'

export interface PlainAnswer {
  readonly status: number
  /** Flat list: name, value, name, value. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** Why nothing, or not all of it, was judged. */
export type NotJudged =
  | 'not-an-operation' | 'redirect' | 'page' | 'error-status' | 'extended-card' | 'nothing-to-say' | 'known-by-header' | 'empty'
  | Unread

/** One whole answer, or one event of a stream that was judged. */
export interface JudgedResult {
  /** From 1; null for a whole answer, 0 for the end of a stream. */
  readonly event: number | null
  readonly verdict: Verdict
}

export interface AnswerJudgement {
  readonly stream: boolean
  /** Number of events, up to the one that is refused; 0 where it is no stream. */
  readonly events: number
  /** Null: it is judged. */
  readonly notJudged: NotJudged | null
  readonly results: readonly JudgedResult[]
  /** Null: forwarded. */
  readonly refusal: Refusal | null
  /** The event that is refused, from 1; null where that is no event. */
  readonly refusedEvent: number | null
  /** What was known of activation at the end; null where nobody asks. */
  readonly truth: ActivationTruth | null
  /** URIs of the header that the client gets. */
  readonly shown: readonly string[]
  readonly client: ClientAnswer
}

/**
 * @param judgement of the request, which is forwarded; its review is used up
 * @param at is told which event is judged next, from 1; null for a whole answer
 */
export function judgeAnswer (judgement: Judgement, answer: PlainAnswer, limits: Limits, at: (event: number | null) => void = () => {}): AnswerJudgement {
  const { ruling, caller, call } = judgement
  const received: string[] = []
  copyResponseHeaders(answer.headers, OF_THE_GATEWAY, received)
  const type = valueOf(received, 'content-type')
  const stream = isEventStream(type)
  if (ruling === null || call === null || judgement.route?.kind !== 'operation') return { ...nothing(stream, 'not-an-operation'), client: asReceived(answer, received, stream) }
  const extension = judgement.route.extensionRoute !== null
  const replaced = extension ? null : replacedFor(answer.status, type)
  if (replaced !== null) return { ...nothing(false, replaced), client: REPLACED }

  const off = ruling.policy.mode === 'off'
  const unechoed = [...received]
  const echoed = takeEcho(unechoed)
  const headers = off ? received : unechoed
  const withEcho = (uris: readonly string[]): string[] => off || uris.length === 0 ? headers : [...headers, ruling.headerName, uris.join(',')]
  const success = answer.status >= 200 && answer.status <= 299
  const card = success && isCard(judgement)
  const review = success ? judgement.review : null
  if (review === null) {
    const uris = off ? echoed : shownEcho({ ...ruling, injected: ruling.decision.injected }, echoed)
    const why = extension ? 'not-an-operation' : card ? 'extended-card' : success ? 'nothing-to-say' : 'error-status'
    return { ...nothing(stream, why), shown: uris, client: asReceived(answer, withEcho(uris), stream) }
  }
  review.echoed(echoed)
  const unlooked = (why: NotJudged): AnswerJudgement => {
    const uris = review.shown()
    return { ...nothing(stream, why), truth: review.truth(), shown: uris, client: asReceived(answer, withEcho(uris), stream) }
  }
  if (!review.reads) return unlooked('known-by-header')
  if (answer.status === 204 || answer.status === 205 || answer.body.length === 0) return unlooked('empty')
  const unread = problemOf(answer, received, stream, limits)
  if (unread !== null) {
    const refusal = review.enforces ? refusalOf([callViolation('enforce', unread.problem)]) : null
    return refusal === null ? unlooked(unread.why) : { ...nothing(stream, unread.why), refusal, truth: review.truth(), client: refusedAnswer(refusal, caller) }
  }
  if (stream) {
    const { begun, bytes, ...judged } = judgeEvents(review, answer.body, caller, limits, at)
    const client = judged.refusal !== null && !begun ? refusedAnswer(judged.refusal, caller) : streamAnswer(answer.status, withEcho(judged.shown), bytes, answer.body)
    return { stream, ...judged, truth: review.truth(), client }
  }
  const early = review.holds ? null : review.shown()
  at(null)
  const verdict = review.judge(answer.body, false)
  const judged = { ...nothing(false, null), results: [{ event: null, verdict }], truth: review.truth() }
  if (verdict.refusal !== null) return { ...judged, refusal: verdict.refusal, client: refusedAnswer(verdict.refusal, caller) }
  const uris = early ?? review.shown()
  return { ...judged, shown: uris, client: wholeAnswer(answer, withEcho(uris), verdict) }
}

/** The gateway's own answer in place of one that no client of A2A can read; what it says is no matter of policies. */
const REPLACED: ClientAnswer = { status: 502, phrase: '', headers: [], body: Buffer.alloc(0), unchanged: false }

function nothing (stream: boolean, notJudged: NotJudged | null): Omit<AnswerJudgement, 'client'> {
  return { stream, events: 0, notJudged, results: [], refusal: null, refusedEvent: null, truth: null, shown: [] }
}

function asReceived ({ status, body }: PlainAnswer, headers: readonly string[], stream: boolean): ClientAnswer {
  return stream ? streamAnswer(status, headers, body, body) : { status, phrase: '', headers, body, unchanged: true }
}

/** The extended card is read to be rewritten, not to be judged. */
function isCard ({ call }: Judgement): boolean {
  return call?.operation === 'GetExtendedAgentCard'
}

function problemOf ({ body }: PlainAnswer, headers: readonly string[], stream: boolean, limits: Limits): { readonly why: Unread, readonly problem: CallProblem } | null {
  const why = unreadByHeader(headers, stream)
  if (why !== null) return { why, problem: why === 'encoding' ? encoded : notJson }
  return stream || body.length <= limits.response ? null : { why: 'too_large', problem: answerTooLarge(limits.response) }
}

/** What the gateway would make of the recorded answer to a request. The same functions judge it as in policy tests. */
import type { AnswerJudgement, NotJudged } from '../agent/judge-answer.js'
import { judgeAnswer } from '../agent/judge-answer.js'
import type { Judgement } from '../agent/judge.js'
import { refusalEvent } from '../agent/refusal-answer.js'
import type { AgentConfig, Limits } from '../config/model.js'
import type { AnswerExplanation } from './answer-explanation.js'
import type { ExchangeTraces } from './answer-trace.js'
import type { RefusalShown } from './explanation.js'
import type { RecordedAnswer } from './recorded-answer.js'
import { compareHeaders } from './shown.js'

/**
 * @param judgement of the request
 * @param traces that its tracer was
 * @returns null where the request goes to no agent
 */
export function explainAnswer (recorded: RecordedAnswer, judgement: Judgement, config: AgentConfig, limits: Limits, traces: ExchangeTraces): AnswerExplanation | null {
  if (judgement.forwarded === null) return null
  const judged = judgeAnswer(judgement, recorded, limits, traces.at)
  const { refusal, results, client, stream } = judged
  const ruled = traces.ruled()
  const names = (list: readonly string[]): string[] => [...new Set(list)]
  return {
    status: recorded.status,
    bodyBytes: recorded.body.length,
    events: stream ? judged.events : null,
    notes: recorded.notes,
    read: judged.notJudged === null,
    why: whyOf(judged, judgement, config),
    results: traces.answers(config.policies),
    checks: results.flatMap(({ event, verdict }) => verdict.violations.filter(found => !ruled.has(found)).map(found => ({
      event,
      rule: `${found.extension}/${found.rule}`,
      verdict: found.mode === 'enforce' ? 'broken' as const : 'observed' as const,
      reason: found.customReason ?? found.reason,
      path: found.path,
      message: found.message
    }))),
    activation: judged.truth,
    shown: judged.shown,
    edited: refusal === null || stream ? names(results.flatMap(({ verdict }) => verdict.edited)) : [],
    annotations: refusal === null || stream ? names(results.flatMap(({ verdict }) => verdict.annotations)) : [],
    attributes: names(results.flatMap(({ verdict }) => verdict.attributes.map(({ name }) => name))),
    measures: measuresOf(judged),
    remembered: counted(results.flatMap(({ verdict }) => [...verdict.remember?.fields.keys() ?? []])).map(([field, times]) => ({ field, times })),
    decision: refusal === null ? 'forward' : 'reject',
    rule: refusal?.rule ?? null,
    reason: refusal === null ? null : refusal.customReason ?? refusal.reason,
    refusedEvent: judged.refusedEvent,
    delivered: refusal !== null && !isAfterwards(judged) ? null : { status: client.status, ...compareHeaders(recorded.headers, client.headers, ['gateway-decision']), body: { bytes: client.body.length, unchanged: client.unchanged } },
    refusal: refusal === null ? null : refusalOf(judged, judgement)
  }
}

/** A stream that has begun: the refusal is its last event. */
function isAfterwards ({ stream, refusal, client }: AnswerJudgement): boolean {
  return stream && refusal !== null && !client.headers.some((name, i) => i % 2 === 0 && name === 'gateway-decision')
}

function refusalOf (judged: AnswerJudgement, { caller }: Judgement): RefusalShown | null {
  const { client, refusal } = judged
  if (refusal === null) return null
  const pairs = client.headers.flatMap((name, i) => i % 2 === 0 ? [{ name, value: client.headers[i + 1] ?? '' }] : [])
  if (isAfterwards(judged)) return { status: client.status, phrase: '', headers: [], body: refusalEvent(refusal, caller).toString() }
  return { status: client.status, phrase: client.phrase === '' ? 'OK' : client.phrase, headers: pairs, body: client.body.toString() }
}

function whyOf ({ notJudged }: AnswerJudgement, { review, ruling }: Judgement, { responses }: AgentConfig): string {
  if (notJudged === 'nothing-to-say') {
    if (ruling?.policy.mode === 'off') return 'the agent\'s mode is off'
    return responses === 'off' ? 'the agent\'s responses are off' : 'no policy says anything of this answer'
  }
  return notJudged === null ? review?.enforces === true ? 'policies act on it' : 'policies observe it' : WHY[notJudged]
}

const WHY: Readonly<Record<Exclude<NotJudged, 'nothing-to-say'>, string>> = {
  'not-an-operation': 'the request is no operation of A2A',
  redirect: 'a redirect: the client gets an error of the gateway in its place',
  page: 'an HTML page: the client gets an error of the gateway in its place',
  'error-status': 'an error of the agent is forwarded as it is',
  'extended-card': 'an extended card is only rewritten',
  'known-by-header': 'the header tells all there is to know of it',
  empty: 'there is no body',
  too_large: 'it is larger than the limit',
  encoding: 'it has a Content-Encoding',
  content_type: 'it is neither JSON nor an event stream',
  malformed: 'it cannot be read'
}

function measuresOf ({ results }: AnswerJudgement): AnswerExplanation['measures'] {
  const all = results.flatMap(({ verdict }) => verdict.measures)
  return counted(all.map(({ extension, metric, by, type }) => JSON.stringify([extension, metric, by, type]))).map(([key, times]) => {
    const [policy, metric, by, type] = JSON.parse(key) as [string, string, string, 'counter' | 'gauge']
    return { policy, metric, by, type, times }
  })
}

/** Each once, with how often it is there. */
function counted (list: readonly string[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const one of list) counts.set(one, (counts.get(one) ?? 0) + 1)
  return [...counts]
}

/**
 * Questions about a response, or about each event of a stream. A stream has one open question at a time: its next event waits. The proxy
 * and recorded responses use the same code; their drivers get the answers.
 */
import { hasResults } from '#a2a/operations.js'
import type { Call } from '#a2a/message/call.js'
import { payloadOf } from '#a2a/payload.js'
import type { ResponseDecision } from '#policy/response/evaluator.js'
import { rejectionOf } from '#policy/violation.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import type { JsonEdit } from '#wire/json/edit.js'
import { isObject } from '#wire/json/object.js'
import type { ResponseDriver, ResponseQuestions } from '../response/driver.js'
import type { Effects } from './obligations.js'
import { placesOf, withoutPlaces } from './obligations.js'
import type { AskedCall, ExternalPlan } from './plan.js'
import { sentValues } from './plan.js'
import { factsOf } from './question.js'
import type { AcceptedRequest } from './request.js'
import { askingOf, edited } from './request.js'
import type { Answered, Asking } from './settle.js'
import { settle } from './settle.js'
import type { JsonLimits } from '#wire/json/json-result.js'
import { whenReady, whenSettled } from '#wire/when-ready.js'

/** @returns null when nobody asks about the response */
export function responseQuestionsOf (
  plan: ExternalPlan | null,
  request: AcceptedRequest,
  redactions: Effects['redactions'],
  limits: JsonLimits
): ResponseQuestions | null {
  const { route, call, evaluation } = request
  if (plan === null || route.extensionRoute !== null || !hasResults(call.operation)) return null
  const facts = factsOf(request)
  const asked: AskedCall = { route, call, head: request.head, evaluation, facts }
  const entries = plan.entries.filter(entry => entry.response && entry.applies(asked))
  const rules = plan.rules.response &&
    evaluation.decision.activity.some(({ policy }) => policy.responses?.rules.some(rule => rule.external !== null) === true)
  if (entries.length === 0 && !rules && redactions.length === 0) return null
  const enforces = redactions.length > 0 || (!plan.observes && (rules || entries.some(({ mode }) => mode === 'enforce')))
  return {
    facts,
    entries,
    observes: plan.observes,
    redactions,
    payload: payloadOf(route.binding, route.version, call.operation, 'response'),
    root: route.binding === 'JSONRPC' ? ['result'] : [],
    limits,
    mode: enforces ? 'enforce' : 'observe'
  }
}

/** A response whose answers are here. */
interface Answering {
  readonly bytes: Bytes
  readonly result: unknown
  readonly removed: readonly JsonEdit[]
  readonly event: number | null
}

/** What the questions need of the machine that evaluates the response. */
export interface EvaluatesAgain {
  /** Evaluates changed bytes by the gateway's own rules. */
  again (bytes: Buffer): ResponseDecision
}

export class ResponseAsks {
  readonly #questions: ResponseQuestions
  readonly #driver: ResponseDriver

  constructor (questions: ResponseQuestions, driver: ResponseDriver) {
    this.#questions = questions
    this.#driver = driver
  }

  /**
   * Asks about a response that the gateway's own rules accept.
   * @param bytes the evaluated body, or the data of the event
   * @param event from 1; null for a whole response
   * @returns the decision with its consequences; a promise, which never rejects, when a server is asked
   */
  apply (
    decision: ResponseDecision,
    bytes: Bytes,
    event: number | null,
    evaluator: EvaluatesAgain
  ): ResponseDecision | Promise<ResponseDecision> {
    if (decision.rejection !== null || decision.results.length === 0) return decision
    const { payload, root, limits, redactions } = this.#questions
    const parsed = payload.parse(bytes, limits)
    if (!parsed.ok) return decision
    const result = root.reduce<unknown>((value, step) => isObject(value) ? value[step] : undefined, parsed.value)
    const removed = redactions.flatMap(steps => placesOf(result, steps) ?? [])
      .map((path): JsonEdit => ({ path: [...root, ...path], value: null }))
    const asks = this.#asks(decision, result, parsed.inexact ?? null)
    const enforced = asks.filter(({ mode }) => mode === 'enforce')
    const observed = asks.filter(({ mode }) => mode !== 'enforce')
    const settled = (answered: readonly Answered[], body: ResponseDecision): ResponseDecision =>
      this.#settled(body, answered, { bytes, result, removed, event }, evaluator)
    // Nobody waits for an answer that has no effect.
    if (observed.length > 0) this.#observe(observed)
    if (enforced.length === 0) return removed.length === 0 ? decision : settled([], decision)
    const answered = this.#driver.ask(enforced)
    return whenReady(answered, answers => settled(answers, decision))
  }

  #observe (asks: readonly Asking[]): void {
    whenSettled(this.#driver.ask(asks), answered => { this.#record(answered) }, error => { this.#driver.fault(error) })
  }

  #record (answered: readonly Answered[]): void {
    const { settled, effects } = settle(answered, { phase: 'response', value: undefined, root: [], fixed: null, reads: false })
    this.#driver.answered(settled, effects.notices)
  }

  #asks (decision: ResponseDecision, result: unknown, inexact: Call['inexact']): readonly Asking[] {
    const { facts, entries, observes, root } = this.#questions
    const { results, asked = [] } = decision
    const removed = decision.edits.filter(edit => edit.value === null && root.every((step, i) => edit.path[i] === step))
      .map(edit => edit.path.slice(root.length).map(String))
    const mode = (own: Asking['mode']): Asking['mode'] => observes ? 'observe' : own
    return [
      ...entries.map(entry => askingOf(facts, { rule: entry.id, policy: null, use: entry.use, mode: mode(entry.mode) }, { inexact }, {
        phase: 'response',
        selected: null,
        message: entry.send === 'message' ? withoutPlaces(result, [...entry.redact, ...removed]) : undefined,
        results
      })),
      ...asked.map(rule => {
        const name = `${rule.policy}/${rule.rule}`
        const policy = { name: rule.policy, uri: rule.uri, rule: rule.rule, path: rule.values[0]?.path ?? '' }
        const own = mode(rule.mode === 'enforce' ? 'enforce' : 'observe')
        return askingOf(facts, { rule: name, policy, use: rule.use, mode: own }, { inexact }, {
          phase: 'response',
          selected: { rule: name, values: sentValues(rule, root) },
          message: undefined,
          results
        })
      })
    ]
  }

  #settled (
    decision: ResponseDecision,
    answered: readonly Answered[],
    { bytes, result, removed, event }: Answering,
    evaluator: EvaluatesAgain
  ): ResponseDecision {
    const { root, payload } = this.#questions
    const { settled, violations, effects } = settle(answered, { phase: 'response', value: result, root, fixed: null, reads: false })
    this.#driver.answered(settled, effects.notices)
    const rejection = rejectionOf(violations)
    const reported = { ...decision, violations, rejection }
    // Everything else of the decision has been reported.
    const news = { ...reported, edits: [], edited: [], annotations: [], measures: [], attributes: [] }
    if (violations.length > 0) this.#driver.evaluated(news, event)
    if (rejection !== null) return { ...reported, edits: [], remember: null }
    const own = [...removed, ...effects.edits]
    if (own.length === 0) return decision
    // With the removals of the gateway's own rules and of `access.tasks`, which a second evaluation of the changed bytes could not make.
    const changed = edited(payload, bytes, { edits: [...decision.edits, ...own] })
    if (changed === null) throw new TypeError('a response has no place for a value that a policy server sets')
    const again = evaluator.again(changed)
    if (again.rejection !== null) this.#driver.evaluated(again, event)
    return { ...again, changed, remember: again.remember ?? decision.remember }
  }
}

/** Lets policy servers decide about a request that the gateway's own rules accept (`external`). */
import { answeredRequest, asksOf } from '#pipeline/external/request.js'
import type { AcceptedRequest } from '#pipeline/external/request.js'
import type { Answered } from '#pipeline/external/settle.js'
import type { Asking } from '#pipeline/external/settle.js'
import { callOf, evaluateRequest } from '#pipeline/request.js'
import type { Decision } from '#policy/request/decision.js'
import type { OwnerFindings } from '#policy/access/ownership.js'
import type { Exchange } from '../exchange.js'
import { askFor } from '../external-questions.js'
import { after } from '../run.js'
import { fail } from '../reply.js'
import type { Result } from '../step.js'
import { recordAnswers } from '../telemetry/external-telemetry.js'
import type { Work } from '../work.js'
import { whenSettled } from '#wire/when-ready.js'

export function askPolicyServers (exchange: Exchange): Result | Promise<Result> {
  const work = exchange.work as Work
  const { external } = work.state
  if (external === null) return
  const asks = asksOf(external, acceptedOf(exchange, work))
  if (asks.length === 0) return
  const observed = asks.filter(({ mode }) => mode === 'observe')
  if (observed.length > 0) observe(exchange, observed)
  const enforced = observed.length === 0 ? asks : asks.filter(({ mode }) => mode === 'enforce')
  return enforced.length === 0 ? undefined : after(exchange, askFor(exchange, enforced), apply)
}

function acceptedOf (exchange: Exchange, { agent, route, parsed, evaluation }: Work): AcceptedRequest {
  return { agent: agent.name, route, call: parsed, head: exchange.request, caller: exchange.principal, evaluation }
}

/** Nobody waits for an answer that has no effect. */
function observe (exchange: Exchange, asks: readonly Asking[]): void {
  const request = acceptedOf(exchange, exchange.work as Work)
  const record = (answered: readonly Answered[]): void => {
    const { settled, notices } = answeredRequest(request, answered, NO_CHANGE)
    recordAnswers(exchange, settled, notices)
  }
  whenSettled(askFor(exchange, asks), record, error => { fail(exchange, error) })
}

/** Observed answers change nothing. */
const NO_CHANGE: Parameters<typeof answeredRequest>[2] = {
  bytes: Buffer.alloc(0),
  evaluateAgain: () => { throw new Error('an observed answer changes no body') }
}

function apply (exchange: Exchange, answered: readonly Answered[]): undefined {
  const work = exchange.work as Work
  const request = acceptedOf(exchange, work)
  const { evaluation, changed, redactions, notices, settled } = answeredRequest(request, answered, {
    bytes: work.bytes,
    evaluateAgain: bytes => {
      const call = callOf({ ...work, bytes, encodingProblem: null }, exchange.request, exchange.snapshot.limits)
      const evaluation = evaluateRequest(work.state, {
        route: work.route,
        call,
        head: exchange.request,
        record: work.record,
        owners: work.owners as OwnerFindings | undefined,
        caller: exchange.principal,
        initiator: exchange.delegation?.authorize,
        now: Date.now(),
        approved: work.resumed?.approved ?? null
      })
      return { call, evaluation }
    }
  })
  recordAnswers(exchange, settled, notices)
  work.redactions = redactions
  if (changed !== null) {
    work.changed = changed.bytes
    work.bytes = changed.bytes
    work.parsed = changed.call
  }
  work.evaluation = { ...evaluation, decision: withRetry(evaluation.decision, exchange) }
}

/** A server that does not answer may answer later. */
function withRetry (decision: Decision, { services: { overload } }: Exchange): Decision {
  const { rejection } = decision
  return rejection?.reason === 'EXTERNAL_DECISION_UNAVAILABLE'
    ? { ...decision, rejection: { ...rejection, retryAfter: overload.retryAfter } }
    : decision
}

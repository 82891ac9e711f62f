/**
 * Counts a request in the limits of its agent, in two steps: what the head decides before the body is read, the rest when the rules accept
 * the call.
 */
import type { Agent } from '../../gateway/agent.js'
import type { Admission } from '../../gateway/limits/limits.js'
import { recordLimited } from '../telemetry/limits-telemetry.js'
import { earlyCharges, lateCharges } from '../../pipeline/access/limits.js'
import { budgetExhausted, limitUnavailable, rateLimited } from '../../pipeline/rejections.js'
import type { RequestEvaluation } from '../../pipeline/request.js'
import type { Charge, CompiledLimit } from '../../policy/limits/charge.js'
import { isBudget } from '../../policy/limits/charge.js'
import type { LimitedHead } from '../../policy/limits/keys.js'
import type { Measure } from '../../policy/response/evaluator.js'
import { clientIp } from '../../wire/forwarded.js'
import { networkOf } from '../../wire/ip.js'
import type { HandlerOptions, Read } from '../dispatch.js'
import type { Exchange } from '../exchange.js'
import type { Left } from './headers.js'
import { tightest } from './headers.js'

/** Limits of one exchange. */
export interface RequestLimits {
  /** Null when the caller sees no limit. */
  readonly left: Left | null
  /** Budgets that the response is charged to. */
  readonly budgets: readonly Charge[]
}

type Snapshot = Pick<HandlerOptions, 'rates' | 'trusted'>

/** Calls `then` when the limits that need only the head accept the request. */
export function limitEarly (exchange: Exchange, agent: Agent, snapshot: Snapshot, then: () => void): void {
  const early = snapshot.rates?.get(agent.name)?.early ?? []
  if (early.length === 0) return then()
  ask(exchange, earlyCharges(early, headOf(exchange, agent, early, snapshot)), NONE, then)
}

/** Calls `then` when all other limits accept the call. */
export function limitLate (
  exchange: Exchange,
  { arrived, call }: Read,
  evaluation: RequestEvaluation,
  snapshot: Snapshot,
  then: () => void
): void {
  const { agent, route } = arrived
  const late = snapshot.rates?.get(agent.name)?.late ?? []
  if (late.length === 0) return then()
  const { decisive, budgets } = lateCharges(late, headOf(exchange, agent, late, snapshot), { call, route, evaluation })
  ask(exchange, decisive, budgets, then)
}

function headOf ({ request, principal }: Exchange, { name }: Agent, limits: readonly CompiledLimit[], { trusted }: Snapshot): LimitedHead {
  const network = limits.some(({ by }) => by.includes('address'))
    ? networkOf(clientIp(request.headers, request.socket.remoteAddress, trusted))
    : ''
  return { agent: name, principal, network }
}

const NONE: readonly Charge[] = []

/** @param budgets that the response is charged to */
function ask (exchange: Exchange, charges: readonly Charge[], budgets: readonly Charge[], then: () => void): void {
  const settle = (admission: Admission): void => { settled(exchange, budgets, admission, then) }
  if (charges.length === 0) return settle({ kind: 'admitted', counts: [] })
  const admission = exchange.services.limits.take(charges)
  if (!(admission instanceof Promise)) return settle(admission)
  admission.then(admission => {
    // The client may have disconnected.
    if (!exchange.response.destroyed) settle(admission)
  }).catch((error: unknown) => { exchange.failed(error) })
}

function settled (exchange: Exchange, budgets: readonly Charge[], admission: Admission, then: () => void): void {
  if (admission.kind === 'unavailable') {
    const { retryAfter } = exchange.services.overload
    return reject(exchange, admission.limit.id, limitUnavailable(admission.limit.id, retryAfter))
  }
  exchange.limits = { left: tightest(admission.counts, exchange.limits?.left ?? null), budgets }
  if (admission.kind === 'admitted') return then()
  const { limit: { id, rule }, wait } = admission
  reject(exchange, id, isBudget(rule) ? budgetExhausted(id, wait) : rateLimited(id, wait))
}

function reject (exchange: Exchange, id: string, rejection: ReturnType<typeof rateLimited>): void {
  recordLimited(exchange, id, rejection)
  exchange.reject(rejection, 'rejected')
}

/** Charges what a response reports to the budgets of its request. */
export function spend (exchange: Exchange, measures: readonly Measure[]): void {
  const budgets = exchange.limits?.budgets ?? []
  if (budgets.length === 0) return
  const spent = budgets.flatMap(charge => measures.flatMap(({ extension, metric, type, value }) => {
    const { spends } = charge.limit
    // NaN is not above 0.
    return type === 'counter' && value > 0 && spends?.of === `${extension}/${metric}` ? [{ charge, amount: Math.min(value, spends.max) }] : []
  }))
  if (spent.length > 0) exchange.services.limits.spend(spent)
}

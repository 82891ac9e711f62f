/**
 * Counts a request in the limits of its agent, in two steps: what the head decides before the body is read, the rest when the rules accept
 * the call.
 */
import type { Admission, Count } from '../limits.js'
import { earlyCharges, lateCharges } from '#pipeline/access/limits.js'
import { amountIn, isOfChain, narrowed, passedOn, remainingEdit } from '#pipeline/access/chain-budgets.js'
import type { Delegation } from '#pipeline/access/delegation.js'
import { budgetExhausted, chainBudgetExhausted, limitUnavailable, rateLimited } from '#pipeline/rejections.js'
import type { Charge, CompiledLimit } from '#policy/limits/charge.js'
import { isBudget } from '#policy/limits/charge.js'
import type { LimitedHead } from '#policy/limits/keys.js'
import type { Measure } from '#policy/response/evaluator.js'
import type { JsonEdit } from '#wire/json/edit.js'
import { clientIp } from '#wire/forwarded.js'
import { networkOf } from '#wire/ip.js'
import type { Result } from '../step.js'
import { after } from '../run.js'
import type { Work } from '../work.js'
import type { Exchange } from '../exchange.js'
import { tightest } from '../limit-headers.js'
import { reject } from '../reply.js'
import type { Rejection } from '#a2a/errors.js'
import { violation } from '#policy/violation.js'
import { auditEntry } from '../telemetry/request-telemetry.js'

/** Applies the limits that need only the head. */
export function limitByHead (exchange: Exchange): Result | Promise<Result> {
  const early = exchange.snapshot.rates?.get(exchange.agentName)?.early ?? NO_LIMITS
  return early.length === 0 ? undefined : charge(exchange, earlyCharges(early, headOf(exchange, early)), NONE)
}

/** Applies all other limits to a call that the rules accept. */
export function limitByBody (exchange: Exchange): Result | Promise<Result> {
  const work = exchange.work as Work
  const { evaluation, parsed, route } = work
  const late = exchange.snapshot.rates?.get(exchange.agentName)?.late ?? NO_LIMITS
  if (late.length === 0 || evaluation.decision.rejection !== null) return
  const { decisive, budgets } = lateCharges(late, headOf(exchange, late), { call: parsed, route, evaluation })
  const { delegation } = exchange
  if (delegation === null || !budgets.some(({ limit }) => isOfChain(limit))) return charge(exchange, decisive, budgets)
  const inForce = (charge: Charge): Charge =>
    isOfChain(charge.limit) ? narrowed(charge, delegation.received[charge.limit.id], askedOf(work, delegation, charge.limit)) : charge
  return charge(exchange, decisive.map(inForce), budgets.map(inForce))
}

/** What the caller asks for besides the signed chain: the smallest amount that the request names. */
function askedOf ({ parsed }: Work, { asked }: Delegation, limit: CompiledLimit): number | undefined {
  const [header, body] = [asked.get(limit.id), amountIn(parsed, limit)]
  return header === undefined || body === undefined ? header ?? body : Math.min(header, body)
}

/** Lowers the budgets that go on with the chain, and the amounts that the agent reads in the request. */
function passBudgets (exchange: Exchange, work: Work, counts: readonly Count[]): void {
  const { delegation } = exchange
  const own = counts.filter(({ charge }) => isOfChain(charge.limit))
  if (delegation === null || own.length === 0) return
  const budgets = { ...delegation.budgets }
  const edits: JsonEdit[] = []
  for (const { charge, used } of own) {
    const { limit } = charge
    const passed = passedOn(charge, askedOf(work, delegation, limit), used)
    budgets[limit.id] = passed
    const edit = remainingEdit(work.parsed, limit, passed[1], work.evaluation.decision)
    if (edit !== null) edits.push(edit)
  }
  exchange.delegation = { ...delegation, budgets }
  if (edits.length === 0) return
  const { evaluation } = work
  work.evaluation = { ...evaluation, decision: { ...evaluation.decision, edits: [...evaluation.decision.edits, ...edits] } }
}

function headOf (
  { request, principal, delegation, agentName, snapshot: { trusted } }: Exchange,
  limits: readonly CompiledLimit[]
): LimitedHead {
  const network = limits.some(({ by }) => by.includes('address'))
    ? networkOf(clientIp(request.headers, request.socket.remoteAddress, trusted))
    : ''
  return { agent: agentName, principal, network, chain: delegation?.id ?? '' }
}

const NO_LIMITS: readonly CompiledLimit[] = []
const NONE: readonly Charge[] = []
const ADMITTED: Admission = { kind: 'admitted', counts: [] }

/** @param budgets that the response is charged to */
function charge (exchange: Exchange, charges: readonly Charge[], budgets: readonly Charge[]): Result | Promise<Result> {
  const admission = charges.length === 0 ? ADMITTED : exchange.services.limits.take(charges)
  return after(exchange, admission, (exchange, admission) => settle(exchange, budgets, admission))
}

function settle (exchange: Exchange, budgets: readonly Charge[], admission: Admission): Result {
  if (admission.kind === 'unavailable') {
    const { retryAfter } = exchange.services.overload
    return rejectLimited(exchange, admission.limit.id, limitUnavailable(admission.limit.id, retryAfter))
  }
  exchange.limits = { left: tightest(admission.counts, exchange.limits?.left ?? null), budgets }
  if (admission.kind === 'admitted') {
    if (exchange.work !== null) passBudgets(exchange, exchange.work, admission.counts)
    return
  }
  const { limit: { id, rule }, wait } = admission
  if (isOfChain(admission.limit)) return rejectLimited(exchange, id, chainBudgetExhausted(id))
  return rejectLimited(exchange, id, isBudget(rule) ? budgetExhausted(id, wait) : rateLimited(id, wait))
}

function rejectLimited (exchange: Exchange, id: string, rejection: ReturnType<typeof rateLimited>): Result {
  recordLimited(exchange, id, rejection)
  return reject(exchange, rejection, 'rejected')
}

/** Charges what a response reports to the budgets of its request. */
export function spend (exchange: Exchange, measures: readonly Measure[]): void {
  const budgets = exchange.limits?.budgets ?? []
  if (budgets.length === 0) return
  const spent = budgets.flatMap(charge => measures.flatMap(({ extension, metric, type, value }) => {
    const { spends } = charge.limit
    // NaN is not above 0.
    return type === 'counter' && value > 0 && spends?.of === `${extension}/${metric}`
      ? [{ charge, amount: Math.min(value, spends.max) }]
      : []
  }))
  if (spent.length > 0) exchange.services.limits.spend(spent)
}

/* Reports requests that exceed a limit to metrics, span and audit. A flood must not fill a disk: audit lines are bounded. */

/** @param id of the limit */
function recordLimited (exchange: Exchange, id: string, rejection: Rejection): void {
  const { services: { metrics, audit, limits }, agentName, span } = exchange
  metrics.add('rate_limited_total', agentName, id)
  if (span.recording) {
    span.name(exchange.operation)
    span.set('a2a_gateway.limit', id)
  }
  limits.lines.record(id, omitted => {
    const limitViolation = violation({
      mode: 'enforce',
      reason: rejection.reason,
      extension: 'gateway',
      rule: rejection.rule.slice('gateway/'.length),
      path: 'header',
      message: rejection.message,
      isStandalone: true
    })
    const entry = { ...auditEntry(exchange, 'request', 'rejected', [], [limitViolation]), limit: id }
    audit.record(omitted === 0 ? entry : { ...entry, lines_omitted: omitted })
  })
}

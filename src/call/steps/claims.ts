/** Claims the values of a request that may be accepted once (`unique`). They are free again if the agent does not get the request. */
import type { Claimed } from '#policy/request/claims.js'
import { settleClaims } from '#policy/request/claims.js'
import { holdClaims } from '../capacity.js'
import type { Exchange } from '../exchange.js'
import type { Result } from '../step.js'
import { always } from '../run.js'
import type { Work } from '../work.js'

export function claimUnique (exchange: Exchange): Result | Promise<Result> {
  const { agent, evaluation: { decision: { claims } } } = exchange.work as Work
  return claims.length === 0 ? undefined : always(exchange, exchange.services.tasks.claim(agent.name, claims), settle)
}

function settle (exchange: Exchange, claimed: readonly Claimed[]): undefined {
  const work = exchange.work as Work
  const { decision } = work.evaluation
  holdClaims(exchange, decision.claims.filter((_, i) => claimed[i] === 'new'))
  work.evaluation = { ...work.evaluation, decision: settleClaims(decision, claimed) }
}

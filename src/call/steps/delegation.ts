/** Limits calls that agents send on behalf of others (`access.delegation`), and makes the signed chain for the agent. */
import { randomUUID } from 'node:crypto'
import { CHAIN_HEADER } from '#identity/chain.js'
import { admissionOf, admit } from '#pipeline/access/access.js'
import { BUDGET_HEADER, readBudgets } from '#pipeline/access/chain-budgets.js'
import { budgetHeader } from '#pipeline/rejections.js'
import type { Delegation, ReadChain } from '#pipeline/access/delegation.js'
import { delegate, rejectedInitiator, tooLong } from '#pipeline/access/delegation.js'
import type { Exchange } from '../exchange.js'
import { reject } from '../reply.js'
import { after } from '../run.js'
import type { Result } from '../step.js'
import { recordDelegation } from '../telemetry/delegation-telemetry.js'
import type { Work } from '../work.js'
import { unreadAccess } from './unread.js'

/** Decides from the head of a request, for every request that goes to the agent. */
export function checkDelegation (exchange: Exchange): Result | Promise<Result> {
  if ((exchange.agent?.config.access.delegation ?? null) === null) return
  const { request: { headers }, snapshot: { delegations } } = exchange
  const asked = readBudgets(headers[BUDGET_HEADER] as string | undefined)
  if (asked === null) return reject(exchange, budgetHeader, 'rejected')
  const chain = delegations?.read(headers[CHAIN_HEADER] as string | undefined) ?? null
  return after(exchange, chain, (exchange, chain) => decide(exchange, chain, asked))
}

function decide (exchange: Exchange, chain: ReadChain, asked: ReadonlyMap<string, number>): Result {
  const { agent, principal, request, snapshot: { delegations } } = exchange
  const config = agent?.config.access.delegation ?? null
  if (agent === null || config === null) return
  const decided = withinHeader(exchange, delegate({
    config,
    mode: agent.config.access.mode,
    gateway: delegations?.gateway ?? null,
    agent: agent.name,
    caller: principal,
    chain,
    newId: randomUUID,
    asked,
    now: Date.now(),
    via: request.headers.via,
    isAgent: delegations?.isAgent(principal) ?? false,
    anonymous: agent.requirementIn(exchange.state ?? agent.state)?.anonymous ?? true
  }))
  const { authorize, problem } = decided
  const delegationDecision = problem === null && authorize !== undefined
    ? { ...decided, ...rejectedInitiator(accessOf(exchange, authorize)) }
    : decided
  exchange.delegation = delegationDecision
  recordDelegation(exchange, delegationDecision)
  const { rejection } = delegationDecision
  if (rejection === null) return
  // The keys of another gateway may be there later.
  const { retryAfter } = exchange.services.overload
  return reject(exchange, delegationDecision.problem === 'unavailable' ? { ...rejection, retryAfter } : rejection, 'rejected')
}

/** A chain that does not fit into a header ends here: without it, the next gateway would take the agent for the initiator. */
function withinHeader ({ snapshot: { delegations } }: Exchange, decided: Delegation): Delegation {
  const { next, mode } = decided
  if (next === null || delegations === null || decided.problem !== null || delegations.claimsOf(next) !== null) return decided
  return { ...decided, ...tooLong(mode), next: null }
}

/** What the access lists say about the initiator from the head of the request. */
function accessOf (exchange: Exchange, initiator: Exchange['principal']): ReturnType<typeof admit> {
  if (exchange.kind !== 'operation') return unreadAccess(exchange, initiator)
  const { state: { access }, route } = exchange.work as Work
  return admit(access, admissionOf(route, initiator))
}

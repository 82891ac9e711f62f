/**
 * The credentials in a request for an agent, without those that the gateway has verified and with those that the gateway adds, and the
 * chain of callers.
 */
import type { Agent } from '#agents/agent.js'
import type { Identity } from '#agents/identity/identity.js'
import { CHAIN_HEADER } from '#identity/chain.js'
import { BUDGET_HEADER, writeBudgets } from '#pipeline/access/chain-budgets.js'
import type { Carrier } from '#identity/authentication.js'
import { queryWithoutCredentials, withoutCredentials, withoutProxyHeaders } from '#identity/credentials.js'
import { withoutHeaders } from '#wire/header-names.js'
import { connectionOf } from './client-connection.js'
import type { Exchange } from './exchange.js'

/**
 * Removes the credentials that the gateway has verified from the headers for the agent, and writes the credentials of the gateway
 * (`upstream.credentials`). A request without a caller, a preflight, loses all that a source would read.
 * Headers of proxies that no trusted proxy has written are never for the agent.
 */
export function headersForAgent (exchange: Exchange, agent: Agent, headers: string[]): string[] {
  const remaining = withoutVerified(exchange, agent, headers)
  return withChain(exchange, agent.credentials === null ? remaining : agent.credentials.write(remaining, exchange.outbound))
}

function withoutVerified (exchange: Exchange, agent: Agent, headers: string[]): string[] {
  const { identity, request } = exchange
  if (identity === null) return headers
  const { certificates } = identity.authenticator
  const { proxyHeaders } = certificates
  const forwards = agent.config.upstream.credentials.client === 'forward'
  const written = forwards && proxyHeaders.size > 0 ? certificates.writtenBy(connectionOf(request.socket).peer) : NONE
  const own = proxyHeaders.size === 0 ? headers : withoutProxyHeaders(headers, proxyHeaders, written)
  return forwards ? own : withoutCredentials(own, carriersIn(exchange, identity))
}

const NONE: ReadonlySet<string> = new Set()

/** As {@link headersForAgent}, for the query. */
export function queryForAgent (exchange: Exchange, agent: Agent, query: string): string {
  const { identity } = exchange
  if (identity === null || agent.config.upstream.credentials.client === 'forward') return query
  return queryWithoutCredentials(query, carriersIn(exchange, identity))
}

/** The carriers of which the request may have credentials. */
function carriersIn ({ carrier, principal }: Exchange, { authenticator }: Identity): readonly Carrier[] {
  return carrier === null || (principal !== null && principal.sources.length > 1) ? authenticator.carriers : [carrier]
}

/**
 * Removes the chain and the budgets that came with the request, and adds those for the agent.
 * @param headers flat list of names in lower case and values
 */
function withChain ({ delegation, snapshot: { delegations } }: Exchange, headers: string[]): string[] {
  if (delegations === null && delegation === null) return headers
  const out = withoutHeaders(headers, delegations === null ? BUDGET : delegation === null ? CHAIN : BOTH)
  if (delegation === null) return out
  const { next, budgets, deadline } = delegation
  const claims = next === null || delegations === null ? null : delegations.claimsOf({ ...next, budgets })
  if (claims !== null && delegations !== null) out.push(CHAIN_HEADER, delegations.sign(claims))
  const left = writeBudgets(budgets, deadline, Date.now())
  if (left !== undefined) out.push(BUDGET_HEADER, left)
  return out
}

const CHAIN: ReadonlySet<string> = new Set([CHAIN_HEADER])
const BUDGET: ReadonlySet<string> = new Set([BUDGET_HEADER])
const BOTH: ReadonlySet<string> = new Set([CHAIN_HEADER, BUDGET_HEADER])

/** The time that the agent has for the whole call, ms; 0 for no limit. @param total `upstream.timeouts.total` */
export function totalOf ({ delegation }: Exchange, total: number): number {
  const deadline = delegation?.deadline ?? null
  if (deadline === null) return total
  const left = Math.max(1, deadline - Date.now())
  return total === 0 ? left : Math.min(total, left)
}

/** As {@link totalOf}, for all timeouts of a call. */
export function timeoutsOf<T extends { readonly total: number }> (exchange: Exchange, timeouts: T): T {
  const total = totalOf(exchange, timeouts.total)
  return total === timeouts.total ? timeouts : { ...timeouts, total }
}

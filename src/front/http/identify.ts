/**
 * Requires a caller for a request (`identity`), from its head alone: a stranger costs no body. Runs for operations, for `passthrough`
 * prefixes and for agents without a card.
 */
import type { IncomingMessage } from 'node:http'
import type { Rejection } from '../../a2a/errors.js'
import type { Route } from '../../a2a/route.js'
import { publicCard } from '../../a2a/card/minimal.js'
import type { Authentication } from '../../identity/authentication.js'
import { challengesOf } from '../../identity/challenge.js'
import { isRepeated, queryWithoutCredentials, withoutCredentials } from '../../identity/credentials.js'
import * as identityRejections from '../../identity/rejections.js'
import type { Agent } from '../../gateway/agent.js'
import type { Identity } from '../../gateway/identity/identity.js'
import { recordCaller, recordFailure } from '../../gateway/identity/identity-telemetry.js'
import { duplicateHeader, overloaded } from '../../pipeline/rejections.js'
import type { TrustedProxies } from '../../wire/forwarded.js'
import { clientIp } from '../../wire/forwarded.js'
import { publicOriginOf } from './client-address.js'
import type { Exchange } from './exchange.js'
import { METADATA, pathOf } from './resource-metadata.js'
import type { RouteTarget } from './route-target.js'

export interface Identified {
  readonly agent: Agent
  readonly target: RouteTarget
  readonly identity: Identity
  readonly trusted: TrustedProxies
}

/** Calls `then` when the request has a caller or needs none. Rejects it otherwise. */
export function identify (exchange: Exchange, identified: Identified, then: () => void): void {
  const { target, identity } = identified
  const { request, services: { overload } } = exchange
  exchange.identity = identity
  const need = needOf(exchange, identified)
  if (need === 'nothing') return then()
  if (need === 'caller' && overload.shedding) return exchange.reject(overloaded(overload.retryAfter), 'rejected')
  const braked = (): boolean => identity.brake.holds(addressOf(exchange, identified), performance.now())
  const found = identity.authenticator.authenticate({ headers: request.headers, query: target.query }, Date.now(), braked)
  const settle = (found: Authentication): void => { settled(exchange, identified, { found, need }, then) }
  if (!(found instanceof Promise)) return settle(found)
  found.then(found => {
    // The client may have disconnected.
    if (!exchange.response.destroyed) settle(found)
  }).catch((error: unknown) => { exchange.failed(error) })
}

type Need = 'nothing' | 'caller' | 'nothing if missing'

function settled (
  exchange: Exchange,
  identified: Identified,
  { found, need }: { readonly found: Authentication; readonly need: Need },
  then: () => void
): void {
  const { agent, target, identity } = identified
  if (found.kind === 'caller') {
    exchange.principal = found.principal
    exchange.carrier = found.carrier
    recordCaller(exchange, identity, found.principal)
    return then()
  }
  if (found.kind === 'missing' && need === 'nothing if missing') return then()
  if (target.kind !== 'passthrough') describeRoute(exchange, routeOf(exchange, target))
  exchange.services.metrics.authentication(agent.name, sourceOf(found), outcomeOf(found))
  reject(exchange, identified, found)
}

function routeOf ({ request, state, version }: Exchange, target: RouteTarget): Route | null {
  return state?.router.match(request.method ?? 'GET', target.path, version) ?? null
}

/** Sets the binding and version of a rejection, as far as the path shows them. */
function describeRoute (exchange: Exchange, route: Route | null): void {
  if (route === null) return
  if ('binding' in route) {
    exchange.binding = route.binding
    exchange.version = route.version
  }
  if (route.kind === 'operation' && route.operation !== null) exchange.label = route.operation
  if (route.kind === 'card') exchange.label = 'AgentCard'
}

/** Below this path only, a request may need no caller. The others need no route before they have one. */
const WELL_KNOWN = '/.well-known/agent'

function needOf (exchange: Exchange, { agent, target }: Identified): Need {
  const { request } = exchange
  if (isPreflight(request)) return 'nothing'
  if (target.kind === 'passthrough' || !target.path.startsWith(WELL_KNOWN)) return 'caller'
  // Without a card, the gateway itself responds to a request for it.
  if (exchange.state === null) return 'nothing'
  if (routeOf(exchange, target)?.kind !== 'card') return 'caller'
  const shown = publicCard(agent.config.card)
  // With views, the caller decides even about a card that strangers may see.
  if (agent.config.card.views.length > 0 && (shown !== 'none' || seesAnonymous(agent))) return 'nothing if missing'
  return shown === 'full' ? 'nothing' : shown === 'minimal' ? 'nothing if missing' : 'caller'
}

/** True when a view is for requests without a caller. */
function seesAnonymous (agent: Agent): boolean {
  return agent.config.card.views.some(view => view.caller?.anonymous === true)
}

/** A real preflight: no page and no client gets data through it, and an agent that reads a body of OPTIONS gets none. */
function isPreflight ({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined &&
    headers['transfer-encoding'] === undefined &&
    (headers['content-length'] ?? '0') === '0'
  )
}

type NoCaller = Exclude<Authentication, { readonly kind: 'caller' }>

function sourceOf (found: NoCaller): string {
  return 'source' in found ? (found.source ?? 'other') : 'none'
}

function outcomeOf (found: NoCaller): Parameters<Exchange['services']['metrics']['authentication']>[2] {
  if (found.kind === 'failed') return found.problem
  return found.kind === 'missing' || found.kind === 'unavailable' ? found.kind : 'malformed'
}

function addressOf ({ request }: Exchange, { trusted }: Identified): string | undefined {
  return clientIp(request.headers, request.socket.remoteAddress, trusted)
}

function reject (exchange: Exchange, identified: Identified, found: NoCaller): void {
  const { agent, identity } = identified
  const { request } = exchange
  const { carriers } = identity.authenticator
  const unauthenticated = (rejection: Rejection): void => {
    const error = found.kind === 'failed' && found.carrier.scheme === 'bearer' ? rejection.message : null
    const challenges = challengesOf(carriers, agent.name, { metadata: metadataUrl(exchange, identified), error })
    exchange.reject(rejection, 'rejected', undefined, challenges.flatMap(challenge => ['www-authenticate', challenge]))
  }
  if (found.kind === 'missing') return unauthenticated(identityRejections.missing(carriers))
  if (found.kind === 'several') return exchange.reject(identityRejections.several(found.carriers), 'rejected')
  if (found.kind === 'unavailable') return exchange.reject(identityRejections.unavailable(found.retryAfter), 'rejected')
  const address = addressOf(exchange, identified)
  if (found.kind === 'braked') {
    const wait = identity.brake.failed(address, performance.now())
    return exchange.reject(identityRejections.tooManyFailures(wait), 'rejected')
  }
  const { carrier } = found
  if (carrier.in === 'header' && isRepeated(request.rawHeaders, carrier.name)) {
    return exchange.reject(duplicateHeader(carrier.name), 'rejected')
  }
  const wait = identity.brake.failed(address, performance.now())
  const rejection = wait > 0 ? identityRejections.tooManyFailures(wait) : identityRejections.failed(found.problem)
  recordFailure(exchange, identity, { source: sourceOf(found), problem: found.problem, rejection, client: address ?? null })
  if (wait > 0) exchange.reject(rejection, 'rejected')
  else unauthenticated(rejection)
}

/** URL of the metadata of the agent (RFC 9728 §3.1): the path of the agent follows the well-known one. */
export function metadataUrl ({ request, identity }: Exchange, { agent, trusted }: Pick<Identified, 'agent' | 'trusted'>): string | null {
  if (identity === null || identity.issuers.length === 0) return null
  const base = agent.publicBase ?? publicOriginOf(request, trusted)?.url
  return base === undefined ? null : new URL(base).origin + METADATA + pathOf(agent)
}

/**
 * Removes the credentials that the gateway has verified from the headers for the agent, and writes the credentials of the gateway
 * (`upstream.credentials`). A request without a caller, a preflight, loses all that a source would read.
 */
export function headersForAgent (exchange: Exchange, agent: Agent, headers: string[]): string[] {
  const kept = withoutVerified(exchange, agent, headers)
  return agent.credentials === null ? kept : agent.credentials.write(kept, exchange.outbound)
}

function withoutVerified (exchange: Exchange, agent: Agent, headers: string[]): string[] {
  const { identity, carrier } = exchange
  if (identity === null || agent.config.upstream.credentials.client === 'forward') return headers
  return withoutCredentials(headers, carrier === null ? identity.authenticator.carriers : [carrier])
}

/** As {@link headersForAgent}, for the query. */
export function queryForAgent (exchange: Exchange, agent: Agent, query: string): string {
  const { identity, carrier } = exchange
  if (identity === null || agent.config.upstream.credentials.client === 'forward') return query
  return queryWithoutCredentials(query, carrier === null ? identity.authenticator.carriers : [carrier])
}

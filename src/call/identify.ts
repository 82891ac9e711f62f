/**
 * Requires a caller for a request (`identity`), from its head alone: a stranger costs no body. Runs for operations, for `passthrough`
 * prefixes and for agents without a card.
 */
import type { Rejection } from '../a2a/errors.js'
import type { Route } from '../a2a/route.js'
import { FAILURES } from '../config/model/rates-model.js'
import { publicCard } from '../a2a/card/minimal.js'
import type { Authentication, Carrier, Carriers, Problem } from '../identity/authentication.js'
import { isCertificate } from '../identity/authentication.js'
import { challengesOf } from '../identity/challenge.js'
import { isRepeated, queryWithoutCredentials, withoutCredentials, withoutProxyHeaders } from '../identity/credentials.js'
import * as identityRejections from '../identity/rejections.js'
import type { Requirement } from '../identity/requirement.js'
import { ANONYMOUS } from '../identity/requirement.js'
import type { Agent } from '../gateway/agent.js'
import type { Identity } from '../gateway/identity/identity.js'
import { recordCaller, recordDuration, recordFailure } from './telemetry/identity-telemetry.js'
import { isPreflight } from '../pipeline/guard.js'
import { duplicateHeader, noCard, overloaded } from '../pipeline/rejections.js'
import type { Braked, Failing } from '../state/limits/brake.js'
import type { TrustedProxies } from '../wire/forwarded.js'
import { clientIp } from '../wire/forwarded.js'
import { publicOriginOf } from './client-address.js'
import type { Outcome } from '../telemetry/metrics/metrics.js'
import type { Exchange } from './exchange.js'
import { connectionOf } from './client-connection.js'
import { METADATA, pathOf } from './well-known/resource-metadata.js'
import type { RouteTarget } from './route-target.js'

export interface Identified {
  readonly agent: Agent
  readonly target: RouteTarget
  readonly identity: Identity
  readonly trusted: TrustedProxies
}

/** Calls `then` when the request has a caller or needs none. Rejects it otherwise. */
export function identify (exchange: Exchange, identified: Identified, then: () => void): void {
  const { agent, target, identity } = identified
  const { request, services: { overload, limits: { brake } } } = exchange
  exchange.identity = identity
  const need = needOf(exchange, identified)
  if (need === 'nothing') return then()
  if (need === 'caller' && overload.shedding) return exchange.reject(overloaded(overload.retryAfter), 'rejected')
  const requirement = agent.requirementIn(exchange.state ?? agent.state)
  if (requirement === null) return rejectUndecided(exchange, identified, noCard(agent.name, agent.wantCard()), 'upstream_error')
  // Credentials that nobody asks for are not read.
  if (requirement.alternatives.length === 0) {
    return requirement.anonymous || need === 'nothing if missing' ? then() : rejectUndecided(exchange, identified, identityRejections.unmeetable, 'gateway_error')
  }
  const braked = (): boolean => brake.holds(failingOf(exchange, identified), performance.now())
  const presented = { headers: request.headers, query: target.query, connection: connectionOf(request.socket), metadata: exchange.metadata }
  const startedAt = performance.now()
  const found = identity.authenticator.authenticate(presented, requirement, Date.now(), braked)
  const settle = (found: Authentication, verified: boolean): void => {
    recordDuration(exchange, found, verified, startedAt)
    settled(exchange, identified, { found, need, requirement }, then)
  }
  if (!(found instanceof Promise)) return settle(found, false)
  found.then(found => {
    // The client may have disconnected.
    if (!exchange.response.destroyed) settle(found, true)
  }).catch((error: unknown) => { exchange.failed(error) })
}

type Need = 'nothing' | 'caller' | 'nothing if missing'

function settled (
  exchange: Exchange,
  identified: Identified,
  { found, need, requirement }: { readonly found: Authentication; readonly need: Need; readonly requirement: Requirement },
  then: () => void
): void {
  const { agent, target, identity } = identified
  if (found.kind === 'caller') {
    exchange.principal = found.principal
    exchange.carrier = found.carrier
    recordCaller(exchange, identity, found.principal)
    return then()
  }
  if (found.kind === 'missing' || isUnasked(found)) {
    if (need === 'nothing if missing') return then()
    if (requirement.anonymous) {
      exchange.services.metrics.authentication(agent.name, ANONYMOUS, 'ok')
      return then()
    }
  }
  if (target.kind !== 'passthrough') describeRoute(exchange, routeOf(exchange, target))
  exchange.services.metrics.authentication(agent.name, sourceOf(found), outcomeOf(found))
  reject(exchange, identified, found, requirement)
}

/** Rejects a request to an agent that accepts nobody now. */
function rejectUndecided (exchange: Exchange, { target }: Identified, rejection: Rejection, outcome: Outcome): void {
  if (target.kind !== 'passthrough') describeRoute(exchange, routeOf(exchange, target))
  exchange.reject(rejection, outcome)
}

/** A client does not choose its certificate for this request: one that no source accepts is for another purpose. */
function isUnasked (found: Authentication): boolean {
  return found.kind === 'failed' && isCertificate(found.carrier)
}

function routeOf ({ request, state, version }: Exchange, target: RouteTarget): Route | null {
  return state?.router.match(request.method ?? 'GET', target.path, version) ?? null
}

/** Sets the binding and version of a rejection, as far as the path shows them. A gRPC call has them from its listener. */
function describeRoute (exchange: Exchange, route: Route | null): void {
  if (route === null || exchange.binding === 'GRPC') return
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

type NoCaller = Exclude<Authentication, { readonly kind: 'caller' }>

function sourceOf (found: NoCaller): string {
  return 'source' in found ? (found.source ?? 'other') : 'none'
}

function outcomeOf (found: NoCaller): Parameters<Exchange['services']['metrics']['authentication']>[2] {
  if (found.kind === 'failed') return found.problem
  return found.kind === 'missing' || found.kind === 'incomplete' || found.kind === 'unavailable' ? found.kind : 'malformed'
}

function failingOf ({ request }: Exchange, { agent, trusted }: Identified): Failing {
  return { address: clientIp(request.headers, request.socket.remoteAddress, trusted), agent: agent.name }
}

function reject (exchange: Exchange, identified: Identified, found: NoCaller, requirement: Requirement): void {
  const { agent, identity } = identified
  const { request } = exchange
  exchange.rejectedSource = sourceOf(found)
  const unauthenticated = (rejection: Rejection, carriers: Carriers): void => {
    const error = found.kind === 'failed' && found.carrier.scheme === 'bearer' ? rejection.message : null
    const challenges = challengesOf([...new Set(carriers.flat())], agent.name, { metadata: metadataUrl(exchange, identified), error })
    exchange.reject(rejection, 'rejected', undefined, challenges.flatMap(challenge => ['www-authenticate', challenge]))
  }
  if (found.kind === 'several') return exchange.reject(identityRejections.several(found.carriers), 'rejected')
  if (found.kind === 'unavailable') return exchange.reject(identityRejections.unavailable(found.retryAfter), 'rejected')
  const failing = failingOf(exchange, identified)
  const { services: { limits: { brake } } } = exchange
  const record = (problem: Problem, rejection: Rejection, limit: string | null): void => {
    recordFailure(exchange, identity, { source: sourceOf(found), problem, rejection, client: failing.address ?? null, limit })
  }
  if (found.kind === 'incomplete') {
    const rejection = identityRejections.incomplete(found.missing)
    record('incomplete', rejection, null)
    return unauthenticated(rejection, found.missing)
  }
  if (found.kind === 'braked') return tooMany(exchange, brake.failed(failing, performance.now()) ?? BRAKED)
  const carriers = identity.authenticator.carriersOf(requirement.alternatives)
  if (found.kind === 'missing') return unauthenticated(identityRejections.missing(carriers), carriers)
  const { carrier } = found
  if (carrier.in === 'header' && isRepeated(request.rawHeaders, carrier.name)) {
    return exchange.reject(duplicateHeader(carrier.name), 'rejected')
  }
  // Credentials that are right for another agent are no guess.
  const braked = found.problem === 'source' ? null : brake.failed(failing, performance.now())
  const { failed, tooManyFailures } = identityRejections
  const rejection = braked === null ? failed(found.problem, carrier) : tooManyFailures(braked.limit, braked.wait)
  record(found.problem, rejection, braked?.limit ?? null)
  if (braked === null) unauthenticated(rejection, carriers)
  else tooMany(exchange, braked)
}

/** A failure that was beyond a limit a moment ago. */
const BRAKED: Braked = { limit: FAILURES.id, wait: 1 }

function tooMany (exchange: Exchange, { limit, wait }: Braked): void {
  exchange.services.metrics.rateLimited(exchange.agentName, limit)
  exchange.span.set('a2a_gateway.limit', limit)
  exchange.reject(identityRejections.tooManyFailures(limit, wait), 'rejected')
}

/** URL of the metadata of the agent (RFC 9728 §3.1): the path of the agent follows the well-known one. */
export function metadataUrl ({ request, identity }: Exchange, { agent, trusted }: Pick<Identified, 'agent' | 'trusted'>): string | null {
  if (identity === null || identity.issuersFor(agent.requirementIn(agent.state)).length === 0) return null
  const base = agent.publicBase ?? publicOriginOf(request, trusted)?.url
  return base === undefined ? null : new URL(base).origin + METADATA + pathOf(agent)
}

/**
 * Removes the credentials that the gateway has verified from the headers for the agent, and writes the credentials of the gateway
 * (`upstream.credentials`). A request without a caller, a preflight, loses all that a source would read.
 * Headers of proxies that no trusted proxy has written are never for the agent.
 */
export function headersForAgent (exchange: Exchange, agent: Agent, headers: string[]): string[] {
  const kept = withoutVerified(exchange, agent, headers)
  return agent.credentials === null ? kept : agent.credentials.write(kept, exchange.outbound)
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

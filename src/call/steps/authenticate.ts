/**
 * Requires a caller for a request (`identity`), from its head alone: a stranger costs no body. Runs for operations, for `passthrough`
 * prefixes and for agents without a card.
 */
import type { Rejection } from '#a2a/errors.js'
import type { Route } from '#a2a/route.js'
import { FAILURES } from '#config/model/rates-model.js'
import { publicCard } from '#a2a/card/minimal.js'
import type { Authentication, Carriers, Problem } from '#identity/authentication.js'
import { isCertificate } from '#identity/authentication.js'
import { challengesOf } from '#identity/challenge.js'
import { isRepeated } from '#identity/credentials.js'
import * as identityRejections from '#identity/rejections.js'
import { ANONYMOUS } from '#identity/requirement.js'
import type { Agent } from '#agents/agent.js'
import type { Identity } from '#agents/identity/identity.js'
import { recordCaller, recordDuration, recordFailure } from '../telemetry/identity-telemetry.js'
import { isPreflight } from '#pipeline/guard.js'
import { duplicateHeader, noCard, overloaded } from '#pipeline/rejections.js'
import type { Failing, ThrottledFailure } from '#state/limits/failure-throttle.js'
import { clientIp } from '#wire/forwarded.js'
import type { Outcome } from '#telemetry/metrics/metrics.js'
import type { Exchange } from '../exchange.js'
import type { Result } from '../step.js'
import { after } from '../run.js'
import { connectionOf } from '../client-connection.js'
import { metadataUrl } from '../well-known/resource-metadata.js'
import type { RouteTarget } from '../route-target.js'
import { reject } from '../reply.js'
import type { Requirement } from '#identity/schemes.js'
import type { LabelsOf } from '#telemetry/metrics/definitions.js'
import { describeOperation, describeRoute } from '../description.js'

/** Requires a caller where the request needs one. Without `identity`, nobody authenticates. */
export function authenticate (exchange: Exchange): Result | Promise<Result> {
  const { identity } = exchange.snapshot
  return identity === null ? undefined : requireCaller(exchange, identity)
}

/** What a request must bring, and when its authentication began, in ms of performance.now(). */
interface Authenticating {
  readonly need: Exclude<Need, 'nothing'>
  readonly requirement: Requirement
  readonly startedAt: number
}

function requireCaller (exchange: Exchange, identity: Identity): Result | Promise<Result> {
  const { request, target, services: { overload, limits: { throttle } } } = exchange
  const agent = agentOf(exchange)
  exchange.identity = identity
  const need = needOf(exchange, agent)
  if (need === 'nothing') return
  if (need === 'caller' && overload.shedding) return reject(exchange, overloaded(overload.retryAfter), 'rejected')
  const requirement = agent.requirementIn(exchange.state ?? agent.state)
  if (requirement === null) return rejectUndecided(exchange, noCard(agent.name, agent.requestCard()), 'upstream_error')
  // Credentials that nobody asks for are not read.
  if (requirement.alternatives.length === 0) {
    return requirement.anonymous || need === 'nothing if missing'
      ? undefined
      : rejectUndecided(exchange, identityRejections.unmeetable, 'gateway_error')
  }
  const isThrottled = (pending?: number): boolean => throttle.isThrottled(failingOf(exchange), performance.now(), pending)
  const presented = {
    headers: request.headers,
    query: target.query,
    connection: connectionOf(request.socket),
    address: () => failingOf(exchange).address,
    metadata: exchange.metadata
  }
  const authenticating = { need, requirement, startedAt: performance.now() }
  const outcome = identity.authenticator.authenticate(presented, requirement, Date.now(), isThrottled)
  const verified = outcome instanceof Promise
  return after(exchange, outcome, (exchange, result) => {
    recordDuration(exchange, result, verified, authenticating.startedAt)
    return settle(exchange, identity, result, authenticating)
  })
}

/** The agent of a request that has one. */
function agentOf ({ agent }: Exchange): Agent {
  if (agent === null) throw new Error('a request without an agent')
  return agent
}

type Need = 'nothing' | 'caller' | 'nothing if missing'

function settle (exchange: Exchange, identity: Identity, authentication: Authentication, { need, requirement }: Authenticating): Result {
  const { target, services: { metrics } } = exchange
  if (authentication.kind === 'caller') {
    exchange.principal = authentication.principal
    exchange.carrier = authentication.carrier
    recordCaller(exchange, identity, authentication.principal)
    return
  }
  if (authentication.kind === 'missing' || isUnasked(authentication)) {
    if (need === 'nothing if missing') return
    if (requirement.anonymous) {
      metrics.add('authentications_total', exchange.agentName, ANONYMOUS, 'ok')
      return
    }
  }
  if (target.kind !== 'passthrough') describeRejected(exchange, routeOf(exchange, target))
  metrics.add('authentications_total', exchange.agentName, sourceOf(authentication), outcomeOf(authentication))
  return rejectCaller(exchange, identity, authentication, requirement)
}

/** Rejects a request to an agent that accepts nobody now. */
function rejectUndecided (exchange: Exchange, rejection: Rejection, outcome: Outcome): Result {
  const { target } = exchange
  if (target.kind !== 'passthrough') describeRejected(exchange, routeOf(exchange, target))
  return reject(exchange, rejection, outcome)
}

/** A client does not choose its certificate for this request: one that no source accepts is for another purpose. */
function isUnasked (authentication: Authentication): boolean {
  return authentication.kind === 'failed' && isCertificate(authentication.carrier)
}

function routeOf ({ request, state, version }: Exchange, target: RouteTarget): Route | null {
  return state?.router.match(request.method ?? 'GET', target.path, version) ?? null
}

/** Sets the binding and version of a rejection, as far as the path shows them. A gRPC call has them from its listener. */
function describeRejected (exchange: Exchange, route: Route | null): void {
  if (route === null || exchange.binding === 'GRPC') return
  if ('binding' in route) describeRoute(exchange, route)
  if (route.kind === 'operation' && route.operation !== null) describeOperation(exchange, route.operation)
  if (route.kind === 'card') describeOperation(exchange, 'AgentCard')
}

/** Below this path only, a request may need no caller. The others need no route before they have one. */
const WELL_KNOWN = '/.well-known/agent'

function needOf (exchange: Exchange, agent: Agent): Need {
  const { request, target } = exchange
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

function sourceOf (noCaller: NoCaller): string {
  return 'source' in noCaller ? (noCaller.source ?? 'other') : 'none'
}

function outcomeOf (noCaller: NoCaller): LabelsOf<'authentications_total'>[2] {
  if (noCaller.kind === 'failed') return noCaller.problem
  return noCaller.kind === 'missing' || noCaller.kind === 'incomplete' || noCaller.kind === 'unavailable' ? noCaller.kind : 'malformed'
}

function failingOf ({ request, agentName, snapshot: { trusted } }: Exchange): Failing {
  return { address: clientIp(request.headers, request.socket.remoteAddress, trusted), agent: agentName }
}

function rejectCaller (exchange: Exchange, identity: Identity, noCaller: NoCaller, requirement: Requirement): Result {
  const { request } = exchange
  exchange.rejectedSource = sourceOf(noCaller)
  const unauthenticated = (rejection: Rejection, carriers: Carriers): Result => {
    const error = noCaller.kind === 'failed' && noCaller.carrier.scheme === 'bearer' ? rejection.message : null
    const challenges = challengesOf([...new Set(carriers.flat())], exchange.agentName, { metadata: metadataUrl(exchange), error })
    return reject(exchange, rejection, 'rejected', undefined, challenges.flatMap(challenge => ['www-authenticate', challenge]))
  }
  if (noCaller.kind === 'several') return reject(exchange, identityRejections.several(noCaller.carriers), 'rejected')
  if (noCaller.kind === 'unavailable') return reject(exchange, identityRejections.unavailable(noCaller.retryAfter), 'rejected')
  const failing = failingOf(exchange)
  const { services: { limits: { throttle } } } = exchange
  const record = (problem: Problem, rejection: Rejection, limit: string | null): void => {
    recordFailure(exchange, identity, { source: sourceOf(noCaller), problem, rejection, client: failing.address ?? null, limit })
  }
  if (noCaller.kind === 'incomplete') {
    const rejection = identityRejections.incomplete(noCaller.missing)
    record('incomplete', rejection, null)
    return unauthenticated(rejection, noCaller.missing)
  }
  if (noCaller.kind === 'throttled') return tooMany(exchange, throttle.failed(failing, performance.now()) ?? THROTTLED)
  const carriers = identity.authenticator.carriersOf(requirement.alternatives)
  if (noCaller.kind === 'missing') return unauthenticated(identityRejections.missing(carriers), carriers)
  const { carrier } = noCaller
  if (carrier.in === 'header' && isRepeated(request.rawHeaders, carrier.name)) {
    return reject(exchange, duplicateHeader(carrier.name), 'rejected')
  }
  // Credentials that are right for another agent are no guess.
  const failure = noCaller.problem === 'source' ? null : throttle.failed(failing, performance.now())
  const { failed, tooManyFailures } = identityRejections
  const rejection = failure === null ? failed(noCaller.problem, carrier) : tooManyFailures(failure.limit, failure.wait)
  record(noCaller.problem, rejection, failure?.limit ?? null)
  return failure === null ? unauthenticated(rejection, carriers) : tooMany(exchange, failure)
}

/** A failure that was beyond a limit a moment ago. */
const THROTTLED: ThrottledFailure = { limit: FAILURES.id, wait: 1 }

function tooMany (exchange: Exchange, { limit, wait }: ThrottledFailure): Result {
  exchange.services.metrics.add('rate_limited_total', exchange.agentName, limit)
  exchange.span.set('a2a_gateway.limit', limit)
  return reject(exchange, identityRejections.tooManyFailures(limit, wait), 'rejected')
}

/** Handles one HTTP request from its first byte to the evaluation (`call/evaluate.ts`): cross-origin rules, caller, route, body. */
import { readCall } from '../../a2a/message/call.js'
import type { Rejection } from '../../a2a/errors.js'
import type { Version } from '../../a2a/versions.js'
import { admitUnread } from '../../pipeline/access/access.js'
import { mediaTypeOf } from '../../pipeline/caller.js'
import { isPlain } from '../../pipeline/content-encoding.js'
import { isPreflight } from '../../pipeline/guard.js'
import * as rejections from '../../pipeline/rejections.js'
import { scopeOf } from '../../pipeline/scope.js'
import type { Asked } from '../../pipeline/request.js'
import { askedVersion, versionProblem } from '../../pipeline/request.js'
import { UNKNOWN } from '../../policy/access/target.js'
import { whole } from '../../wire/chunked-buffer.js'
import { joinPath } from '../../wire/target.js'
import type { Agent } from '../../gateway/agent.js'
import { decode, read } from '../../call/body.js'
import { corsOf, corsWithoutOrigin, preflightCors } from '../../call/cors.js'
import type { HandlerOptions } from '../../call/dispatch.js'
import { passOn } from '../../call/dispatch.js'
import { serveCard } from '../../call/serve-card.js'
import type { Exchange } from '../../call/exchange.js'
import { identify, queryForAgent } from '../../call/identify.js'
import { passes } from '../../call/telemetry/access-telemetry.js'
import type { Outcome } from '../../telemetry/metrics/metrics.js'
import type { RouteTarget } from '../../call/route-target.js'
import type { Arriving } from '../../call/evaluate.js'
import { admitWithoutCard, arrive, arrivedOf, evaluate, shed } from '../../call/evaluate.js'

const EMPTY = Buffer.alloc(0)

/** Rules of problems in a call whose JSON-RPC envelope is valid. */
const METHOD_RULES: ReadonlySet<string> = new Set(['method', 'unknown-method', 'version'])

export function handle (exchange: Exchange, routeTarget: RouteTarget, options: HandlerOptions): void {
  const { agent } = routeTarget
  exchange.agent = agent
  const { origin } = exchange.request.headers
  if (agent === null || routeTarget.rejection !== null) return respond(exchange, routeTarget, options)
  if (origin === undefined) {
    exchange.cors = corsWithoutOrigin(agent.config.cors)
    return respond(exchange, routeTarget, options)
  }
  const cors = corsOf(agent, exchange.request, origin, routeTarget.path)
  if (!(cors instanceof Promise)) {
    exchange.cors = cors
    return respond(exchange, routeTarget, options)
  }
  cors.then(cors => {
    exchange.cors = cors
    // The client may have disconnected.
    if (!exchange.response.destroyed) respond(exchange, routeTarget, options)
  }).catch((error: unknown) => { exchange.failed(error) })
}

function respond (exchange: Exchange, routeTarget: RouteTarget, options: HandlerOptions): void {
  const { agent } = routeTarget
  const { request } = exchange
  exchange.mediaType = mediaTypeOf(request.headers['content-type'])
  const asked = askedVersion(request, routeTarget.query)
  const { version } = asked
  exchange.version = version
  exchange.statedVersion = asked.stated
  if (routeTarget.rejection !== null) return guarded(exchange, routeTarget, routeTarget.rejection, version)
  if (agent === null) return exchange.reject(rejections.unknownAgent, 'rejected')
  const preflight = preflightCors(request, exchange.cors, agent.config.cors)
  if (preflight !== null) {
    exchange.label = 'Preflight'
    exchange.cors = preflight
    return exchange.respond(204, [], null)
  }
  const { state } = agent
  exchange.state = state
  const { identity, trusted } = options
  if (identity === null) return admitted(exchange, agent, routeTarget, asked, options)
  identify(exchange, { agent, target: routeTarget, identity, trusted }, () => { admitted(exchange, agent, routeTarget, asked, options) })
}

/** Handles a request that has a caller, if it needs one. */
function admitted (exchange: Exchange, agent: Agent, routeTarget: RouteTarget, asked: Asked, options: HandlerOptions): void {
  const { request, state, version } = exchange
  if (state === null) return withoutCard(exchange, agent, routeTarget, options)

  const verb = request.method ?? 'GET'
  const route = state.router.match(verb, routeTarget.path, version)
  if (route === null) return exchange.reject(rejections.unknownRoute, 'rejected')
  if (route.kind === 'card') return serveCard(exchange, agent, state, version, options.trusted)
  if (route.kind === 'preflight') {
    exchange.label = 'Preflight'
    if (shed(exchange)) return
    if (!isPreflight(request) && !passes(exchange, admitUnread(state.access, exchange.principal, UNKNOWN))) return
    const target = route.upstreamPath + queryForAgent(exchange, agent, routeTarget.query)
    return passOn(exchange, { agent, target, body: EMPTY }, options)
  }
  exchange.binding = route.binding
  exchange.version = route.version
  if (route.kind === 'ambiguous') return exchange.reject(rejections.ambiguousPath, 'rejected')
  if (route.kind === 'verb') return exchange.reject(rejections.wrongVerb(route.allow), 'rejected')

  const problem = versionProblem(route, asked, state)
  arrive(exchange, { agent, state, route, problem, asked, query: routeTarget.query }, options, receive)
}

/** Reads the body of a request that is within the limits of its head. */
function receive (exchange: Exchange, arriving: Arriving, options: HandlerOptions): void {
  const { request } = exchange
  if (request.method === 'GET') {
    return withoutBody(exchange, options, () => {
      evaluate(exchange, arrivedOf(arriving, EMPTY, EMPTY, null), options)
    })
  }
  read(exchange, options, sent => {
    if (isPlain(request.headers['content-encoding'])) {
      return evaluate(exchange, arrivedOf(arriving, sent, sent, null), options)
    }
    decode(exchange, options, sent, (bytes, encodingProblem) => {
      evaluate(exchange, arrivedOf(arriving, sent, bytes, encodingProblem), options)
    })
  })
}

/** Rejects a request because of a finding of the guard. The rejection still uses the binding of the address. */
function guarded (exchange: Exchange, routeTarget: RouteTarget, rejection: Rejection, version: Version): void {
  const route = routeTarget.agent?.state?.router.match(exchange.request.method ?? 'GET', routeTarget.path, version) ?? null
  if (route !== null && 'binding' in route) {
    exchange.binding = route.binding
    exchange.version = route.version
  }
  exchange.reject(rejection, 'rejected', undefined, routeTarget.last ? ['connection', 'close'] : [])
}

/**
 * Handles a request while the agent has no card. `onUnavailable: forward` lets an agent work without its card; the gateway then enforces
 * nothing.
 */
function withoutCard (exchange: Exchange, agent: Agent, routeTarget: RouteTarget, options: HandlerOptions): void {
  const retryAfter = agent.wantCard()
  const card = routeTarget.path.startsWith('/.well-known/agent')
  if (card) exchange.label = 'AgentCard'
  const proceed = (): void => { forwardWithoutCard(exchange, agent, { routeTarget, card, retryAfter }, options) }
  if (card) proceed()
  else admitWithoutCard(exchange, agent, options, proceed)
}

interface WithoutCard {
  readonly routeTarget: RouteTarget
  /** True for a request for the card. */
  readonly card: boolean
  /** Seconds. */
  readonly retryAfter: number
}

function forwardWithoutCard (
  exchange: Exchange,
  agent: Agent,
  { routeTarget, card, retryAfter }: WithoutCard,
  options: HandlerOptions
): void {
  if (card || agent.config.card.onUnavailable === 'reject') {
    // A missing card is the agent's: the gateway could not load it. An interface that the gateway does not serve is its own.
    return agent.onlyGrpc
      ? rejectWithoutCard(exchange, rejections.onlyGrpc(agent.name), 'gateway_error', options)
      : rejectWithoutCard(exchange, rejections.noCard(agent.name, retryAfter), 'upstream_error', options)
  }
  const path = joinPath(agent.upstreamBase, routeTarget.path)
  if (scopeOf(agent.config).isForeign(path)) return exchange.reject(rejections.unknownRoute, 'rejected')
  const target = path + queryForAgent(exchange, agent, routeTarget.query)
  if (exchange.request.method === 'GET') return passOn(exchange, { agent, target, body: EMPTY }, options)
  read(exchange, options, body => { passOn(exchange, { agent, target, body }, options) })
}

/**
 * Without a card, the binding of an address is unknown. A JSON-RPC envelope shows its binding, and its sender expects a response with its
 * id.
 */
function rejectWithoutCard (exchange: Exchange, rejection: Rejection, outcome: Outcome, options: HandlerOptions): void {
  const reject = (): void => { exchange.reject(rejection, outcome) }
  if (exchange.request.method !== 'POST') return reject()
  read(exchange, options, bytes => {
    const { limits } = options
    const call = readCall({
      bytes,
      binding: 'JSONRPC',
      version: exchange.version,
      contentType: exchange.request.headers['content-type'],
      restOperation: null,
      limits: { depth: limits.jsonDepth, members: limits.jsonMembers }
    })
    if (call.problem === null || METHOD_RULES.has(call.problem.rule)) {
      exchange.binding = 'JSONRPC'
      exchange.idToken = call.id
      exchange.label = call.operation
    }
    reject()
  })
}

/**
 * Accepts a GET without a body. A body of `null` counts as empty, and the request is forwarded without it. The guard has bounded the
 * length.
 */
function withoutBody (exchange: Exchange, options: HandlerOptions, then: () => void): void {
  if ((exchange.request.headers['content-length'] ?? '0') === '0') return then()
  read(exchange, options, bytes => {
    if (whole(bytes).toString('latin1').trim() === 'null') then()
    else exchange.reject(rejections.unexpectedBody('GET'), 'rejected')
  })
}

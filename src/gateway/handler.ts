/** One A2A request from its first byte to the agent: route, read, decide, forward or refuse. */
import type { Call, CallProblem } from '../a2a/call.js'
import { readCall } from '../a2a/call.js'
import type { Refusal } from '../a2a/errors.js'
import type { Version } from '../a2a/versions.js'
import { mediaTypeOf } from '../agent/caller.js'
import * as refusals from '../agent/refusals.js'
import type { AgentState } from '../agent/state.js'
import type { Asked, OperationRoute, Ruling } from '../agent/steps.js'
import { askedVersion, bodyOf, callOf, forwardedHead, negotiated, readsAnswer, ruleOn, versionProblem } from '../agent/steps.js'
import { upstreamHeaders } from '../agent/upstream-headers.js'
import type { Limits } from '../config/model.js'
import { forward } from '../upstream/forward.js'
import type { TrustedProxies } from '../wire/forwarded.js'
import { joinPath } from '../wire/target.js'
import type { Agent } from './agent.js'
import { Answer, RELAYED } from './answers/answer.js'
import { readBody } from './body.js'
import { serveCard } from './card.js'
import type { Exchange } from './exchange.js'
import { recordDecision } from './record.js'
import type { Surface } from './surface.js'

export interface HandlerOptions {
  readonly limits: Limits
  readonly trusted: TrustedProxies
}

const EMPTY = Buffer.alloc(0)
/** Problems of a call whose envelope is whole. */
const METHOD_RULES: ReadonlySet<string> = new Set(['method', 'unknown-method', 'version'])

export function handle (exchange: Exchange, surface: Surface, options: HandlerOptions): void {
  const { agent } = surface
  exchange.agent = agent
  const { request } = exchange
  exchange.mediaType = mediaTypeOf(request.headers['content-type'])
  const asked = askedVersion(request, surface.query)
  const { version } = asked
  exchange.version = version
  exchange.statedVersion = asked.stated
  if (surface.refusal !== null) return guarded(exchange, surface, surface.refusal, version)
  if (agent === null) return exchange.refuse(refusals.unknownAgent, 'rejected')
  const { state } = agent
  exchange.state = state
  if (state === null) return withoutCard(exchange, agent, surface, options)

  const verb = request.method ?? 'GET'
  const route = state.router.match(verb, surface.path, version)
  if (route === null) return exchange.refuse(refusals.unknownRoute, 'rejected')
  if (route.kind === 'card') return serveCard(exchange, agent, state, version)
  if (route.kind === 'preflight') {
    exchange.label = 'Preflight'
    return passOn(exchange, agent, route.upstreamPath + surface.query, options, EMPTY)
  }
  exchange.binding = route.binding
  exchange.version = route.version
  if (route.kind === 'verb') return exchange.refuse(refusals.wrongVerb(route.allow), 'rejected')

  if (route.operation !== null) exchange.label = route.operation
  const problem = versionProblem(route, asked)
  const { query } = surface
  if (verb === 'GET') {
    return withoutBody(exchange, options, () => { judge(exchange, agent, state, { route, problem, asked, query, bytes: EMPTY }, options) })
  }
  read(exchange, options, bytes => { judge(exchange, agent, state, { route, problem, asked, query, bytes }, options) })
}

/** What the guard found is answered in the binding of the address all the same. */
function guarded (exchange: Exchange, surface: Surface, refusal: Refusal, version: Version): void {
  const route = surface.agent?.state?.router.match(exchange.request.method ?? 'GET', surface.path, version) ?? null
  if (route !== null && 'binding' in route) {
    exchange.binding = route.binding
    exchange.version = route.version
  }
  exchange.refuse(refusal, 'rejected')
}

interface Arrived {
  readonly route: OperationRoute
  readonly problem: CallProblem | null
  readonly asked: Asked
  readonly query: string
  readonly bytes: Buffer
}

function judge (exchange: Exchange, agent: Agent, state: AgentState, arrived: Arrived, options: HandlerOptions): void {
  const { request, services } = exchange
  const startedAt = performance.now()
  const call = callOf(arrived.route, arrived.problem, request, arrived.bytes, options.limits)
  exchange.idToken = call.id
  exchange.label = call.operation
  const ruling = ruleOn(state, arrived.route, call, request)
  services.metrics.decision(agent.name, (performance.now() - startedAt) / 1_000)
  recordDecision(exchange, call, ruling.requested, ruling.decision)
  if (ruling.decision.refusal !== null) return exchange.refuse(ruling.decision.refusal, 'rejected')
  dispatch(exchange, agent, state, arrived, call, ruling, options)
}

function dispatch (exchange: Exchange, agent: Agent, state: AgentState, arrived: Arrived, call: Call, ruling: Ruling, options: HandlerOptions): void {
  const { route } = arrived
  const { request, span } = exchange
  const { decision, policy, headerName, requested } = ruling
  const extendedCard = readsAnswer(state, call)
  const body = bodyOf(ruling, arrived.bytes)
  const echo = policy.mode === 'off' ? null : { headerName, requested, policy, outbound: decision.outbound, injected: decision.injected }
  const { limits } = options
  const card = extendedCard ? { rewrite: state.rewrite, size: limits.response, json: { depth: limits.jsonDepth, members: limits.jsonMembers } } : null
  span.upstreamStarted({ 'http.request.method': request.method ?? 'GET', 'server.address': agent.upstream.hostname, 'url.path': route.upstreamPath })
  exchange.forwarding = forward({
    dispatcher: agent.pools.main,
    method: request.method ?? 'GET',
    path: route.upstreamPath + arrived.query,
    headers: upstreamHeaders(forwardedHead(ruling, request), request.socket.remoteAddress, agent.config.upstream, options.trusted, span.outgoing(), negotiated(route, arrived.asked, arrived.problem, ruling, extendedCard)),
    body: body.length === 0 ? null : body
  }, new Answer(exchange, { echo, card, anyPage: route.extensionRoute !== null }))
}

/** `onUnavailable: forward` lets an agent work while its card cannot be had; nothing can be enforced then. */
function withoutCard (exchange: Exchange, agent: Agent, surface: Surface, options: HandlerOptions): void {
  const card = surface.path.startsWith('/.well-known/agent')
  if (card) exchange.label = 'AgentCard'
  if (card || agent.config.card.onUnavailable === 'reject') return refuseWithoutCard(exchange, agent, options)
  const target = joinPath(agent.upstreamBase, surface.path) + surface.query
  if (exchange.request.method === 'GET') return passOn(exchange, agent, target, options, EMPTY)
  read(exchange, options, bytes => { passOn(exchange, agent, target, options, bytes) })
}

/** No card says which binding an address has; a JSON-RPC envelope does, and its sender waits for an answer with its id. */
function refuseWithoutCard (exchange: Exchange, agent: Agent, options: HandlerOptions): void {
  const refuse = (): void => { exchange.refuse(refusals.noCard(agent.name), 'gateway_error') }
  if (exchange.request.method !== 'POST') return refuse()
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
    refuse()
  })
}

/** Forwards without reading: no negotiation, no rules. */
function passOn (exchange: Exchange, agent: Agent, target: string, options: HandlerOptions, bytes: Buffer): void {
  const { request, span } = exchange
  span.name(exchange.label)
  span.upstreamStarted({ 'http.request.method': request.method ?? 'GET', 'server.address': agent.upstream.hostname })
  exchange.forwarding = forward({
    dispatcher: agent.pools.main,
    method: request.method ?? 'GET',
    path: target,
    headers: upstreamHeaders(request, request.socket.remoteAddress, agent.config.upstream, options.trusted, span.outgoing(), null),
    body: bytes.length === 0 ? null : bytes
  }, new Answer(exchange, RELAYED))
}

/** A GET that says `null` says nothing, and is forwarded so. The guard has bounded its length. */
function withoutBody (exchange: Exchange, options: HandlerOptions, then: () => void): void {
  if ((exchange.request.headers['content-length'] ?? '0') === '0') return then()
  read(exchange, options, bytes => {
    if (bytes.toString('latin1').trim() === 'null') then()
    else exchange.refuse(refusals.unexpectedBody('GET'), 'rejected')
  })
}

function read (exchange: Exchange, options: HandlerOptions, then: (bytes: Buffer) => void): void {
  const { limits } = options
  readBody(exchange.request, { size: limits.body, timeout: limits.requestTimeout }, result => {
    if (!result.ok) {
      if (result.why === 'too_large') exchange.refuse(refusals.tooLarge(limits.body), 'rejected')
      else if (result.why === 'timeout') exchange.refuse(refusals.tooSlow(limits.requestTimeout), 'rejected')
      return
    }
    try {
      then(result.bytes)
    } catch (error) {
      exchange.services.log.error({ err: error, request_id: exchange.id }, 'a request could not be handled')
      exchange.refuse(refusals.internal, 'gateway_error')
    }
  })
}

/**
 * Requests that no rule reads: below a prefix of `passthrough`, for a service of `grpc.passthrough`, preflights that the agent responds to,
 * and requests to an agent whose card the gateway does not have.
 */
import { readCall } from '#a2a/message/call.js'
import type { Rejection } from '#a2a/errors.js'
import type { Agent } from '#agents/agent.js'
import type { AccessOutcome } from '#pipeline/access/access.js'
import { accessOf, admit, admitUnread } from '#pipeline/access/access.js'
import { isPreflight } from '#pipeline/guard.js'
import * as rejections from '#pipeline/rejections.js'
import { forbiddenFor } from '#pipeline/upstream-headers.js'
import { scopeOf } from '#pipeline/scope.js'
import { PASSTHROUGH, UNKNOWN, UNREAD } from '#policy/access/target.js'
import type { Outcome } from '#telemetry/metrics/metrics.js'
import { joinPath } from '#wire/target.js'
import { describeId, describeOperation, describeRoute, nameRequest, setKind } from '../description.js'
import type { Exchange } from '../exchange.js'
import { queryForAgent } from '../outgoing-credentials.js'
import type { Result } from '../step.js'
import { END } from '../step.js'
import { applyAccess } from '../telemetry/access-telemetry.js'
import type { UninspectedRequest } from '../work.js'
import { keepUnread } from '../work.js'
import { read } from './body.js'
import { enter } from '../capacity.js'
import { reject } from '../reply.js'
import type { CompiledGuard } from '#policy/access/forbidden.js'

const NO_BYTES = Buffer.alloc(0)

/** Rules of problems in a call whose JSON-RPC envelope is valid. */
const METHOD_RULES: ReadonlySet<string> = new Set(['method', 'unknown-method', 'version'])

const WELL_KNOWN = '/.well-known/agent'

/** Guards of the extensions that the caller of a request that no rule reads may not use. */
export function unreadForbidden ({ state, principal }: Exchange, agent: Agent): readonly CompiledGuard[] {
  const policy = (state ?? agent.state)?.policy
  if (policy === undefined) return []
  // The version of such a request is not known.
  const guards = [...policy['0.3'].guards, ...policy['1.0'].guards]
  return guards.length === 0 ? guards : forbiddenFor(guards, principal)
}

/** Names the exchange in telemetry. */
export function describePassthrough (exchange: Exchange): undefined {
  nameRequest(exchange, 'Passthrough')
}

/** A request to an agent without a card. The card itself costs nothing, so neither access lists nor limits apply to a request for it. */
export function startWithoutCard (exchange: Exchange, agent: Agent): Result {
  setKind(exchange, 'withoutCard')
  if (!exchange.target.path.startsWith(WELL_KNOWN)) return
  describeOperation(exchange, 'AgentCard')
  return rejectMissingCard(exchange, agent)
}

/** Applies the access lists to a request that no rule reads. */
export function checkUnreadAccess (exchange: Exchange): Result {
  return applyAccess(exchange, unreadAccess(exchange, exchange.principal)) ? undefined : END
}

/**
 * The decision of the access lists on a request that no rule reads; null for none.
 * @param caller the caller, or the initiator of the call
 */
export function unreadAccess (exchange: Exchange, caller: Exchange['principal']): AccessOutcome | null {
  const { agent, kind, request, target: { path } } = exchange
  if (agent === null || isPreflight(request)) return null
  const { config } = agent
  const access = accessOf(config)
  if (access === null) return null
  if (kind === 'withoutCard' && config.card.onUnavailable === 'reject') return admit(access, { caller, target: UNREAD, tenant: null })
  // Before the first card, a path below the prefix may be an operation. A card may also have come since the request was routed. A service
  // of gRPC is never one of A2A.
  const isKnown = kind === 'passthrough' && (exchange.binding === 'GRPC' || agent.knownRouter?.claims(path) === false)
  return admitUnread(access, caller, isKnown ? PASSTHROUGH : UNKNOWN)
}

/** Rejects a request that the front cannot carry to the agent. */
export function rejectUnfit (exchange: Exchange): Result {
  const unfit = exchange.transport.unfit(exchange)
  if (unfit !== null) return reject(exchange, unfit.rejection, unfit.outcome)
}

/**
 * Rejects a request to an agent without a card. With `card.onUnavailable: forward`, the agent works without its card, and the gateway
 * enforces nothing.
 */
export function rejectWithoutCard (exchange: Exchange): Result {
  const { agent } = exchange
  if (agent === null) return
  const { config } = agent
  if (exchange.binding === 'GRPC') {
    const retryAfter = agent.requestCard()
    if (config.card.onUnavailable === 'reject' || config.grpc?.upstream == null) {
      return reject(exchange, rejections.noCard(agent.name, retryAfter), 'upstream_error')
    }
  } else if (config.card.onUnavailable === 'reject') return rejectMissingCard(exchange, agent)
  else agent.requestCard()
}

/** A missing card is the agent's: the gateway could not load it. An interface that the gateway does not serve is its own. */
function rejectMissingCard (exchange: Exchange, agent: Agent): Result {
  const retryAfter = agent.requestCard()
  return agent.onlyGrpc
    ? rejectInBinding(exchange, rejections.onlyGrpc(agent.name), 'gateway_error')
    : rejectInBinding(exchange, rejections.noCard(agent.name, retryAfter), 'upstream_error')
}

/**
 * Without a card, the binding of an address is unknown. A JSON-RPC envelope shows its binding, and its sender expects a response with its
 * id.
 */
function rejectInBinding (exchange: Exchange, rejection: Rejection, outcome: Outcome): Result {
  if (exchange.request.method !== 'POST') return reject(exchange, rejection, outcome)
  return read(exchange, (exchange, bytes) => {
    const { limits } = exchange.snapshot
    const call = readCall({
      bytes,
      binding: 'JSONRPC',
      version: exchange.version,
      contentType: exchange.request.headers['content-type'],
      restOperation: null,
      limits: { depth: limits.jsonDepth, members: limits.jsonMembers }
    })
    if (call.problem === null || METHOD_RULES.has(call.problem.rule)) {
      describeRoute(exchange, { binding: 'JSONRPC', version: exchange.version })
      describeId(exchange, call.id)
      describeOperation(exchange, call.operation)
    }
    return reject(exchange, rejection, outcome)
  })
}

/** Reads the body of a request that the gateway forwards whole. Other bodies go on as they arrive. */
export function readUnread (exchange: Exchange): Result {
  const { agent, kind, request, target: { path, query } } = exchange
  if (agent === null) return
  const keep = (target: string, body: UninspectedRequest['body']): undefined => {
    keepUnread(exchange, { agent, target, body })
  }
  if (kind === 'passthrough' || exchange.binding === 'GRPC') return keep(request.url ?? '', null)
  const upstreamPath = joinPath(agent.upstreamBase, path)
  if (scopeOf(agent.config).isForeign(upstreamPath)) return reject(exchange, rejections.unknownRoute, 'rejected')
  const target = upstreamPath + queryForAgent(exchange, agent, query)
  return request.method === 'GET' ? keep(target, NO_BYTES) : read(exchange, (_, body) => keep(target, body))
}

/** Forwards a request without inspection: no negotiation, no rules. */
export function forwardUninspected (exchange: Exchange): Result {
  const unread = exchange.unread as UninspectedRequest
  // Rejected, because the agent has no capacity.
  if (!enter(exchange, unread.agent)) return END
  exchange.forwarding = exchange.transport.forwardUninspected(exchange, unread)
}

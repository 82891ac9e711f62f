/** For a mesh, a request that the rules accepted goes back to the proxy, with what changes about it. */
import type { Agent } from '#agents/agent.js'
import type { Operation } from '#a2a/operations.js'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import { grpcUpstreamHeaders } from '#pipeline/grpc/upstream-headers.js'
import type { ResponsePlan } from '#pipeline/response/driver.js'
import { FORWARD_UNCHANGED } from '#pipeline/response/driver.js'
import { upstreamHeaders } from '#pipeline/upstream-headers.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import { whole } from '#wire/chunked-buffer.js'
import type { HeaderChanges } from '#wire/envoy/headers.js'
import { grpcFrame } from '#wire/grpc/deframer.js'
import { splitTarget } from '#wire/target.js'
import type { Outgoing, UninspectedRequest } from '#call/work.js'
import { AgentResponse } from '../http/agent-response.js'
import type { Exchange } from '#call/exchange.js'
import { headersForAgent, queryForAgent } from '#call/outgoing-credentials.js'
import { unreadForbidden } from '#call/steps/unread.js'
import { GrpcAgentResponse } from '../grpc/agent-response.js'
import { changesBetween, XFCC } from './changes.js'
import type { MeshRequest } from './request.js'

/** The work on the response of an agent: over HTTP or over gRPC. */
export type AgentReceiver = AgentResponse | GrpcAgentResponse

/** A request that the proxy is to forward. */
export interface Accepted {
  readonly exchange: Exchange
  readonly changes: HeaderChanges
  /** The new body; null where the request keeps its own. */
  readonly body: Buffer | null
  /** The body as it came; null where it still arrives. */
  readonly sent: Bytes | null
  readonly plan: ResponsePlan
  /** Null where nothing about the response needs the gateway. */
  readonly receiver: AgentReceiver | null
}

interface OutgoingHead {
  readonly agent: Agent
  /** For the agent, with the credentials of the client. */
  readonly headers: string[]
  /** As sent. */
  readonly query: string
}

/** What changes in the head. */
function changesOf (exchange: Exchange, request: MeshRequest, { agent, headers, query }: OutgoingHead): HeaderChanges {
  const { set, remove } = changesBetween(request.rawHeaders, headersForAgent(exchange, agent, headers))
  const agentQuery = queryForAgent(exchange, agent, query)
  return {
    set: agentQuery === query ? set : [':path', splitTarget(request.url).path + agentQuery, ...set],
    remove: hidesCertificate(exchange, agent) ? [...remove, XFCC] : remove
  }
}

/** A certificate that a source reads is a credential. Without such a source, the header is a matter of Envoy. */
function hidesCertificate ({ identity, request, snapshot: { trusted } }: Exchange, { config }: Agent): boolean {
  if (identity === null || request.headers[XFCC] === undefined) return false
  const { certificates } = identity.authenticator
  if (!certificates.proxyHeaders.has(XFCC)) return false
  const peer = request.socket.remoteAddress
  return config.upstream.credentials.client !== 'forward' || !trusted.trusts(peer) || !certificates.writtenBy(peer).has(XFCC)
}

/** A request that the rules accepted, for the proxy. @param request of the exchange */
export function acceptedOf (
  exchange: Exchange,
  request: MeshRequest,
  { work: { agent, route, sent, query }, head, negotiated, body, plan, remember, owners }: Outgoing
): Accepted {
  const isGrpc = exchange.binding === 'GRPC'
  const options = {
    peer: request.hop,
    config: agent.config.upstream,
    trusted: exchange.snapshot.trusted,
    trace: exchange.span.outgoing(),
    negotiated
  }
  const headers = isGrpc ? grpcUpstreamHeaders(head, options) : upstreamHeaders(head, options)
  const bytes = body === sent ? null : whole(body)
  return {
    exchange,
    changes: changesOf(exchange, request, { agent, headers, query }),
    body: bytes !== null && isGrpc ? grpcFrame(bytes) : bytes,
    sent,
    plan,
    receiver: !needsResponse(exchange, plan)
      ? null
      : isGrpc
        ? new GrpcAgentResponse(exchange, plan, grpcMethodFor(route.operation as Operation, route.version), remember, owners)
        : new AgentResponse(exchange, plan, remember, owners)
  }
}

/** A request that no rule sees, for the proxy. The body stays as it is, and so does the path: the proxy has the address of the agent. */
export function acceptedUnread (exchange: Exchange, request: MeshRequest, { agent, body }: UninspectedRequest): Accepted {
  const headers = upstreamHeaders(request, {
    peer: request.hop,
    config: agent.config.upstream,
    trusted: exchange.snapshot.trusted,
    trace: exchange.span.outgoing(),
    negotiated: null,
    forbidden: unreadForbidden(exchange, agent)
  })
  return {
    exchange,
    changes: changesOf(exchange, request, { agent, headers, query: splitTarget(request.url).query }),
    body: null,
    sent: body,
    plan: FORWARD_UNCHANGED,
    receiver: null
  }
}

/** True when the gateway changes or reads the response. Without extensions, an agent has nothing to confirm. */
function needsResponse ({ push, cors, limits }: Exchange, { echo, card, evaluation }: ResponsePlan): boolean {
  return evaluation !== null || card !== null || push !== null || (cors !== null && cors.replaces) ||
    (limits !== null && limits.left !== null) || (echo !== null && (echo.outbound.length > 0 || echo.requested.length > 0))
}

/**
 * True when the call has effects that only its response completes: owners of tasks, budgets, counts of push notification configurations,
 * and cards for this caller. Nothing of that may pass unread.
 */
export function reliesOnResponse ({ push, limits }: Exchange, { card, evaluation }: ResponsePlan): boolean {
  if (card?.select != null || push?.readsResponse === true) return true
  return evaluation !== null && (evaluation.ownership !== null || (limits !== null && limits.budgets.length > 0))
}

/** Gives back what the call has counted: the agent does not get it. */
export function unsent (exchange: Exchange): void {
  exchange.push?.unsent()
  exchange.push = null
}

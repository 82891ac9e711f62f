/** Sends requests that arrived over HTTP to their agents. */
import { startUpstreamSpan } from '#call/telemetry/request-telemetry.js'
import { FORWARD_UNCHANGED } from '#pipeline/response/driver.js'
import { upstreamHeaders } from '#pipeline/upstream-headers.js'
import { forward } from '#upstream/forward.js'
import { AgentResponse } from './agent-response.js'
import { headersForAgent, queryForAgent, totalOf } from '#call/outgoing-credentials.js'
import type { Transport } from '#call/work.js'
import { unreadForbidden } from '#call/steps/unread.js'

/** Carries requests over HTTP. It is the same for all calls: their exchanges have all that it needs. */
export const HTTP: Transport = {
  front: 'http',
  unfit: () => null,
  send (exchange, { work: { agent, route, parsed, query }, head, negotiated, body, plan, remember, owners }) {
    const { request, snapshot: { trusted } } = exchange
    startUpstreamSpan(exchange, agent, route.upstreamPath, parsed)
    return forward(
      {
        dispatcher: agent.pools.main,
        queue: agent.pools.queue,
        total: totalOf(exchange, agent.config.upstream.timeouts.total),
        method: request.method ?? 'GET',
        path: route.upstreamPath + queryForAgent(exchange, agent, query),
        headers: headersForAgent(exchange, agent, upstreamHeaders(head, {
          peer: request.socket.remoteAddress,
          config: agent.config.upstream,
          trusted,
          trace: exchange.span.outgoing(),
          negotiated
        })),
        body: body.length === 0 ? null : body
      },
      new AgentResponse(exchange, plan, remember, owners)
    )
  },
  forwardUninspected (exchange, { agent, target, body }) {
    const { request, span, snapshot: { trusted } } = exchange
    span.name(exchange.label)
    startUpstreamSpan(exchange, agent, target, null)
    return forward(
      {
        dispatcher: agent.pools.main,
        queue: agent.pools.queue,
        total: totalOf(exchange, agent.config.upstream.timeouts.total),
        method: request.method ?? 'GET',
        path: target,
        headers: headersForAgent(exchange, agent, upstreamHeaders(request, {
          peer: request.socket.remoteAddress,
          config: agent.config.upstream,
          trusted,
          trace: span.outgoing(),
          negotiated: null,
          forbidden: unreadForbidden(exchange, agent)
        })),
        body: body === null || body.length === 0 ? null : body
      },
      new AgentResponse(exchange, FORWARD_UNCHANGED)
    )
  }
}

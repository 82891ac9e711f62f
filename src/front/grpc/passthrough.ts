/** Forwards calls that no rule sees: services of `grpc.passthrough`, and calls of an agent without a card. Streams go both ways. */
import { accessOf, admitUnread } from '../../pipeline/access/access.js'
import { PASSTHROUGH, UNKNOWN } from '../../policy/access/target.js'
import { passes } from '../../gateway/identity/access-telemetry.js'
import { startGrpcSpan } from '../../gateway/request-telemetry.js'
import type { Agent } from '../../gateway/agent.js'
import { PLAIN } from '../../pipeline/response/driver.js'
import { upstreamHeaders } from '../../pipeline/upstream-headers.js'
import * as rejections from '../../pipeline/rejections.js'
import { forwardGrpc } from '../../upstream/grpc/forward.js'
import type { GrpcAddress } from '../../upstream/grpc/pool.js'
import { withOutbound } from '../http/credentials/outbound.js'
import type { HandlerOptions } from '../http/dispatch.js'
import type { Exchange } from '../http/exchange.js'
import { shed } from '../http/handler.js'
import { headersForAgent, identify } from '../http/identify.js'
import { limitEarly } from '../http/limits/limits.js'
import { GrpcAgentResponse } from './agent-response.js'
import type { GrpcRequest } from './client-stream.js'
import { serverOf } from './servers.js'

/** A call to a service of `grpc.passthrough`. */
export function passThrough (exchange: Exchange, agent: Agent, options: HandlerOptions): void {
  exchange.label = 'Passthrough'
  exchange.span.name('Passthrough')
  exchange.state = agent.state
  if (shed(exchange)) return
  const { identity, trusted } = options
  const admit = (): void => {
    const access = accessOf(agent.config)
    if (access !== null && !passes(exchange, admitUnread(access, exchange.principal, PASSTHROUGH))) return
    const address = agent.config.grpc?.upstream ?? (exchange.state === null ? null : serverOf(exchange.state, V1))
    if (address === null) return exchange.reject(rejections.noCard(agent.name, agent.wantCard()), 'upstream_error')
    limitEarly(exchange, agent, options, () => { send(exchange, agent, address, options) })
  }
  if (identity === null) return admit()
  const target = { kind: 'passthrough', agent, path: '', query: '', rejection: null, last: false } as const
  identify(exchange, { agent, target, identity, trusted }, admit)
}

const V1 = { version: '1.0' } as const

/** A call to an agent without a card, with `card.onUnavailable: forward`. */
export function forwardUnread (exchange: Exchange, agent: Agent, address: GrpcAddress, options: HandlerOptions): void {
  if (shed(exchange)) return
  const access = accessOf(agent.config)
  if (access !== null && !passes(exchange, admitUnread(access, exchange.principal, UNKNOWN))) return
  limitEarly(exchange, agent, options, () => { send(exchange, agent, address, options) })
}

function send (exchange: Exchange, agent: Agent, address: GrpcAddress, { trusted }: HandlerOptions): void {
  withOutbound(exchange, { agent, trusted, body: () => null }, () => {
    if (!exchange.enter(agent)) return false
    // This front makes its exchanges with this class.
    const { stream, url } = exchange.request as GrpcRequest
    startGrpcSpan(exchange, address, url, null)
    exchange.forwarding = forwardGrpc(
      {
        pool: agent.pools.forGrpc(address),
        path: url,
        headers: headersForAgent(exchange, agent, upstreamHeaders(exchange.request, {
          peer: exchange.request.socket.remoteAddress,
          config: agent.config.upstream,
          trusted,
          trace: exchange.span.outgoing(),
          negotiated: null
        })),
        body: stream,
        timeouts: agent.config.upstream.timeouts
      },
      new GrpcAgentResponse(exchange, PLAIN, null)
    )
    return true
  })
}

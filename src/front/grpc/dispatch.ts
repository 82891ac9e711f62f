/** Forwards a gRPC call to its agent. */
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { Agent } from '#agents/agent.js'
import { startGrpcSpan } from '#call/telemetry/request-telemetry.js'
import { grpcUpstreamHeaders } from '#pipeline/grpc/upstream-headers.js'
import { FORWARD_ANY_PAGE } from '#pipeline/response/driver.js'
import { upstreamHeaders } from '#pipeline/upstream-headers.js'
import { forwardGrpc } from '#upstream/grpc/forward.js'
import type { GrpcAddress } from '#upstream/grpc/pool.js'
import { grpcFrame } from '#wire/grpc/deframer.js'
import { whole } from '#wire/chunked-buffer.js'
import * as rejections from '#pipeline/rejections.js'
import type { Outgoing, Transport, UninspectedRequest } from '#call/work.js'
import type { Forwarding } from '#upstream/forward.js'
import type { Exchange } from '#call/exchange.js'
import { headersForAgent, timeoutsOf } from '#call/outgoing-credentials.js'
import { unreadForbidden } from '#call/steps/unread.js'
import { GrpcAgentResponse } from './agent-response.js'
import type { GrpcRequest } from './client-stream.js'
import type { MappedGrpcInterface } from '#a2a/grpc/card-map.js'
import type { OperationRoute } from '#a2a/route.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'

/** Carries one call over gRPC. */
export class GrpcTransport implements Transport {
  readonly front = 'grpc'
  readonly #stream: GrpcRequest['stream']

  constructor ({ stream }: GrpcRequest) {
    this.#stream = stream
  }

  send (exchange: Exchange, { work, head, negotiated, body, plan, remember, owners }: Outgoing): Forwarding {
    const { agent, route, state, sent, parsed } = work
    const { snapshot: { trusted } } = exchange
    const method = grpcMethodFor(route.operation ?? 'Other', route.version)
    const address = serverOf(state, route)
    if (method === null || address === null) throw new Error('a gRPC call without a method or a server')
    startGrpcSpan(exchange, address, method.path, parsed)
    const headers = grpcUpstreamHeaders(head, {
      peer: exchange.request.socket.remoteAddress,
      config: agent.config.upstream,
      trusted,
      trace: exchange.span.outgoing(),
      negotiated
    })
    const bytes = whole(body)
    return forwardGrpc(
      {
        pool: agent.pools.forGrpc(address),
        path: method.path,
        headers: headersForAgent(exchange, agent, headers),
        // A message as sent has its prefix.
        body: body === sent ? bytes : grpcFrame(bytes),
        timeouts: timeoutsOf(exchange, agent.config.upstream.timeouts)
      },
      new GrpcAgentResponse(exchange, plan, method, remember, owners)
    )
  }

  /** Only the configuration or a card has the address of a gRPC server. */
  unfit (exchange: Exchange): ReturnType<Transport['unfit']> {
    const { agent } = exchange
    if (agent === null || serverForUnread(exchange, agent) !== null) return null
    return { rejection: rejections.noCard(agent.name, agent.requestCard()), outcome: 'upstream_error' }
  }

  /** Streams go both ways. */
  forwardUninspected (exchange: Exchange, { agent, target }: UninspectedRequest): Forwarding {
    const { snapshot: { trusted } } = exchange
    const address = serverForUnread(exchange, agent)
    if (address === null) throw new Error('a gRPC call without a server')
    startGrpcSpan(exchange, address, target, null)
    return forwardGrpc(
      {
        pool: agent.pools.forGrpc(address),
        path: target,
        headers: headersForAgent(exchange, agent, upstreamHeaders(exchange.request, {
          peer: exchange.request.socket.remoteAddress,
          config: agent.config.upstream,
          trusted,
          trace: exchange.span.outgoing(),
          negotiated: null,
          forbidden: unreadForbidden(exchange, agent)
        })),
        body: this.#stream,
        timeouts: timeoutsOf(exchange, agent.config.upstream.timeouts)
      },
      new GrpcAgentResponse(exchange, FORWARD_ANY_PAGE, null)
    )
  }
}

/** @returns the server that gets calls which no rule sees; null when nothing names one */
function serverForUnread ({ state }: Exchange, { config }: Agent): GrpcAddress | null {
  return config.grpc?.upstream ?? (state === null ? null : serverOf(state, V1))
}

const V1 = { version: '1.0' } as const

// Finds the gRPC server of an agent that gets a call.

/** @returns the server of the version, or of the other version where a policy only observes versions; null without a gRPC interface */
function serverOf ({ interfaces }: AgentState, { version }: Pick<OperationRoute, 'version'>): MappedGrpcInterface['address'] | null {
  let other: MappedGrpcInterface['address'] | null = null
  for (const mappedInterface of interfaces) {
    if (mappedInterface.binding !== 'GRPC') continue
    const { address } = mappedInterface as MappedGrpcInterface
    if (mappedInterface.version === version) return address
    other ??= address
  }
  return other
}

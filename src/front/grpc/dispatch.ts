/** Forwards a gRPC call to its agent. */
import { grpcMethodFor } from '../../a2a/grpc/methods.js'
import { startGrpcSpan } from '../../gateway/request-telemetry.js'
import { grpcUpstreamHeaders } from '../../pipeline/grpc/upstream-headers.js'
import { forwardGrpc } from '../../upstream/grpc/forward.js'
import { grpcFrame } from '../../wire/grpc/deframer.js'
import { whole } from '../../wire/chunked-buffer.js'
import type { Front } from '../http/dispatch.js'
import { headersForAgent } from '../http/identify.js'
import { GrpcAgentResponse } from './agent-response.js'
import { serverOf } from './servers.js'

/** The front of gRPC. */
export const GRPC: Front = {
  send (exchange, { read: { arrived, call }, head, negotiated, body, plan, remember, owners }, { trusted }) {
    const { agent, route, state, sent } = arrived
    const method = grpcMethodFor(route.operation ?? 'Other', route.version)
    const address = serverOf(state, route)
    if (method === null || address === null) throw new Error('a gRPC call without a method or a server')
    startGrpcSpan(exchange, address, method.path, call)
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
        timeouts: agent.config.upstream.timeouts
      },
      new GrpcAgentResponse(exchange, plan, method, remember, owners)
    )
  }
}

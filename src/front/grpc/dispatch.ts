/** Forwards a gRPC call to its agent. */
import { grpcMethodFor } from '../../a2a/grpc/methods.js'
import type { UpstreamConfig } from '../../config/model/model.js'
import { upstreamHeaders } from '../../pipeline/upstream-headers.js'
import { forwardGrpc } from '../../upstream/grpc/forward.js'
import { grpcFrame } from '../../wire/grpc/deframer.js'
import { whole } from '../../wire/chunked-buffer.js'
import type { Front } from '../http/dispatch.js'
import { headersForAgent } from '../http/identify.js'
import { GrpcAgentResponse } from './agent-response.js'
import { serverOf } from './servers.js'

/** The front of gRPC. */
export const GRPC: Front = {
  send (exchange, { read: { arrived }, head, negotiated, body, plan, remember, owners }, { trusted }) {
    const { agent, route, state, sent } = arrived
    const method = grpcMethodFor(route.operation ?? 'Other', route.version)
    const address = serverOf(state, route)
    if (method === null || address === null) throw new Error('a gRPC call without a method or a server')
    const headers = upstreamHeaders(head, {
      peer: exchange.request.socket.remoteAddress,
      config: withLines(agent.config.upstream),
      trusted,
      trace: exchange.span.outgoing(),
      negotiated
    })
    const bytes = whole(body)
    return forwardGrpc(
      {
        pool: agent.pools.forGrpc(address),
        path: method.path,
        headers: headersForAgent(exchange, agent, negotiated?.read === true ? uncompressed(headers) : headers),
        // A message as sent has its prefix.
        body: body === sent ? bytes : grpcFrame(bytes),
        timeouts: agent.config.upstream.timeouts
      },
      new GrpcAgentResponse(exchange, plan, method, remember, owners)
    )
  }
}

const configs = new WeakMap<UpstreamConfig, UpstreamConfig>()

/** Each activated extension has a line of its own: the only form that all gRPC servers of A2A read. */
function withLines (config: UpstreamConfig): UpstreamConfig {
  let lines = configs.get(config)
  if (lines === undefined) configs.set(config, lines = { ...config, extensionHeader: { ...config.extensionHeader, form: 'repeated' } })
  return lines
}

/** Asks for messages that the gateway can read. `accept-encoding` has no meaning in gRPC. */
function uncompressed (headers: readonly string[]): string[] {
  const out: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    if (name !== 'grpc-accept-encoding' && name !== 'accept-encoding') out.push(name, headers[i + 1] as string)
  }
  out.push('grpc-accept-encoding', 'identity')
  return out
}

/**
 * Path prefixes that an agent's `passthrough` list names: forwarded without inspection, through @fastify/http-proxy.
 *
 * Its releases that run on Node 20 have open advisories (SECURITY.md), so it is mounted with what they demand: no WebSockets, the target
 * guard in front, a handler of our own. Its default handler would verify no TLS, re-encode JSON and retry.
 */
import type { Readable } from 'node:stream'
import httpProxy from '@fastify/http-proxy'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Limits } from '../config/model.js'
import { forward } from '../upstream/forward.js'
import type { TrustedProxies } from '../wire/forwarded.js'
import { joinPath } from '../wire/target.js'
import type { Agents } from './agents.js'
import { Answer } from './answer.js'
import type { Services } from './exchange.js'
import { Exchange } from './exchange.js'
import * as refusals from './refusals.js'
import { upstreamHeaders } from './request-headers.js'
import { surfaceOf } from './surface.js'

export interface PassthroughOptions {
  readonly agents: () => Agents
  readonly services: Services
  readonly limits: Limits
  readonly trusted: TrustedProxies
}

/** Never dialled: our handler knows the agent's pool. It only has to be a URL for the library's own destination check. */
const PLACEHOLDER = 'http://passthrough.invalid'

export async function mountPassthrough (app: FastifyInstance, options: PassthroughOptions): Promise<void> {
  const { agents, services, limits, trusted } = options

  function begin (request: FastifyRequest, reply: FastifyReply): Exchange {
    reply.hijack()
    const exchange = new Exchange(request.raw, reply.raw, services)
    exchange.label = 'Passthrough'
    exchange.agent = surfaceOf(request.raw, agents()).agent
    exchange.span.name('Passthrough')
    return exchange
  }

  function pass (request: FastifyRequest, reply: FastifyReply): void {
    const exchange = begin(request, reply)
    const { agent, path, query } = surfaceOf(request.raw, agents())
    if (agent === null) return exchange.refuse(refusals.unknownAgent, 'rejected')
    const body = request.body === undefined || request.body === null ? null : request.raw
    if (Number(request.headers['content-length'] ?? 0) > limits.body) return exchange.refuse(refusals.tooLarge(limits.body), 'rejected')
    exchange.span.upstreamStarted({ 'http.request.method': request.method, 'server.address': agent.upstream.hostname })
    exchange.forwarding = forward({
      dispatcher: agent.pools.main,
      method: request.method,
      path: joinPath(agent.upstreamBase, path) + query,
      headers: upstreamHeaders(request.raw, agent.config.upstream, trusted, exchange.span.outgoing(), null),
      body
    }, new Answer(exchange, null))
    if (body !== null) {
      limitStream(body, limits.body, () => {
        exchange.forwarding?.abort()
        exchange.refuse(refusals.tooLarge(limits.body), 'rejected')
      })
    }
  }

  await app.register(async scope => {
    scope.setErrorHandler((error: FastifyError, request, reply) => {
      const exchange = begin(request, reply)
      services.log.info({ err: error, agent: exchange.agentName }, 'a passthrough request was refused')
      exchange.refuse({ reason: 'BAD_REQUEST_HEADER', message: 'The request cannot be passed on.', rule: 'gateway/passthrough' }, 'rejected', error.statusCode ?? 400)
    })
    await scope.register(httpProxy, {
      upstream: '',
      websocket: false,
      constraints: { surface: 'passthrough' },
      handler: pass,
      replyOptions: { getUpstream: () => PLACEHOLDER }
    } as Parameters<typeof httpProxy>[1])
  })
}

function limitStream (stream: Readable, limit: number, exceeded: () => void): void {
  let size = 0
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > limit && size - chunk.length <= limit) exceeded()
  })
}

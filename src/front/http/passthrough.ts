/**
 * Forwards the path prefixes of an agent's `passthrough` list without inspection, through @fastify/http-proxy.
 *
 * The releases of @fastify/http-proxy that run on Node 20 have open advisories (SECURITY.md). The gateway therefore mounts it as the
 * advisories require: without WebSockets, with the target guard in front, and with a handler of the gateway. The default handler would not
 * verify TLS, would re-encode JSON and would retry.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TransformCallback } from 'node:stream'
import { Transform } from 'node:stream'
import type httpProxy from '@fastify/http-proxy'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { guarded, ignoreErrors } from '#guard.js'
import { fastify, LogController, NO_SCHEMAS } from '#framework.js'
import * as rejections from '#pipeline/rejections.js'
import { upstreamHeaders } from '#pipeline/upstream-headers.js'
import type { Forwarding } from '#upstream/forward.js'
import { forward } from '#upstream/forward.js'
import { joinPath } from '#wire/target.js'
import { FORWARD_ANY_PAGE } from '#pipeline/response/driver.js'
import { AgentResponse } from './agent-response.js'
import type { Services } from '#call/services.js'
import type { Exchange } from '#call/exchange.js'
import { startExchange } from '#call/record.js'
import { headersForAgent, queryForAgent, totalOf } from '#call/outgoing-credentials.js'
import { startPassthrough } from '#call/steps.js'
import { describePassthrough, unreadForbidden } from '#call/steps/unread.js'
import type { Transport, UninspectedRequest } from '#call/work.js'
import type { Snapshot } from '#agents/snapshot.js'
import { routeTargetOf } from '#call/route-target.js'
import { startUpstreamSpan } from '#call/telemetry/request-telemetry.js'
import { fail, reject } from '#call/reply.js'

export interface PassthroughOptions {
  readonly snapshot: () => Snapshot
  readonly services: Services
  /** True when the configuration at the start has a `passthrough` list. */
  readonly passthrough: boolean
}

/** Never dialled: the gateway's handler uses the agent's pool. The library's own destination check only needs a URL. */
const PLACEHOLDER = 'http://passthrough.invalid'

/**
 * The app with @fastify/http-proxy, which is loaded for a configuration with a `passthrough` list: the library brings all of undici, and
 * few gateways use it (measured: 44 of 276 ms of a start). A reload that adds the first list loads it with the first such request.
 */
export class Passthrough {
  private readonly options: PassthroughOptions
  /** Has no listener of its own: @fastify/http-proxy adds routes and content type parsers that must not reach another app. */
  private app: FastifyInstance | null = null
  private mounting: Promise<FastifyInstance> | null = null

  private constructor (options: PassthroughOptions) {
    this.options = options
  }

  static async create (options: PassthroughOptions): Promise<Passthrough> {
    const passthrough = new Passthrough(options)
    if (options.passthrough) await passthrough.mount()
    return passthrough
  }

  /** @param request with a route target of the kind `passthrough` */
  handle (request: IncomingMessage, response: ServerResponse): void {
    if (this.app !== null) return this.app.routing(request, response)
    this.mount().then(
      app => {
        // The client may have disconnected.
        if (!response.destroyed) app.routing(request, response)
      },
      (error: unknown) => {
        // The next request tries again.
        this.mounting = null
        fail(this.begin(request, response), error)
      }
    )
  }

  async close (): Promise<void> {
    await (await this.mounting)?.close()
  }

  private mount (): Promise<FastifyInstance> {
    this.mounting ??= this.mounted()
    return this.mounting
  }

  private async mounted (): Promise<FastifyInstance> {
    const app = fastify({
      logController: new LogController({ disableRequestLogging: true }),
      schemaController: NO_SCHEMAS,
      genReqId: () => '',
      exposeHeadRoutes: false,
      routerOptions: { maxParamLength: 65_536 },
      frameworkErrors: (error, request, reply) => { this.failed(error, request as FastifyRequest, reply as unknown as FastifyReply) }
    })
    app.setErrorHandler((error: FastifyError, request, reply) => { this.failed(error, request, reply) })
    // Fastify's own parser of text/plain would read the body. The library replaces only the JSON parser.
    app.removeAllContentTypeParsers()
    const { default: proxy } = await import('@fastify/http-proxy')
    await app.register(proxy, {
      upstream: '',
      websocket: false,
      handler: (request: FastifyRequest, reply: FastifyReply) => { this.startCall(request, reply) },
      replyOptions: { getUpstream: () => PLACEHOLDER }
    } as Parameters<typeof httpProxy>[1])
    await app.ready()
    this.app = app
    return app
  }

  private startCall (request: FastifyRequest, reply: FastifyReply): void {
    reply.hijack()
    const exchange = this.begin(request.raw, reply.raw)
    startPassthrough(exchange)
  }

  private begin (request: IncomingMessage, response: ServerResponse): Exchange {
    const snapshot = this.options.snapshot()
    const target = routeTargetOf(request, snapshot)
    const { services } = this.options
    return startExchange({ request, response, services, snapshot, transport: new PassthroughTransport(request), target })
  }

  private failed (error: Error & { readonly statusCode?: number | undefined }, request: FastifyRequest, reply: FastifyReply): void {
    reply.hijack()
    const exchange = this.begin(request.raw, reply.raw)
    describePassthrough(exchange)
    this.options.services.log.info({ err: error, agent: exchange.agentName }, 'a passthrough request was rejected')
    reject(exchange, { reason: 'BAD_REQUEST_HEADER', message: 'The request cannot be forwarded.', rule: 'gateway/passthrough' },
      'rejected',
      error.statusCode ?? 400
    )
  }
}

/** Carries the body as it arrives: no further than `limits.body`. */
class PassthroughTransport implements Transport {
  readonly front = 'http'
  readonly #request: IncomingMessage

  constructor (request: IncomingMessage) {
    this.#request = request
  }

  send (): never {
    throw new Error('no rule reads a request of passthrough')
  }

  unfit ({ request, snapshot: { limits } }: Exchange): ReturnType<Transport['unfit']> {
    const tooLong = Number(request.headers['content-length'] ?? 0) > limits.body
    return tooLong ? { rejection: rejections.tooLarge(limits.body), outcome: 'rejected' } : null
  }

  forwardUninspected (exchange: Exchange, { agent }: UninspectedRequest): Forwarding {
    const request = this.#request
    const { target: { path, query }, snapshot: { limits, trusted } } = exchange
    const length = request.headers['content-length']
    const headers = headersForAgent(exchange, agent, upstreamHeaders(request, {
      peer: request.socket.remoteAddress,
      config: agent.config.upstream,
      trusted,
      trace: exchange.span.outgoing(),
      negotiated: null,
      forbidden: unreadForbidden(exchange, agent)
    }))
    const body = bodyOf(request, limits.body, guarded(exchange, () => {
      exchange.forwarding?.abort()
      reject(exchange, rejections.tooLarge(limits.body), 'rejected')
    }))
    if (body !== null && length !== undefined) headers.push('content-length', length)
    const upstreamPath = joinPath(agent.upstreamBase, path)
    startUpstreamSpan(exchange, agent, upstreamPath, null)
    return forward({
      dispatcher: agent.pools.main,
      queue: agent.pools.queue,
      total: totalOf(exchange, agent.config.upstream.timeouts.total),
      method: request.method ?? 'GET',
      path: upstreamPath + queryForAgent(exchange, agent, query),
      headers,
      body
    }, new AgentResponse(exchange, FORWARD_ANY_PAGE))
  }
}

/**
 * Creates a separate stream for the body. Undici destroys the body of a call that fails; destroying the request's own stream would close
 * the connection.
 */
function bodyOf (request: IncomingMessage, limit: number, exceeded: () => void): Transform | null {
  const { headers } = request
  if (headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0') return null
  const body = new Limited(limit, () => {
    request.unpipe(body)
    exceeded()
  })
  return request.pipe(body)
}

class Limited extends Transform {
  private left: number
  private readonly exceeded: () => void

  constructor (limit: number, exceeded: () => void) {
    super()
    this.left = limit
    this.exceeded = exceeded
    // The code that destroys the stream has already informed the exchange.
    ignoreErrors(this)
  }

  override _transform (chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.left -= chunk.length
    if (this.left >= 0) done(null, chunk)
    else this.exceeded()
  }
}

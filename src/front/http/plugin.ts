/**
 * The HTTP front as an encapsulated Fastify plugin, with one wildcard route per path. `serve` registers the plugin in an app of its own,
 * `a2aGateway` of the package in the app of somebody else.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { endOwner, ownerOf, run } from '#guard.js'
import type { Rejection } from '#a2a/errors.js'
import type { Snapshot } from '#agents/snapshot.js'
import type { Directory } from './directory/directory.js'
import type { Services } from '#call/services.js'
import type { Exchange } from '#call/exchange.js'
import { startExchange } from '#call/record.js'
import { start } from '#call/run.js'
import { STEPS } from '#call/steps.js'
import type { RouteTarget } from '#call/route-target.js'
import { routeTargetOf } from '#call/route-target.js'
import { keepAppHeaders } from '#call/app-headers.js'
import { Passthrough } from './passthrough.js'
import { asksForCatalog, PublishedCatalog } from '#call/well-known/catalog.js'
import { asksForMetadata, serveMetadata } from '#call/well-known/resource-metadata.js'
import { asksForKeys, serveKeys } from '#call/well-known/jwks.js'
import { fail } from '#call/reply.js'
import { startUpstreamSpan } from '#call/telemetry/request-telemetry.js'
import { FORWARD_UNCHANGED } from '#pipeline/response/driver.js'
import { upstreamHeaders } from '#pipeline/upstream-headers.js'
import { forward } from '#upstream/forward.js'
import { AgentResponse } from './agent-response.js'
import { headersForAgent, queryForAgent, totalOf } from '#call/outgoing-credentials.js'
import type { Transport } from '#call/work.js'
import { unreadForbidden } from '#call/steps/unread.js'

export interface FrontOptions {
  readonly services: Services
  /** Called once per request. A configuration change replaces the whole snapshot. */
  readonly snapshot: () => Snapshot
  /** True when the configuration at the start has a `passthrough` list. */
  readonly passthrough: boolean
  /** Path of the directory of agents (`server.console.public`); null for none. */
  readonly directory: string | null
}

/** Handles requests that Fastify has routed. */
export class HttpFront {
  private readonly options: FrontOptions
  private readonly passthrough: Passthrough
  readonly directory: Directory | null
  private readonly catalog = new PublishedCatalog()

  private constructor (options: FrontOptions, passthrough: Passthrough, directory: Directory | null) {
    this.options = options
    this.passthrough = passthrough
    this.directory = directory
  }

  static async create (options: FrontOptions): Promise<HttpFront> {
    const directory = options.directory === null ? null : new (await import('./directory/directory.js')).Directory(options.directory)
    return new HttpFront(options, await Passthrough.create(options), directory)
  }

  close (): Promise<void> {
    return this.passthrough.close()
  }

  /** True when the request's host and path belong to an agent, or when its target cannot be read. */
  serves (request: IncomingMessage): boolean {
    const { agent, rejection } = routeTargetOf(request, this.options.snapshot())
    return agent !== null || rejection !== null
  }

  /** True for a request for the directory, at a path that no agent serves. */
  servesDirectory (request: IncomingMessage): boolean {
    return this.directory?.serves(routeTargetOf(request, this.options.snapshot())) === true
  }

  /** Handles a request for which `servesDirectory` is true. */
  handleDirectory (request: IncomingMessage, response: ServerResponse): void {
    const now = this.options.snapshot()
    const exchange = this.begin(request, response, routeTargetOf(request, now), now)
    run(exchange, () => { this.directory?.respond(exchange, exchange.snapshot) })
  }

  /** @param rejection a finding of the app; the gateway rejects the request in the caller's binding */
  handle (request: IncomingMessage, response: ServerResponse, rejection: Rejection | null = null): void {
    // Nobody else responds: Fastify takes the reply for sent.
    try {
      this.receive(request, response, rejection)
    } catch (error) {
      endOwner(ownerOf('http', () => { response.destroy() }), error)
    }
  }

  private receive (request: IncomingMessage, response: ServerResponse, rejection: Rejection | null): void {
    const now = this.options.snapshot()
    const target = routeTargetOf(request, now)
    const jwks = now.keys !== null && asksForKeys(request, now)
    if (target.kind === 'passthrough' && rejection === null && !jwks && !asksForMetadata(request, now) && !asksForCatalog(request, now)) {
      return this.passthrough.handle(request, response)
    }
    const wholeTarget = rejection === null ? target : { ...target, rejection: target.rejection ?? rejection }
    const exchange = this.begin(request, response, wholeTarget, now)
    try {
      if (exchange.target.rejection === null && now.keys !== null && jwks) serveKeys(exchange, now.keys)
      else if (exchange.target.rejection !== null || !(serveMetadata(exchange) || this.catalog.serve(exchange))) start(exchange, STEPS.http)
    } catch (error) {
      fail(exchange, error)
    }
  }

  private begin (request: IncomingMessage, response: ServerResponse, target: RouteTarget, snapshot: Snapshot): Exchange {
    return startExchange({ request, response, services: this.options.services, snapshot, transport: HTTP, target })
  }
}

/** Every request of `serve`. The app has no hooks and no other routes. */
export async function soleFront (app: FastifyInstance, { front }: { readonly front: HttpFront }): Promise<void> {
  const handler = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack()
    front.handle(request.raw, reply.raw)
  }
  app.all('/*', handler)
  routeDirectory(app, front, handler)
}

/**
 * The route of the directory. Requests to agents pay nothing for a route of its own.
 * @param otherwise handles requests that are not for the directory, because the path belongs to an agent
 */
function routeDirectory (app: FastifyInstance, front: HttpFront, otherwise: (request: FastifyRequest, reply: FastifyReply) => void): void {
  if (front.directory === null) return
  const handler = (request: FastifyRequest, reply: FastifyReply): void => {
    if (!front.servesDirectory(request.raw)) return otherwise(request, reply)
    reply.hijack()
    keepAppHeaders(reply)
    front.handleDirectory(request.raw, reply.raw)
  }
  app.route({ method: ['GET', 'HEAD'], url: front.directory.path, exposeHeadRoute: false, handler })
}

/**
 * Requests below the paths, in an app with its own hooks, error handlers and routes.
 * @param options.paths paths of agents, each with all paths below; '' is every path. A path begins with `/`, has no
 * trailing slash, and has unreserved characters only
 */
export async function sharedFront (
  app: FastifyInstance,
  { front, paths }: { readonly front: HttpFront; readonly paths: readonly string[] }
): Promise<void> {
  const handler = (request: FastifyRequest, reply: FastifyReply): void => {
    // The path can belong to an agent under another host name only.
    if (!front.serves(request.raw)) return reply.callNotFound()
    reply.hijack()
    keepAppHeaders(reply)
    front.handle(request.raw, reply.raw)
  }
  // Fastify leaves the body to the gateway's reader, which is bounded in bytes, time and memory.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => {
    done(null)
  })
  app.setErrorHandler((error: FastifyError, request, reply) => {
    // An error of the app's own hooks: the app's error handler responds.
    if (!MEDIA_TYPE_ERRORS.has(error.code)) throw error
    reply.hijack()
    keepAppHeaders(reply)
    front.handle(request.raw, reply.raw, UNREADABLE_MEDIA_TYPE)
  })
  for (const path of paths) {
    if (path !== '') app.all(path, handler)
    app.all(`${path}/*`, handler)
  }
  routeDirectory(app, front, handler)
}

/** Fastify rejects these requests before it runs the hooks `preValidation` and `preHandler`, so the gateway must not forward them. */
const MEDIA_TYPE_ERRORS: ReadonlySet<string> = new Set([
  'FST_ERR_CTP_INVALID_MEDIA_TYPE',
  'FST_ERR_ROUTE_MISSING_CONTENT_TYPE',
  'FST_ERR_CTP_EMPTY_TYPE'
])
const UNREADABLE_MEDIA_TYPE: Rejection = {
  reason: 'CONTENT_TYPE_NOT_SUPPORTED',
  message: 'The Content-Type is not a media type; send application/json.',
  rule: 'gateway/content-type'
}

/* Sends requests that arrived over HTTP to their agents. */

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

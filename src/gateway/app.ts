/** The main listener. Fastify routes; what a request means is decided in handler.ts. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import fastify, { LogController } from 'fastify'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Services } from './exchange.js'
import { Exchange } from './exchange.js'
import type { Snapshot } from './fleet.js'
import { handle } from './handler.js'
import { mountPassthrough } from './passthrough.js'
import { surfaceOf } from './surface.js'

export interface AppOptions {
  readonly services: Services
  /** Asked per request: swapped whole when the configuration changes. */
  readonly snapshot: () => Snapshot
  readonly log: FastifyBaseLogger
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** A net under the body reader's own timer, for what it does not read: idle header senders and passthrough uploads. ms. */
const NET = 5_000

/** The listener's own timeouts when the limit changes. Node applies them to requests under way: they get the time they began with. */
export class RequestTimeouts {
  private readonly server: Server
  private lowering: NodeJS.Timeout | null = null

  constructor (server: Server) {
    this.server = server
  }

  set (limit: number): void {
    if (this.lowering !== null) clearTimeout(this.lowering)
    const wait = limit < this.server.headersTimeout ? this.server.requestTimeout : 0
    if (wait === 0) this.apply(limit)
    else this.lowering = setTimeout(() => { this.apply(limit) }, wait).unref()
  }

  private apply (limit: number): void {
    this.server.requestTimeout = limit + NET
    this.server.headersTimeout = limit
  }
}

/** Node's own property: the response that has the connection now. */
type Busy = Socket & { readonly _httpMessage?: ServerResponse | null }

/** What is not HTTP gets its 400, unless an answer is owed to an earlier request: nobody may take the one for the other. */
function notHttp (_error: Error, socket: Busy): void {
  const owed = socket._httpMessage ?? null
  if (!socket.writable || (owed !== null && (owed.headersSent || owed.req.complete))) socket.destroy()
  else socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
}

export async function buildApp (options: AppOptions): Promise<FastifyInstance> {
  const { services, snapshot, log } = options
  const { limits } = snapshot()

  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const exchange = new Exchange(request, response, services)
    const current = snapshot()
    try {
      handle(exchange, surfaceOf(request, current.agents), current)
    } catch (error) {
      exchange.failed(error)
    }
  }

  const app: FastifyInstance = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => '',
    exposeHeadRoutes: false,
    // As RequestTimeouts has them later.
    requestTimeout: limits.requestTimeout + NET,
    http: { headersTimeout: limits.requestTimeout, connectionsCheckingInterval: 1_000, maxHeaderSize: 32_768 },
    clientErrorHandler: notHttp,
    forceCloseConnections: true,
    return503OnClosing: false,
    routerOptions: {
      // The guard of surface.ts judges targets; the router only tells the two surfaces apart.
      maxParamLength: 65_536,
      constraints: {
        surface: {
          name: 'surface',
          storage: () => {
            const handlers = new Map<string, unknown>()
            return { get: (key: string) => handlers.get(key) ?? null, set: (key: string, value: unknown) => { handlers.set(key, value) } } as never
          },
          validate: () => true,
          deriveConstraint: request => surfaceOf(request as unknown as IncomingMessage, snapshot().agents).kind
        }
      }
    },
    frameworkErrors: (_error, request, reply) => {
      reply.hijack()
      serve(request.raw as IncomingMessage, reply.raw as ServerResponse)
    }
  })

  // By default Node forgets silently what comes after the 2,000th header, Content-Length too; their size is bounded anyway.
  app.server.maxHeadersCount = 0
  // The exchange begins in the first hook and takes the request over, body and all: later hooks and parsers never run.
  app.addHook('onRequest', (request, reply, done) => {
    if (surfaceOf(request.raw, snapshot().agents).kind === 'passthrough') return done()
    reply.hijack()
    serve(request.raw, reply.raw)
  })
  app.route({ method: METHODS, url: '*', constraints: { surface: 'a2a' }, handler: async () => { throw new Error('unreachable: the onRequest hook takes every A2A request over') } })
  await mountPassthrough(app, { snapshot, services })
  return app
}

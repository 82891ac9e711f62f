/** The main listener. Fastify routes; what a request means is decided in handler.ts. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import fastify, { LogController } from 'fastify'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { clientErrorHandler, countDropped } from './client-errors.js'
import type { Services } from './exchange.js'
import { Exchange } from './exchange.js'
import type { Snapshot } from './fleet.js'
import { handle } from './handler.js'
import { listenerOptions } from './listener.js'
import { mountPassthrough } from './passthrough.js'
import { surfaceOf } from './surface.js'

export interface AppOptions {
  readonly services: Services
  /** Asked per request: swapped whole when the configuration changes. */
  readonly snapshot: () => Snapshot
  readonly log: FastifyBaseLogger
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

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
    ...listenerOptions(limits),
    clientErrorHandler: clientErrorHandler(services),
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

  countDropped(app.server, services.metrics)
  await services.overload.watch(app)
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

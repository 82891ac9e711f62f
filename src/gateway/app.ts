/** The main listener. Fastify routes; what a request means is decided in handler.ts. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import fastify, { LogController } from 'fastify'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Config } from '../config/model.js'
import { TrustedProxies } from '../wire/forwarded.js'
import type { Agents } from './agents.js'
import type { Services } from './exchange.js'
import { Exchange } from './exchange.js'
import { handle } from './handler.js'
import { mountPassthrough } from './passthrough.js'
import * as refusals from './refusals.js'
import { surfaceOf } from './surface.js'

export interface AppOptions {
  readonly config: Pick<Config, 'limits' | 'server'>
  readonly services: Services
  /** Asked per request: agents are swapped whole. */
  readonly agents: () => Agents
  readonly log: FastifyBaseLogger
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export async function buildApp (options: AppOptions): Promise<FastifyInstance> {
  const { config, services, agents, log } = options
  const { limits } = config
  const handlerOptions = { limits, trusted: new TrustedProxies(config.server.trustedProxies) }

  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const exchange = new Exchange(request, response, services)
    try {
      handle(exchange, surfaceOf(request, agents()), handlerOptions)
    } catch (error) {
      services.log.error({ err: error, request_id: exchange.id }, 'a request could not be handled')
      exchange.refuse(refusals.internal, 'gateway_error')
    }
  }

  const app: FastifyInstance = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => '',
    exposeHeadRoutes: false,
    // A net under the body reader's own timer, for what it does not read: idle header senders and passthrough uploads.
    requestTimeout: limits.requestTimeout + 5_000,
    http: { headersTimeout: limits.requestTimeout, connectionsCheckingInterval: 1_000, maxHeaderSize: 32_768 },
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
          deriveConstraint: request => surfaceOf(request as unknown as IncomingMessage, agents()).kind
        }
      }
    },
    frameworkErrors: (_error, request, reply) => {
      reply.hijack()
      serve(request.raw as IncomingMessage, reply.raw as ServerResponse)
    }
  })

  // The exchange begins in the first hook and takes the request over, body and all: later hooks and parsers never run.
  app.addHook('onRequest', (request, reply, done) => {
    if (surfaceOf(request.raw, agents()).kind === 'passthrough') return done()
    reply.hijack()
    serve(request.raw, reply.raw)
  })
  app.route({ method: METHODS, url: '*', constraints: { surface: 'a2a' }, handler: async () => { throw new Error('unreachable: the onRequest hook takes every A2A request over') } })
  await mountPassthrough(app, { agents, services, limits, trusted: handlerOptions.trusted })
  return app
}

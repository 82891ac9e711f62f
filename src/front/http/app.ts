/**
 * The main listener, a Fastify app. The app takes A2A requests directly from Node's server, and handler.ts handles them. Fastify's own
 * router, hooks and replies see only the requests that `passthrough` names.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { fastify, LogController, NO_SCHEMAS } from '../../framework.js'
import { clientErrorHandler, countDropped } from './client-errors.js'
import type { Services } from './exchange.js'
import { Exchange } from './exchange.js'
import type { Snapshot } from '../../gateway/agent-registry.js'
import { handle } from './handler.js'
import { listenerOptions } from './listener.js'
import { mountPassthrough } from './passthrough.js'
import type { RouteTarget } from './route-target.js'
import { routeTargetOf } from './route-target.js'

export interface AppOptions {
  readonly services: Services
  /** Called once per request. A configuration change replaces the whole snapshot. */
  readonly snapshot: () => Snapshot
  readonly log: FastifyBaseLogger
}

export async function buildApp (options: AppOptions): Promise<FastifyInstance> {
  const { services, snapshot, log } = options
  const { limits } = snapshot()

  const handleA2A = (request: IncomingMessage, response: ServerResponse, routeTarget: RouteTarget): void => {
    const exchange = new Exchange(request, response, services)
    try {
      handle(exchange, routeTarget, snapshot())
    } catch (error) {
      exchange.failed(error)
    }
  }

  const app: FastifyInstance = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    schemaController: NO_SCHEMAS,
    genReqId: () => '',
    exposeHeadRoutes: false,
    clientErrorHandler: clientErrorHandler(services),
    forceCloseConnections: true,
    return503OnClosing: false,
    routerOptions: { maxParamLength: 65_536 },
    // An exchange uses none of Fastify's routing, hooks and replies (measured at 400 B, with no evaluation: 163 us of CPU per call with
    // them, 149 without).
    serverFactory: (passthrough: RequestListener) => {
      return createServer(listenerOptions(limits), (request, response) => {
        const routeTarget = routeTargetOf(request, snapshot().agents)
        if (routeTarget.kind === 'passthrough') passthrough(request, response as Parameters<RequestListener>[1])
        else handleA2A(request, response, routeTarget)
      })
    },
    frameworkErrors: (_error, request, reply) => {
      reply.hijack()
      const raw = request.raw as IncomingMessage
      handleA2A(raw, reply.raw as ServerResponse, routeTargetOf(raw, snapshot().agents))
    }
  })

  countDropped(app.server, services.metrics)
  await services.overload.watch(app)
  await mountPassthrough(app, { snapshot, services })
  return app
}

/** The main listener of `serve`, plain or TLS: a Fastify app with the gateway's plugin and nothing else. */
import { createServer, METHODS } from 'node:http'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { FastifyInstance } from 'fastify'
import { fastify, LogController, NO_SCHEMAS } from '#framework.js'
import { clientErrorHandler, countDropped, handshakeFailed } from '../listener/client-errors.js'
import { listenerOptions } from '../listener/http-listener.js'
import { requireCertificates, tlsOptions } from '../listener/listener-tls.js'
import type { FrontOptions } from './plugin.js'
import { HttpFront, soleFront } from './plugin.js'
import type { ListenerTlsConfig } from '#config/model/model.js'

/**
 * @param tls TLS of the listener; null: plain HTTP
 * @throws Error with a readable message when a file of `tls` cannot be used
 */
export async function buildApp (options: FrontOptions, tls: ListenerTlsConfig | null): Promise<FastifyInstance> {
  const { services, snapshot } = options
  const { limits } = snapshot()
  const front = await HttpFront.create(options)

  const app: FastifyInstance = fastify({
    // Without a logger, Fastify creates no child logger and no listeners per request. The gateway logs requests itself.
    logController: new LogController({ disableRequestLogging: true }),
    schemaController: NO_SCHEMAS,
    genReqId: () => '',
    exposeHeadRoutes: false,
    clientErrorHandler: clientErrorHandler(services),
    forceCloseConnections: true,
    return503OnClosing: false,
    routerOptions: { maxParamLength: 65_536 },
    serverFactory: (listener: RequestListener): Server => {
      const routed: RequestListener = (request, response) => {
        // Fastify has no route for a target that is not a path, such as `*`. The gateway rejects such a target.
        if (request.url?.startsWith('/') === true) listener(request, response)
        else front.handle(request, response)
      }
      if (tls === null) return createServer(listenerOptions(limits), routed)
      const server = createTlsServer({ ...listenerOptions(limits), ...tlsOptions(tls, limits.headersTimeout) }, routed)
      requireCertificates(server, tls.clientCertificate, (reason, client) => { handshakeFailed(services, reason, client) })
      return server
    },
    // Fastify's router cannot read every path, such as `/%zz`. The gateway rejects such a path in the caller's binding.
    frameworkErrors: (_error, request, reply) => {
      reply.hijack()
      front.handle(request.raw as IncomingMessage, reply.raw as ServerResponse)
    }
  })

  // Every method that Node parses reaches the gateway, which rejects the request in the caller's binding. With `hasBody: false`, Fastify
  // reads no body: the gateway's reader is bounded in bytes, time and memory.
  for (const method of METHODS) if (method !== 'CONNECT') app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  countDropped(app.server, services.metrics)
  // One route for all paths: a reload adds agents, and Fastify adds no routes after its start.
  await app.register(soleFront, { front })
  app.addHook('onClose', () => front.close())
  return app
}

/** `a2aGatewayAdmin`: probes, metrics, `/agents` and the console of an application's gateway, as routes of the application. */
import { AdminAccess } from '../admin/access.js'
import type { MainAddress } from '#console/source.js'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { OperatorError } from '#operator-errors.js'
import { adminNames } from '../admin/host-guard.js'
import { adminRoutes } from '../admin/server.js'
import { consoleSource, local } from '../console.js'
import { adminStateOf } from '../start.js'
import { addressOf, isTls, runtimeIn } from './gateway.js'

export interface A2aGatewayAdminOptions {
  /** Serves only probes and metrics. Default: false. */
  readonly probesOnly?: boolean
}

/**
 * A Fastify plugin, encapsulated. Register it after `a2aGateway`, behind hooks that authenticate operators, with any `prefix`.
 * @throws {A2aGatewayError} when the application has no gateway
 */
export async function a2aGatewayAdmin (app: FastifyInstance, { probesOnly = false }: A2aGatewayAdminOptions): Promise<void> {
  const runtime = runtimeIn(app)
  if (runtime === null) {
    throw new OperatorError(
      'A2AGW_ERR_PLUGIN_APPLICATION', 'a2aGatewayAdmin: the application has no gateway; register a2aGateway first'
    )
  }
  const { registry, services: { metrics, inFlight } } = runtime
  const state = adminStateOf(registry, inFlight)
  const main = (): MainAddress | null => {
    const at = isTls(app) ? null : addressOf(app)
    return at === null ? null : { host: local(at.host), port: at.port, tls: false }
  }
  const source = runtime.console === null ? null : consoleSource(runtime.console, { state, registry, metrics, main })
  await app.register(adminRoutes, {
    state,
    metrics,
    log: app.log as FastifyBaseLogger,
    console: source,
    names: adminNames(registry.config.server),
    access: new AdminAccess(registry),
    probesOnly
  })
}

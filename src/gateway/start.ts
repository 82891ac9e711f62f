/** A whole gateway: both listeners, agents, telemetry, and its graceful end. */
import type { AddressInfo } from 'node:net'
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { AdminState } from '../admin/server.js'
import { buildAdmin } from '../admin/server.js'
import { loadCatalogue } from '../config/load.js'
import type { Config, HostPort } from '../config/model.js'
import { packageVersion } from '../config/paths.js'
import { inlineSchemaProblems } from '../policy/inline-schemas.js'
import { createAudit } from '../telemetry/audit.js'
import { createLogger } from '../telemetry/logging.js'
import { Metrics } from '../telemetry/metrics.js'
import { createTracing } from '../telemetry/tracing.js'
import { Agent } from './agent.js'
import { Agents } from './agents.js'
import { buildApp } from './app.js'
import { LiveExchanges } from './exchange.js'
import type { Services } from './exchange.js'

/** How long a start waits for the agents' cards, so that the first calls need not be turned away. */
const FIRST_CARDS_MS = 1_000

export interface StartOptions {
  readonly env?: NodeJS.ProcessEnv
  /** Where log lines go; default stdout. */
  readonly logs?: Writable
  /** Where audit lines go; default stdout. */
  readonly audit?: Writable
  /** Node's process metrics; off in tests that start many gateways. Default true. */
  readonly processMetrics?: boolean
}

export interface Gateway {
  /** Of the main listener, without trailing slash. */
  readonly url: string
  readonly adminUrl: string
  /** Stops accepting, lets calls and streams finish for `server.drainTimeout`, ends what is left. */
  close (): Promise<void>
}

/** @throws Error in plain words when it cannot start: an address that is taken, a policy's schema that does not compile */
export async function startGateway (config: Config, options: StartOptions = {}): Promise<Gateway> {
  const problems = inlineSchemaProblems(config.extensions)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  const log = createLogger(config.telemetry.logs, options.logs)
  const tracing = await createTracing({ enabled: config.telemetry.traces.enabled, version: packageVersion(), env: options.env ?? process.env, log })
  const metrics = new Metrics({ process: options.processMetrics ?? true })
  const live = new LiveExchanges()
  const audit = createAudit({ enabled: config.telemetry.audit.enabled, stream: options.audit ?? process.stdout })
  const services: Services = { metrics, tracing, audit, log, live }
  metrics.configInfo(config.hash)

  let agents = new Agents([])
  // Fastify's own lines below a warning say nothing that ours do not.
  const frameworkLog = log.child({}, { level: config.telemetry.logs.level === 'silent' ? 'silent' : 'warn' }) as unknown as FastifyBaseLogger
  const app = await buildApp({ config, services, agents: () => agents, log: frameworkLog })
  const admin = buildAdmin({ state: stateOf(() => agents, live), metrics, log: frameworkLog })

  try {
    const url = await listen(app, config.server.listen)
    const publicUrl = config.server.publicUrl ?? url
    const policies = { ...loadCatalogue(), ...config.extensions }
    agents = new Agents(config.agents.map(agent => new Agent({ config: agent, limits: config.limits, policies, metrics, log, publicUrl })))
    const adminUrl = await listen(admin, config.server.admin)
    await Promise.race([Promise.all(agents.all.map(agent => agent.start())), sleep(FIRST_CARDS_MS, undefined, { ref: false })])
    log.info({ url, publicUrl, admin: adminUrl, agents: agents.all.map(agent => agent.name), version: packageVersion() }, 'listening')
    let closing: Promise<void> | null = null
    const stop = async (): Promise<void> => {
      await drain(app, live, config.server.drainTimeout)
      await Promise.all(agents.all.map(agent => agent.close()))
      await admin.close()
      await tracing.shutdown()
      metrics.close()
      log.info({}, 'stopped')
    }
    const close = (): Promise<void> => {
      closing ??= stop()
      return closing
    }
    return { url, adminUrl, close }
  } catch (error) {
    await Promise.allSettled([app.close(), admin.close(), ...agents.all.map(agent => agent.close())])
    await tracing.shutdown()
    metrics.close()
    throw error
  }
}

function stateOf (agents: () => Agents, live: LiveExchanges): AdminState {
  return {
    live: () => true,
    ready: () => {
      const reasons = agents().all.filter(agent => !agent.ready).map(agent => `agent ${agent.name}: ${agent.problem}`)
      if (live.draining) reasons.unshift('the gateway is shutting down')
      if (agents().all.length === 0) reasons.unshift('the gateway is starting')
      return { ready: reasons.length === 0, reasons }
    },
    agents: () => agents().all.map(agent => agent.describe())
  }
}

/** A stop that loses nothing it need not lose: idle connections go at once, calls and streams get their time. */
async function drain (app: FastifyInstance, live: LiveExchanges, timeout: number): Promise<void> {
  live.draining = true
  const closed = new Promise<void>(resolve => { app.server.close(() => { resolve() }) })
  app.server.closeIdleConnections()
  if (!await live.settled(timeout)) {
    live.endAll()
    await live.settled(1_000)
  }
  app.server.closeAllConnections()
  await closed
  await app.close()
}

/** @returns the URL to reach the listener by: a wildcard address cannot be dialled everywhere, so it is named localhost */
async function listen (app: FastifyInstance, at: HostPort): Promise<string> {
  await app.listen({ host: at.host, port: at.port })
  const { port } = app.server.address() as AddressInfo
  const host = at.host === '0.0.0.0' || at.host === '::' || at.host === '' ? 'localhost' : at.host.includes(':') ? `[${at.host}]` : at.host
  return `http://${host}:${port}`
}

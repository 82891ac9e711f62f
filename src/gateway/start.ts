/**
 * Starts and stops a whole gateway in one process: both listeners, agents and telemetry. A worker uses only the part of the main listener.
 */
import type { Writable } from 'node:stream'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { AdminState } from '../admin/server.js'
import { listen } from '../admin/listeners.js'
import { AdminListeners } from '../admin/listeners.js'
import type { Config } from '../config/model/model.js'
import { packageVersion } from '../config/paths.js'
import type { ConsolePart } from '../console/process-part.js'
import { consolePart } from '../console/process-part.js'
import { inlineSchemaProblems } from '../policy/compile/inline-schemas.js'
import { createAudit } from '../telemetry/audit.js'
import { createLogger } from '../telemetry/logging.js'
import { Metrics } from '../telemetry/metrics/metrics.js'
import { createTracing } from '../telemetry/traces/tracing.js'
import type { StoreOptions } from '../state/create-store.js'
import { aboutGateway } from './about.js'
import type { Agent } from './agent.js'
import { consoleSource, dialled } from './console.js'
import { buildApp } from '../front/http/app.js'
import type { ReloadReport } from './changes.js'
import type { Services } from '../front/http/exchange.js'
import type { AgentRegistryOptions } from './agent-registry.js'
import { AgentRegistry } from './agent-registry.js'
import { MemoryBudget } from './memory-budget.js'
import { ListenerLimits } from '../front/http/listener.js'
import { InFlight } from './in-flight.js'
import { Overload } from './overload.js'
import { Reloads } from './reload.js'
import { SlowReaders } from '../front/http/slow-readers.js'
import { Tasks } from './tasks.js'

export interface StartOptions {
  readonly env?: NodeJS.ProcessEnv
  /** Destination of log lines; default stdout. */
  readonly logs?: Writable
  /** Destination of audit lines; default stdout. */
  readonly audit?: Writable
  /** Destination of span lines with `OTEL_TRACES_EXPORTER=console`; default stdout. */
  readonly traces?: Writable
  /** Node's process metrics; off in tests that start many gateways. Default true. */
  readonly processMetrics?: boolean
}

export interface Gateway {
  /** URL of the main listener, without trailing slash. */
  readonly url: string
  readonly adminUrl: string
  /** URL of the listener that `server.metrics` defines; null without that setting. */
  readonly metricsUrl: string | null
  /**
   * Puts another configuration in force, all or nothing, without any effect on requests in flight. Logs the changes, and the settings that
   * need a restart. Never rejects.
   * @param warnings warnings about the file, for the log
   */
  reload (config: Config, warnings?: readonly string[]): Promise<ReloadReport>
  /** Reports a configuration that could not be read: logs the problems, counts the failure, and keeps the last good configuration. */
  reject (problems: readonly string[]): ReloadReport
  /** Stops accepting, waits up to `server.drainTimeout` for calls and streams, then ends the rest. */
  close (): Promise<void>
}

/** Everything behind the main listener of one process. */
export interface Serving {
  readonly app: FastifyInstance
  readonly registry: AgentRegistry
  readonly services: Services
  /** Data recorded for the console; null without a console. */
  readonly console: ConsolePart | null
  /** Logger for Fastify's own lines. */
  readonly frameworkLog: FastifyBaseLogger
  /** Applies settings of the process itself, once a configuration is in force. */
  readonly apply: (config: Config) => void
  /** Stops accepting, and waits up to `timeout` ms for exchanges in flight. */
  drain (timeout: number): Promise<void>
  /** Releases everything except the listener. */
  close (): Promise<void>
}

/** Options of a process that is one of several. */
export interface ServingOptions extends StartOptions, Pick<AgentRegistryOptions, 'keeper'>, Pick<StoreOptions, 'memory'> {
  /** Number of the worker, for the log. */
  readonly worker?: number
}

/** @throws Error with a readable message when a policy's schema does not compile, or tracing variables cannot be used */
export async function buildServing (config: Config, options: ServingOptions): Promise<Serving> {
  const problems = inlineSchemaProblems(config)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  const processLog = createLogger(config.telemetry.logs, options.logs)
  const log = options.worker === undefined ? processLog : processLog.child({ worker: options.worker })
  const metrics = new Metrics({ process: options.processMetrics ?? true })
  const tracing = await createTracing({
    enabled: config.telemetry.traces.enabled, version: packageVersion(), env: options.env ?? process.env, log, stream: options.traces, onLost: spans => { metrics.vitals.spansLost(spans) }
  })
  const inFlight = new InFlight()
  const audit = createAudit({ enabled: config.telemetry.audit.enabled, stream: options.audit ?? process.stdout, onLost: () => { metrics.vitals.auditLineLost() } })
  const tasks = new Tasks(config.state, metrics, log, options.memory)
  const overload = new Overload(config.shedding, log)
  const slowReaders = new SlowReaders({ live: inFlight, metrics, log })
  const heldBytes = new MemoryBudget(config.limits.memory)
  metrics.vitals.heldBytes(() => heldBytes.held, () => heldBytes.limit)
  const recorded = consolePart(config.server.console, metrics)
  const services: Services = { metrics, tracing, audit, log, inFlight, tasks, overload, heldBytes, decisions: recorded?.decisions ?? null }

  const frameworkLog = log.child({}, { level: quietened(config.telemetry.logs.level) })
  const registry = new AgentRegistry(config, { metrics, log, inFlight, env: options.env ?? process.env, keeper: options.keeper })
  const app = await buildApp({ services, snapshot: () => registry.snapshot, log: frameworkLog as unknown as FastifyBaseLogger })
  const listener = new ListenerLimits(app.server, config.limits)
  slowReaders.use(config.limits.writeTimeout)
  const apply = ({ limits, shedding, telemetry, state }: Config): void => {
    tasks.use(state)
    listener.set(limits)
    heldBytes.limit = limits.memory
    slowReaders.use(limits.writeTimeout)
    overload.use(shedding)
    log.level = telemetry.logs.level
    frameworkLog.level = quietened(telemetry.logs.level)
  }
  const close = async (): Promise<void> => {
    slowReaders.close()
    recorded?.close()
    await registry.close()
    await tasks.close()
    await tracing.shutdown()
    metrics.close()
  }
  return { app, registry, services, console: recorded, frameworkLog: frameworkLog as unknown as FastifyBaseLogger, apply, drain: timeout => drain(app, inFlight, timeout), close }
}

/** @throws Error with a readable message when the start fails: the address is taken, or a policy's schema does not compile */
export async function startGateway (config: Config, options: StartOptions = {}): Promise<Gateway> {
  const serving = await buildServing(config, options)
  const { app, registry, apply, services: { metrics, log, inFlight } } = serving
  metrics.configInfo(config.hash)
  const state = stateOf(registry, inFlight)
  const source = serving.console === null ? null : consoleSource(serving.console, { state, registry, metrics, main: () => dialled(app, config.server.listen) })
  const admin = new AdminListeners(config, { state, metrics, log: serving.frameworkLog, console: source })

  try {
    const url = await listen(app, config.server.listen)
    const publicUrl = config.server.publicUrl ?? url
    const { adminUrl, metricsUrl } = await admin.listen()
    await registry.start(url)
    log.info({ url, publicUrl, admin: adminUrl, ...metricsUrl === null ? {} : { metrics: metricsUrl }, agents: config.agents.map(agent => agent.name), version: packageVersion() }, 'listening')
    const reloads = new Reloads({ registry, metrics, log, apply })
    let closing: Promise<void> | null = null
    const stop = async (): Promise<void> => {
      await Promise.all([serving.drain(config.server.drainTimeout), reloads.close()])
      await admin.close()
      await serving.close()
      log.info({}, 'stopped')
    }
    const close = (): Promise<void> => {
      closing ??= stop()
      return closing
    }
    return { url, adminUrl, metricsUrl, reload: (next, warnings) => reloads.reload(next, warnings), reject: problems => reloads.reject(problems), close }
  } catch (error) {
    await Promise.allSettled([app.close(), admin.close()])
    await serving.close()
    throw error
  }
}

/** Log level for Fastify. Fastify's own lines below a warning only repeat lines of the gateway. */
export function quietened (level: Config['telemetry']['logs']['level']): string {
  return level === 'silent' ? 'silent' : 'warn'
}

/** @param workers number of processes that serve */
export function stateOf (registry: AgentRegistry, inFlight: Pick<InFlight, 'draining'>, workers = 1): AdminState {
  const agents = (): readonly Agent[] => registry.snapshot.agents.all
  return {
    live: () => true,
    ready: enough => {
      const missing = agents().filter(agent => !agent.ready)
      const reasons = enough === 'any' && missing.length < agents().length ? [] : missing.map(agent => `agent ${agent.name}: ${agent.problem}`)
      if (inFlight.draining) reasons.unshift('the gateway is shutting down')
      if (agents().length === 0) reasons.unshift('the gateway is starting')
      return { ready: reasons.length === 0, reasons }
    },
    agents: () => {
      const gateway = aboutGateway(registry.config.hash, workers)
      return agents().map(agent => ({ ...agent.describe(), gateway }))
    }
  }
}

/** Stops without avoidable loss: closes idle connections at once, and gives calls and streams time to finish. */
async function drain (app: FastifyInstance, inFlight: InFlight, timeout: number): Promise<void> {
  inFlight.draining = true
  const closed = new Promise<void>(resolve => { app.server.close(() => { resolve() }) })
  app.server.closeIdleConnections()
  if (!await inFlight.settled(timeout)) {
    inFlight.endAll()
    await inFlight.settled(1_000)
  }
  app.server.closeAllConnections()
  await closed
  await app.close()
}

/**
 * Starts and stops a whole gateway in one process: both listeners, agents and telemetry. A worker uses only the part of the main listener.
 */
import type { AgentSources, SourcesView } from '#agents/sources/sources.js'
import { countsOf, describeSources } from '#agents/sources/sources.js'
import type { FastifyInstance } from 'fastify'
import { AdminAccess } from './admin/access.js'
import type { AdminState } from './admin/server.js'
import { AdminListeners, listen } from './admin/listeners.js'
import type { Config } from '#config/model/model.js'
import { buildApp } from '#front/http/app.js'
import { GrpcListeners } from '#front/grpc/listeners.js'
import { MeshListener } from '#front/mesh/listener.js'
import { ListenerCertificate } from '#front/listener/listener-tls.js'
import { ListenerLimits } from '#front/listener/http-listener.js'
import type { MainAddress } from '#console/source.js'
import { aboutGateway, logListening } from './about.js'
import type { Agent } from '#agents/agent.js'
import type { AgentRegistry } from '#agents/agent-registry.js'
import { consoleSource, dialled } from './console.js'
import type { InFlight } from '#agents/in-flight.js'
import { Reloads } from './reload.js'
import type { Runtime, RuntimeOptions, StartOptions } from './runtime.js'
import { buildRuntime, hasPassthrough } from './runtime.js'
import type { Log } from '#telemetry/log.js'
import { ENTRY_STATES } from '#telemetry/metrics/label-values.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'
import { WarmUp } from './warm-up/warm-up.js'
import type { Gateway } from './about.js'

/** A runtime with its main listener. */
export interface Serving extends Runtime {
  readonly app: FastifyInstance
  readonly grpc: GrpcListeners
  /** Null without `server.mesh`. */
  readonly mesh: MeshListener | null
  /** Stops accepting, and waits up to `timeout` ms for exchanges in flight. */
  drain (timeout: number): Promise<void>
}

/** @throws Error with a readable message when a policy's schema does not compile, or tracing variables cannot be used */
export async function buildServing (config: Config, options: RuntimeOptions): Promise<Serving> {
  const runtime = await buildRuntime(config, options)
  const { registry, services } = runtime
  const { tls, console: { public: directory } } = config.server
  const app = await buildApp({ services, snapshot: () => registry.snapshot, passthrough: hasPassthrough(config), directory }, tls)
  const listener = new ListenerLimits(app.server, config.limits)
  const certificate = new ListenerCertificate(app.server, services.log)
  certificate.use(config.server.tls)
  const grpc = new GrpcListeners(config, {
    services,
    snapshot: () => registry.snapshot,
    // Without a main listener, `server.publicUrl` is required.
    main: () => ({ scheme: config.server.tls === null ? 'http' : 'https', port: dialled(app, config.server)?.port ?? 0 })
  })
  const mesh = MeshListener.of(config, { services, snapshot: () => registry.snapshot })
  const apply = (config: Config): void => {
    listener.set(config.limits)
    certificate.use(config.server.tls)
    grpc.use(config)
    mesh?.use(config)
    runtime.apply(config)
  }
  return { ...runtime, app, grpc, mesh, apply, drain: timeout => drain({ app, grpc, mesh }, services.inFlight, timeout) }
}

/** @throws Error with a readable message when the start fails: the address is taken, or a policy's schema does not compile */
export async function startGateway (config: Config, options: StartOptions = {}): Promise<Gateway> {
  const serving = await buildServing(config, options)
  const { app, registry, apply, services: { metrics, log, inFlight } } = serving
  metrics.read('config_info', () => [[config.hash, 1]])
  const warmUp = options.warmUp === true ? new WarmUp(registry, log) : null
  const warming = (): boolean => warmUp?.pending === true
  if (serving.mesh !== null) serving.mesh.warming = warming
  const sources = options.sources ?? null
  showSources(sources, metrics, log)
  const state = adminStateOf(registry, inFlight, { warming, sources })
  const main = (): MainAddress | null => {
    const at = dialled(app, config.server)
    return at === null ? null : { ...at, tls: config.server.tls !== null }
  }
  const source =
    serving.console === null
      ? null
      : consoleSource(serving.console, { state, registry, metrics, main })
  const access = new AdminAccess(registry)
  const admin = new AdminListeners(config, { state, metrics, log: serving.frameworkLog, console: source, access })

  try {
    const { listen: at, tls } = config.server
    const url = at === null ? '' : await listen(app, at, tls === null ? 'http' : 'https')
    await serving.grpc.listen()
    await serving.mesh?.listen()
    const { adminUrl, metricsUrl } = await admin.listen()
    await registry.start()
    const addresses = { url, adminUrl, metricsUrl, grpc: serving.grpc.addresses, mesh: serving.mesh?.address ?? null }
    logListening(log, config, addresses)
    warmUp?.run()
    const reloads = new Reloads({ registry, metrics, log, apply })
    let closing: Promise<void> | null = null
    const stop = async (): Promise<void> => {
      warmUp?.close()
      await Promise.all([serving.drain(config.server.drainTimeout), reloads.close()])
      await admin.close()
      await serving.close()
      log.info({}, 'stopped')
      await serving.logsSent()
    }
    const close = (): Promise<void> => {
      closing ??= stop()
      return closing
    }
    return {
      ...addresses,
      reload: (next, warnings) => reloads.reload(next, warnings),
      reject: problems => reloads.reject(problems),
      close
    }
  } catch (error) {
    serving.grpc.close()
    serving.mesh?.close()
    await Promise.allSettled([app.close(), admin.close()])
    await serving.close()
    await serving.logsSent()
    throw error
  }
}

interface StateOptions {
  /** Number of processes that serve. Default 1. */
  readonly workers?: number
  /** True while this process warms up. */
  readonly warming?: () => boolean
  /** Sources of agents; default: none. */
  readonly sources?: SourcesView | null
}

/** Shows the sources of agents in metrics and log. */
export function showSources (sources: AgentSources | null, metrics: Metrics, log: Log): void {
  if (sources === null) return
  metrics.read('agent_sources', () => sources.reports().flatMap(report => {
    const counts = countsOf(report)
    return ENTRY_STATES.map(state => [report.name, state, counts[state]] as const)
  }))
  metrics.read('agent_source_age_seconds', () =>
    sources.reports().map(({ name, readAt }) => [name, readAt === null ? null : (Date.now() - readAt) / 1_000]))
  metrics.read('agent_source_readable', () => sources.reports().map(({ name, problem }) => [name, problem === null ? 1 : 0]))
  sources.logTo(log)
}

export function adminStateOf (
  registry: AgentRegistry,
  inFlight: Pick<InFlight, 'draining'>,
  { workers = 1, warming = () => false, sources = null }: StateOptions = {}
): AdminState {
  const agents = (): readonly Agent[] => registry.snapshot.agents.all
  return {
    live: () => true,
    ready: enough => {
      const missing = agents().filter(agent => !agent.ready)
      const reasons =
        enough === 'any' && missing.length < agents().length ? [] : missing.map(agent => `agent ${agent.name}: ${agent.problem}`)
      reasons.push(...(registry.snapshot.identity?.problems ?? []))
      if (inFlight.draining) reasons.unshift('the gateway is shutting down')
      // A source may have no agent; its first reading has ended before the gateway starts.
      if (agents().length === 0 && registry.config.agentSources.length === 0) reasons.unshift('the gateway is starting')
      if (warming()) reasons.push('the gateway is warming up')
      return { ready: reasons.length === 0, reasons }
    },
    agents: () => {
      const gateway = aboutGateway(registry.config.hash, workers)
      return agents().map(agent => ({ ...agent.describe(), gateway }))
    },
    sources: () => describeSources(sources)
  }
}

/** Stops without avoidable loss: closes idle connections at once, and gives calls and streams time to finish. */
async function drain ({ app, grpc, mesh }: Pick<Serving, 'app' | 'grpc' | 'mesh'>, inFlight: InFlight, timeout: number): Promise<void> {
  const drained = inFlight.drain(timeout)
  const closed = new Promise<void>(resolve => { app.server.close(() => { resolve() }) })
  app.server.closeIdleConnections()
  grpc.drain()
  mesh?.drain()
  await drained
  grpc.close()
  await mesh?.settled()
  mesh?.close()
  app.server.closeAllConnections()
  await closed
  await app.close()
}

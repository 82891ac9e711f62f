/**
 * A gateway of several processes: the primary reads configuration and cards and has the admin listener; workers serve the main listener.
 */
import { AdminAccess } from '../admin/access.js'
import type { AgentSources } from '#agents/sources/sources.js'
import { describeSources } from '#agents/sources/sources.js'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import type { FastifyBaseLogger } from 'fastify'
import type { Logger } from 'pino'
import { AdminListeners, urlOf } from '../admin/listeners.js'
import type { AdminState } from '../admin/server.js'
import type { Config, HostPort } from '#config/model/model.js'
import { packageVersion } from '#config/paths.js'
import type { Agent } from '#agents/agent.js'
import { grpcAddresses } from '#front/grpc/listeners.js'
import { meshAddress } from '#front/mesh/listener.js'
import { local } from '../console.js'
import { AgentRegistry } from '#agents/agent-registry.js'
import { digestKey } from '#agents/identity/identity.js'
import { InFlight } from '#agents/in-flight.js'
import { logListening } from '../about.js'
import { Reloads } from '../reload.js'
import type { Gateway } from '../start.js'
import { quietened } from '../runtime.js'
import { showSources, stateOf } from '../start.js'
import { inlineSchemaProblems } from '#policy/compile/inline-schemas.js'
import type { Log } from '#telemetry/log.js'
import { createLogger } from '#telemetry/logging.js'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { ExportedLines, exportMetrics } from '#telemetry/otlp/exports.js'
import { mergeDescriptions } from './agents.js'
import { consoleOfWorkers } from './console.js'
import { CardHandouts } from './cards.js'
import { ConfigurationChanges } from './configuration-changes.js'
import type { WorkerPoolOptions } from './worker-pool.js'
import { WorkerPool } from './worker-pool.js'
import { HandedAgents } from './handed.js'
import type { AgentDescription } from './messages.js'
import { KeptLimits } from './limits.js'
import { KeptTasks } from './tasks.js'
import { Totals } from './totals.js'

/**
 * Starts the primary and its workers.
 * @param size number of processes that serve, at least 2
 * @throws Error with a readable message when the cluster cannot start, as `startGateway` does
 */
export async function startCluster (
  config: Config,
  size: number,
  env: NodeJS.ProcessEnv,
  sources: AgentSources | null = null
): Promise<Gateway> {
  const problems = inlineSchemaProblems(config)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  digestKey()
  const telemetry = await startTelemetry(config, env)
  const { listen } = config.server
  const at: HostPort | null = listen === null ? null : { host: listen.host, port: await freePort(listen) }
  const parts = { ...partsOf(config, { size, env, telemetry, at }), sources }
  showSources(sources, telemetry.metrics, telemetry.log)
  const { registry, workers } = parts
  const reloads = reloadsOf(parts)
  const admin = adminOf(config, parts)
  try {
    const { adminUrl, metricsUrl } = await admin.listen()
    await registry.start()
    await workers.start()
    const addresses = {
      url: at === null ? '' : urlOf(at, config.server.tls === null ? 'http' : 'https'),
      adminUrl,
      metricsUrl,
      grpc: grpcAddresses(config),
      mesh: meshAddress(config)
    }
    const { log } = telemetry
    logListening(log, config, addresses, size)
    const exported = await exportMetrics({ env, log, version: packageVersion(), read: () => parts.totals.snapshot() })
    let closing: Promise<void> | null = null
    const close = (): Promise<void> => {
      closing ??= stop(config, parts, { reloads, admin, exported })
      return closing
    }
    return {
      ...addresses,
      reload: (next, warnings) => reloads.reload(next, warnings),
      reject: found => reloads.reject(found),
      close
    }
  } catch (error) {
    await Promise.allSettled([admin.close(), registry.close()])
    telemetry.metrics.close()
    await telemetry.logsSent()
    throw error
  }
}

/** What the primary consists of, apart from its listener. */
interface ClusterParts {
  readonly telemetry: PrimaryTelemetry
  readonly tasks: KeptTasks
  readonly registry: AgentRegistry
  readonly inFlight: InFlight
  readonly workers: WorkerPool
  readonly changes: ConfigurationChanges
  readonly totals: Totals
  readonly handedAgents: HandedAgents
  readonly size: number
  /** Address of the main listener of all workers; null without one. */
  readonly at: HostPort | null
  /** Sources of agents; the primary reads them for all workers. */
  readonly sources?: AgentSources | null
}

type Start = Pick<ClusterParts, 'size' | 'telemetry' | 'at'> & { readonly env: NodeJS.ProcessEnv }

/** Connects the parts: the registry hands cards out to workers, and workers ask for cards, tasks, limits and the configuration. */
function partsOf (config: Config, { size, env, telemetry, at }: Start): ClusterParts {
  const { log, metrics } = telemetry
  const tasks = new KeptTasks(config.state)
  metrics.tasksRemembered(() => tasks.remembered)
  const inFlight = new InFlight()
  const registry = new AgentRegistry(config, { metrics, log, inFlight, env, onCard: agent => { handOut(agent) } })
  const changes: ConfigurationChanges = new ConfigurationChanges({
    registry,
    workers: () => workers.all,
    port: at?.port ?? 0,
    onCommit: cards => { handouts.forgetAllBut(cards) }
  })
  const workers: WorkerPool = new WorkerPool({
    size,
    log,
    env,
    first: () => changes.current(),
    ...stateForWorkers(tasks, new KeptLimits(), log),
    onWanted: name => { registry.snapshot.agents.all.find(agent => agent.name === name)?.wantCard() },
    onEnd: worker => { totals.ended(worker) }
  })
  const totals = new Totals(metrics, workers.all)
  metrics.workers(() => workers.serving, () => workers.replaced)
  const handouts = new CardHandouts(message => { workers.broadcast(message) })
  const handedAgents = new HandedAgents(() => workers.all)
  const handOut = (agent: Agent): void => {
    handedAgents.handedOut(agent.name, agent.state !== null)
    handouts.handOut(agent)
  }
  return { telemetry, tasks, registry, inFlight, workers, changes, totals, handedAgents, size, at }
}

function reloadsOf ({ registry, telemetry, tasks, changes }: ClusterParts): Reloads {
  return new Reloads({
    registry,
    metrics: telemetry.metrics,
    log: telemetry.log,
    apply: ({ telemetry: { logs }, state }) => {
      tasks.use(state)
      telemetry.useLevel(logs.level)
    },
    prepare: wanted => changes.prepare(wanted)
  })
}

function adminOf (config: Config, parts: ClusterParts): AdminListeners {
  const { registry, workers, totals, at, telemetry } = parts
  const state = stateOfCluster(parts)
  const main = at === null ? null : { host: local(at.host), port: at.port, tls: config.server.tls !== null }
  return new AdminListeners(config, {
    state,
    metrics: totals,
    log: telemetry.frameworkLog as unknown as FastifyBaseLogger,
    console: config.server.console.enabled
      ? consoleOfWorkers({ workers, registry, totals, ready: () => state.ready('all'), agents: state.agents, main })
      : null,
    access: new AdminAccess(registry)
  })
}

interface Running {
  readonly reloads: Reloads
  readonly admin: AdminListeners
  /** Null where metrics are not exported. */
  readonly exported: Awaited<ReturnType<typeof exportMetrics>>
}

/** Stops workers first, so that the primary has their last metrics and lines. */
async function stop (config: Config, { inFlight, workers, registry, telemetry }: ClusterParts, running: Running): Promise<void> {
  inFlight.draining = true
  await Promise.all([workers.close(config.server.drainTimeout), running.reloads.close()])
  await running.admin.close()
  await running.exported?.shutdown()
  await registry.close()
  telemetry.metrics.close()
  telemetry.log.info({}, 'stopped')
  await telemetry.logsSent()
}

interface PrimaryTelemetry {
  readonly log: Logger
  /** Logger for Fastify's own lines. */
  readonly frameworkLog: Logger
  readonly metrics: Metrics
  readonly useLevel: (level: Config['telemetry']['logs']['level']) => void
  /** Sends the last lines of the log to a collector, if there is one. */
  readonly logsSent: () => Promise<void>
}

async function startTelemetry (config: Config, env: NodeJS.ProcessEnv): Promise<PrimaryTelemetry> {
  const { logs, metrics: { exemplars } } = config.telemetry
  const lines = new ExportedLines()
  const metrics = new Metrics({ serves: false })
  const log = createLogger(logs, undefined, lines.add, () => { metrics.vitals.logLineLost() })
  const frameworkLog = log.child({}, { level: quietened(logs.level) })
  metrics.exemplars = exemplars
  metrics.configInfo(config.hash)
  await lines.connect({ env, log, version: packageVersion(), onLost: records => { metrics.vitals.logRecordsLost(records) } })
  const useLevel: PrimaryTelemetry['useLevel'] = level => {
    log.level = level
    frameworkLog.level = quietened(level)
  }
  return { log, frameworkLog, metrics, useLevel, logsSent: () => lines.shutdown() }
}

/** Responds to workers about tasks and limits, which the primary keeps for all of them. */
function stateForWorkers (tasks: KeptTasks, limits: KeptLimits, log: Log): Pick<WorkerPoolOptions, 'onTask' | 'onLimit'> {
  return {
    onTask: (worker, message) => {
      tasks.response(message).then(
        found => {
          worker.send({ kind: 'task', id: message.id, found })
        },
        (error: unknown) => {
          log.error({ err: error }, 'the state of a task could not be read')
        }
      )
    },
    onLimit: (worker, message) => {
      const taken = limits.response(message)
      if (taken !== null) worker.send({ kind: 'limit', id: message.id, taken })
    }
  }
}

/** State of all processes, for probes, `/agents` and the console. */
function stateOfCluster (parts: ClusterParts): AdminState & { agents (): Promise<unknown> } {
  const { registry, inFlight, workers, handedAgents, size, sources = null } = parts
  const own = stateOf(registry, inFlight, { workers: size, sources })
  return {
    live: () => !workers.hopeless,
    sources: () => describeSources(sources),
    ready: enough => {
      const { reasons } = own.ready(enough)
      const { all } = registry.snapshot.agents
      const onTheirWay = all.filter(agent => handedAgents.isOnItsWay(agent.name))
      if (enough === 'all' || onTheirWay.length === all.filter(agent => agent.ready).length) {
        reasons.push(...onTheirWay.map(({ name }) => `agent ${name}: a worker still prepares its card`))
      }
      if (workers.serving === 0 && !inFlight.draining) reasons.push('no worker serves')
      return { ready: reasons.length === 0, reasons }
    },
    agents: async () =>
      mergeDescriptions(own.agents() as AgentDescription[], await Promise.all([...workers.all].map(one => one.ask('agents'))))
  }
}

/** Finds the port that all workers will share. Also checks that the port is available before any worker starts. */
async function freePort (at: HostPort): Promise<number> {
  const server = createServer().listen({ host: at.host, port: at.port })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/**
 * A gateway of several processes: the primary reads configuration and cards and has the admin listener; workers serve the main listener.
 */
import type { AgentSources } from '#agents/sources/sources.js'
import { describeSources } from '#agents/sources/sources.js'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import type { FastifyBaseLogger } from 'fastify'
import type { Logger } from 'pino'
import { AdminAccess } from '../admin/access.js'
import { AdminListeners, urlOf } from '../admin/listeners.js'
import type { AdminState } from '../admin/server.js'
import type { Config } from '#config/model/model.js'
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
import { quietened } from '../runtime.js'
import { showSources, adminStateOf } from '../start.js'
import { inlineSchemaProblems } from '#policy/compile/inline-schemas.js'
import type { Log } from '#telemetry/log.js'
import type { Audit } from '#telemetry/audit.js'
import { createAudit } from '#telemetry/audit.js'
import { createLogger, lineFormat } from '#telemetry/logging.js'
import { standardOutput } from '#telemetry/standard-output.js'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { ExportedLines, exportMetrics } from '#telemetry/otlp/exports.js'
import { consoleOfWorkers } from './console.js'
import { CardHandouts } from './cards.js'
import { ConfigurationChanges } from './configuration-changes.js'
import type { WorkerPoolOptions } from './worker-pool.js'
import { WorkerPool } from './worker-pool.js'
import { CardDistribution } from './card-distribution.js'
import type { AgentDescription } from './messages.js'
import { KeptLimits } from './limits.js'
import { KeptTasks } from './tasks.js'
import { Totals } from './totals.js'
import type { Gateway } from '../about.js'
import type { HostPort } from '#config/model/listener-model.js'
import { OperatorError } from '#operator-errors.js'

/** Attempts to start with a port that the system chooses: another process may take the port before the first worker listens. */
const PORT_ATTEMPTS = 5

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
  if (problems.length > 0) throw new OperatorError('A2AGW_ERR_CONFIG_SCHEMA', problems.join('\n'))
  digestKey()
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(config, size, env, sources)
    } catch (error) {
      const isTaken = config.server.listen?.port === 0 && error instanceof Error && error.message.includes('EADDRINUSE')
      if (!isTaken || attempt === PORT_ATTEMPTS) throw error
    }
  }
}

async function startOnce (config: Config, size: number, env: NodeJS.ProcessEnv, sources: AgentSources | null): Promise<Gateway> {
  const telemetry = await startTelemetry(config, env)
  const { listen } = config.server
  const reserved = listen === null ? null : await reservePort(listen)
  const at = reserved?.at ?? null
  const parts = { ...partsOf(config, { size, env, telemetry, at }), sources }
  showSources(sources, telemetry.metrics, telemetry.log)
  const { registry, workers } = parts
  const reloads = reloadsOf(parts)
  const admin = adminOf(config, parts)
  try {
    const { adminUrl, metricsUrl } = await admin.listen()
    await registry.start()
    await reserved?.release()
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
      closing ??= stopCluster(config, parts, { reloads, admin, exported })
      return closing
    }
    return {
      ...addresses,
      reload: (next, warnings) => reloads.reload(next, warnings),
      reject: faults => reloads.reject(faults),
      close
    }
  } catch (error) {
    await Promise.allSettled([reserved?.release(), admin.close(), registry.close()])
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
  readonly handedAgents: CardDistribution
  readonly size: number
  /** Address of the main listener of all workers; null without one. */
  readonly at: HostPort | null
  /** Sources of agents; the primary reads them for all workers. */
  readonly sources?: AgentSources | null
}

type Start = Pick<ClusterParts, 'size' | 'telemetry' | 'at'> & { readonly env: NodeJS.ProcessEnv }

/** Connects the parts: the registry hands cards out to workers, and workers ask for cards, tasks, limits and the configuration. */
function partsOf (config: Config, { size, env, telemetry, at }: Start): ClusterParts {
  const { log, metrics, audit } = telemetry
  const tasks = new KeptTasks(config.state)
  metrics.read('tasks_remembered', () => tasks.remembered)
  const inFlight = new InFlight()
  const registry = new AgentRegistry(config, { metrics, log, inFlight, env, audit, onCard: agent => { handOut(agent) } })
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
    onWanted: name => { registry.snapshot.agents.all.find(agent => agent.name === name)?.requestCard() },
    onEnd: worker => { totals.ended(worker) }
  })
  const totals = new Totals(metrics, workers.all)
  metrics.read('workers', () => workers.serving)
  metrics.read('worker_restarts_total', () => workers.replaced)
  const handouts = new CardHandouts(message => { workers.broadcast(message) })
  const handedAgents = new CardDistribution(() => workers.all)
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
async function stopCluster (config: Config, { inFlight, workers, registry, telemetry }: ClusterParts, running: Running): Promise<void> {
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
  /** For cards: workers record calls. */
  readonly audit: Audit
  readonly useLevel: (level: Config['telemetry']['logs']['level']) => void
  /** Sends the last lines of the log to a collector, if there is one. */
  readonly logsSent: () => Promise<void>
}

async function startTelemetry (config: Config, env: NodeJS.ProcessEnv): Promise<PrimaryTelemetry> {
  const { logs, metrics: { exemplars } } = config.telemetry
  const lines = new ExportedLines()
  const metrics = new Metrics({ serves: false })
  const log = createLogger(logs, undefined, lines.add, () => { metrics.add('log_lines_lost_total') })
  const frameworkLog = log.child({}, { level: quietened(logs.level) })
  metrics.exemplars = exemplars
  metrics.read('config_info', () => [[config.hash, 1]])
  await lines.connect({ env, log, version: packageVersion(), onLost: records => { metrics.addAmount('log_records_lost_total', records) } })
  const useLevel: PrimaryTelemetry['useLevel'] = level => {
    log.level = level
    frameworkLog.level = quietened(level)
  }
  const audit = createAudit({
    enabled: config.telemetry.audit.enabled,
    lines: standardOutput(),
    format: lineFormat(logs, false),
    onLine: lines.add,
    onLost: () => { metrics.add('audit_lines_lost_total') }
  })
  return { log, frameworkLog, metrics, audit, useLevel, logsSent: () => lines.shutdown() }
}

/** Responds to workers about tasks and limits, which the primary keeps for all of them. */
function stateForWorkers (tasks: KeptTasks, limits: KeptLimits, log: Log): Pick<WorkerPoolOptions, 'onTask' | 'onLimit'> {
  return {
    onTask: (worker, message) => {
      tasks.response(message).then(
        taskFound => {
          worker.send({ kind: 'task', id: message.id, found: taskFound })
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
  const own = adminStateOf(registry, inFlight, { workers: size, sources })
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
      mergeDescriptions(own.agents() as AgentDescription[], await Promise.all([...workers.all].map(workerHandle => workerHandle.ask('agents'))))
  }
}

/** A port that all workers will share. */
interface ReservedPort {
  readonly at: HostPort
  /** Makes the port available to the workers. Later calls do nothing. */
  readonly release: () => Promise<void>
}

/**
 * Takes the port until the first worker starts, so that no other process gets the port while the gateway reads its cards.
 * @throws Error when the address is in use
 */
async function reservePort ({ host, port }: HostPort): Promise<ReservedPort> {
  const server = createServer(socket => { socket.destroy() }).listen({ host, port })
  await once(server, 'listening')
  const at = { host, port: (server.address() as AddressInfo).port }
  let released: Promise<void> | null = null
  const release = async (): Promise<void> => { await once(server.close(), 'close') }
  return { at, release: () => (released ??= release()) }
}

// Builds `/agents` of a gateway with workers: the descriptions of the primary, completed with data that only workers have.

interface Rejection { readonly at: string }

const KEPT_REJECTIONS = 5

/**
 * @param own descriptions of the primary, which has the cards
 * @param workers descriptions of each worker, or null for a worker that did not respond
 */
function mergeDescriptions (
  own: readonly AgentDescription[],
  workers: readonly (readonly AgentDescription[] | null)[]
): AgentDescription[] {
  const all = workers.flatMap(worker => worker ?? [])
  return own.map(agent => {
    const there = all.filter(agentDescription => agentDescription.name === agent.name)
    const lastRejections = there
      .flatMap(agentDescription => agentDescription.lastRefusals as Rejection[])
      .toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
      .slice(0, KEPT_REJECTIONS)
    return { ...agent, ...loadOf(there), lastRefusals: lastRejections }
  })
}

/** Adds up the load of an agent over all workers. */
function loadOf (there: readonly AgentDescription[]): object {
  const loads = there.flatMap(agentDescription =>
    typeof agentDescription.load === 'object' && agentDescription.load !== null ? [agentDescription.load as Readonly<Record<string, number>>] : []
  )
  const [first] = loads
  return first === undefined
    ? {}
    : { load: Object.fromEntries(Object.keys(first).map(key => [key, loads.reduce((sum, load) => sum + (load[key] ?? 0), 0)])) }
}

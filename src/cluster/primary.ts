/**
 * A gateway of several processes: the primary reads configuration and cards and has the admin listener; workers serve the main listener.
 */
import { AdminAccess } from '../admin/access.js'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import type { FastifyBaseLogger } from 'fastify'
import { AdminListeners, urlOf } from '../admin/listeners.js'
import type { AdminState } from '../admin/server.js'
import type { Config, HostPort } from '../config/model/model.js'
import { packageVersion } from '../config/paths.js'
import type { Agent } from '../gateway/agent.js'
import { grpcAddresses } from '../front/grpc/listeners.js'
import { meshAddress } from '../front/mesh/listener.js'
import { local } from '../gateway/console.js'
import type { PreparedChange } from '../gateway/agent-registry.js'
import { AgentRegistry } from '../gateway/agent-registry.js'
import { digestKey } from '../gateway/identity/identity.js'
import { InFlight } from '../gateway/in-flight.js'
import { publicAddressLine } from '../gateway/about.js'
import { Reloads } from '../gateway/reload.js'
import type { Gateway } from '../gateway/start.js'
import { quietened } from '../gateway/runtime.js'
import { stateOf } from '../gateway/start.js'
import { inlineSchemaProblems } from '../policy/compile/inline-schemas.js'
import { createLogger } from '../telemetry/logging.js'
import { Metrics } from '../telemetry/metrics/metrics.js'
import { ExportedLines, exportMetrics } from '../telemetry/otlp/exports.js'
import { mergeDescriptions } from './agents.js'
import { consoleOfWorkers } from './console.js'
import { handoutOf } from './cards.js'
import { WorkerPool } from './worker-pool.js'
import { HandedAgents } from './handed.js'
import type { WorkerHandle } from './worker-handle.js'
import type { AgentDescription, Handout, ToWorker } from './messages.js'
import { KeptLimits } from './limits.js'
import { KeptTasks } from './tasks.js'
import { Totals } from './totals.js'

/**
 * Starts the primary and its workers.
 * @param size number of processes that serve, at least 2
 * @throws Error with a readable message when the cluster cannot start, as `startGateway` does
 */
export async function startCluster (config: Config, size: number, env: NodeJS.ProcessEnv): Promise<Gateway> {
  const problems = inlineSchemaProblems(config)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  digestKey()
  const lines = new ExportedLines()
  const log = createLogger(config.telemetry.logs, undefined, lines.add)
  const frameworkLog = log.child({}, { level: quietened(config.telemetry.logs.level) })
  const metrics = new Metrics({ serves: false })
  metrics.exemplars = config.telemetry.metrics.exemplars
  metrics.configInfo(config.hash)
  const version = packageVersion()
  await lines.connect({ env, log, version, onLost: records => { metrics.vitals.logRecordsLost(records) } })
  const tasks = new KeptTasks(config.state)
  metrics.tasksRemembered(() => tasks.remembered)
  const limits = new KeptLimits()
  const inFlight = new InFlight()
  const registry = new AgentRegistry(config, { metrics, log, inFlight, env, onCard: agent => { handOut(agent) } })
  const { listen } = config.server
  const at: HostPort | null = listen === null ? null : { host: listen.host, port: await freePort(listen) }
  const url = at === null ? '' : urlOf(at, config.server.tls === null ? 'http' : 'https')

  /** The number of the configuration in force. */
  let change = 1
  const preparation = (number: number, wanted: Config, agents: readonly Agent[]): ToWorker & { readonly kind: 'prepare' } =>
    ({ kind: 'prepare', change: number, config: wanted, cards: agents.map(handoutOf), port: at?.port ?? 0 })
  const workers: WorkerPool = new WorkerPool({
    size,
    log,
    env,
    first: () => preparation(change, registry.config, registry.snapshot.agents.all),
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
    },
    onWanted: name => { registry.snapshot.agents.all.find(agent => agent.name === name)?.wantCard() },
    onEnd: worker => { totals.ended(worker) }
  })
  const totals = new Totals(metrics, workers.all)
  metrics.workers(() => workers.serving, () => workers.replaced)

  /** The cards that workers have, by source. */
  const handed = new Map<string, unknown>()
  const handedAgents = new HandedAgents(() => workers.all)
  const handOut = (agent: Agent): void => {
    handedAgents.handedOut(agent.name, agent.state !== null)
    const card: Handout = handoutOf(agent)
    const { cards } = agent.cards
    const same = cards !== null && handed.get(card.key) === cards
    handed.set(card.key, cards)
    workers.broadcast({ kind: 'card', card: same ? { ...card, cards: 'same' } : card })
  }

  /** Prepares a change in all processes. No process uses the change before all processes are ready. */
  const prepare = async (wanted: Config): Promise<PreparedChange> => {
    const own = await registry.prepareChange(wanted)
    const number = change + 1
    const message = preparation(number, wanted, own.agents)
    const asked = new Set<WorkerHandle>()
    const discard = async (): Promise<void> => {
      for (const worker of asked) worker.send({ kind: 'discard', change: number })
      await own.discard()
    }
    for (;;) {
      // New workers may have started in the meantime.
      const others = [...workers.all].filter(one => one.admitted && !asked.has(one))
      if (others.length === 0) break
      for (const one of others) asked.add(one)
      const found = (await Promise.all(others.map(one => one.prepare(message)))).flatMap(one => one ?? [])
      if (found.length === 0) continue
      await discard()
      throw new Error([...new Set(found)].join('\n'))
    }
    const commit = (): ReturnType<PreparedChange['commit']> => {
      const changes = own.commit()
      change = number
      for (const worker of asked) worker.send({ kind: 'commit', change: number })
      const keys = new Set(message.cards.map(one => one.key))
      for (const key of handed.keys()) if (!keys.has(key)) handed.delete(key)
      return changes
    }
    return { agents: own.agents, commit, discard }
  }

  const apply = ({ telemetry, state }: Config): void => {
    tasks.use(state)
    log.level = telemetry.logs.level
    frameworkLog.level = quietened(telemetry.logs.level)
  }
  const reloads = new Reloads({ registry, metrics, log, apply, prepare })
  const state = stateOf(registry, inFlight, { workers: size })
  const agents = async (): Promise<unknown> =>
    mergeDescriptions(state.agents() as AgentDescription[], await Promise.all([...workers.all].map(one => one.ask('agents'))))
  const ready: AdminState['ready'] = enough => {
    const { reasons } = state.ready(enough)
    const { all } = registry.snapshot.agents
    const onTheirWay = all.filter(agent => handedAgents.isOnItsWay(agent.name))
    if (enough === 'all' || onTheirWay.length === all.filter(agent => agent.ready).length) {
      reasons.push(...onTheirWay.map(({ name }) => `agent ${name}: a worker still prepares its card`))
    }
    if (workers.serving === 0 && !inFlight.draining) reasons.push('no worker serves')
    return { ready: reasons.length === 0, reasons }
  }
  const main = at === null ? null : { host: local(at.host), port: at.port, tls: config.server.tls !== null }
  const source = config.server.console.enabled
    ? consoleOfWorkers({ workers, registry, totals, ready: () => ready('all'), agents, main })
    : null
  const admin = new AdminListeners(config, {
    state: { live: () => !workers.hopeless, ready, agents },
    metrics: totals,
    log: frameworkLog as unknown as FastifyBaseLogger,
    console: source,
    access: new AdminAccess(registry)
  })

  try {
    const { publicUrl } = config.server
    const { adminUrl, metricsUrl } = await admin.listen()
    await registry.start()
    await workers.start()
    log.info(
      {
        ...(url === '' ? {} : { url }),
        ...(publicUrl === null ? {} : { publicUrl }),
        ...(config.server.grpc === null ? {} : { grpc: grpcAddresses(config) }),
        ...(config.server.mesh === null ? {} : { mesh: meshAddress(config) }),
        admin: adminUrl,
        ...(metricsUrl === null ? {} : { metrics: metricsUrl }),
        agents: config.agents.map(agent => agent.name),
        workers: size,
        version
      },
      'listening'
    )
    log.info({}, publicAddressLine(config, url))
    const pushed = await exportMetrics({ env, log, version, read: () => totals.snapshot() })
    let closing: Promise<void> | null = null
    const stop = async (): Promise<void> => {
      inFlight.draining = true
      await Promise.all([workers.close(config.server.drainTimeout), reloads.close()])
      await admin.close()
      await pushed?.shutdown()
      await registry.close()
      metrics.close()
      log.info({}, 'stopped')
      await lines.shutdown()
    }
    const close = (): Promise<void> => {
      closing ??= stop()
      return closing
    }
    return {
      url,
      adminUrl,
      metricsUrl,
      grpc: grpcAddresses(config),
      mesh: meshAddress(config),
      reload: (next, warnings) => reloads.reload(next, warnings),
      reject: found => reloads.reject(found),
      close
    }
  } catch (error) {
    await Promise.allSettled([admin.close(), registry.close()])
    metrics.close()
    await lines.shutdown()
    throw error
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

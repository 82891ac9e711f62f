/**
 * Warms a process up before `/readyz` reports that it is ready: calls of clients that do not exist go through the whole path of a call,
 * with the listener's code, the compiled rules of the agents and undici, to agents that do not exist either. V8 interprets a function when
 * it is first called and compiles it when it has been called often; the first calls of a new process would otherwise wait for that.
 *
 * Nothing of it leaves the process or stays: the calls have their own connections (in memory), metrics, task state, limits and counts, and
 * no log, audit lines, spans and console.
 */
import type { RequestListener } from 'node:http'
import { createServer } from 'node:http'
import type { Duplex } from 'node:stream'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '#config/model/model.js'
import { buildApp } from '#front/http/app.js'
import type { Services } from '#call/services.js'
import { Agents } from '#pipeline/agents.js'
import type { WarmUpCall } from '#pipeline/warm-up-calls.js'
import { warmUpCalls } from '#pipeline/warm-up-calls.js'
import { createAudit } from '#telemetry/audit.js'
import type { Log } from '#telemetry/log.js'
import { createLogger } from '#telemetry/logging.js'
import type { MetricsSnapshot } from '#telemetry/metrics/registry.js'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { createTracing } from '#telemetry/traces/tracing.js'
import { ConnectionQueue } from '#upstream/connection-queue.js'
import { GrpcPool } from '#upstream/grpc/pool.js'
import type { TlsFiles } from '#upstream/tls.js'
import type { ConnectionPool } from '#upstream/connection-pool.js'
import { connectionsTo } from '#upstream/in-process.js'
import type { CardKeeper } from '#agents/card/card-keeper.js'
import { TrustedProxies } from '#wire/forwarded.js'
import { Agent } from '#agents/agent.js'
import { NO_CARD_KEYS } from '#agents/card/key-files.js'
import type { AgentRegistry } from '#agents/agent-registry.js'
import { InFlight } from '#agents/in-flight.js'
import { MemoryBudget } from '#call/memory-budget.js'
import { Overload } from '#call/overload.js'
import { Limits } from '#call/limits.js'
import { Tasks } from '#call/tasks.js'
import { rehearseMesh } from './mesh.js'

/** CPU time of the process that the warm-up may take, in microseconds, and time until it gives up, in milliseconds. */
const CPU = 300_000
const TIME = 3_000
/** CPU time for the calls of a mesh, in microseconds: most of their code is that of the other calls. */
const MESH_CPU = 100_000
/** The calls in flight may take this much more of CPU time when no further call begins. */
const MARGIN = 30_000
/** Calls in flight at once: as in traffic, the event loop then has several things to do in each turn. */
const CLIENTS = 4
/** Agents that get calls. Most of the code is the same for all agents. */
const AGENTS = 4

/** Interval at which the warm-up looks for the first card, ms. */
const CARD_AFTER = 100

const NUMBER = 'warm-up-call'

/** The warm-up of one process. It happens once, as soon as an agent has a card. */
export class WarmUp {
  private readonly registry: Pick<AgentRegistry, 'config' | 'snapshot'>
  private readonly log: Log
  private over = false

  constructor (registry: Pick<AgentRegistry, 'config' | 'snapshot'>, log: Log) {
    this.registry = registry
    this.log = log
  }

  /** True from the first card until the end of the warm-up. */
  get pending (): boolean {
    return !this.over && this.agents().length > 0
  }

  /** Never rejects: after a failure, the process serves without a warm-up. */
  async run (): Promise<void> {
    try {
      while (!this.over && this.agents().length === 0) await sleep(CARD_AFTER, undefined, { ref: false })
      if (!this.over) await rehearse(this.registry.config, this.agents().slice(0, AGENTS))
    } catch (error) {
      this.log.warn({ err: error }, 'the warm-up failed; the first calls may take longer')
    }
    this.over = true
  }

  /** Ends the wait for a card. */
  close (): void {
    this.over = true
  }

  private agents (): Agent[] {
    return this.registry.snapshot.agents.all.filter(agent => agent.state !== null)
  }
}

/** Limits of a warm-up: CPU time of the process in microseconds, for all calls and for those of a mesh, and time in milliseconds. */
interface WarmUpBudget { readonly cpu: number, readonly meshCpu: number, readonly time: number }

/** @returns the metrics of the calls */
export async function rehearse (
  config: Config,
  agents: readonly Agent[],
  { cpu, meshCpu, time }: WarmUpBudget = { cpu: CPU, meshCpu: MESH_CPU, time: TIME }
): Promise<MetricsSnapshot> {
  const calls = agents.flatMap(({ config, state }) => state === null ? [] : warmUpCalls(config, state))
  const begin = process.cpuUsage()
  const end = performance.now() + time
  const isOver = (): boolean => {
    const { user, system } = process.cpuUsage(begin)
    return user + system > cpu - MARGIN || performance.now() > end
  }
  const log = createLogger({ level: 'silent', format: 'json' }, { write: () => {} }) as Log
  const metrics = new Metrics({ process: false })
  const services: Services = {
    metrics,
    log,
    tracing: await createTracing({ enabled: false, version: '', env: {}, log, onLost: () => {} }),
    audit: createAudit({ enabled: false, lines: { put: () => true } }),
    inFlight: new InFlight(),
    tasks: new Tasks({ ...config.state, store: 'memory' }, metrics, log),
    // Rehearsed calls count nowhere.
    limits: new Limits({ rates: [], budgets: [], state: { ...config.state, store: 'memory' } }, metrics, log),
    overload: new Overload(config.shedding, log),
    heldBytes: new MemoryBudget(config.limits.memory),
    decisions: null,
    requests: null
  }
  const upstream = connectionsTo(accepting((request, response) => {
    const { response: { contentType, body } } = calls[Number(request.headers[NUMBER])] as WarmUpCall
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': contentType })
      response.end(body)
    })
  }))
  const snapshot = {
    limits: config.limits,
    trusted: new TrustedProxies([]),
    hosts: null,
    identity: null,
    decisionPoints: null,
    delegations: null,
    rates: null,
    keys: null,
    catalog: null,
    agents: new Agents(agents.map(agent => warmUpCopyOf(agent, { config, metrics, log, upstream })))
  }
  const app = await buildApp({ services, snapshot: () => snapshot, passthrough: false, directory: null }, null)
  await app.ready()
  const mesh = async (): Promise<void> => {
    const begin = process.cpuUsage()
    const end = performance.now() + time
    await rehearseMesh(config, { services, snapshot: () => snapshot }, calls, () => {
      const { user, system } = process.cpuUsage(begin)
      return user + system > meshCpu || performance.now() > end
    })
  }
  const gateway = connectionsTo(end => { app.server.emit('connection', end) })
  try {
    let next = 0
    const client = async (): Promise<void> => {
      while (!isOver()) {
        const number = next++ % calls.length
        await send(gateway, calls[number] as WarmUpCall, number)
        await turn()
      }
    }
    const all = Promise.all(Array.from({ length: calls.length === 0 ? 0 : CLIENTS }, client))
    // A call that gets no response must not delay readiness. The destroyed connections end it.
    await Promise.race([all, sleep(time, undefined, { ref: false })])
    all.catch(() => {})
    if (config.server.mesh !== null) await Promise.race([mesh(), sleep(time, undefined, { ref: false })])
    return await metrics.snapshot()
  } finally {
    await Promise.all([gateway.destroy(), upstream.destroy(), app.close(), services.tasks.close()])
    metrics.close()
  }
}

/** The agent as calls see it, with the same card and rules, and with everything else of its own. */
function warmUpCopyOf (
  { config: agent, state }: Agent,
  { config, metrics, log, upstream }: { config: Config, metrics: Metrics, log: Log, upstream: ConnectionPool }
): Agent {
  const warmUpCopy = new Agent({
    config: agent,
    limits: config.limits,
    metrics,
    log,
    publicUrl: config.server.publicUrl,
    tls: NO_TLS_FILES,
    secrets: { of: () => '', card: {}, extended: {}, fingerprint: '' },
    cardKeys: NO_CARD_KEYS,
    keeper: () => NO_CARDS,
    pools: {
      main: upstream,
      queue: new ConnectionQueue(upstream, agent.upstream.timeouts.queue),
      for: () => upstream,
      forCallers: () => upstream,
      forGrpc: address => new GrpcPool(address, agent.upstream, NO_TLS_FILES),
      close: async () => {}
    }
  })
  // The calls have no caller, and no policy server learns of them.
  warmUpCopy.state = state === null ? null : { ...state, access: null, external: null }
  return warmUpCopy
}

const NO_TLS_FILES: TlsFiles = { ca: null, cert: null, key: null, fingerprint: '' }

const NO_CARDS: CardKeeper = {
  start: () => {},
  handover: () => null,
  takeOver: () => {},
  refreshNow: async () => {},
  requestCard: () => 0,
  close: async () => {},
  status: { state: 'ok', fetchedAt: null, nextAt: null, problem: null, origin: null, onlyGrpc: false, held: null }
}

function accepting (listener: RequestListener): (end: Duplex) => void {
  const server = createServer(listener)
  return end => { server.emit('connection', end) }
}

async function send (gateway: ConnectionPool, call: WarmUpCall, number: number): Promise<void> {
  const { body } = await gateway.request({
    path: call.path,
    method: call.method,
    headers: { ...call.headers, [NUMBER]: String(number) },
    body: call.body
  })
  await body.dump()
}

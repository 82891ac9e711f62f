/**
 * Everything behind a front, in one process: agents, telemetry, state and limits.
 */
import type { Writable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '#config/model/model.js'
import { packageVersion } from '#config/paths.js'
import type { ConsolePart } from '#console/process-part.js'
import { consolePart } from '#console/process-part.js'
import { reportErrors } from '#guard.js'
import { verificationQueue } from '#identity/verification-queue.js'
import { inlineSchemaProblems } from '#policy/compile/inline-schemas.js'
import { createAudit } from '#telemetry/audit.js'
import { createLogger, lineFormat } from '#telemetry/logging.js'
import { linesOf, standardOutput } from '#telemetry/standard-output.js'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { ExportedLines, exportMetrics } from '#telemetry/otlp/exports.js'
import { createTracing } from '#telemetry/traces/tracing.js'
import type { StoreOptions } from '#state/create-store.js'
import type { LimitStore } from '#state/limits/limit-store.js'
import type { Services } from '#call/services.js'
import { SlowReaders } from '#front/listener/slow-readers.js'
import type { AgentSources } from '#agents/sources/sources.js'
import type { AgentRegistryOptions } from '#agents/agent-registry.js'
import { AgentRegistry } from '#agents/agent-registry.js'
import { FailureLog } from '#agents/identity/failure-log.js'
import { InFlight } from '#agents/in-flight.js'
import type { Exchange } from '#call/exchange.js'
import { endForShutdown } from '#call/reply.js'
import { MemoryBudget } from '#call/memory-budget.js'
import { Overload } from '#call/overload.js'
import { Limits } from '#call/limits.js'
import { Tasks } from '#call/tasks.js'
import { OperatorError } from '#operator-errors.js'

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
  /** The sources of agents (`agentSources`); null or absent without any. */
  readonly sources?: AgentSources | null
  /** True to warm the process up before it reports that it is ready. Default false. */
  readonly warmUp?: boolean
}

export interface Runtime {
  readonly registry: AgentRegistry
  readonly services: Services
  /** Data recorded for the console; null without a console. */
  readonly console: ConsolePart | null
  /** Logger for Fastify's own lines. */
  readonly frameworkLog: FastifyBaseLogger
  /** Sends the last lines of the log to a collector, if there is one. Call it after the last line. */
  readonly logsSent: () => Promise<void>
  /** Applies settings of the process itself, once a configuration is in force. */
  readonly apply: (config: Config) => void
  close (): Promise<void>
}

/** Options of a process that is one of several. */
export interface RuntimeOptions extends StartOptions, Pick<AgentRegistryOptions, 'keeper'>, Pick<StoreOptions, 'memory'> {
  /** Counts of limits that are not shared; default: this process. */
  readonly limitStore?: LimitStore
  /** Number of the worker, for the log. */
  readonly worker?: number
}

/** Milliseconds for which errors of one place in the code have one log line. */
const ERRORS_LOGGED = 60_000

/** @throws Error with a readable message when a policy's schema does not compile, or tracing variables cannot be used */
export async function buildRuntime (config: Config, options: RuntimeOptions): Promise<Runtime> {
  const problems = inlineSchemaProblems(config)
  if (problems.length > 0) throw new OperatorError('A2AGW_ERR_CONFIG_SCHEMA', problems.join('\n'))
  const env = options.env ?? process.env
  const lines = new ExportedLines()
  const metrics = new Metrics({ process: options.processMetrics ?? true })
  const processLog = createLogger(config.telemetry.logs, options.logs, lines.add, () => {
    metrics.add('log_lines_lost_total')
  })
  const log = options.worker === undefined ? processLog : processLog.child({ worker: options.worker })
  const exported = { env, log, version: packageVersion() }
  await lines.connect({
    ...exported,
    onLost: records => {
      metrics.addAmount('log_records_lost_total', records)
    }
  })
  const tracing = await createTracing({
    enabled: config.telemetry.traces.enabled,
    ...exported,
    lines: options.traces === undefined ? standardOutput() : linesOf(options.traces),
    onLost: spans => {
      metrics.addAmount('trace_spans_lost_total', spans)
    }
  })
  metrics.exemplars = config.telemetry.metrics.exemplars
  const inFlight = new InFlight<Exchange>({ stop: endForShutdown })
  const audit = createAudit({
    enabled: config.telemetry.audit.enabled,
    forwarded: config.telemetry.audit.forwarded,
    observedLines: config.telemetry.audit.observedLines,
    lines: options.audit === undefined ? standardOutput() : linesOf(options.audit),
    format: options.audit === undefined ? lineFormat(config.telemetry.logs, false) : null,
    onLine: lines.add,
    onLost: () => {
      metrics.add('audit_lines_lost_total')
    }
  })
  const tasks = new Tasks(config.state, metrics, log, options.memory)
  const limits = new Limits(config, metrics, log, options.limitStore)
  const overload = new Overload(config.shedding, log)
  overload.watch()
  const slowReaders = new SlowReaders({ live: inFlight, metrics, log })
  const heldBytes = new MemoryBudget(config.limits.memory)
  metrics.read('held_bytes', () => heldBytes.held)
  metrics.read('held_limit_bytes', () => heldBytes.limit)
  metrics.read('token_verifications_waiting', () => verificationQueue.size)
  const errors = new FailureLog(1, ERRORS_LOGGED)
  const reported = reportErrors((place, error, facts) => {
    metrics.add('unexpected_errors_total', place)
    const about = facts.request_id === undefined ? 'an error within the gateway ended a connection' : 'a request could not be handled'
    errors.record(`${place} ${originOf(error)}`, omitted => {
      log.error({ err: error, place, ...facts, ...(omitted > 0 ? { omitted } : {}) }, about)
    })
  })
  const recorded = consolePart(config.server.console, metrics)
  const services: Services = {
    metrics,
    tracing,
    audit,
    log,
    inFlight,
    tasks,
    limits,
    overload,
    heldBytes,
    decisions: recorded?.decisions ?? null,
    requests: recorded?.requests ?? null
  }

  const frameworkLog = log.child({}, { level: quietened(config.telemetry.logs.level) })
  const registry = new AgentRegistry(config, { metrics, log, tracing, inFlight, env, keeper: options.keeper, audit })
  slowReaders.use(config.limits.writeTimeout)
  const apply = (config: Config): void => {
    const { shedding, telemetry, state } = config
    tasks.use(state)
    limits.use(config)
    heldBytes.limit = config.limits.memory
    slowReaders.use(config.limits.writeTimeout)
    overload.use(shedding)
    log.level = telemetry.logs.level
    frameworkLog.level = quietened(telemetry.logs.level)
  }
  // The primary sends the numbers of all workers.
  const pushed = options.worker === undefined ? await exportMetrics({ ...exported, read: () => metrics.snapshot() }) : null
  const close = async (): Promise<void> => {
    slowReaders.close()
    reported()
    errors.flush()
    overload.close()
    recorded?.close()
    await registry.close()
    await tasks.close()
    await limits.close()
    await tracing.shutdown()
    audit.close()
    await pushed?.shutdown()
    metrics.close()
  }
  const logsSent = (): Promise<void> => lines.shutdown()
  return { registry, services, console: recorded, frameworkLog: frameworkLog as unknown as FastifyBaseLogger, logsSent, apply, close }
}

/** The place in the code that an error came from: one fault has one log line in a while, whatever its message says. */
function originOf (error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  return error.stack?.split('\n').find(line => /^ +at /.test(line)) ?? error.name
}

/** Log level for Fastify. Fastify's own lines below a warning only repeat lines of the gateway. */
export function quietened (level: Config['telemetry']['logs']['level']): string {
  return level === 'silent' ? 'silent' : 'warn'
}

/** True when an agent has a `passthrough` list. */
export function hasPassthrough ({ agents }: Config): boolean {
  return agents.some(agent => agent.passthrough.length > 0)
}

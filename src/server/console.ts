/** Data source of the console for a single process. */
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { AdminState } from './admin/server.js'
import type { Config } from '#config/model/model.js'
import { packageVersion } from '#config/paths.js'
import type { ConsolePart } from '#console/process-part.js'
import type { ConsoleSource, Description } from '#console/source.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'
import type { AgentRegistry } from '#agents/agent-registry.js'
import type { HostPort } from '#config/model/listener-model.js'

interface GatewayView {
  readonly state: AdminState
  readonly registry: AgentRegistry
  readonly metrics: Pick<Metrics, 'snapshot'>
  readonly main: ConsoleSource['main']
}

/** Id of the single process, among the processes that decisions come from. */
const THIS = 0

export function consoleSource (
  { decisions, series, requests }: ConsolePart,
  { state, registry, metrics, main }: GatewayView
): ConsoleSource {
  return {
    version: packageVersion(),
    workers: () => null,
    ready: () => state.ready('all'),
    config: () => registry.config,
    agents: () => registry.snapshot.agents.all,
    described: async () => await state.agents() as readonly Description[],
    metrics: () => metrics.snapshot(),
    decisions: async (cursor, filter) => {
      const { last, missed, entries } = decisions.since(cursor.get(THIS) ?? -1, filter)
      return { missed, entries, cursor: new Map([[THIS, last]]) }
    },
    series: async () => series.page(),
    requests: async () => requests?.all() ?? [],
    main
  }
}

/**
 * Address where this machine reaches the main listener; null without one. A wildcard address cannot be dialled on every system.
 * @param server the configuration at the start
 */
export function dialled (app: FastifyInstance, { listen }: Pick<Config['server'], 'listen'>): HostPort | null {
  if (listen === null) return null
  const { port } = app.server.address() as AddressInfo
  return { host: local(listen.host), port }
}

export function local (host: string): string {
  return host === '0.0.0.0' || host === '' ? '127.0.0.1' : host === '::' ? '::1' : host
}

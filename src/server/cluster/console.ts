/**
 * Data source of the console for a gateway with workers. The primary has cards and configuration; workers have the calls. The primary
 * queries workers only while a console is open.
 */
import { packageVersion } from '#config/paths.js'
import { PAGE } from '#console/decisions.js'
import { mergeSeries } from '#console/series.js'
import type { ConsoleSource, Description } from '#console/source.js'
import type { AgentRegistry } from '#agents/agent-registry.js'
import type { WorkerPool } from './worker-pool.js'
import type { Totals } from './totals.js'

interface ClusterView {
  readonly workers: WorkerPool
  readonly registry: AgentRegistry
  readonly totals: Totals
  readonly ready: ConsoleSource['ready']
  readonly agents: () => Promise<unknown>
  readonly main: ReturnType<ConsoleSource['main']>
}

export function consoleOfWorkers ({ workers, registry, totals, ready, agents, main }: ClusterView): ConsoleSource {
  return {
    version: packageVersion(),
    workers: () => workers.serving,
    ready,
    config: () => registry.config,
    agents: () => registry.snapshot.agents.all,
    described: async () => await agents() as readonly Description[],
    metrics: () => totals.snapshot(),
    decisions: async (cursor, filter) => {
      const next = new Map<number, number>()
      const pages = await Promise.all([...workers.all].map(async worker => {
        const since = cursor.get(worker.id) ?? -1
        const page = await worker.ask('decisions', since, filter)
        next.set(worker.id, page?.last ?? since)
        return page === null
          ? { missed: 0, entries: [] }
          : { missed: page.missed, entries: page.entries.map(entry => ({ ...entry, id: `${worker.id}-${entry.id}` })) }
      }))
      const entries = pages.flatMap(page => page.entries).toSorted((a, b) => a.at - b.at)
      const shown = entries.slice(-PAGE)
      // Entries beyond the page on the first read are no loss: they are older than the console session.
      const cut = cursor.size === 0 ? 0 : entries.length - shown.length
      return { missed: pages.reduce((sum, page) => sum + page.missed, 0) + cut, entries: shown, cursor: next }
    },
    series: async () => {
      const pages = await Promise.all([...workers.all].map(worker => worker.ask('series')))
      return mergeSeries(pages.filter(page => page !== null))
    },
    requests: async () => {
      const lists = await Promise.all([...workers.all].map(worker => worker.ask('requests')))
      return lists.flatMap(list => list ?? [])
    },
    main: () => main
  }
}

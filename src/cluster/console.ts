/** What the console of a gateway with workers looks at: cards and configuration are here, calls are theirs. Nobody is asked while nobody looks. */
import { packageVersion } from '../config/paths.js'
import { PAGE } from '../console/decisions.js'
import { mergeSeries } from '../console/series.js'
import type { ConsoleSource, Description } from '../console/source.js'
import type { Fleet } from '../gateway/fleet.js'
import type { Crew } from './crew.js'
import type { Totals } from './totals.js'

interface Seen {
  readonly crew: Crew
  readonly fleet: Fleet
  readonly totals: Totals
  readonly ready: ConsoleSource['ready']
  readonly agents: () => Promise<unknown>
  readonly main: ReturnType<ConsoleSource['main']>
}

export function consoleOfCrew ({ crew, fleet, totals, ready, agents, main }: Seen): ConsoleSource {
  return {
    version: packageVersion(),
    workers: () => crew.serving,
    ready,
    config: () => fleet.config,
    agents: () => fleet.snapshot.agents.all,
    described: async () => await agents() as readonly Description[],
    metrics: () => totals.snapshot(),
    decisions: async cursor => {
      const next = new Map<number, number>()
      const pages = await Promise.all([...crew.members].map(async member => {
        const since = cursor.get(member.id) ?? -1
        const page = await member.ask('decisions', since)
        next.set(member.id, page?.last ?? since)
        return page === null ? { missed: 0, entries: [] } : { missed: page.missed, entries: page.entries.map(one => ({ ...one, id: `${member.id}-${one.id}` })) }
      }))
      const entries = pages.flatMap(page => page.entries).toSorted((a, b) => a.at - b.at)
      const shown = entries.slice(-PAGE)
      // What is too much the first time is no loss: it is what was there before.
      const cut = cursor.size === 0 ? 0 : entries.length - shown.length
      return { missed: pages.reduce((sum, page) => sum + page.missed, 0) + cut, entries: shown, cursor: next }
    },
    series: async () => {
      const pages = await Promise.all([...crew.members].map(member => member.ask('series')))
      return mergeSeries(pages.filter(page => page !== null))
    },
    main: () => main
  }
}

/**
 * The sources of agents of a gateway (`agentSources`). A change of their agents is a change of the configuration: see
 * `config/discovered.ts`.
 */
import { dirname, join, resolve } from 'node:path'
import type { Discovered, LeftOut } from '#config/discovered.js'
import { digest } from '#config/digest.js'
import type { Config } from '#config/model/model.js'
import { FileWatch } from '#config/watch.js'
import type { Log } from '#telemetry/log.js'
import type { EntryState } from './candidates.js'
import type { SourceReport } from './source.js'
import { AgentSource } from './source.js'

/** Longest wait for the first reading of all sources, ms. */
const FIRST = 8_000
/** Entries of a source in its report. */
const REPORTED = 1_000

/** Number of entries of a source by their state. */
export type EntryCounts = Readonly<Record<EntryState, number>>

/** What `/agent-sources` and the metrics show. */
export interface SourcesView {
  readonly reports: () => readonly SourceReport[]
}

export class AgentSources implements SourcesView {
  readonly #lockFile: string
  readonly #onAgents: () => void
  #sources: readonly { readonly identity: string, readonly source: AgentSource }[] = []
  #leftOut: readonly LeftOut[] = []
  #lock: FileWatch | null = null
  #log: Log | null = null
  readonly #logged = new Map<string, string>()

  /**
   * @param file the configuration; the lock file is beside it
   * @param onAgents called when agents have come, gone or changed
   */
  constructor (file: string, onAgents: () => void) {
    this.#lockFile = join(dirname(resolve(file)), 'agents.lock')
    this.#onAgents = onAgents
  }

  /** Writes changes of the sources to the log. */
  logTo (log: Log): void {
    this.#log = log
    this.#report()
  }

  /** Follows a configuration: starts, keeps and stops sources. @returns when new sources have been read, or after 8 s */
  async use ({ agentSources, limits, server: { stateDir } }: Config, leftOut: readonly LeftOut[]): Promise<void> {
    this.#leftOut = leftOut
    const { card, jsonDepth, jsonMembers } = limits
    const started: AgentSource[] = []
    const next = agentSources.map(config => {
      const identity = digest([config, card, jsonDepth, jsonMembers, stateDir])
      const existing = this.#sources.find(source => source.identity === identity)
      if (existing !== undefined) return existing
      const source: AgentSource = new AgentSource({
        config,
        limits: { card, jsonDepth, jsonMembers },
        stateDir,
        lockFile: this.#lockFile,
        onChange: changed => {
          if (!this.#sources.some(entry => entry.source === source)) return
          this.#report()
          if (changed) this.#onAgents()
        }
      })
      started.push(source)
      return { identity, source }
    })
    for (const { source } of this.#sources.filter(source => !next.includes(source))) source.close()
    this.#sources = next
    this.#watchLock()
    this.#report()
    if (started.length === 0) return
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => { timer = setTimeout(resolve, FIRST) })
    await Promise.race([Promise.all(started.map(source => source.start())), late])
    clearTimeout(timer)
  }

  /** The agents of all sources, for the next reading of the configuration. */
  discovered (): Discovered {
    return new Map(this.#sources.map(({ source }) => [source.config.name, source.agents]))
  }

  reports (): readonly SourceReport[] {
    const left = new Map(this.#leftOut.map(({ source, identifier, problem }) => [JSON.stringify([source, identifier]), problem]))
    return this.#sources.map(({ source: { report } }) => ({
      ...report,
      entries: report.entries.map(entry => {
        const problem = left.get(JSON.stringify([report.name, entry.identifier]))
        return problem === undefined || entry.state !== 'admitted' ? entry : { ...entry, state: 'rejected', reason: problem }
      })
    }))
  }

  close (): void {
    for (const { source } of this.#sources) source.close()
    this.#sources = []
    this.#lock?.close()
    this.#lock = null
  }

  /** Reads the sources again whose agents the lock file pins, when the file changes. */
  #watchLock (): void {
    const pinned = this.#sources.map(({ source }) => source).filter(({ config: { admit } }) => admit === 'pinned')
    this.#lock?.close()
    this.#lock = pinned.length === 0
      ? null
      : new FileWatch([this.#lockFile], () => {
        this.#lock?.acknowledge()
        for (const source of pinned) source.refresh().catch(() => {})
      })
  }

  /** Logs what is new about each source. */
  #report (): void {
    const log = this.#log
    if (log === null) return
    for (const report of this.reports()) {
      const { name, problem, entries } = report
      const counts = countsOf(report)
      const line = JSON.stringify([
        problem, counts, entries.filter(({ state }) => state === 'rejected').map(({ identifier }) => identifier)
      ])
      if (this.#logged.get(name) === line) continue
      this.#logged.set(name, line)
      if (problem !== null) log.warn({ source: name, problem }, `agent source ${name}: ${problem}; its last good state stays in use`)
      else {
        log.info(
          { source: name, ...counts },
        `agent source ${name}: ${counts.admitted} agents, ${counts.waiting} waiting, ${counts.rejected} rejected`
        )
      }
      for (const { identifier, reason } of entries.filter(({ state }) => state === 'rejected').slice(0, LOGGED)) {
        log.warn(
          { source: name, identifier: identifier.slice(0, 200), problem: reason ?? '' },
          `agent source ${name}: an entry is rejected: ${reason ?? ''}`
        )
      }
    }
  }
}

/** Rejected entries of a source that are logged at once. */
const LOGGED = 20

export function countsOf ({ entries }: SourceReport): EntryCounts {
  const counts = { admitted: 0, waiting: 0, rejected: 0 }
  for (const { state } of entries) counts[state]++
  return counts
}

/** The content of `/agent-sources`. */
export function describeSources (view: SourcesView | null): object[] {
  return (view?.reports() ?? []).map(report => {
    const { readAt, entries, ...rest } = report
    const omitted = entries.length - REPORTED
    return {
      ...rest,
      readAt: readAt === null ? null : new Date(readAt).toISOString(),
      counts: countsOf(report),
      // The entries that need somebody come first.
      entries: entries.toSorted((a, b) => Number(a.state === 'admitted') - Number(b.state === 'admitted')).slice(0, REPORTED),
      ...(omitted > 0 ? { omitted } : {})
    }
  })
}

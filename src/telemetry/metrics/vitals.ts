/**
 * Metrics about the state of the gateway itself and the distance to its limits. They are read at each scrape and not updated per request.
 */
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { packageVersion } from '#config/paths.js'
import type { LabelledSample } from './callback-metric.js'
import { CallbackMetric } from './callback-metric.js'
import type { MetricName } from './definitions.js'
import { definitionOf } from './definitions.js'

/** Data about an agent that the metrics read. */
export interface AgentVitals {
  /** Maximum number of calls and streams in flight in one process. */
  readonly limits: { readonly requests: number, readonly streams: number }
  /** Maximum age of the card, s. */
  readonly maxStale: number
  /** True when the agent has a card in force. */
  readonly hasCard: () => boolean
  /** True while a card waits for an agreement; null for an agent whose cards need none. */
  readonly holds: () => boolean | null
}

/** Data about a source of agents that the metrics read. */
export interface SourceVitals {
  readonly name: string
  /** Number of entries by state. */
  readonly entries: Readonly<Record<'admitted' | 'waiting' | 'rejected', number>>
  /** Seconds since the last good reading; null before the first. */
  readonly age: number | null
  /** True when the last reading was good. */
  readonly readable: boolean
}

export class Vitals {
  readonly metrics: readonly CallbackMetric[]
  /** True when the last reload succeeded. */
  reloaded = true
  private readonly prefix: string
  private agentsNow: ReadonlyMap<string, AgentVitals> = new Map()
  private issuers: ReadonlyMap<string, { readonly age: () => number | null; readonly tokens: () => number }> = new Map()
  private sources: () => readonly SourceVitals[] = () => []
  private held: { readonly bytes: () => number, readonly limit: () => number } | null = null
  private waiting: (() => number) | null = null
  private spans = 0
  private auditLines = 0
  private logLines = 0
  private logRecords = 0

  /** @param serves false for a process that handles no calls: the processes that apply the limits report them */
  constructor (prefix: string, serves: boolean) {
    this.prefix = prefix
    this.metrics = [
      ...serves
        ? [
            this.perAgent('requests_limit', one => one.limits.requests),
            this.perAgent('streams_limit', one => one.limits.streams)
          ]
        : [],
      this.perAgent('card_usable', one => one.hasCard() ? 1 : 0),
      this.perAgent('card_max_stale_seconds', one => one.maxStale),
      this.perAgent('cards_held', one => ({ true: 1, false: 0, null: null })[`${one.holds()}`]),
      this.callbackMetric('identity_keys_age_seconds', () => [...this.issuers].map(([source, one]): LabelledSample => [{ source }, one.age()])),
      this.callbackMetric('token_cache_entries', () => [...this.issuers].map(([source, one]): LabelledSample => [{ source }, one.tokens()])),
      this.callbackMetric('agent_sources', () => this.sources().flatMap(({ name: source, entries }) =>
        Object.entries(entries).map(([state, n]): LabelledSample => [{ source, state }, n]))),
      this.callbackMetric('agent_source_age_seconds', () => this.sources().map(({ name: source, age }): LabelledSample => [{ source }, age])),
      this.callbackMetric('agent_source_readable', () => this.sources().map(({ name: source, readable }): LabelledSample => [{ source }, readable ? 1 : 0])),
      this.single('config_last_reload_successful', () => this.reloaded ? 1 : 0),
      this.single('token_verifications_waiting', () => this.waiting?.() ?? null),
      this.single('held_bytes', () => this.held?.bytes() ?? null),
      this.single('held_limit_bytes', () => this.held?.limit() ?? null),
      this.single('heap_limit_bytes', () => getHeapStatistics().heap_size_limit),
      this.single('memory_limit_bytes', memoryLimit),
      this.single('trace_spans_lost_total', () => this.spans),
      this.single('audit_lines_lost_total', () => this.auditLines),
      this.single('log_lines_lost_total', () => this.logLines),
      this.single('log_records_lost_total', () => this.logRecords),
      this.callbackMetric('build_info', () => [[{ version: packageVersion(), node: process.version }, 1]])
    ]
  }

  /** Sets the agents in force. Other agents have no sample. */
  agents (agents: ReadonlyMap<string, AgentVitals>): void {
    this.agentsNow = agents
  }

  /** Sets the sources with keys of an issuer in force. Other sources have no sample. */
  issuersOf (issuers: Vitals['issuers']): void {
    this.issuers = issuers
  }

  /** Sets the function that returns the sources of agents in force. */
  sourcesOf (sources: () => readonly SourceVitals[]): void {
    this.sources = sources
  }

  /** Sets the functions that return the held bytes of bodies and their limit. */
  heldBytes (bytes: () => number, limit: () => number): void {
    this.held = { bytes, limit }
  }

  /** Sets the function that returns the number of tokens that wait for a verification. */
  verificationsWaiting (waiting: () => number): void {
    this.waiting = waiting
  }

  /** Counts spans that were lost. */
  spansLost (n: number): void {
    this.spans += n
  }

  /** Counts an audit line that was lost. */
  auditLineLost (): void {
    this.auditLines++
  }

  /** Counts a log line that was lost. */
  logLineLost (): void {
    this.logLines++
  }

  /** Counts lines that did not reach the log collector. */
  logRecordsLost (n: number): void {
    this.logRecords += n
  }

  private perAgent (name: MetricName, read: (agent: AgentVitals) => number | null): CallbackMetric {
    return this.callbackMetric(name, () => [...this.agentsNow].map(([agent, vitals]): LabelledSample => [{ agent }, read(vitals)]))
  }

  private single (name: MetricName, read: () => number | null): CallbackMetric {
    return this.callbackMetric(name, () => [[{}, read()]])
  }

  private callbackMetric (name: MetricName, read: () => readonly LabelledSample[]): CallbackMetric {
    const { help, type } = definitionOf(name)
    return new CallbackMetric(this.prefix + name, help, type === 'counter' ? 'counter' : 'gauge', read)
  }
}

/** @returns null without a memory limit: Node then returns 0, or a number above the total memory */
function memoryLimit (): number | null {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : null
}

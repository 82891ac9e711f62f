/** What says how the gateway itself fares, and how far it is from its limits. Nothing here is touched by a request. */
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { packageVersion } from '../../config/paths.js'
import type { LabelledSample } from './callback-metric.js'
import { CallbackMetric } from './callback-metric.js'
import type { MetricName } from './definitions.js'
import { definitionOf } from './definitions.js'

/** What is asked about an agent. */
export interface AgentVitals {
  /** How much it may have under way in one process. */
  readonly limits: { readonly requests: number, readonly streams: number }
  /** How old its card may become, s. */
  readonly maxStale: number
  /** Whether it has a card to decide by. */
  readonly hasCard: () => boolean
}

export class Vitals {
  readonly metrics: readonly CallbackMetric[]
  /** Whether the last configuration that came is in force. */
  reloaded = true
  private readonly prefix: string
  private agentsNow: ReadonlyMap<string, AgentVitals> = new Map()
  private held: { readonly bytes: () => number, readonly limit: () => number } | null = null
  private spans = 0
  private auditLines = 0

  /** @param serves false for a process that passes no calls: limits are told by those that keep them */
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
      this.single('config_last_reload_successful', () => this.reloaded ? 1 : 0),
      this.single('held_bytes', () => this.held?.bytes() ?? null),
      this.single('held_limit_bytes', () => this.held?.limit() ?? null),
      this.single('heap_limit_bytes', () => getHeapStatistics().heap_size_limit),
      this.single('memory_limit_bytes', memoryLimit),
      this.single('trace_spans_lost_total', () => this.spans),
      this.single('audit_lines_lost_total', () => this.auditLines),
      this.callbackMetric('build_info', () => [[{ version: packageVersion(), node: process.version }, 1]])
    ]
  }

  /** The agents in force. Others have no sample. */
  agents (agents: ReadonlyMap<string, AgentVitals>): void {
    this.agentsNow = agents
  }

  /** Says how to learn how many bytes of bodies are held, and how many may be. */
  heldBytes (bytes: () => number, limit: () => number): void {
    this.held = { bytes, limit }
  }

  /** The collector did not take them. */
  spansLost (n: number): void {
    this.spans += n
  }

  /** Nobody will read it. */
  auditLineLost (): void {
    this.auditLines++
  }

  private perAgent (name: MetricName, read: (agent: AgentVitals) => number): CallbackMetric {
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

/** @returns null where nothing bounds it: Node says 0 then, or a number beyond all memory there is */
function memoryLimit (): number | null {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : null
}

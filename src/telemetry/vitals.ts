/** What says how the gateway itself fares, and how far it is from its limits. Nothing here is touched by a request. */
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { packageVersion } from '../config/paths.js'
import type { Told } from './asked.js'
import { Asked } from './asked.js'

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
  readonly metrics: readonly Asked[]
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
            this.perAgent('requests_limit', 'Calls that an agent may have under way, other than streams: concurrency.requests of each process.', one => one.limits.requests),
            this.perAgent('streams_limit', 'Streams that an agent may have open: concurrency.streams of each process.', one => one.limits.streams)
          ]
        : [],
      this.perAgent('card_usable', 'Whether there is an AgentCard to decide by (1), or calls are refused or pass uninspected (0).', one => one.hasCard() ? 1 : 0),
      this.perAgent('card_max_stale_seconds', 'Age at which an AgentCard that nobody confirms is not used any more: card.maxStale.', one => one.maxStale),
      this.single('config_last_reload_successful', 'Whether the last attempt to load the configuration again went well (1), or an earlier one stays in force (0).', () => this.reloaded ? 1 : 0),
      this.single('held_bytes', 'Bytes of bodies that calls under way hold.', () => this.held?.bytes() ?? null),
      this.single('held_limit_bytes', 'How many they may hold: limits.memory of each process.', () => this.held?.limit() ?? null),
      this.single('heap_limit_bytes', 'Size that the heap of Node may reach.', () => getHeapStatistics().heap_size_limit),
      this.single('memory_limit_bytes', 'Memory that all processes may have together, where a container bounds it.', memoryLimit),
      this.single('trace_spans_lost_total', 'Spans that the collector did not take.', () => this.spans, 'counter'),
      this.single('audit_lines_lost_total', 'Audit lines that were dropped because what reads them was too slow.', () => this.auditLines, 'counter'),
      new Asked(`${prefix}build_info`, 'Always 1; version is that of the gateway.', 'gauge', () => [[{ version: packageVersion() }, 1]])
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

  private perAgent (name: string, help: string, tell: (agent: AgentVitals) => number): Asked {
    return new Asked(this.prefix + name, help, 'gauge', () => [...this.agentsNow].map(([agent, vitals]): Told => [{ agent }, tell(vitals)]))
  }

  private single (name: string, help: string, tell: () => number | null, type: 'gauge' | 'counter' = 'gauge'): Asked {
    return new Asked(this.prefix + name, help, type, () => [[{}, tell()]])
  }
}

/** @returns null where nothing bounds it: Node says 0 then, or a number beyond all memory there is */
function memoryLimit (): number | null {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : null
}

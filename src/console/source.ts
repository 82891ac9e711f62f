/** The data that the console reads from a running gateway, in one process or several. */
import type { LoadedCards } from '#a2a/card/loaded-cards.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import type { AgentConfig, Config } from '#config/model/model.js'
import type { MetricsSnapshot } from '#telemetry/metrics/registry.js'
import type { DecisionPage } from './decisions.js'
import type { DecisionFilter } from './filter.js'
import type { KeptRequest } from './playground/request-log.js'
import type { SeriesPage } from './series.js'
import type { HostPort } from '#config/model/listener-model.js'

/** One active agent. */
export interface ConsoleAgent {
  readonly name: string
  /**
   * The configuration at the time when the agent was created. A later configuration with the same settings may have the agent elsewhere in
   * the file.
   */
  readonly config: AgentConfig
  /** Null without a usable card. */
  readonly state: AgentState | null
  /** Base URL for clients, without trailing slash. Null: it follows the Host of each request. */
  readonly publicBase: string | null
  /** The agreed cards, and the cards that wait for an agreement; null where none wait. */
  readonly agreement: { readonly compared: ComparedCards | null } | null
}

export interface ComparedCards { readonly agreed: LoadedCards | null, readonly waiting: LoadedCards }

/** Description of an agent, as in `/agents`. */
export interface Description { readonly name: string, readonly [key: string]: unknown }

/** Number of the last read decision, by process. */
export type Cursor = ReadonlyMap<number, number>

export interface ConsoleSource {
  readonly version: string
  /** Number of serving processes. Null when the responding process itself serves. */
  workers (): number | null
  ready (): { readonly ready: boolean, readonly reasons: readonly string[] }
  config (): Config
  agents (): readonly ConsoleAgent[]
  described (): Promise<readonly Description[]>
  metrics (): Promise<MetricsSnapshot>
  /**
   * @param cursor position after the last read; empty returns all kept decisions
   * @param filter null for all decisions
   */
  decisions (cursor: Cursor, filter: DecisionFilter | null): Promise<Pick<DecisionPage, 'missed' | 'entries'> & { readonly cursor: Cursor }>
  series (): Promise<SeriesPage>
  /** Kept requests of all processes, for the playground; those of one agent and process are in the order of their ends. */
  requests (): Promise<readonly KeptRequest[]>
  /** Address where this machine reaches the gateway over HTTP/1.1. Null when there is none. */
  main (): MainAddress | null
}

export interface MainAddress extends HostPort { readonly tls: boolean }

/** What the console asks of a running gateway, whether that is one process or several. */
import type { AgentState } from '../pipeline/agent-snapshot.js'
import type { AgentConfig, Config, HostPort } from '../config/model/model.js'
import type { MetricsSnapshot } from '../telemetry/metrics/metrics.js'
import type { DecisionPage } from './decisions.js'
import type { SeriesPage } from './series.js'

/** One agent in force. */
export interface ConsoleAgent {
  readonly name: string
  /** As it was when the agent was made: a later configuration that says the same of it stands elsewhere in the file. */
  readonly config: AgentConfig
  /** Null without a usable card. */
  readonly state: AgentState | null
  /** Where clients reach it, without trailing slash. */
  readonly publicBase: string
}

/** As `/agents` shows it. */
export interface Description { readonly name: string, readonly [key: string]: unknown }

/** By process, the number of the last decision that was read. */
export type Cursor = ReadonlyMap<number, number>

export interface ConsoleSource {
  readonly version: string
  /** Processes that serve; null where the one that answers does. */
  workers (): number | null
  ready (): { readonly ready: boolean, readonly reasons: readonly string[] }
  config (): Config
  agents (): readonly ConsoleAgent[]
  described (): Promise<readonly Description[]>
  metrics (): Promise<MetricsSnapshot>
  /** @param cursor empty: all that is kept */
  decisions (cursor: Cursor): Promise<Pick<DecisionPage, 'missed' | 'entries'> & { readonly cursor: Cursor }>
  series (): Promise<SeriesPage>
  /** Where this machine can reach the main listener. */
  main (): HostPort
}

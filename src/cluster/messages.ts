/** What the primary process and its workers say to each other. Structured clones: Maps, Buffers and numbers that are none arrive as they are. */
import type { Config } from '../config/model/model.js'
import type { WrittenSchemas } from '../gateway/card-compiler.js'
import type { DecisionPage } from '../console/decisions.js'
import type { SeriesPage } from '../console/series.js'
import type { Lookup, TaskKey } from '../state/store.js'
import type { TaskRecord } from '../policy/task/memory.js'
import type { MetricsSnapshot } from '../telemetry/metrics/metrics.js'
import type { CardStatus } from '../upstream/card-source.js'

/** The card of one source as the primary has it. */
export interface Handout {
  /** As `sourceKey` has it. */
  readonly key: string
  /** `same`: the last ones handed out for that source. Null: there is none. */
  readonly cards: HandedOut | 'same' | null
  readonly status: CardStatus
}

export interface HandedOut {
  readonly plain: Uint8Array
  /** Null where the agent serves the same to both versions. */
  readonly v1: Uint8Array | null
  readonly fetchedAt: number
  readonly origin: string
  /** What the primary has compiled of them, so that it is done once. */
  readonly written: WrittenSchemas
}

/** What `/agents` shows of one agent. */
export interface AgentDescription { readonly name: string, readonly [key: string]: unknown }

/** What a worker is asked for, by name of the question. */
export interface Responses {
  readonly metrics: MetricsSnapshot
  readonly agents: readonly AgentDescription[]
  /** Null where there is no console. */
  readonly decisions: DecisionPage | null
  readonly series: SeriesPage | null
}

export type ToWorker =
  /** Get ready for this configuration; the first one is the one to start with. */
  | { readonly kind: 'prepare', readonly change: number, readonly config: Config, readonly cards: readonly Handout[], readonly url: string, readonly port: number }
  | { readonly kind: 'commit' | 'discard', readonly change: number }
  | { readonly kind: 'card', readonly card: Handout }
  /** @param since of `decisions`: the number of the last one that was read */
  | { readonly kind: 'ask', readonly id: number, readonly question: keyof Responses, readonly since: number }
  | { readonly kind: 'task', readonly id: number, readonly found: Lookup | boolean }
  | { readonly kind: 'drain' }

export type ToPrimary =
  | { readonly kind: 'hello' }
  /** @param problems null: it can be committed */
  | { readonly kind: 'prepared', readonly change: number, readonly problems: readonly string[] | null }
  /** The main listener is open. */
  | { readonly kind: 'serving' }
  /** It cannot start, and another one could not either. */
  | { readonly kind: 'failed', readonly problem: string }
  /** It takes no more calls and will end, for a fault of its own. */
  | { readonly kind: 'leaving' }
  /** Its last word. */
  | { readonly kind: 'farewell', readonly metrics: MetricsSnapshot }
  | { readonly kind: 'answer', readonly id: number, readonly response: Responses[keyof Responses] }
  | { readonly kind: 'task', readonly id: number, readonly key: TaskKey, readonly write: TaskRecord | null }

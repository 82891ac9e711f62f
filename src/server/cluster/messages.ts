/** Messages between the primary process and its workers. Structured clone keeps Maps, Buffers and NaN or infinite numbers unchanged. */
import type { PackedCards } from '#a2a/card/packed-cards.js'
import type { Config } from '#config/model/model.js'
import type { WrittenSchemas } from '#agents/card/compiler.js'
import type { DecisionPage } from '#console/decisions.js'
import type { DecisionFilter } from '#console/filter.js'
import type { KeptRequest } from '#console/playground/request-log.js'
import type { SeriesPage } from '#console/series.js'
import type { LimitKey, Spending, Taken } from '#state/limits/limit-store.js'
import type { ClaimKey, Lookup, OwnedName, Owners, PushChange, PushCounted, TaskKey } from '#state/store.js'
import type { Claimed } from '#policy/request/claims.js'
import type { TaskRecord } from '#policy/task/memory.js'
import type { MetricsSnapshot } from '#telemetry/metrics/registry.js'
import type { CardStatus } from '#agents/card/card-keeper.js'

/** The card of one source in the primary. */
export interface Handout {
  /** The key that `sourceKey` returns. */
  readonly key: string
  /** `same`: the cards that the primary last handed out for this source. Null: no cards. */
  readonly cards: HandedOut | 'same' | null
  readonly status: CardStatus
}

export interface HandedOut extends PackedCards {
  /** Schemas of these cards that the primary has compiled, so that workers need not compile them again. */
  readonly written: WrittenSchemas
}

/** Description of one agent in `/agents`. */
export interface AgentDescription { readonly name: string, readonly [key: string]: unknown }

/** Data that the primary requests from a worker, by name of the question. */
export interface Responses {
  readonly metrics: MetricsSnapshot
  readonly agents: readonly AgentDescription[]
  /** Null without a console. */
  readonly decisions: DecisionPage | null
  readonly series: SeriesPage | null
  readonly requests: readonly KeptRequest[] | null
}

/** Result of a read, of a write, of a claim, of a look-up of owners, and of a change of counted configurations. */
export type TaskFound = Lookup | boolean | readonly Claimed[] | Owners | PushCounted

export type ToWorker =
  /** Prepare this configuration. A worker starts with the first configuration that it gets. */
  | {
    readonly kind: 'prepare'
    readonly change: number
    readonly config: Config
    readonly cards: readonly Handout[]
    readonly port: number
  }
  | { readonly kind: 'commit' | 'discard'; readonly change: number }
  | { readonly kind: 'card'; readonly card: Handout }
  /** @param since for `decisions`: the number of the last decision that was read; `filter` selects the decisions */
  | {
    readonly kind: 'ask'
    readonly id: number
    readonly question: keyof Responses
    readonly since: number
    readonly filter: DecisionFilter | null
  }
  | { readonly kind: 'task'; readonly id: number; readonly found: TaskFound }
  | { readonly kind: 'limit'; readonly id: number; readonly taken: Taken }
  | { readonly kind: 'drain' }

export type ToPrimary =
  | { readonly kind: 'hello' }
  /** @param problems null: the worker can commit the configuration */
  | { readonly kind: 'prepared', readonly change: number, readonly problems: readonly string[] | null }
  /** The main listener of the worker is open. */
  | { readonly kind: 'serving' }
  /** The worker cannot start, and another worker could not start either. */
  | { readonly kind: 'failed', readonly problem: string }
  /** The worker accepts no more calls and will end because of its own fault. */
  | { readonly kind: 'leaving' }
  /** The worker uses a card of the agent. */
  | { readonly kind: 'carded', readonly agent: string }
  /** A request found no usable card of the agent. */
  | { readonly kind: 'wanted', readonly agent: string }
  /** The last message of a worker. */
  | { readonly kind: 'finalMetrics', readonly metrics: MetricsSnapshot }
  | { readonly kind: 'response', readonly id: number, readonly response: Responses[keyof Responses] }
  | { readonly kind: 'task', readonly id: number, readonly key: TaskKey, readonly write: TaskRecord | null }
  /** Counts for limits. Only `take` gets a response. */
  | {
    readonly kind: 'limit'
    readonly id: number
    readonly take: readonly LimitKey[]
    readonly release: readonly LimitKey[]
    readonly spend: readonly Spending[]
  }
  /** @param release true: withdraw the claims */
  | {
    readonly kind: 'claim'
    readonly id: number
    readonly agent: string
    readonly claims: readonly ClaimKey[]
    readonly release: boolean
  }
  | { readonly kind: 'push', readonly id: number, readonly change: PushChange }
  /** @param claim the owner of names without one; null only reads */
  | { readonly kind: 'owners', readonly id: number, readonly agent: string, readonly names: readonly OwnedName[], readonly claim: string | null }

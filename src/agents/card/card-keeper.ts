/** The source of an agent's card, as the agent sees it: a source in this process (card-source.ts), or one in another process. */
import type { Dispatcher } from 'undici'
import type { HeldCard, LoadedCards } from '#a2a/card/loaded-cards.js'
import type { CardConfig } from '#config/model/model.js'
import type { CardLimits } from './card-fetch.js'
import type { CardLoadOptions, KeptByVersion } from './card-load.js'

export type RefreshOutcome = 'changed' | 'unchanged' | 'not_modified' | 'held' | 'invalid' | 'unreachable'

interface CardLog {
  info (values: object, message: string): void
  warn (values: object, message: string): void
  error (values: object, message: string): void
}

/** Loaded cards after their signatures were verified, or the reason why they are not used. */
export type CardTrusting =
  | { readonly ok: true, readonly cards: LoadedCards }
  /** `unavailable`: the keys cannot be fetched, so the cards may be good. */
  | { readonly ok: false, readonly unavailable: boolean, readonly problem: string }

/** Whether loaded cards may be used, with `card.changes: hold`. */
export type CardDecision =
  | { readonly kind: 'agreed' }
  /** `agreed`: the cards to use instead; null when they are not known. `problem` is the reason why there are none. */
  | { readonly kind: 'held', readonly held: HeldCard, readonly agreed: LoadedCards | null, readonly problem: string }

export interface CardSourceOptions {
  readonly agent: string
  readonly config: CardConfig
  /** Values of `card.headers`, by name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** As in `CardLoadOptions`. */
  readonly extended: CardLoadOptions['extended']
  readonly upstream: URL
  readonly limits: CardLimits
  /** Returns the connections to an origin. Called only with origins that the configuration names. */
  readonly dispatcher: (origin: string) => Dispatcher
  /** Verifies the signatures of loaded cards. Null or absent without `card.verify`. Never rejects. */
  readonly verify?: ((cards: LoadedCards) => Promise<CardTrusting>) | null
  /** Changes when the keys of `card.verify` change. */
  readonly trust?: string
  /** Decides about cards as the agent sent them, with `card.changes: hold`. Null or absent: every card may be used. Never throws. */
  readonly agree?: ((cards: LoadedCards) => CardDecision) | null
  /** Changes with the agreement about the card. Null or absent without one. */
  readonly agreement?: string | null
  /** Called when a card begins to wait, when another card waits, and with null when none waits any more. */
  readonly onHeld?: (held: HeldCard | null) => void
  /**
   * Compiles the schemas of new cards, away from requests. Null when there is nothing to wait for. Rejects when compilation exceeds its
   * limits: the old cards then stay.
   * @param elsewhere schemas of the same cards that another process has compiled
   */
  readonly prepare?: ((cards: LoadedCards, signal: AbortSignal, elsewhere?: unknown) => Promise<void> | null) | undefined
  /** Called with new cards, or with the same cards after they expired. Throws when the cards cannot be used: the old cards then stay. */
  readonly onCards: (cards: LoadedCards) => void
  readonly onRefresh: (outcome: RefreshOutcome) => void
  /** Called when `maxStale` has passed without a success, and at least one refresh has failed. */
  readonly onExpired: () => void
  readonly log: CardLog
  /** Timeout of one whole refresh, ms. Default 10 s. */
  readonly timeout?: number
  readonly random?: () => number
  readonly now?: () => number
}

export interface CardStatus {
  readonly state: 'loading' | 'ok' | 'stale' | 'expired' | 'failed'
  /** Time of the last success, including "not modified", in ms since the epoch. */
  readonly fetchedAt: number | null
  readonly nextAt: number | null
  /** The reason why the last refresh failed. */
  readonly problem: string | null
  readonly origin: string | null
  /** True when the card that was read last names only gRPC interfaces, and the gateway serves none of them. */
  readonly onlyGrpc: boolean
  /** The card that waits for an agreement; null for none. */
  readonly held: HeldCard | null
}

/** State of one source, for the source that replaces it. */
export interface CardHandover {
  readonly cards: LoadedCards
  /** The same cards as the agent sent them, before `card.verify` dropped members. Null in a process that does not load cards. */
  readonly sent: LoadedCards | null
  readonly held: HeldCard | null
  readonly kept: KeptByVersion
  readonly fetchedAt: number | null
  /** Time on the monotonic clock. */
  readonly freshAt: number
  readonly expired: boolean
  readonly overdue: boolean
  readonly failures: number
  readonly problem: string | null
  readonly nextAt: number | null
}

/** Source of an agent's card: the agent itself, or another process that fetches the card. */
export interface CardKeeper {
  start (): void
  /** Returns the state for another source of the same card; null while there is no card. */
  handover (): CardHandover | null
  /** Called instead of `start`: continues with the state of another source of the same card. */
  takeOver (from: CardHandover): void
  /** Resolves when the first attempt has ended, well or not. */
  refreshNow (): Promise<void>
  /**
   * Called for each request that found no usable card. Refreshes soon, at most once a second.
   * @returns milliseconds until the card may be there
   */
  requestCard (): number
  /** Stops for good. No callback is called afterwards. */
  close (): Promise<void>
  readonly status: CardStatus
}

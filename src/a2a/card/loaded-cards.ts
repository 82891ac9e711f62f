/** The loaded cards of one agent, from any source. */
import type { AgentCard } from './card.js'
import type { Version } from '../versions.js'
import type { JsonObject } from '../../wire/json/object.js'

/** A card as received: its bytes, their JSON, and the data that the gateway read from it. */
export interface CardDocument {
  readonly bytes: Buffer
  readonly value: unknown
  readonly card: AgentCard
}

/** An authenticated extended card, from `card.extended`. */
export interface ExtendedCard {
  /** The card as JSON text. */
  readonly bytes: Buffer
  readonly raw: JsonObject
}

/** The card in both variants. Both are the same document when the agent serves the same bytes for both versions. */
export interface LoadedCards {
  readonly byVersion: Readonly<Record<Version, CardDocument>>
  /** Null or absent when the gateway does not load it, or when the agent has none. */
  readonly extended?: ExtendedCard | null
  /** Milliseconds since the epoch. */
  readonly fetchedAt: number
  /** URL or path of the source, for logs and /agents. */
  readonly origin: string
}

/** The loaded cards of one agent, from any source. */
import type { AgentCard } from './card.js'
import type { Version } from '../versions.js'

/** A card as received: its bytes, their JSON, and the data that the gateway read from it. */
export interface CardDocument {
  readonly bytes: Buffer
  readonly value: unknown
  readonly card: AgentCard
}

/** The card in both variants. Both are the same document when the agent serves the same bytes for both versions. */
export interface LoadedCards {
  readonly byVersion: Readonly<Record<Version, CardDocument>>
  /** Milliseconds since the epoch. */
  readonly fetchedAt: number
  /** URL or path of the source, for logs and /agents. */
  readonly origin: string
}

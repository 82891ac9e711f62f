/** The cards of one agent as they were read, from wherever. */
import type { AgentCard } from './card.js'
import type { Version } from '../versions.js'

/** A card as it came: its bytes, their JSON, and what the gateway reads in it. */
export interface CardDocument {
  readonly bytes: Buffer
  readonly value: unknown
  readonly card: AgentCard
}

/** The card in both variants; one and the same document when the agent serves the same bytes to both. */
export interface LoadedCards {
  readonly byVersion: Readonly<Record<Version, CardDocument>>
  /** ms since the epoch. */
  readonly fetchedAt: number
  /** URL or path it came from, for logs and /agents. */
  readonly origin: string
}

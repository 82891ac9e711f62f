/** The loaded cards of one agent, from any source. */
import type { AgentCard } from './card.js'
import type { Version } from '../versions.js'
import type { JsonObject } from '#wire/json/object.js'
import type { CardForm } from './signing/canonical.js'

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

/**
 * Result of verifying the signatures of one card. `partial`: a signature is good, but covers only the members that A2A 1.0 defines.
 * `unknown_key`: no configured key matches any signature. `unavailable`: the keys could not be fetched.
 */
export const SIGNATURE_OUTCOMES = ['verified', 'partial', 'unsigned', 'invalid', 'unknown_key', 'unavailable'] as const
export type SignatureOutcome = (typeof SIGNATURE_OUTCOMES)[number]

export interface CardSignature {
  readonly outcome: SignatureOutcome
  /** The form that a good signature covers; null for none. */
  readonly form: CardForm | null
  /** The key that verified the card, as the operator names it; null for none. */
  readonly key: string | null
}

/** Results for the cards in use, with `card.verify`. */
export interface CardSignatures {
  readonly 0.3: CardSignature
  readonly '1.0': CardSignature
  /** Null without an extended card. */
  readonly extended: CardSignature | null
  /** The version whose own card could not be verified: the card of the other version stands in for it. Null for none. */
  readonly replaced: Version | null
}

/** The card in both variants. Both are the same document when the agent serves the same bytes for both versions. */
export interface LoadedCards {
  readonly byVersion: Readonly<Record<Version, CardDocument>>
  /** Null or absent when the gateway does not load it, or when the agent has none. */
  readonly extended?: ExtendedCard | null
  /** Null or absent without `card.verify`. */
  readonly signatures?: CardSignatures | null
  /** Milliseconds since the epoch. */
  readonly fetchedAt: number
  /** URL or path of the source, for logs and /agents. */
  readonly origin: string
}

/**
 * What a difference between two cards does to enforcement. `lowers`: the gateway enforces less. `raises`: it enforces more. `opens`: the
 * agent offers something new, at an address or in a skill. `neutral`: nothing is enforced differently.
 */
export type CardEffect = 'lowers' | 'raises' | 'opens' | 'neutral'

/** One difference between an agreed card and another card. `message` is one sentence, with texts of the card clipped and escaped. */
export interface CardDifference {
  readonly kind: string
  readonly effect: CardEffect
  /** JSON Pointer in the new card, or in the old card for what is gone. */
  readonly path: string
  readonly message: string
}

/** A card of the agent that waits until somebody agrees (`card.changes: hold`). */
export interface HeldCard {
  /** Digest of the card for A2A 1.0. */
  readonly digest: string
  /** `new`: nobody has agreed on any card of the agent. */
  readonly reason: 'new' | 'changed'
  /** Milliseconds since the epoch: since then, some card waits. */
  readonly since: number
  /** Number of different cards that came since then. */
  readonly versions: number
  /** Differences from the agreed card, those that lower enforcement first. Empty when the agreed card is not known. */
  readonly differences: readonly CardDifference[]
  /** Differences that are not listed. */
  readonly omitted: number
}

/** Loaded cards as a message to another process or thread: the bytes as they were read, and the results of their verification. */
import type { CardSignatures, LoadedCards } from './loaded-cards.js'

export interface PackedCards {
  readonly plain: Uint8Array
  /** Null when the agent serves the same card to both versions. */
  readonly v1: Uint8Array | null
  /** The extended card; null for none. */
  readonly extended: Uint8Array | null
  /** Results of `card.verify`; null without it. */
  readonly signatures: CardSignatures | null
  readonly fetchedAt: number
  readonly origin: string
}

export function packCards ({ byVersion, extended, signatures = null, fetchedAt, origin }: LoadedCards): PackedCards {
  const [plain, v1] = [byVersion['0.3'], byVersion['1.0']]
  return {
    plain: plain.bytes,
    v1: v1 === plain ? null : v1.bytes,
    extended: extended?.bytes ?? null,
    signatures,
    fetchedAt,
    origin
  }
}

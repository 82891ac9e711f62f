/** Reads the cards that another process or thread has loaded (a2a/card/packed-cards.ts). */
import type { ExtendedCard, LoadedCards } from '#a2a/card/loaded-cards.js'
import type { PackedCards } from '#a2a/card/packed-cards.js'
import { coveredCards } from '#a2a/card/signing/verified.js'
import type { AgentConfig } from '#config/model/model.js'
import type { JsonObject } from '#wire/json/object.js'
import { parseJson } from '#wire/json/parse-json.js'
import type { CardLimits } from './card-fetch.js'
import { readDocument } from './card-fetch.js'

export interface UnpackOptions {
  readonly limits: CardLimits
  readonly verify: AgentConfig['card']['verify']
}

/** @throws Error with a readable message when the limits do not allow the card */
export function unpackCards (
  { plain, v1, extended, signatures, fetchedAt, origin }: PackedCards,
  { limits, verify }: UnpackOptions
): LoadedCards {
  const read = (bytes: Uint8Array) => {
    const document = readDocument(
      { kind: 'fetched', from: origin, status: 200, bytes: Buffer.from(bytes), contentType: '', validators: null, lifetime: null },
      limits
    )
    if (typeof document === 'string') throw new Error(document)
    return document
  }
  const document = read(plain)
  const cards: LoadedCards = {
    byVersion: { 0.3: document, '1.0': v1 === null ? document : read(v1) },
    extended: extended === null ? null : extendedOf(Buffer.from(extended)),
    fetchedAt,
    origin
  }
  // The signatures were verified where the card was loaded.
  return signatures === null ? cards : coveredCards(cards, signatures, verify?.uncovered !== 'allow')
}

/** The gateway has written this JSON itself. */
function extendedOf (bytes: Buffer): ExtendedCard {
  return { bytes, raw: parseJson(bytes) as JsonObject }
}

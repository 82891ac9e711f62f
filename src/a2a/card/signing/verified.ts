/** Applies the results of verifying signatures to loaded cards. Which cards count must be the same in every process. */
import type { CardDocument, CardSignature, CardSignatures, LoadedCards } from '../loaded-cards.js'
import { readCard } from '../card.js'
import type { CardForm } from './canonical.js'
import { coveredBySdkForm } from './canonical.js'
import type { JsonObject } from '#wire/json/object.js'

/** True for a card that a configured key has signed. */
export function isVerified ({ outcome }: CardSignature): boolean {
  return outcome === 'verified' || outcome === 'partial'
}

/**
 * Returns the cards without the members that no signature covers. The bytes of a document stay those of the agent.
 * @param drops false with `card.verify.uncovered: allow`
 * @throws Error in plain words when the covered part is no usable card
 */
export function coveredCards (cards: LoadedCards, signatures: CardSignatures, drops: boolean): LoadedCards {
  if (!drops) return { ...cards, signatures }
  const { byVersion, extended = null } = cards
  const covered = (document: CardDocument, { outcome, form }: CardSignature): CardDocument =>
    outcome === 'partial' && form !== null ? coveredDocument(document, form) : document
  const plain = covered(byVersion['0.3'], signatures['0.3'])
  const recent = byVersion['1.0'] === byVersion['0.3'] ? plain : covered(byVersion['1.0'], signatures['1.0'])
  return {
    ...cards,
    byVersion: { 0.3: plain, '1.0': recent },
    extended: extended !== null && signatures.extended?.outcome === 'partial' && signatures.extended.form !== null
      ? { bytes: extended.bytes, raw: coveredPart(extended.raw, signatures.extended.form) }
      : extended,
    signatures
  }
}

function coveredDocument ({ bytes, card: { raw } }: CardDocument, form: CardForm): CardDocument {
  const value = coveredPart(raw, form)
  const read = readCard(value)
  if (!read.ok) throw new Error(`without the members that its signature does not cover, ${read.problem}`)
  return { bytes, value, card: read.card }
}

/** The covered part, with the signatures that cover it. */
function coveredPart (raw: JsonObject, form: CardForm): JsonObject {
  return { ...coveredBySdkForm(raw, form), signatures: raw['signatures'] }
}

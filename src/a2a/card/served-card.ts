/** A card that is ready to be served at any address. */
import type { JsonObject } from '#wire/json/object.js'
import { parseJson } from '#wire/json/parse-json.js'
import { V1_LISTS } from './interfaces.js'
import type { PlacedBytes } from '#wire/placed-text.js'
import { textDigest, PlacedText } from '#wire/placed-text.js'
import type { CardRewrite } from './rewrite.js'
import { rewriteCard } from './rewrite.js'

/** Signs served cards with the gateway's key (`card.signature: resign`). */
export interface CardSigner {
  /** The gateway's public URL with the agent's path, without trailing slash: the only address at which the card is signed. */
  readonly publicBase: string
  /** Changes with the key. */
  readonly id: string
  /** @throws Error in plain words for a card that cannot be signed */
  readonly sign: (card: JsonObject) => JsonObject
}

/**
 * The card of an agent, rewritten once. The URLs of its interfaces lack their beginning: without `server.publicUrl`, the beginning depends
 * on the request.
 */
export class ServedCard {
  /** The reason why the card is served without a signature; null for none. */
  readonly problem: string | null = null
  private readonly text: PlacedText

  /**
   * @param source with `verbatim`, the served bytes are the agent's own
   * @param signer signs cards of 1.0: 0.3 has no canonical form
   */
  constructor (source: { readonly bytes: Buffer, readonly raw: JsonObject }, rewrite: CardRewrite, signer: CardSigner | null = null) {
    if (signer !== null) {
      const text = JSON.stringify(rewriteCard(source.raw, { ...rewrite, publicBase: signer.publicBase }))
      const signed = signedText(text, signer)
      if (signed.problem !== null) this.problem = signed.problem
      if (signed.text !== null) {
        // Weak: each process makes other signatures of the same content.
        const digest = textDigest([Buffer.from(signer.id), Buffer.from(text)])
        this.text = new PlacedText([Buffer.from(signed.text)], { digest, weak: true })
        return
      }
    }
    this.text = new PlacedText(rewrite.signature === 'verbatim' ? [source.bytes] : piecesOf(source, rewrite))
  }

  /** @param publicBase the gateway's public URL with the agent's path, without trailing slash */
  at (publicBase: string): PlacedBytes {
    return this.text.at(publicBase)
  }
}

/** @returns no text for a card of 0.3, and for a card that cannot be signed */
function signedText (text: string, { sign }: CardSigner): { readonly text: string | null, readonly problem: string | null } {
  const card = parseJson(text) as JsonObject
  if (!V1_LISTS.some(key => Array.isArray(card[key]))) return { text: null, problem: null }
  try {
    return { text: JSON.stringify(sign(card)), problem: null }
  } catch (error) {
    return { text: null, problem: `the served card is not signed: ${(error as Error).message}` }
  }
}

/** Rewrites the card with a placeholder for the public base. The card cannot contain the placeholder, which is a digest of the card. */
function piecesOf ({ bytes, raw }: { readonly bytes: Buffer, readonly raw: JsonObject }, rewrite: CardRewrite): Buffer[] {
  const placeholder = textDigest([bytes])
  return JSON.stringify(rewriteCard(raw, { ...rewrite, publicBase: placeholder })).split(placeholder).map(text => Buffer.from(text))
}

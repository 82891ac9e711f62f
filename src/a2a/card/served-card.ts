/** A card that is ready to be served at any address. */
import { createHash } from 'node:crypto'
import type { JsonObject } from '../../wire/json/object.js'
import { V1_LISTS } from './interfaces.js'
import type { CardRewrite } from './rewrite.js'
import { rewriteCard } from './rewrite.js'

export interface RenderedCard {
  readonly bytes: Buffer
  /** Quoted ETag. Strong, except for a signed card: each process makes other signatures of the same content. */
  readonly etag: string
}

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
  /** The public base goes between the pieces. */
  private readonly pieces: readonly Buffer[]
  private readonly digest: string
  private readonly isSigned: boolean = false
  /** The reason why the card is served without a signature; null for none. */
  readonly problem: string | null = null
  /** The card at the base of the last request. Most gateways have one address. */
  private last: { readonly base: string, readonly card: RenderedCard } | null = null

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
        this.pieces = [Buffer.from(signed.text)]
        this.digest = sha256([Buffer.from(signer.id), Buffer.from(text)])
        this.isSigned = true
        return
      }
    }
    this.pieces = rewrite.signature === 'verbatim' ? [source.bytes] : piecesOf(source, rewrite)
    this.digest = sha256(this.pieces)
  }

  /** @param publicBase the gateway's public URL with the agent's path, without trailing slash */
  at (publicBase: string): RenderedCard {
    if (this.last?.base === publicBase) return this.last.card
    const card = this.render(publicBase)
    this.last = { base: publicBase, card }
    return card
  }

  private render (publicBase: string): RenderedCard {
    const { pieces } = this
    if (pieces.length === 1) return { bytes: pieces[0] as Buffer, etag: `${this.isSigned ? 'W/' : ''}${etagOf(this.digest)}` }
    const base = Buffer.from(JSON.stringify(publicBase).slice(1, -1))
    const all = pieces.flatMap((piece, i) => i === 0 ? [piece] : [base, piece])
    return { bytes: Buffer.concat(all), etag: etagOf(sha256([Buffer.from(this.digest), base])) }
  }
}

/** @returns no text for a card of 0.3, and for a card that cannot be signed */
function signedText (text: string, { sign }: CardSigner): { readonly text: string | null, readonly problem: string | null } {
  const card = JSON.parse(text) as JsonObject
  if (!V1_LISTS.some(key => Array.isArray(card[key]))) return { text: null, problem: null }
  try {
    return { text: JSON.stringify(sign(card)), problem: null }
  } catch (error) {
    return { text: null, problem: `the served card is not signed: ${(error as Error).message}` }
  }
}

/** Rewrites the card with a placeholder for the public base. The card cannot contain the placeholder, which is a digest of the card. */
function piecesOf ({ bytes, raw }: { readonly bytes: Buffer, readonly raw: JsonObject }, rewrite: CardRewrite): Buffer[] {
  const placeholder = sha256([bytes])
  return JSON.stringify(rewriteCard(raw, { ...rewrite, publicBase: placeholder })).split(placeholder).map(text => Buffer.from(text))
}

/** Returns the digest in base64url, which is a valid part of a JSON string and of an ETag. */
function sha256 (pieces: readonly Uint8Array[]): string {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(String(piece.length)).update(':').update(piece)
  return hash.digest('base64url')
}

/** 160 bits of SHA-256 are enough to distinguish cards. */
function etagOf (digest: string): string {
  return `"${digest.slice(0, 27)}"`
}

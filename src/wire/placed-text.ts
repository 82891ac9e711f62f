/** A text with the public address of the gateway in several places. The address may depend on the request, the rest does not. */
import { createHash } from 'node:crypto'

export interface PlacedBytes {
  readonly bytes: Buffer
  /** Quoted ETag. */
  readonly etag: string
}

export interface PlacedTextOptions {
  /** Digest of the content, where the pieces are not the content. */
  readonly digest?: string
  /** True for a weak ETag: the bytes vary with the same content (RFC 9110 §8.8.1). */
  readonly weak?: boolean
}

export class PlacedText {
  private readonly pieces: readonly Buffer[]
  private readonly digest: string
  private readonly weak: boolean
  /** The text at the address of the last request. Most gateways have one address. */
  private last: { readonly base: string, readonly placed: PlacedBytes } | null = null

  /** @param pieces the address goes between the pieces */
  constructor (pieces: readonly Buffer[], { digest, weak = false }: PlacedTextOptions = {}) {
    this.pieces = pieces
    this.digest = digest ?? textDigest(pieces)
    this.weak = weak
  }

  /** @param base the address; written as in a JSON string */
  at (base: string): PlacedBytes {
    if (this.last?.base === base) return this.last.placed
    const placed = this.place(base)
    this.last = { base, placed }
    return placed
  }

  private place (base: string): PlacedBytes {
    const { pieces } = this
    if (pieces.length === 1) return { bytes: pieces[0] as Buffer, etag: `${this.weak ? 'W/' : ''}${etagOf(this.digest)}` }
    const between = Buffer.from(JSON.stringify(base).slice(1, -1))
    const all = pieces.flatMap((piece, i) => i === 0 ? [piece] : [between, piece])
    return { bytes: Buffer.concat(all), etag: etagOf(textDigest([Buffer.from(this.digest), between])) }
  }
}

/** Returns the SHA-256 digest in base64url, which is a valid part of a JSON string and of an ETag. */
export function textDigest (pieces: readonly Uint8Array[]): string {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(String(piece.length)).update(':').update(piece)
  return hash.digest('base64url')
}

/** 160 bits of SHA-256 are enough to distinguish texts. */
function etagOf (digest: string): string {
  return `"${digest.slice(0, 27)}"`
}

/** Signs served cards with the key of `card.sign`. */
import type { CardSigner } from '#a2a/card/served-card.js'
import { signCard } from '#identity/card-signature.js'
import type { SigningKey } from '#identity/signing-key.js'

/** Path of the public keys, from the root of the gateway's public URL: `front/http/well-known/jwks.ts` serves them. */
const KEYS_PATH = '/.well-known/jwks.json'

/**
 * @param publicUrl `server.publicUrl`
 * @param path of the agent
 */
export function signerOf (key: SigningKey | null, publicUrl: string | null, path: string): CardSigner | null {
  if (key === null || publicUrl === null) return null
  return { publicBase: publicUrl + path, id: JSON.stringify(key.jwk), sign: card => signCard(card, key, publicUrl + KEYS_PATH) }
}

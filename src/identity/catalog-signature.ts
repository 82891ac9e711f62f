/**
 * The signature of an AI Catalog (0.9, § Signature Object): a detached JWS over the JCS form of the document, without `signature.jws` and
 * `additionalSignatures` of its root. The keys come from the configuration alone: the gateway resolves no DID.
 */
import { canonicalize, NoCanonicalForm } from '#a2a/card/signing/canonical.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { verifyDetached } from './card-signature.js'
import type { VerificationKey } from './jwk-set.js'
import type { SigningKey } from './signing-key.js'
import { signJws } from './signing-key.js'

/** Value of the protected `typ`: a signature of a card or of a Trust Manifest is not a signature of a catalog. */
const TYP = 'ai-catalog+jws'
/** The only algorithm of the profile. */
export const CATALOG_ALGORITHM = 'ES256'
const PROFILE = 'did-web-v1'
/** Difference of clocks that is accepted, ms. */
const SKEW = 60_000
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

/** Result of a verification. `problem` completes the sentence "the catalog …". */
export type CatalogVerification = { readonly signer: string, readonly key: string } | { readonly problem: string }

/** Returns the ID of a verification method: the `kid` of a signature, and an ID in the DID document. */
export function verificationMethod (signer: string, kid: string): string {
  return `${signer}#${encodeURIComponent(kid)}`
}

/**
 * Returns the catalog with a signature.
 * @param signer identity of the publisher, `did:web:DOMAIN`
 * @param issuedAt RFC 3339
 * @throws NoCanonicalForm
 */
export function signCatalog (catalog: JsonObject, key: SigningKey, signer: string, issuedAt: string): JsonObject {
  const signature = { signer, profile: PROFILE, issuedAt }
  const text = canonicalize({ ...catalog, signature })
  const jws = signJws(key, { typ: TYP, kid: verificationMethod(signer, key.jwk.kid) }, text)
  return { ...catalog, signature: { ...signature, jws: `${jws.protected}..${jws.signature}` } }
}

/**
 * Verifies the signature of the root of a catalog. Never rejects.
 * @param now ms since the epoch
 */
export async function verifyCatalog (catalog: JsonObject, keys: readonly VerificationKey[], now: number): Promise<CatalogVerification> {
  const { signature, additionalSignatures: _, ...rest } = catalog
  if (signature === undefined) return { problem: 'has no signature' }
  if (!isObject(signature)) return { problem: 'has a signature in another form than that of AI Catalog 0.9 (an object)' }
  const { jws, ...claims } = signature
  const { signer, profile, issuedAt, expiresAt } = claims
  if (typeof jws !== 'string' || typeof signer !== 'string') return { problem: 'has a signature without signer or jws' }
  if (profile !== PROFILE) return { problem: `has a signature of another profile than ${PROFILE}` }
  const [from, until] = [instantOf(issuedAt), expiresAt === undefined ? Infinity : instantOf(expiresAt)]
  if (from === null || until === null || until <= from) return { problem: 'has a signature with times that are not valid' }
  if (now + SKEW < from) return { problem: 'has a signature of the future' }
  if (now - SKEW >= until) return { problem: 'has a signature that has expired' }
  const [head = '', payload, sign = '', ...more] = jws.split('.')
  if (payload !== '' || more.length > 0) return { problem: 'has a signature that is not a detached JWS' }
  let text: string
  try {
    text = canonicalize({ ...rest, signature: claims })
  } catch (error) {
    if (error instanceof NoCanonicalForm) return { problem: 'has no canonical form (RFC 8785)' }
    throw error
  }
  const named = keys.map(key => key.kid === null ? key : { ...key, kid: verificationMethod(signer, key.kid) })
  const all = [...named, ...keys]
  const key = await verifyDetached(
    { protected: head, signature: sign }, text, all, { algorithm: CATALOG_ALGORITHM, typ: TYP, kid: `${signer}#` }
  )
  return key === null ? { problem: 'has no signature that a configured key has made' } : { signer, key: key.kid ?? key.thumbprint }
}

function instantOf (text: unknown): number | null {
  if (typeof text !== 'string' || !TIMESTAMP.test(text)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : at
}

/** The DID document of a publisher: the keys that sign the catalog. */
export function didDocument (id: string, keys: readonly JsonObject[]): JsonObject {
  const methods = keys.map(({ kid, ...jwk }) => ({
    id: verificationMethod(id, String(kid)),
    type: 'JsonWebKey',
    controller: id,
    publicKeyJwk: jwk
  }))
  return {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/jwk/v1'],
    id,
    verificationMethod: methods,
    assertionMethod: methods.map(method => method.id)
  }
}

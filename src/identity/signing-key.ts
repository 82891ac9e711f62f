/** The keys that the gateway signs with: cards (`card.sign`) and the identity header (`upstream.credentials.identity`). */
import type { AsymmetricKeyDetails, KeyObject } from 'node:crypto'
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'
import type { JsonObject } from '#wire/json/object.js'

export type SigningAlgorithm = 'ES256' | 'EdDSA' | 'RS256'

/** A public key of a JSON Web Key Set (RFC 7517). */
export interface PublicJwk {
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly use: 'sig'
  readonly kty?: string | undefined
  readonly crv?: string | undefined
  readonly x?: string | undefined
  readonly y?: string | undefined
  readonly n?: string | undefined
  readonly e?: string | undefined
}

export interface SigningKey {
  readonly jwk: PublicJwk
  /** Returns the signature of a text, in base64url (RFC 7515 §5.1). */
  readonly sign: (text: string) => string
}

/** Completes the sentence "the file …". */
export interface KeyProblem { readonly problem: string }

/** RFC 7518 §3.3. */
const MIN_RSA_BITS = 2_048

/**
 * Reads a private key.
 * @param kid null: the thumbprint of the key (RFC 7638)
 */
export function readSigningKey (pem: Buffer | string, kid: string | null): SigningKey | KeyProblem {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    return { problem: 'is not the PEM file of a private key without a password' }
  }
  const jwk = publicJwkOf(createPublicKey(key), kid)
  if ('problem' in jwk) return jwk
  const digest = jwk.alg === 'EdDSA' ? null : 'sha256'
  return { jwk, sign: text => sign(digest, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url') }
}

/** Reads a further key of the key set: public, private, or a certificate. Only the public part is kept. */
export function readPublicKey (pem: Buffer | string, kid: string | null): PublicJwk | KeyProblem {
  try {
    return publicJwkOf(createPublicKey(pem), kid)
  } catch {
    return { problem: 'is not the PEM file of a key' }
  }
}

function publicJwkOf (key: KeyObject, kid: string | null): PublicJwk | KeyProblem {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = key
  const alg = algorithmOf(type, details)
  if (alg === null) return { problem: 'has another kind of key than EC P-256, Ed25519, and RSA of 2048 bits or more' }
  const { kty, crv, x, y, n, e } = key.export({ format: 'jwk' })
  // RFC 7638 §3.2: the required members in this order.
  const required = type === 'rsa' ? { e, kty, n } : type === 'ec' ? { crv, kty, x, y } : { crv, kty, x }
  const thumbprint = createHash('sha256').update(JSON.stringify(required)).digest('base64url')
  return { ...required, kid: kid ?? thumbprint, use: 'sig', alg }
}

function algorithmOf (type: string | undefined, { namedCurve, modulusLength = 0 }: AsymmetricKeyDetails): SigningAlgorithm | null {
  if (type === 'ed25519') return 'EdDSA'
  if (type === 'ec') return namedCurve === 'prime256v1' ? 'ES256' : null
  return type === 'rsa' && modulusLength >= MIN_RSA_BITS ? 'RS256' : null
}

/** A JSON Web Signature (RFC 7515 §7.2.2). All parts are in base64url. */
export interface Jws { readonly protected: string, readonly payload: string, readonly signature: string }

/** @param header parameters besides `alg` and `kid` */
export function signJws ({ jwk: { alg, kid }, sign }: SigningKey, header: Readonly<Record<string, string>>, text: string): Jws {
  const head = Buffer.from(JSON.stringify({ alg, kid, ...header })).toString('base64url')
  const payload = Buffer.from(text).toString('base64url')
  return { protected: head, payload, signature: sign(`${head}.${payload}`) }
}

/**
 * Returns a JSON Web Token (RFC 7519).
 * @param type value of the header parameter `typ`
 * @param claims all claims of the token, with its times
 */
export function signJwt (key: SigningKey, type: string, claims: JsonObject): string {
  const { protected: head, payload, signature } = signJws(key, { typ: type }, JSON.stringify(claims))
  return `${head}.${payload}.${signature}`
}

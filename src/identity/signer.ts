/**
 * Signs JSON Web Tokens (RFC 7519) with a key of the gateway. Like `jwt-source.ts`, it imports jose only once it is needed. Keys are read
 * with Node, so that the public ones are there at once.
 */
import type { KeyObject } from 'node:crypto'
import { createPrivateKey, createPublicKey, hash } from 'node:crypto'
import type * as Jose from 'jose'
import type { JsonObject } from '../wire/json/object.js'

export interface SigningKey {
  readonly alg: SigningAlgorithm
  readonly key: KeyObject
  readonly jwk: PublicJwk
}

export type SigningAlgorithm = 'ES256' | 'EdDSA'

/** A public key of a JSON Web Key Set (RFC 7517). `kid` is the thumbprint of RFC 7638. */
export interface PublicJwk {
  readonly kty: string
  readonly crv: string
  readonly x: string
  readonly y?: string
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly use: 'sig'
}

type Problem = { readonly problem: string }

const KINDS = 'must be a P-256 or Ed25519 key in PEM, such as of "openssl genpkey -algorithm ed25519"'

/** Reads a private key in PEM without a password. */
export function readSigningKey (pem: Buffer): SigningKey | Problem {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    return { problem: `is not a private key: it ${KINDS}` }
  }
  const jwk = publicJwkOf(createPublicKey(key))
  return jwk === null ? { problem: KINDS } : { alg: jwk.alg, key, jwk }
}

/** Reads the public part of a public or private key in PEM. */
export function readPublicKey (pem: Buffer): PublicJwk | Problem {
  try {
    return publicJwkOf(createPublicKey(pem)) ?? { problem: KINDS }
  } catch {
    return { problem: `is not a key: it ${KINDS}` }
  }
}

/** @returns null for a key of another kind */
function publicJwkOf (key: KeyObject): PublicJwk | null {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  const alg = type === 'ed25519' ? 'EdDSA' : type === 'ec' && details?.namedCurve === 'prime256v1' ? 'ES256' : null
  if (alg === null) return null
  const { kty = '', crv = '', x = '', y } = key.export({ format: 'jwk' }) as { kty?: string; crv?: string; x?: string; y?: string }
  const parts = y === undefined ? { crv, kty, x } : { crv, kty, x, y }
  // RFC 7638 §3.2: the required members in lexicographic order, without white space.
  return { ...parts, kid: hash('sha256', JSON.stringify(parts), 'base64url'), alg, use: 'sig' }
}

export class JwtSigner {
  private readonly key: SigningKey
  private readonly type: string
  private jose: Promise<typeof Jose> | null = null

  /** @param type value of the header `typ` */
  constructor (key: SigningKey, type: string) {
    this.key = key
    this.type = type
  }

  /** @param claims all claims of the token, with its times */
  async sign (claims: JsonObject): Promise<string> {
    const { alg, key, jwk: { kid } } = this.key
    const { CompactSign } = await (this.jose ??= import('jose'))
    return await new CompactSign(Buffer.from(JSON.stringify(claims))).setProtectedHeader({ alg, typ: this.type, kid }).sign(key)
  }
}

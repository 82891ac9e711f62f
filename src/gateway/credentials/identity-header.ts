/** The identity header: a signed word to the agent on who calls. */
import { createHash, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { IdentityHeaderConfig } from '../../config/model/credentials-model.js'
import { describe } from '../../config/describe.js'
import { IDENTITY_TYPE, identityClaims } from '../../identity/identity-claims.js'
import type { Principal } from '../../identity/principal.js'
import type { PublicJwk, SigningKey } from '../../identity/signer.js'
import { JwtSigner, readPublicKey, readSigningKey } from '../../identity/signer.js'
import type { Bytes } from '../../wire/chunked-buffer.js'

/** The keys of an identity header. */
export interface IdentityKeys {
  readonly signing: SigningKey
  /** All keys of the key set, the signing one first. */
  readonly published: readonly PublicJwk[]
}

/** @throws Error in plain words when a file cannot be read or used */
export function readIdentityKeys ({ key: { file, publish } }: IdentityHeaderConfig): IdentityKeys {
  const signing = usable(file, readSigningKey)
  return { signing, published: [signing.jwk, ...publish.map(one => usable(one, readPublicKey))] }
}

function usable<T extends object> (file: string, read: (pem: Buffer) => T | { readonly problem: string }): T {
  let pem: Buffer
  try {
    pem = readFileSync(file)
  } catch (error) {
    throw new Error(`upstream.credentials.identity: cannot read ${file}: ${describe(error)}`, { cause: error })
  }
  const found = read(pem)
  if ('problem' in found) throw new Error(`upstream.credentials.identity: ${file} ${String(found.problem)}`)
  return found as T
}

/** Value of the header, a secret for its lifetime. */
export interface IdentityValue { readonly value: string, readonly cached: boolean }

interface Signed {
  readonly value: string
  /** Milliseconds since the epoch. */
  readonly until: number
}

export class IdentityHeader {
  readonly name: string
  /** True when the header depends on the body. */
  readonly body: boolean
  private readonly config: IdentityHeaderConfig
  private readonly issuer: string
  private readonly audience: string
  private readonly signer: JwtSigner
  /** A source makes a new principal for each token that it verifies, so an entry ends with the token. */
  private readonly signed = new WeakMap<Principal, Signed | Promise<Signed>>()

  /**
   * @param issuer public URL of the gateway
   * @param audience name of the agent
   */
  constructor (config: IdentityHeaderConfig, keys: IdentityKeys, { issuer, audience }: Record<'issuer' | 'audience', string>) {
    this.name = config.header
    this.body = config.body
    this.config = config
    this.issuer = issuer
    this.audience = audience
    this.signer = new JwtSigner(keys.signing, IDENTITY_TYPE)
  }

  /**
   * The value of the header for a caller. Without `body` it is used for half of its life.
   * @param body the bytes that the agent gets; null for a body that is not read
   */
  valueFor (principal: Principal, body: Bytes | null): IdentityValue | Promise<IdentityValue> {
    const now = Date.now()
    if (this.body) {
      return this.sign(principal, now, { jti: randomUUID(), ...digestOf(body) }).then(({ value }) => ({ value, cached: false }))
    }
    const known = this.signed.get(principal)
    if (known instanceof Promise) return known.then(({ value }) => ({ value, cached: true }))
    if (known !== undefined && now < known.until) return { value: known.value, cached: true }
    const signing = this.sign(principal, now, {})
    this.signed.set(principal, signing)
    return signing.then(
      signed => {
        this.signed.set(principal, signed)
        return { value: signed.value, cached: false }
      },
      (error: unknown) => {
        this.signed.delete(principal)
        throw error
      }
    )
  }

  private async sign (principal: Principal, now: number, more: object): Promise<Signed> {
    const { claims, ttl } = this.config
    const iat = Math.floor(now / 1_000)
    const value = await this.signer.sign({
      ...identityClaims(principal, { issuer: this.issuer, audience: this.audience, claims }),
      iat,
      exp: iat + Math.floor(ttl / 1_000),
      ...more
    })
    return { value, until: now + ttl / 2 }
  }
}

/** SHA-256 of the body as the agent gets it, in base64url. A request without a body has the digest of no bytes. */
function digestOf (body: Bytes | null): { body_sha256?: string } {
  if (body === null) return {}
  const hash = createHash('sha256')
  for (const chunk of Buffer.isBuffer(body) ? [body] : body.chunks) hash.update(chunk)
  return { body_sha256: hash.digest('base64url') }
}

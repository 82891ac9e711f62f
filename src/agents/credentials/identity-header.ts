/** The identity header: a signed word to the agent on who calls. */
import { createHash, randomUUID } from 'node:crypto'
import type { IdentityHeaderConfig } from '#config/model/credentials-model.js'
import { IDENTITY_TYPE, identityClaims } from '#identity/identity-claims.js'
import type { Principal } from '#identity/principal.js'
import type { SigningKey } from '#identity/signing-key.js'
import { signJwt } from '#identity/signing-key.js'
import type { Bytes } from '#wire/chunked-buffer.js'

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
  private readonly key: SigningKey
  /** A source makes a new principal for each token that it verifies, so an entry ends with the token. */
  private readonly signed = new WeakMap<Principal, Signed>()

  /**
   * @param issuer public URL of the gateway
   * @param audience name of the agent
   */
  constructor (config: IdentityHeaderConfig, key: SigningKey, { issuer, audience }: Record<'issuer' | 'audience', string>) {
    this.name = config.header
    this.body = config.body
    this.config = config
    this.issuer = issuer
    this.audience = audience
    this.key = key
  }

  /**
   * The value of the header for a caller. Without `body` it is used for half of its life.
   * @param body the bytes that the agent gets; null for a body that is not read
   */
  valueFor (principal: Principal, body: Bytes | null): IdentityValue {
    const now = Date.now()
    if (this.body) return { value: this.sign(principal, now, { jti: randomUUID(), ...digestOf(body) }), cached: false }
    const known = this.signed.get(principal)
    if (known !== undefined && now < known.until) return { value: known.value, cached: true }
    const value = this.sign(principal, now, {})
    this.signed.set(principal, { value, until: now + this.config.ttl / 2 })
    return { value, cached: false }
  }

  private sign (principal: Principal, now: number, more: object): string {
    const { claims, ttl } = this.config
    const iat = Math.floor(now / 1_000)
    return signJwt(this.key, IDENTITY_TYPE, {
      ...identityClaims(principal, { issuer: this.issuer, audience: this.audience, claims }),
      iat,
      exp: iat + Math.floor(ttl / 1_000),
      ...more
    })
  }
}

/** SHA-256 of the body as the agent gets it, in base64url. A request without a body has the digest of no bytes. */
function digestOf (body: Bytes | null): { body_sha256?: string } {
  if (body === null) return {}
  const hash = createHash('sha256')
  for (const chunk of Buffer.isBuffer(body) ? [body] : body.chunks) hash.update(chunk)
  return { body_sha256: hash.digest('base64url') }
}

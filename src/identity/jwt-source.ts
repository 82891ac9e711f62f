/**
 * Verifies JSON Web Tokens of one issuer. The only place that imports jose, and only once a source needs it: the package takes 17 ms and
 * more to load. A verified token costs a lookup from then on, and one SHA-256 on each new connection (1.6 µs of CPU; a verification takes
 * 190 to 320 µs).
 */
import type * as Jose from 'jose'
import type { CryptoKey } from 'jose'
import type { JwtConfig } from '#config/model/model.js'
import { isFor } from './audience.js'
import type { Carrier, Circumstances, Source, CredentialResult } from './authentication.js'
import type { VerificationKey } from './jwk-set.js'
import type { Unverified } from './jwt.js'
import { MAX_TOKEN_CHARS, principalOf, readToken } from './jwt.js'
import type { Principal } from './principal.js'
import { verificationQueue } from './verification-queue.js'

/** The keys of an issuer. */
export interface Keys {
  /** Null when no keys can be had: never fetched, or too old. */
  readonly current: readonly VerificationKey[] | null
  /** True when the last attempt to get the keys failed: a key that is not known may exist. */
  readonly failing: boolean
  /** Gets the keys again because of a key that is not known, within a rate. Resolves after 2 s at most; never rejects. */
  refresh (): Promise<void>
}

interface Verified {
  readonly principal: Principal
  /** Milliseconds since the epoch. */
  readonly until: number
  /** Thumbprint of the issuer's key. */
  readonly thumbprint: string
  /** Thumbprint of the caller's certificate; null for a bearer token. */
  readonly boundTo: string | null
}

const UNBOUND: CredentialResult = { problem: 'malformed', foreign: false }
/** A token for other agents. */
const OF_OTHERS: CredentialResult = { problem: 'audience', foreign: false }

/** Tokens that a source remembers. */
const ENTRIES = 10_000
/** Longest time for which a verified token is remembered, ms. */
const REMEMBERED = 5 * 60_000
/** Seconds after which a client may retry while no keys can be had. */
const RETRY_AFTER = 5

export class JwtSource implements Source {
  readonly name: string
  readonly carrier: Carrier
  readonly issuer: string
  private readonly config: JwtConfig
  private readonly keys: Keys
  private readonly verified = new Map<string, Verified>()
  /** Verifications under way, by the digest of the token: many calls with a new token cause one. */
  private readonly pending = new Map<string, Promise<CredentialResult>>()
  private readonly imported = new Map<string, Promise<CryptoKey | Uint8Array>>()
  private known: readonly VerificationKey[] | null = null
  private thumbprints: ReadonlySet<string> = new Set()
  private readonly jose: Promise<typeof Jose>
  /** Number of verifications that have begun, by network of the client. */
  readonly #proving = new Map<string, number>()

  constructor (name: string, config: JwtConfig, keys: Keys) {
    this.name = name
    this.config = config
    this.issuer = config.issuer
    this.keys = keys
    this.carrier = config.header === null
      ? { in: 'header', name: 'authorization', scheme: 'bearer' }
      : { in: 'header', name: config.header, scheme: null }
    this.jose = import('jose')
    this.jose.catch(() => {})
  }

  /** Number of tokens in memory. */
  get remembered (): number {
    return this.verified.size
  }

  /**
   * A token that is bound to a certificate is valid on connections with this certificate only, and a token for other agents at those only,
   * also when its signature is known.
   */
  verify (
    token: string,
    { now, isThrottled, network, thumbprint: certificate, audiences, last }: Circumstances
  ): CredentialResult | Promise<CredentialResult> {
    if (token.length > MAX_TOKEN_CHARS) return { problem: 'malformed', foreign: false }
    const digest = last.digestOf(token)
    const hit = this.verified.get(digest)
    if (hit !== undefined) {
      if (now < hit.until && this.has(hit.thumbprint)) {
        if (hit.boundTo !== null && hit.boundTo !== certificate) return UNBOUND
        return audiences === null || isFor(hit.principal.claims['aud'], audiences) ? { principal: hit.principal } : OF_OTHERS
      }
      this.verified.delete(digest)
    }
    const read = readToken(token, this.config, now)
    if ('problem' in read) return { problem: read.problem, foreign: read.problem === 'issuer' }
    if (audiences !== null && !isFor(read.claims['aud'], audiences)) return OF_OTHERS
    if (read.boundTo !== null && read.boundTo !== certificate) return UNBOUND
    const pending = this.pending.get(digest)
    if (pending !== undefined) return pending
    const from = network?.() ?? ''
    const proved = isThrottled(this.#proving.get(from))
      ? this.proveInTurn(token, digest, read, from)
      : this.proveNow(token, digest, read, from, now)
    const result = proved.finally(() => { this.pending.delete(digest) })
    this.pending.set(digest, result)
    return result
  }

  /** True while the key is in the set of the issuer: a revoked key takes its tokens with it. */
  private has (thumbprint: string): boolean {
    const { current } = this.keys
    if (current !== this.known) {
      this.known = current
      this.thumbprints = new Set(current?.map(key => key.thumbprint))
    }
    return this.thumbprints.has(thumbprint)
  }

  /** Verifies a token at once. Until the result is known, it counts as a failure: many forged tokens at once do not all pass the brake. */
  private async proveNow (token: string, digest: string, read: Unverified, network: string, now: number): Promise<CredentialResult> {
    this.#proving.set(network, (this.#proving.get(network) ?? 0) + 1)
    try {
      return await this.prove(token, digest, read, now)
    } finally {
      const left = (this.#proving.get(network) ?? 1) - 1
      if (left === 0) this.#proving.delete(network)
      else this.#proving.set(network, left)
    }
  }

  /** Verifies a token of an address whose failures are beyond a limit. A token with a key that the issuer does not have needs no turn. */
  private async proveInTurn (token: string, digest: string, read: Unverified, network: string): Promise<CredentialResult> {
    const candidates = this.candidates(read)
    if (candidates?.length === 0) return { throttled: true }
    const admitted = await verificationQueue.enter(network, this.issuer, read.claims['sub'] as string)
    return admitted ? await this.prove(token, digest, read, Date.now()) : { throttled: true }
  }

  private async prove (token: string, digest: string, read: Unverified, now: number): Promise<CredentialResult> {
    let candidates = this.candidates(read)
    if (candidates !== null && candidates.length === 0) {
      await this.keys.refresh()
      candidates = this.candidates(read)
    }
    if (candidates === null || (candidates.length === 0 && this.keys.failing)) return { unavailable: true, retryAfter: RETRY_AFTER }
    if (candidates.length === 0) return { problem: 'unknown_key', foreign: false }
    // RFC 7515 §4.1.4 makes `kid` optional. Without it, the key must be unambiguous.
    const fitting = candidates.filter(key => key.algorithms.includes(read.alg))
    if (read.kid === null && fitting.length > 1) return { problem: 'unknown_key', foreign: false }
    const { compactVerify, importJWK } = await this.jose
    for (const key of fitting) {
      try {
        const id = `${key.thumbprint} ${read.alg}`
        let imported = this.imported.get(id)
        if (imported === undefined) {
          if (this.imported.size > ENTRIES) this.imported.clear()
          this.imported.set(id, imported = importJWK(key.jwk, read.alg))
        }
        await compactVerify(token, await imported, { algorithms: [read.alg] })
      } catch {
        continue
      }
      const principal = principalOf(this.name, read.claims, this.config)
      if (principal === null) return { problem: 'malformed', foreign: false }
      const until = Math.min(read.exp * 1_000 + this.config.leeway, now + REMEMBERED)
      verificationQueue.note(this.issuer, read.claims['sub'] as string)
      this.remember(digest, { principal, until, thumbprint: key.thumbprint, boundTo: read.boundTo })
      return { principal }
    }
    return { problem: 'signature', foreign: false }
  }

  /** The keys that the token may name, of this issuer only. Null when no keys can be had. */
  private candidates ({ kid }: Unverified): readonly VerificationKey[] | null {
    const { current } = this.keys
    return current === null || kid === null ? current : current.filter(key => key.kid === kid)
  }

  private remember (digest: string, entry: Verified): void {
    this.verified.set(digest, entry)
    if (this.verified.size > ENTRIES) this.verified.delete(this.verified.keys().next().value ?? '')
  }
}

/** The credentials that one agent gets (`upstream.credentials`): static secrets, access tokens and the identity header. */
import { createHash, randomUUID } from 'node:crypto'
import { digest } from '#config/digest.js'
import type { SentSecrets } from '#config/credential-secrets.js'
import { readCredentialSecrets } from '#config/credential-secrets.js'
import type { AgentConfig, IdentityHeaderConfig, SentCredentialConfig } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import type { PublicJwk, SigningKey } from '#identity/signing-key.js'
import { redactAlso } from '#telemetry/redact.js'
import type { HeldToken, Obtained } from './token-source.js'
import { TokenConnections } from './token-endpoint.js'
import type { TlsFiles } from '#upstream/tls.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import { plainHeaderName, withoutHeaders } from '#wire/header-names.js'
import type { SigningKeys } from '../keys/signing-keys.js'
import { readSigningKeys } from '../keys/signing-keys.js'
import type { Subject, Watch } from './sent-token.js'
import { SentToken } from './sent-token.js'
import { IDENTITY_TYPE, identityClaims } from '#identity/identity-claims.js'
import { signJwt } from '#identity/signing-key.js'
import { whenReady } from '#wire/when-ready.js'
import { errorAt } from '#operator-errors.js'

export type CredentialKind = 'clientCredentials' | 'exchange' | 'identity'

/** The credentials of one request. */
export interface Outbound {
  /** Flat list of names and values. Secret. */
  readonly headers: readonly string[]
  /** Origin of the exchanged token; null without an exchange. */
  readonly exchange: 'cached' | 'new' | null
  /** The token among the headers; null for none. */
  readonly sent: { readonly by: SentToken; readonly held: HeldToken } | null
}

export type Prepared =
  | Outbound
  /** No token can be had, or the authorization server does not accept that of the caller. */
  | { readonly failed: 'rejected' | 'unavailable', readonly kind: 'clientCredentials' | 'exchange' }

/** A request that needs credentials, and the callbacks that record the result. */
export interface CredentialRequest {
  /** Null for a request without a caller. */
  readonly principal: Principal | null
  /** The credential that has proven the caller. */
  readonly token: () => string | null
  /** The bytes that the agent gets; null where the gateway does not read them. */
  readonly body: () => Bytes | null
  readonly count: (kind: CredentialKind, outcome: 'cached' | 'new' | 'rejected' | 'unavailable') => void
  readonly watch: Watch
}

/** One entry of `send`: exactly one of `value` and `token` is not null. */
interface Entry {
  readonly sources: ReadonlySet<string> | null
  /** In lower case. */
  readonly header: string
  /** Plain name of the header. */
  readonly name: string
  /** Secret. */
  readonly value: string | null
  readonly token: SentToken | null
}

export interface AgentCredentialsOptions {
  readonly agent: Pick<AgentConfig, 'name' | 'upstream'>
  readonly secrets: readonly SentSecrets[]
  /** Null without `identity`. */
  readonly keys: SigningKeys | null
  /** `server.publicUrl`. */
  readonly publicUrl: string | null
  readonly tls: TlsFiles
}

const NO_CREDENTIALS: Outbound = { headers: [], exchange: null, sent: null }

export class AgentCredentials {
  /** Changes when a secret or a key changes. */
  readonly fingerprint: string
  /** Public keys of the identity header. */
  readonly publicKeys: readonly PublicJwk[]
  private readonly entries: readonly Entry[]
  private readonly identity: IdentityHeader | null
  /** Plain names of all headers that the gateway writes for any caller. */
  private readonly written: ReadonlySet<string>
  private readonly connections: TokenConnections

  constructor ({ agent, secrets, keys, publicUrl, tls }: AgentCredentialsOptions) {
    const { send, identity } = agent.upstream.credentials
    this.fingerprint = digest([secrets, keys?.published])
    this.connections = new TokenConnections(tls)
    this.entries = send.map((entry, i) => entryOf(entry, secrets[i] as SentSecrets, agent.name, this.connections))
    this.identity =
      identity === null || keys === null
        ? null
        : new IdentityHeader(identity, keys.signing, { issuer: publicUrl ?? '', audience: agent.name })
    this.publicKeys = keys?.published ?? []
    const names = [...this.entries.map(({ header }) => header), ...identity === null ? [] : [identity.header]]
    this.written = new Set(names.map(plainHeaderName))
    redactAlso(names.filter(name => name.includes('-')))
  }

  /**
   * Reads the secrets and keys of an agent. Nothing is dialled before the first request.
   * @returns null for an agent whose configuration names no credentials
   * @throws Error in plain words when a secret or a key cannot be read or used
   */
  static prepare (
    agent: AgentConfig,
    { env, publicUrl, tls }: { readonly env: NodeJS.ProcessEnv; readonly publicUrl: string | null; readonly tls: TlsFiles }
  ): AgentCredentials | null {
    const { credentials } = agent.upstream
    if (credentials.send.length === 0 && credentials.identity === null) return null
    try {
      const secrets = readCredentialSecrets(credentials, env)
      const keys = credentials.identity === null ? null : readSigningKeys(credentials.identity, 'upstream.credentials.identity')
      return new AgentCredentials({ agent, secrets, keys, publicUrl, tls })
    } catch (error) {
      throw errorAt(`agent ${agent.name}`, error, 'A2AGW_ERR_CONFIG_FILE')
    }
  }

  /** True when the identity header depends on the body. */
  get needsBody (): boolean {
    return this.identity?.body === true
  }

  /** Tokens in memory. */
  get held (): number {
    return this.entries.reduce((sum, { token }) => sum + (token?.source.size ?? 0), 0)
  }

  /** The credentials of a request, at once when all of them are known. */
  prepare (request: CredentialRequest): Prepared | Promise<Prepared> {
    const { principal } = request
    const headers: string[] = []
    const names = new Set<string>()
    let matchingEntry: Entry | null = null
    for (const entry of this.entries) {
      if (names.has(entry.name) || !isFor(entry, principal)) continue
      names.add(entry.name)
      if (entry.value !== null) headers.push(entry.header, entry.value)
      else matchingEntry = entry
    }
    // Tokens go into one header, so a request has one at most.
    if (matchingEntry === null) return this.signed(request, headers.length === 0 ? NO_CREDENTIALS : { ...NO_CREDENTIALS, headers })
    const { header } = matchingEntry
    const by = matchingEntry.token as SentToken
    const subject = by.kind === 'exchange' ? subjectOf(request) : null
    const settle = (obtained: Obtained): Prepared => {
      const outcome = obtained.kind === 'token' ? (obtained.cached ? 'cached' : 'new') : obtained.kind
      request.count(by.kind, outcome)
      if (obtained.kind !== 'token') return { failed: obtained.kind, kind: by.kind }
      const { held, cached } = obtained
      return this.signed(request, {
        headers: [...headers, header, `Bearer ${held.token}`],
        exchange: by.kind === 'exchange' ? (cached ? 'cached' : 'new') : null,
        sent: { by, held }
      })
    }
    const obtained = by.get(subject, request.watch)
    return whenReady(obtained, settle)
  }

  /**
   * Removes the headers that only the gateway writes, and adds the credentials for the agent.
   * @param outbound null: adds nothing
   * @param headers flat list of names in lower case and values
   */
  write (headers: readonly string[], outbound: Outbound | null): string[] {
    const out = withoutHeaders(headers, this.written)
    if (outbound !== null) out.push(...outbound.headers)
    return out
  }

  /** Takes the tokens of the agent before it, for entries with the same settings and secrets. */
  inherit (before: AgentCredentials): void {
    for (const { token } of this.entries) {
      const same = before.entries.find(entry => entry.token !== null && entry.token.fingerprint === token?.fingerprint)
      if (same?.token !== undefined && same.token !== null) token?.source.inherit(same.token.source)
    }
  }

  async close (): Promise<void> {
    await this.connections.close()
  }

  /** Adds the identity header. */
  private signed (request: CredentialRequest, outbound: Outbound): Outbound {
    const { identity } = this
    const { principal } = request
    if (identity === null || principal === null) return outbound
    const { value, cached } = identity.valueFor(principal, identity.body ? request.body() : null)
    request.count('identity', cached ? 'cached' : 'new')
    return { ...outbound, headers: [...outbound.headers, identity.name, value] }
  }
}

function entryOf (config: SentCredentialConfig, secrets: SentSecrets, agent: string, connections: TokenConnections): Entry {
  const request = config.clientCredentials ?? config.exchange
  return {
    sources: config.for === null ? null : new Set(config.for),
    header: config.header,
    name: plainHeaderName(config.header),
    value: secrets.header,
    token: request === null ? null : new SentToken(request, secrets, agent, connections)
  }
}

/** Only an access token can be exchanged, so an exchange never applies to a request without one. */
function isFor ({ sources, token }: Entry, principal: Principal | null): boolean {
  if (token?.kind === 'exchange' && principal?.kind !== 'jwt') return false
  return sources === null || (principal !== null && sources.has(principal.source))
}

function subjectOf ({ principal, token }: CredentialRequest): Subject {
  const text = token()
  if (principal === null || text === null) throw new Error('a caller without a token')
  return { principal, token: text }
}

// The identity header: a signed word to the agent on who calls.

/** Value of the header, a secret for its lifetime. */
interface IdentityValue { readonly value: string, readonly cached: boolean }

interface Signed {
  readonly value: string
  /** Milliseconds since the epoch. */
  readonly until: number
}

class IdentityHeader {
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
    const signed = this.signed.get(principal)
    if (signed !== undefined && now < signed.until) return { value: signed.value, cached: true }
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

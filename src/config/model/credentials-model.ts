/** `upstream.credentials`: what the agent gets in the place of the credentials of callers. */
import type { SecretConfig } from './policy-model.js'
import type { SigningKeyConfig } from './signing-key-model.js'

/** Value of a header: a secret, with an optional text before it. `file` is absolute. */
export interface SecretHeaderConfig extends SecretConfig { readonly prefix?: string }

/** Values of headers by name, in the spelling of the configuration. */
export type SecretHeaders = Readonly<Record<string, SecretHeaderConfig>>

export interface UpstreamCredentialsConfig {
  /** Treatment of the caller's credentials that `identity` has verified. */
  readonly client: 'strip' | 'forward'
  /** For each header, the first entry whose `for` matches the caller wins. */
  readonly send: readonly SentCredentialConfig[]
  /** Null: the agent gets no signed word on the caller. */
  readonly identity: IdentityHeaderConfig | null
}

/** Exactly one of `fromSecret`, `clientCredentials` and `exchange` is not null. */
export interface SentCredentialConfig {
  /** Sources of callers. Null: all requests, also those without a caller. */
  readonly for: readonly string[] | null
  /** In lower case. `authorization` for tokens. */
  readonly header: string
  readonly fromSecret: SecretConfig | null
  /** Text before the secret. */
  readonly prefix: string
  readonly clientCredentials: TokenRequestConfig | null
  readonly exchange: ExchangeConfig | null
}

/** A request to the token endpoint of an authorization server (RFC 6749 §4.4). */
export interface TokenRequestConfig {
  /** Absolute URL: https, or http on this machine. */
  readonly endpoint: string
  readonly client: { readonly id: string, readonly secret: SecretConfig }
  /** Method of client authentication (RFC 6749 §2.3.1). */
  readonly auth: 'basic' | 'post'
  readonly audience: string | null
  /** RFC 8707. */
  readonly resource: string | null
  readonly scopes: readonly string[]
}

/** RFC 8693: the token of the caller becomes a token for the agent. */
export interface ExchangeConfig extends TokenRequestConfig {
  readonly subjectTokenType: TokenType
  /** The token of the gateway itself; `type` is its type. */
  readonly actorToken: (SecretConfig & { readonly type: TokenType }) | null
}

/** Last part of a token type identifier (RFC 8693 §3). */
export type TokenType = 'access_token' | 'jwt'

/** Claims of the identity header that the configuration chooses. */
export type IdentityClaim = 'subject' | 'client' | 'scopes' | 'groups' | 'tenant'

export interface IdentityHeaderConfig extends SigningKeyConfig {
  /** In lower case. */
  readonly header: string
  readonly claims: readonly IdentityClaim[]
  /** ms */
  readonly ttl: number
  /** True: the header has the SHA-256 of the forwarded body. */
  readonly body: boolean
}

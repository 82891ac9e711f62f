/** `identity`: who may call the agents. */

export interface IdentityConfig {
  /** By name. Each source has exactly one kind. */
  readonly sources: Readonly<Record<string, SourceConfig>>
  /** Name of a caller in logs and spans: a keyed digest, or the subject itself. */
  readonly audit: 'digest' | 'subject'
}

export interface SourceConfig {
  readonly apiKey?: ApiKeyConfig
  readonly basic?: BasicConfig
  readonly jwt?: JwtConfig
  readonly envoyJwt?: EnvoyJwtConfig
  readonly certificate?: CertificateConfig
}

export interface CertificateConfig {
  readonly from: 'tls' | 'xfcc' | 'rfc9440'
  /** IP addresses and CIDRs. Empty for `tls`. */
  readonly proxies: readonly string[]
  /** Elements of `x-forwarded-client-cert`. */
  readonly hops: number
  readonly trustDomains: readonly string[]
  readonly san: 'dns' | 'uri' | 'email' | null
}

/** Exactly one of `header`, `cookie` and `query` is not null. */
export interface ApiKeyConfig {
  /** In lower case. */
  readonly header: string | null
  readonly cookie: string | null
  readonly query: string | null
  readonly allowQuery: boolean
  /** `file` is absolute. */
  readonly keys: { readonly file: string }
}

export interface BasicConfig { readonly keys: { readonly file: string } }

/** What all sources of access tokens have. */
export interface TokenConfig {
  readonly issuer: string
  readonly audience: readonly string[]
  /** In lower case. Null: `Authorization: Bearer`. */
  readonly header: string | null
  /** ms */
  readonly leeway: number
  readonly maxLifetime: number
  /** JSON Pointers into the claims. Null: the usual claims. */
  readonly claims: {
    readonly subject: string
    readonly client: string | null
    readonly scopes: string | null
    readonly groups: string
    readonly tenant: string | null
  }
}

export interface JwtConfig extends TokenConfig {
  readonly keys: JwtKeysConfig
  /** `ca` is absolute. Null: the authorities of the system. */
  readonly tls: { readonly ca: string | null }
  readonly algorithms: readonly string[]
  /** In lower case, without `application/`. */
  readonly types: readonly string[]
}

export interface EnvoyJwtConfig extends TokenConfig {
  readonly metadata: { readonly namespace: string, readonly key: string }
}

/** `file` is absolute. Neither `url` nor `file`: the address is in the metadata of the issuer. */
export interface JwtKeysConfig {
  readonly url: string | null
  readonly file: string | null
  /** ms */
  readonly maxStale: number
}

/** One line of a key file. */
export interface KeyEntry {
  readonly id: string
  /** SHA-256 of the key, 64 lower-case hex digits. */
  readonly sha256: string
  readonly client: string | null
  /** Milliseconds since the epoch. Null: never. */
  readonly expires: number | null
  readonly groups: readonly string[]
  readonly scopes: readonly string[]
  readonly tenant: string | null
}

/**
 * A condition on the caller. All given keys must match. `subject`, `client`, `spiffe` and `tenant` are patterns in which `*` matches any
 * characters.
 */
export interface CallerConfig {
  readonly source?: readonly string[]
  readonly subject?: readonly string[]
  readonly client?: readonly string[]
  readonly spiffe?: readonly string[]
  /** All of them. */
  readonly scopes?: readonly string[]
  /** Any of them. */
  readonly groups?: readonly string[]
  readonly tenant?: readonly string[]
  /** Values by JSON Pointer into the claims. */
  readonly claims?: Readonly<Record<string, ClaimValue | readonly ClaimValue[]>>
  readonly anonymous?: boolean
  /** JSON Schema over the caller. */
  readonly match?: Readonly<Record<string, unknown>> | boolean
}

export type ClaimValue = string | number | boolean

/** `identity`: who may call the agents. */

export interface IdentityConfig {
  /** By name. Each source has exactly one kind. */
  readonly sources: Readonly<Record<string, SourceConfig>>
  /** How logs and spans name a caller: a keyed digest, or the subject itself. */
  readonly audit: 'digest' | 'subject'
}

export interface SourceConfig {
  readonly apiKey?: ApiKeyConfig
  readonly basic?: BasicConfig
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

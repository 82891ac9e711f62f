/** Keys that the gateway signs with: `card.sign` and `upstream.credentials.identity`. All paths are absolute. */
export interface SigningKeyConfig {
  /** The private key. */
  readonly key: { readonly file: string }
  /** Null: the thumbprint of the key. */
  readonly kid: string | null
  /** Keys in the key set of the gateway besides `key`. */
  readonly publish: readonly PublishedKeyConfig[]
}

export interface PublishedKeyConfig { readonly file: string, readonly kid: string | null }

/** Who calls, as a source of `identity.sources` has verified it. The configuration says `caller`. */
import type { JsonObject } from '#wire/json/object.js'

/** Kinds of sources, as the configuration names them. */
export type SourceKind = 'apiKey' | 'basic' | 'jwt' | 'envoyJwt' | 'certificate'

/** True for callers that an access token names. */
export function hasToken ({ kind }: { readonly kind: SourceKind }): boolean {
  return kind === 'jwt' || kind === 'envoyJwt'
}

export interface Principal {
  /** Name of the source in the configuration. */
  readonly source: string
  /** All sources that verified the request: `source`, then the others. */
  readonly sources: readonly string[]
  readonly kind: SourceKind
  /** Unique within the source, and the same for all credentials of one caller. */
  readonly subject: string
  readonly client: string | null
  readonly scopes: readonly string[]
  readonly groups: readonly string[]
  readonly tenant: string | null
  /** SPIFFE ID of a client certificate, such as `spiffe://prod.example.com/ns/jobs/sa/batch`. */
  readonly spiffe: string | null
  readonly claims: JsonObject
}

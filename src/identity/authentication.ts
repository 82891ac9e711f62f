/** The result of an authentication, and the words for its problems. */
import type { MetadataPlace } from '#wire/envoy/metadata.js'
import type { LastCredential } from './last-credential.js'
import type { Principal } from './principal.js'

/**
 * Problems of a credential. The list is closed: values are labels of a metric, and `ErrorInfo.metadata.problem` for clients.
 */
export const PROBLEMS = [
  'missing', 'malformed', 'opaque', 'expired', 'audience', 'issuer', 'signature', 'unknown_key', 'source', 'incomplete'
] as const

export type Problem = (typeof PROBLEMS)[number]

/**
 * Problems that the credential itself shows. The others: `source`, the agent does not accept the source; `incomplete`, the agent requires
 * more.
 */
export type CredentialProblem = Exclude<Problem, 'missing' | 'source' | 'incomplete'>

/**
 * Where a source finds its credential. `name` of a header is in lower case. `connection`: the client certificate of TLS; `proxy`: a header
 * in which a proxy passes on the certificate of its client.
 * `metadata`: what a filter of Envoy has found out, in its message to the gateway; `name` and `scheme` are those of the header in which the
 * client sends the token to Envoy, for messages, and to remove it from what the agent gets.
 */
export interface Carrier {
  readonly in: 'header' | 'cookie' | 'query' | 'connection' | 'proxy' | 'metadata'
  readonly name: string
  /** Scheme of `Authorization`, in lower case; null for other carriers. */
  readonly scheme: 'basic' | 'bearer' | null
  /** Place in the metadata; undefined for other carriers. */
  readonly metadata?: MetadataPlace
}

/** Result of one source for one credential. `foreign`: another source with the same carrier may know the credential. */
export type CredentialResult =
  | { readonly principal: Principal }
  | { readonly problem: CredentialProblem, readonly foreign: boolean }
  /** The keys that would tell cannot be had. `retryAfter` is in seconds. */
  | { readonly unavailable: true, readonly retryAfter: number }
  /** Too many tokens of addresses whose failures are beyond a limit wait for a verification. */
  | { readonly throttled: true }

export type Authentication =
  | { readonly kind: 'caller', readonly principal: Principal, readonly carrier: Carrier }
  /** `source` is null when several sources share the carrier, and none knows the credential. */
  | { readonly kind: 'failed', readonly problem: CredentialProblem | 'source', readonly source: string | null, readonly carrier: Carrier }
  /** The credentials are right, and no alternative is met without others. `missing`: their carriers, one list for each alternative. */
  | { readonly kind: 'incomplete', readonly source: string, readonly missing: Carriers }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unavailable', readonly source: string, readonly retryAfter: number }
  | { readonly kind: 'throttled', readonly source: string }
  /** The request has credentials for several sources. Gateway and agent could take different ones. */
  | { readonly kind: 'several', readonly carriers: readonly Carrier[] }

/** Alternatives of carriers; all of one alternative are needed together. */
export type Carriers = readonly (readonly Carrier[])[]

/** One source: verifies the credentials that its carrier holds. */
export interface Source {
  readonly name: string
  readonly carrier: Carrier
  verify (credential: string, circumstances: Circumstances): CredentialResult | Promise<CredentialResult>
}

/** Input of a verification besides the credential. */
export interface Circumstances {
  /** Milliseconds since the epoch. */
  readonly now: number
  /**
   * True when the failures of the client's address are beyond a limit: an expensive verification waits for its turn.
   * @param pending verifications of the address that have begun, and may fail too
   */
  readonly isThrottled: (pending?: number) => boolean
  /** Network of the client's address, for the turns. */
  readonly network?: () => string
  /** Thumbprint of the caller's certificate, as `x5t#S256`; null without one. */
  readonly thumbprint: string | null
  /** Audiences of the agent, of which a token must name one besides one of its source; null: those of the source are enough. */
  readonly audiences: readonly string[] | null
  /** Last credential of the connection. */
  readonly last: LastCredential
}

/** True for the carriers of client certificates. A client does not choose them for each request. */
export function isCertificate ({ in: place }: Carrier): boolean {
  return place === 'connection' || place === 'proxy'
}

/** The carrier as a client reads it in a message. */
export function shownCarrier ({ in: place, name, scheme }: Carrier): string {
  // The client of a proxy cannot write the header.
  if (place === 'connection' || place === 'proxy') return 'a client certificate with the TLS connection'
  if (scheme === 'basic') return 'Basic credentials in the header Authorization'
  if (scheme === 'bearer') return 'an access token in the header Authorization, after "Bearer "'
  if (place === 'header' || place === 'metadata') return `credentials in the header ${name}`
  return place === 'cookie' ? `credentials in the cookie ${name}` : `credentials in the query parameter ${name}`
}

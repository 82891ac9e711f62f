/** The result of an authentication, and the words for its problems. */
import type { Principal } from './principal.js'

/**
 * Problems of a credential. The list is closed: values are labels of a metric, and `ErrorInfo.metadata.problem` for clients.
 */
export const PROBLEMS = ['missing', 'malformed', 'expired', 'unknown_key'] as const

export type Problem = (typeof PROBLEMS)[number]

/** Where a source finds its credential. `name` of a header is in lower case. */
export interface Carrier {
  readonly in: 'header' | 'cookie' | 'query'
  readonly name: string
  /** Scheme of `Authorization`, in lower case; null for other carriers. */
  readonly scheme: 'basic' | null
}

/** What a source says about one credential. `foreign`: another source with the same carrier may know the credential. */
export type Verdict =
  | { readonly principal: Principal }
  | { readonly problem: Exclude<Problem, 'missing'>, readonly foreign: boolean }

export type Authentication =
  | { readonly kind: 'caller', readonly principal: Principal, readonly carrier: Carrier }
  /** `source` is null when several sources share the carrier, and none knows the credential. */
  | { readonly kind: 'failed', readonly problem: Exclude<Problem, 'missing'>, readonly source: string | null, readonly carrier: Carrier }
  | { readonly kind: 'missing' }
  /** The request has credentials for several sources. Gateway and agent could take different ones. */
  | { readonly kind: 'several', readonly carriers: readonly Carrier[] }

/** One source: verifies the credentials that its carrier holds. */
export interface Source {
  readonly name: string
  readonly carrier: Carrier
  verify (credential: string, now: number): Verdict
}

/** The carrier as a client reads it in a message. */
export function shownCarrier ({ in: place, name, scheme }: Carrier): string {
  if (scheme === 'basic') return 'Basic credentials in the header Authorization'
  if (place === 'header') return `an API key in the header ${name}`
  return place === 'cookie' ? `an API key in the cookie ${name}` : `an API key in the query parameter ${name}`
}

/** The claims of the identity header: what the agent gets to know of the caller. */
import type { IdentityClaim } from '#config/model/model.js'
import type { JsonObject } from '#wire/json/object.js'
import { hasToken } from './principal.js'
import type { Principal } from './principal.js'

/** Value of the header `typ`. Another type than that of access tokens: nobody can use the token to call the gateway or another service. */
export const IDENTITY_TYPE = 'gateway-identity+jwt'

export interface IdentityClaimsOptions {
  /** Public URL of the gateway. */
  readonly issuer: string
  /** Name of the agent. */
  readonly audience: string
  readonly claims: readonly IdentityClaim[]
}

/** Claims by the names of RFC 7519, RFC 8693 (`client_id`, `scope`, `act`) and RFC 9068 (`groups`). */
const CLAIMS: Readonly<Record<IdentityClaim, (principal: Principal) => JsonObject>> = {
  subject: ({ subject }) => ({ sub: subject }),
  client: ({ client }) => (client === null ? {} : { client_id: client }),
  scopes: ({ scopes }) => (scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
  groups: ({ groups }) => (groups.length === 0 ? {} : { groups }),
  tenant: ({ tenant }) => (tenant === null ? {} : { tenant })
}

/** Longest `act` that the header repeats, in characters of JSON. A header has a bounded length. */
const LONGEST_ACT = 1_024

/**
 * Returns the claims of a caller, without times. `source` is always there: a subject is unique within its source only.
 * `act` is information on who acts for the subject, never a reason to allow something (RFC 8693 §4.1).
 */
export function identityClaims (principal: Principal, { issuer, audience, claims }: IdentityClaimsOptions): JsonObject {
  const { act } = principal.claims
  const actor = hasToken(principal) && act !== undefined && JSON.stringify(act).length <= LONGEST_ACT ? { act } : {}
  const chosen = claims.reduce((all, name) => ({ ...all, ...CLAIMS[name](principal) }), {})
  return { iss: issuer, aud: audience, source: principal.source, ...chosen, ...actor }
}

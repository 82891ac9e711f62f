/** Callers of tests. */
import type { Principal } from '#identity/principal.js'

export const ADA: Principal = {
  source: 'corp',
  sources: ['corp'],
  kind: 'jwt',
  subject: 'ada',
  client: 'billing-ui',
  scopes: ['a2a.read', 'pay'],
  groups: ['finance', 'staff'],
  tenant: 'north',
  spiffe: null,
  claims: { email: 'ada@example.com', roles: ['a', 'b'], deep: { 'x/y': 7 }, none: null }
}

/** Not in the group finance. */
export const BOB: Principal = {
  source: 'partners',
  sources: ['partners'],
  kind: 'apiKey',
  subject: 'bob',
  client: null,
  scopes: [],
  groups: ['staff'],
  tenant: null,
  spiffe: null,
  claims: {}
}

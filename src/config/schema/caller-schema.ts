/** A condition on the caller: `caller` in conditions, access lists, activation and views of cards. */
import type { Schema } from './schema-builder.js'
import { flag, mapping, string } from './schema-builder.js'

const patterns = (description: string): Schema => ({
  type: 'array',
  description: `${description} One of them must match; \`*\` matches any characters.`,
  items: { type: 'string', minLength: 1, maxLength: 1024 },
  minItems: 1,
  maxItems: 1000,
  uniqueItems: true
})

const names = (description: string): Schema => ({ ...patterns(''), description })

const SCALAR = ['string', 'number', 'boolean']

const CALLER = {
  source: names('Names of sources in `identity.sources`; one of them must have verified the caller.'),
  subject: patterns('The subject.'),
  client: patterns('The client.'),
  spiffe: patterns('The SPIFFE ID of the client certificate.'),
  scopes: names('Scopes; the caller must have **all** of them.'),
  groups: names('Groups; the caller must be in one of them.'),
  tenant: patterns('The tenant.'),
  claims: {
    type: 'object',
    description: 'Expected claims, by JSON Pointer. A claim matches if it equals the value or one of the values. A claim that is a list matches if it contains one of them.',
    propertyNames: string('pointer'),
    additionalProperties: {
      type: [...SCALAR, 'array'],
      items: { type: SCALAR },
      minItems: 1,
      maxItems: 1000
    },
    minProperties: 1,
    maxProperties: 100
  },
  anonymous: flag('`true`: matches requests without a caller.'),
  match: {
    type: ['object', 'boolean'],
    description: 'JSON Schema that the caller matches: `{source, sources, subject, client, spiffe, scopes, groups, tenant, claims}`.'
  }
} satisfies Readonly<Record<string, Schema>>

const { match: _, ...WITHOUT_MATCH } = CALLER

/** All given keys must match. An empty mapping is a mistake: it would match everybody. */
export const caller = (description: string): Schema => ({ ...mapping(description, [], CALLER), minProperties: 1 })

/** The same without `match`, for places that have no budget for schemas. */
export const callerWithoutMatch = (description: string): Schema => ({ ...mapping(description, [], WITHOUT_MATCH), minProperties: 1 })

/** Values of the claim `aud` that a listener or an agent accepts. */
export const audiences = (description: string): Schema => ({
  type: ['array', 'null'],
  description,
  items: { type: 'string', minLength: 1, maxLength: 1024 },
  minItems: 1,
  maxItems: 100,
  uniqueItems: true
})

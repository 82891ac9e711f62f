/** A condition on the caller: `caller` in conditions, access lists, activation and views of cards. */
import type { InlineSchema } from '../model/schema-model.js'
import type { Schema, ValuesOf } from './schema-builder.js'
import { array, boundedString, flag, mapping, orNull, record, withoutDefault } from './schema-builder.js'

const NAME = boundedString(1024)

const names = (description: string): Schema<readonly string[] | undefined> =>
  array(description, NAME, { minItems: 1, maxItems: 1000, uniqueItems: true })

const patterns = (description: string): Schema<readonly string[] | undefined> =>
  names(`${description} One of them must match; \`*\` matches any characters.`)

/** A JSON Schema. */
export const inline = (description: string): Schema<InlineSchema | undefined> => ({ type: ['object', 'boolean'], description })

const SCALAR = ['string', 'number', 'boolean']

export type ClaimValue = string | number | boolean

const CALLER = {
  source: names('Names of sources in `identity.sources`; one of them must have verified the caller.'),
  subject: patterns('The subject.'),
  client: patterns('The client.'),
  spiffe: patterns('The SPIFFE ID of the client certificate.'),
  scopes: names('Scopes; the caller must have **all** of them.'),
  groups: names('Groups; the caller must be in one of them.'),
  tenant: patterns('The tenant.'),
  claims: record<ClaimValue | readonly ClaimValue[]>(
    'Expected claims, by JSON Pointer. A claim matches if it equals the value or one of the values. A claim that is a list matches if it ' +
      'contains one of them.',
    'pointer',
    { type: [...SCALAR, 'array'], items: { type: SCALAR }, minItems: 1, maxItems: 1000 },
    { minProperties: 1, maxProperties: 100 }
  ),
  anonymous: flag('`true`: matches requests without a caller.'),
  match: inline('JSON Schema that the caller matches: `{source, sources, subject, client, spiffe, scopes, groups, tenant, claims}`.')
} satisfies Readonly<Record<string, Schema>>

const { match: _, ...WITHOUT_MATCH } = CALLER

/** A condition on the caller. All given keys must match. */
export type CallerConfig = ValuesOf<typeof CALLER>

/** All given keys must match. An empty mapping is a mistake: it would match everybody. */
export const caller = (description: string): Schema<CallerConfig | undefined> =>
  ({ ...mapping(description, [], CALLER), minProperties: 1 })

/** The same without `match`, for places that have no budget for schemas. */
export const callerWithoutMatch = (description: string): Schema<CallerConfig | undefined> =>
  ({ ...mapping(description, [], WITHOUT_MATCH), minProperties: 1 })

/** Values of the claim `aud` that a listener or an agent accepts. */
export const audiences = (description: string): Schema<readonly string[] | null | undefined> =>
  withoutDefault(orNull(array(description, NAME, { minItems: 1, maxItems: 100, uniqueItems: true })))

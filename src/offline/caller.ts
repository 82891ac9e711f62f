/** The caller of a recorded or composed request, as `explain --caller` and policy tests give it. No key and no clock is needed. */
import type { CallerConfig, Config } from '#config/model/model.js'
import { mapping } from '#config/schema/schema-builder.js'
import type { Schema } from '#config/schema/schema-builder.js'
import type { Chain } from '#identity/chain.js'
import type { Principal } from '#identity/principal.js'
import { compileSchema } from '#jsonschema/schema.js'
import { callerShape, compileCaller } from '#policy/access/caller.js'
import { resolvePointer } from '#wire/json/pointer.js'

/** Every key has a default. */
export interface CallerSpec {
  readonly source?: string
  readonly subject?: string
  readonly client?: string
  readonly spiffe?: string
  readonly scopes?: readonly string[]
  readonly groups?: readonly string[]
  readonly tenant?: string
  readonly claims?: Readonly<Record<string, unknown>>
  /** The call is one on behalf of somebody else. */
  readonly delegation?: ChainSpec
}

/** A chain of callers, as gateways sign it. */
export interface ChainSpec {
  readonly initiator?: Omit<CallerSpec, 'delegation'> | null
  readonly hops: readonly string[]
  readonly mayReach?: readonly (readonly string[])[]
}

const string = (description: string): Schema => ({ type: 'string', description, minLength: 1, maxLength: 1024 })
const strings = (description: string): Schema => ({
  type: 'array',
  description,
  items: { type: 'string', minLength: 1, maxLength: 1024 },
  uniqueItems: true,
  maxItems: 1000
})

const CALLER_KEYS: Readonly<Record<string, Schema>> = {
  source: string('The source that verified the caller. Default: the first one of the configuration.'),
  subject: string('The subject. Default: the client, else `caller`.'),
  client: string('The client. Default: none.'),
  spiffe: string('The SPIFFE ID of the client certificate. Default: none.'),
  scopes: strings('The scopes. Default: none.'),
  groups: strings('The groups. Default: none.'),
  tenant: string('The tenant. Default: none.'),
  claims: { type: 'object', description: 'The claims. Default: none. The other keys are not derived from them.' }
}

const chainSpec = mapping('The chain of callers in the header `a2a-delegation`. Default: the caller calls for itself.', ['hops'], {
  initiator: {
    ...mapping('Who began the chain. `null`, the default: somebody without credentials.', [], CALLER_KEYS), type: ['object', 'null']
  },
  hops: { ...strings('Agents that passed the call on, the first one first, as `gateway/agent`.'), minItems: 1, maxItems: 16 },
  mayReach: {
    type: 'array',
    description: 'Lists of agents that the chain may reach: `mayReach` of each agent in it. Default: none.',
    items: strings('One list.'),
    maxItems: 16
  }
})

export const callerSpec = (description: string): Schema => mapping(description, [], { ...CALLER_KEYS, delegation: chainSpec })

/** Source and subject of a caller for whom neither configuration nor test names one. */
const CALLER = 'caller'

/** @param sources names of the configured sources */
export function principalOf (spec: CallerSpec, sources: readonly string[]): Principal {
  const { source = sources[0] ?? CALLER, client = null, subject = client ?? CALLER } = spec
  const { spiffe = null, scopes = [], groups = [], tenant = null, claims = {} } = spec
  return { source, sources: [source], kind: 'jwt', subject, client, spiffe, scopes, groups, tenant, claims }
}

/** The chain behind a call; null for a caller who calls for itself. The caller is the one to whom a gateway has given the chain. */
export function chainOf (spec: CallerSpec, sources: readonly string[]): Chain | null {
  if (spec.delegation === undefined) return null
  const { initiator = null, hops, mayReach = [] } = spec.delegation
  return {
    id: 'chain',
    budgets: {},
    deadline: null,
    initiator: initiator === null ? null : principalOf(initiator, sources),
    hops,
    depth: hops.length,
    mayReach,
    presenter: { subject: principalOf(spec, sources).subject }
  }
}

/** Names of the sources of a configuration. */
export function sourcesOf (config: Pick<Config, 'identity'> | null): readonly string[] {
  return Object.keys(config?.identity?.sources ?? {})
}

/** One line about a caller, without claims. */
export function callerText ({ source, subject, client, spiffe, scopes, groups, tenant }: Omit<Principal, 'kind' | 'sources' | 'claims'>): string {
  return [
    `${subject} of ${source}`,
    ...(client === null ? [] : [`client ${client}`]),
    ...(tenant === null ? [] : [`tenant ${tenant}`]),
    ...(spiffe === null ? [] : [`spiffe ${spiffe}`]),
    ...(groups.length === 0 ? [] : [`groups ${groups.join(' ')}`]),
    ...(scopes.length === 0 ? [] : [`scopes ${scopes.join(' ')}`])
  ].join(', ')
}

/** @returns the first key of a condition that does not hold, and why, in words; null when the condition holds */
export function whyNot (condition: CallerConfig, caller: Principal | null): string | null {
  if (condition.anonymous === true) return caller === null ? null : 'the request has a caller'
  if (caller === null) return 'the request has no caller'
  for (const [key, value] of Object.entries(condition)) {
    if (!holds({ [key]: value }, caller)) return expectationText(key, value, caller)
  }
  return null
}

function holds (condition: CallerConfig, caller: Principal): boolean {
  return compileCaller(condition, schema => () => {
    const compiled = compileSchema(schema)
    return compiled.ok && compiled.schema.matches(callerShape(caller)) === true
  })(caller)
}

function expectationText (key: string, expected: unknown, caller: Principal): string {
  const wanted = (list: unknown): string => (Array.isArray(list) ? list.map(raw => JSON.stringify(raw)).join(' or ') : JSON.stringify(list))
  switch (key) {
    case 'match':
      return 'the caller does not match the schema'
    case 'claims': {
      const [pointer, value] = Object.entries(expected as NonNullable<CallerConfig['claims']>).find(([at, constraint]) => !holds(
        { claims: { [at]: constraint } }, caller
      )) ?? ['', '']
      const claim = resolvePointer(caller.claims, pointer)
      return claim === undefined
        ? `the caller has no claim ${pointer}`
        : `the claim ${pointer} is ${JSON.stringify(claim)}, not ${wanted(value)}`
    }
    case 'scopes':
      return `the caller lacks the scopes ${(expected as readonly string[]).filter(scope => !caller.scopes.includes(scope)).join(' ')}`
    case 'groups':
      return `the caller is not in ${wanted(expected)}`
    default: {
      const value = caller[key as 'subject']
      return (value as string | null) === null
        ? `the caller has no ${key}`
        : `the ${key} is ${JSON.stringify(value)}, not ${wanted(expected)}`
    }
  }
}

/**
 * `activation.callers`: which callers may use an extension. A guard applies to every signal of its extension, also where the card does not
 * declare the extension and the rules of the policy therefore do not run.
 */
import type { AgentCard, CardExtension } from '#a2a/card/card.js'
import { routeKey } from '#a2a/extension-routes.js'
import type { AgentConfig, Mode, PolicyConfig } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import { spendBudget } from '#jsonschema/evaluation.js'
import { compileGlob } from '#wire/glob.js'
import { comparableUris } from '#wire/uri-spelling.js'
import type { CompiledPolicy } from '../compile/compiled.js'
import { callerCondition } from '../compile/condition.js'
import { claimedUris, identitiesOf, modeOf, spellingsOf } from '../compile/identity.js'
import { compileActivation } from '../request/activation.js'
import type { SelectContext } from '../selectors/selection.js'
import { covers, Forbidden } from './forbidden.js'
import type { CompiledGuard } from './forbidden.js'

/** Extensions that one caller may not use. */
export interface Restrictions {
  /** The guards that do not allow the caller, including those that only observe. */
  readonly guards: readonly CompiledGuard[]
  /** Null when no guard enforces. */
  readonly forbidden: Forbidden | null
}

/** Steps of a guard. */
const GUARD = 1

/** @returns null when the caller may use every extension */
export function restrictionsOf (guards: readonly CompiledGuard[], caller: Principal | null): Restrictions | null {
  spendBudget(guards.length * GUARD)
  const denying = guards.filter(guard => !guard.allows(caller))
  if (denying.length === 0) return null
  const enforced = denying.filter(({ mode }) => mode === 'enforce')
  return { guards: denying, forbidden: enforced.length === 0 ? null : new Forbidden(enforced) }
}

export interface GuardOptions {
  readonly agent: AgentConfig
  readonly card: AgentCard
  readonly declared: ReadonlyMap<string, CardExtension>
  /** The compiled policies of the agent. */
  readonly policies: readonly CompiledPolicy[]
  /** Policies by name, including those that others require. */
  readonly known: Readonly<Record<string, PolicyConfig>>
  readonly contextOf: (name: string, uris: readonly string[]) => SelectContext
}

/**
 * Compiles the guards of an agent. A policy that another one requires has a guard too: the gateway may request its extension
 * (`onMissing: add`).
 */
export function compileGuards (options: GuardOptions): CompiledGuard[] {
  const { agent, known: table } = options
  const claimed = claimedUris(agent.policies.map(({ policy }) => policy))
  return Object.entries(table).flatMap(([name, policy]) => {
    const mode = modeOf(agent.mode, policy)
    return policy.activation?.callers === undefined || mode === 'off' ? [] : [compileGuard(name, policy, mode, claimed, options)]
  })
}

function compileGuard (
  name: string,
  policy: PolicyConfig,
  mode: Mode,
  claimed: ReadonlySet<string>,
  { agent, card, declared, policies, known: table, contextOf }: GuardOptions
): CompiledGuard {
  const { callers = { anonymous: false }, onForbidden, equivalent } = policy.activation ?? {}
  const identities = identitiesOf(policy, declared, claimed)
  const aliases = (policy.aliases ?? []).map(({ uri }) => uri).filter(uri => !claimed.has(uri))
  const uris = new Set([
    ...spellingsOf(policy),
    ...aliases,
    ...identities.flatMap(({ same, also }) => [...same, ...also.map(cardExtension => cardExtension.uri)])
  ])
  const pattern = policy.uriPattern === undefined ? null : compileGlob(policy.uriPattern)
  // Other policies may know the extension by further spellings, which the gateway replaces by that of the card.
  for (const { same } of Object.values(table).flatMap(other => identitiesOf(other, declared, claimed))) {
    if (same.some(uri => covers({ uris, pattern }, uri))) for (const uri of same) uris.add(uri)
  }
  const context = contextOf(name, [...uris])
  const allowed = callerCondition(callers, context)
  // `$uri` in names means every URI of the extension here, not only those that activate it.
  const own = compileActivation(policy, context, table, card)
  // Several policies may be for one extension: the data of each belongs to it.
  const shared = policies.filter(owner => owner.name !== name && covers({ uris, pattern }, owner.uri)).map(({ activation }) => activation)
  const identityUris = identities.map(({ uri }) => uri)
  const sharing = policies.filter(policy => policy.name !== name && covers({ uris, pattern }, policy.uri)).map(policy => table[policy.name])
  const headers = [policy, ...sharing].flatMap(policy => policy?.owns?.headers ?? [])
  return {
    name,
    label: identityUris[0] ?? policy.uri ?? policy.uriPattern ?? name,
    uri: identityUris[0] ?? policy.uri ?? null,
    own: identityUris.length > 0 ? identityUris : [...uris].slice(0, 1),
    mode,
    // Fail closed: a caller whom the condition cannot be decided for is not allowed.
    allows: caller => allowed(caller) === true,
    strips: onForbidden === 'strip',
    uris,
    forms: new Set([...uris].flatMap(comparableUris)),
    rejectsSpellings: equivalent === 'reject',
    headers: new Set(headers.map(header => header.toLowerCase())),
    pattern,
    methods: new Set(Object.keys(policy.methods ?? {})),
    routes: new Set((policy.routes ?? []).map(({ verb, path, base }) => routeKey(verb, path, base))),
    data: [own, ...shared]
      .filter(({ owned }) => owned.length > 0)
      .map(({ owned, ownedHeaders, inactive }) => ({ owned, ownedHeaders, strips: inactive === 'strip' })),
    hidesEcho: policy.inactive?.response === 'strip' && mode === 'enforce' && agent.responses === 'enforce'
  }
}

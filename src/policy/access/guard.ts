/**
 * `activation.callers`: which callers may use an extension. A guard applies to every signal of its extension, also where the card does not
 * declare the extension and the rules of the policy therefore do not run.
 */
import type { AgentCard, CardExtension } from '#a2a/card/card.js'
import { routeKey } from '#a2a/extension-routes.js'
import type { AgentConfig, Mode, PolicyConfig } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import { step } from '#jsonschema/evaluation.js'
import type { Glob } from '#wire/glob.js'
import { compileGlob } from '#wire/glob.js'
import { comparableUris, isOtherSpelling } from '#wire/uri-spelling.js'
import type { CompiledActivation, CompiledPolicy } from '../compile/compiled.js'
import { callerCondition } from '../compile/condition.js'
import { claimedUris, identitiesOf, modeOf, spellingsOf } from '../compile/identity.js'
import { compileActivation } from '../request/activation.js'
import type { SelectContext } from '../selectors/kit.js'

/** Data that belongs to a guarded extension. */
export type GuardedData = Pick<CompiledActivation, 'owned' | 'ownedHeaders'> & {
  /** True when the data is removed; otherwise the request is rejected. */
  readonly strips: boolean
}

export interface CompiledGuard {
  /** Name of the policy. */
  readonly name: string
  /** The extension in messages: its URI as the card spells it, or the pattern of the policy. */
  readonly label: string
  /** Null for a pattern that no extension of the card matches. */
  readonly uri: string | null
  /** The extensions of the card that the policy applies to; without any, the policy's own. */
  readonly own: readonly string[]
  readonly mode: Mode
  readonly allows: (caller: Principal | null) => boolean
  /** True when what names the extension is removed; otherwise the request is rejected. */
  readonly strips: boolean
  /** Every URI of the extension: all spellings, and the aliases that no other policy claims. */
  readonly uris: ReadonlySet<string>
  /** Comparable forms of `uris`. */
  readonly forms: ReadonlySet<string>
  /** True when another spelling of a URI is rejected; otherwise it is reported. */
  readonly rejectsSpellings: boolean
  /** Names of the headers that the extension owns, in lower case. */
  readonly headers: ReadonlySet<string>
  /** Further URIs; null for none. */
  readonly pattern: Glob | null
  /** JSON-RPC methods and HTTP routes (`routeKey`) of the extension. */
  readonly methods: ReadonlySet<string>
  readonly routes: ReadonlySet<string>
  readonly data: readonly GuardedData[]
  /** True when the client's header of activated extensions never names the extension. */
  readonly hidesEcho: boolean
}

/** True when the URI names the extension. */
export function covers ({ uris, pattern }: Pick<CompiledGuard, 'uris' | 'pattern'>, uri: string): boolean {
  return uris.has(uri) || (pattern !== null && pattern.test(uri))
}

/** True when the URI is another spelling of one that names the extension. */
export function resembles (guard: Pick<CompiledGuard, 'uris' | 'pattern' | 'forms'>, uri: string): boolean {
  if (covers(guard, uri)) return false
  const { forms, pattern } = guard
  return isOtherSpelling(uri, forms) || (pattern !== null && comparableUris(uri).some(form => pattern.test(form)))
}

/** The extensions that the caller of one request may not use, under policies that enforce. */
export class Forbidden {
  readonly guards: readonly CompiledGuard[]

  constructor (guards: readonly CompiledGuard[]) {
    this.guards = guards
  }

  has (uri: string): boolean {
    return this.guards.some(guard => covers(guard, uri))
  }

  /** True when the client may not even see that the agent activated the extension. */
  hides (uri: string): boolean {
    return this.guards.some(guard => guard.hidesEcho && covers(guard, uri))
  }

  guardOf (uri: string): CompiledGuard | null {
    return this.guards.find(guard => covers(guard, uri)) ?? null
  }

  /** The URIs that the caller may use. Returns the same list when there is no other. */
  without (uris: readonly string[]): readonly string[] {
    return uris.some(uri => this.has(uri)) ? uris.filter(uri => !this.has(uri)) : uris
  }

  /** URIs of the extensions, as the card spells them. */
  get uris (): readonly string[] {
    return [...new Set(this.guards.flatMap(({ own }) => own))]
  }
}

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
  step(guards.length * GUARD)
  const found = guards.filter(guard => !guard.allows(caller))
  if (found.length === 0) return null
  const enforced = found.filter(({ mode }) => mode === 'enforce')
  return { guards: found, forbidden: enforced.length === 0 ? null : new Forbidden(enforced) }
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
  const { agent, known } = options
  const claimed = claimedUris(agent.policies.map(({ policy }) => policy))
  return Object.entries(known).flatMap(([name, policy]) => {
    const mode = modeOf(agent.mode, policy)
    return policy.activation?.callers === undefined || mode === 'off' ? [] : [compileGuard(name, policy, mode, claimed, options)]
  })
}

function compileGuard (
  name: string,
  policy: PolicyConfig,
  mode: Mode,
  claimed: ReadonlySet<string>,
  { agent, card, declared, policies, known, contextOf }: GuardOptions
): CompiledGuard {
  const { callers = { anonymous: false }, onForbidden, equivalent } = policy.activation ?? {}
  const identities = identitiesOf(policy, declared, claimed)
  const aliases = (policy.aliases ?? []).map(({ uri }) => uri).filter(uri => !claimed.has(uri))
  const uris = new Set([
    ...spellingsOf(policy),
    ...aliases,
    ...identities.flatMap(({ same, also }) => [...same, ...also.map(one => one.uri)])
  ])
  const pattern = policy.uriPattern === undefined ? null : compileGlob(policy.uriPattern)
  // Other policies may know the extension by further spellings, which the gateway replaces by that of the card.
  for (const { same } of Object.values(known).flatMap(other => identitiesOf(other, declared, claimed))) {
    if (same.some(uri => covers({ uris, pattern }, uri))) for (const uri of same) uris.add(uri)
  }
  const context = contextOf(name, [...uris])
  const allowed = callerCondition(callers, context)
  // `$uri` in names means every URI of the extension here, not only those that activate it.
  const own = compileActivation(policy, context, known, card)
  // Several policies may be for one extension: the data of each belongs to it.
  const shared = policies.filter(one => one.name !== name && covers({ uris, pattern }, one.uri)).map(({ activation }) => activation)
  const found = identities.map(({ uri }) => uri)
  const sharing = policies.filter(one => one.name !== name && covers({ uris, pattern }, one.uri)).map(one => known[one.name])
  const headers = [policy, ...sharing].flatMap(one => one?.owns?.headers ?? [])
  return {
    name,
    label: found[0] ?? policy.uri ?? policy.uriPattern ?? name,
    uri: found[0] ?? policy.uri ?? null,
    own: found.length > 0 ? found : [...uris].slice(0, 1),
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

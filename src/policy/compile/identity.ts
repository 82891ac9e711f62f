/** Determines the extension of a card that a policy applies to, and the URIs that clients may use for it. */
import type { CardExtension } from '#a2a/card/card.js'
import type { Mode, PolicyConfig, ResolvedPolicy } from '#config/model/model.js'
import { isCatalogued } from '#config/model/model.js'
import { compileGlob } from '#wire/glob.js'

/** One extension that a policy applies to. */
export interface Identity {
  /** The card's spelling; the policy's spelling when the card does not declare the extension. */
  readonly uri: string
  /** Every spelling of the same extension, `uri` first. */
  readonly same: readonly string[]
  /** Other extensions that satisfy a requirement for this one. */
  readonly satisfying: readonly string[]
  /** The extensions of `satisfying` that the card declares besides `uri`. The rules of the policy run for these extensions too. */
  readonly also: readonly CardExtension[]
  /** Null when the card does not declare it. */
  readonly extension: CardExtension | null
}

const NO_URIS: ReadonlySet<string> = new Set()
const NO_EXTENSIONS: readonly CardExtension[] = []

/**
 * Finds the extensions of a card that a policy applies to. A card that declares only an alias with `satisfies` declares another extension
 * than the policy's own: the rules run for that extension, and no other URI counts for it.
 * @param claimed URIs of other policies (`claimedUris`). An alias with `satisfies` that another policy claims belongs to that policy
 * @returns one identity per extension: a `uriPattern` may match several extensions of the card, or none
 */
export function identitiesOf (
  policy: PolicyConfig,
  declared: ReadonlyMap<string, CardExtension>,
  claimed: ReadonlySet<string> = NO_URIS
): Identity[] {
  if (policy.uriPattern !== undefined) {
    const pattern = compileGlob(policy.uriPattern)
    return [...declared.values()]
      .filter(cardExtension => pattern.test(cardExtension.uri))
      .map(extension => ({ uri: extension.uri, same: [extension.uri], satisfying: [], also: NO_EXTENSIONS, extension }))
  }
  if (policy.uri === undefined) return []
  const spellings = spellingsOf(policy)
  const satisfying = (policy.aliases ?? []).filter(alias => alias.relation === 'satisfies').map(alias => alias.uri)
  const unclaimed = satisfying.filter(uri => !claimed.has(uri)).map(uri => declared.get(uri)).filter(extension => extension !== undefined)
  const spelled = spellings.find(spelling => declared.has(spelling))
  const [first, ...more] = unclaimed
  if (spelled === undefined && first !== undefined) {
    return [{ uri: first.uri, same: [first.uri], satisfying: [], also: more, extension: first }]
  }
  const uri = spelled ?? policy.uri
  return [{
    uri,
    same: [uri, ...spellings.filter(spelling => spelling !== uri)],
    satisfying,
    also: unclaimed,
    extension: declared.get(uri) ?? null
  }]
}

/** The policy's own URI, and its other spellings. Empty for a policy with `uriPattern`. */
export function spellingsOf ({ uri, aliases = [] }: PolicyConfig): string[] {
  return uri === undefined ? [] : [uri, ...aliases.filter(alias => alias.relation === 'same').map(alias => alias.uri)]
}

/** The URIs, in every spelling, that policies name as their own. */
export function claimedUris (policies: Iterable<PolicyConfig>): ReadonlySet<string> {
  const claimed = new Set<string>()
  for (const policy of policies) for (const uri of spellingsOf(policy)) claimed.add(uri)
  return claimed
}

/** Mode of a policy for an agent: the policy's own mode, but `off` for an agent that is off. */
export function modeOf (agent: Mode, { mode }: PolicyConfig): Mode {
  return agent === 'off' ? 'off' : mode ?? agent
}

/**
 * Mode in which the requirement of an extension is checked, for its policy. The catalogue only observes its own rules: the requirement of
 * the card was enforced before the catalogue listed the policy, and stays enforced.
 */
export function requirementMode (agent: Mode, { policy, from }: Pick<ResolvedPolicy, 'policy' | 'from'>): Mode {
  const demand = policy.activation?.required ?? 'card'
  const mode = demand === 'card' && isCatalogued(from.mode) ? agent : modeOf(agent, policy)
  return demand === 'observe' && mode === 'enforce' ? 'observe' : mode
}

/** The other names of an agent's extensions, for look-ups per request. */
export class ExtensionAliases {
  /** Maps another spelling to the card's spelling. */
  private readonly canonical = new Map<string, string>()
  /** Maps a URI to the other URIs that count for it. */
  private readonly counting = new Map<string, readonly string[]>()

  add ({ uri, same, satisfying, extension }: Identity, declared: ReadonlyMap<string, CardExtension>): void {
    const others = [...same.slice(1), ...satisfying]
    if (others.length === 0) return
    this.counting.set(uri, [...this.counting.get(uri) ?? [], ...others])
    if (extension === null) return
    for (const spelling of same) if (!declared.has(spelling)) this.canonical.set(spelling, uri)
  }

  /** True when a request for these URIs includes that URI. */
  includes (requested: readonly string[], uri: string): boolean {
    return requested.includes(uri) || this.counting.get(uri)?.some(other => requested.includes(other)) === true
  }

  /** The URIs as the card spells them, each once. Returns the same list when no spelling differs. */
  canonicalize (requested: readonly string[]): readonly string[] {
    if (this.canonical.size === 0 || !requested.some(uri => this.canonical.has(uri))) return requested
    return [...new Set(requested.map(uri => this.canonical.get(uri) ?? uri))]
  }

  /** Returns the client's name for an extension, given the agent's name. */
  asAsked (uri: string, requested: readonly string[]): string {
    if (this.canonical.size === 0 || requested.includes(uri)) return uri
    return requested.find(asked => this.canonical.get(asked) === uri) ?? uri
  }
}

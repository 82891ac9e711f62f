/** Which extension of a card a policy speaks of, and under which URIs clients may name it. */
import type { CardExtension } from '../../a2a/card/card.js'
import type { Mode, PolicyConfig } from '../../config/model/model.js'
import { compileGlob } from './glob.js'

/** One extension that a policy is for. */
export interface Identity {
  /** As the card spells it; where the card does not declare it, as the policy does. */
  readonly uri: string
  /** Every spelling of the same extension, `uri` first. */
  readonly same: readonly string[]
  /** Other extensions that count as this one where it is required. */
  readonly satisfying: readonly string[]
  /** Null where the card does not declare it. */
  readonly extension: CardExtension | null
}

/** @returns one per extension: a `uriPattern` may be for several of the card's, or for none */
export function identitiesOf (policy: PolicyConfig, declared: ReadonlyMap<string, CardExtension>): Identity[] {
  if (policy.uriPattern !== undefined) {
    const pattern = compileGlob(policy.uriPattern)
    return [...declared.values()].filter(one => pattern.test(one.uri)).map(extension => ({ uri: extension.uri, same: [extension.uri], satisfying: [], extension }))
  }
  if (policy.uri === undefined) return []
  const aliases = policy.aliases ?? []
  const spellings = [policy.uri, ...aliases.filter(alias => alias.relation === 'same').map(alias => alias.uri)]
  const uri = spellings.find(spelling => declared.has(spelling)) ?? policy.uri
  return [{
    uri,
    same: [uri, ...spellings.filter(spelling => spelling !== uri)],
    satisfying: aliases.filter(alias => alias.relation === 'satisfies').map(alias => alias.uri),
    extension: declared.get(uri) ?? null
  }]
}

/** In what mode a policy works for an agent: its own, but nothing for one that is off. */
export function modeOf (agent: Mode, { mode }: PolicyConfig): Mode {
  return agent === 'off' ? 'off' : mode ?? agent
}

/** The other names of an agent's extensions, looked up per request. */
export class ExtensionAliases {
  /** Another spelling to the card's. */
  private readonly canonical = new Map<string, string>()
  /** URI to the others that count for it. */
  private readonly counting = new Map<string, readonly string[]>()

  add ({ uri, same, satisfying, extension }: Identity, declared: ReadonlyMap<string, CardExtension>): void {
    const others = [...same.slice(1), ...satisfying]
    if (others.length === 0) return
    this.counting.set(uri, [...this.counting.get(uri) ?? [], ...others])
    if (extension === null) return
    for (const spelling of same) if (!declared.has(spelling)) this.canonical.set(spelling, uri)
  }

  /** Whether a request that asks for these URIs asks for that one. */
  includes (requested: readonly string[], uri: string): boolean {
    return requested.includes(uri) || this.counting.get(uri)?.some(other => requested.includes(other)) === true
  }

  /** The URIs as the card spells them, each once; the same list where nothing differs. */
  canonicalize (requested: readonly string[]): readonly string[] {
    if (this.canonical.size === 0 || !requested.some(uri => this.canonical.has(uri))) return requested
    return [...new Set(requested.map(uri => this.canonical.get(uri) ?? uri))]
  }

  /** Under which name the client asked for what the agent names so. */
  asAsked (uri: string, requested: readonly string[]): string {
    if (this.canonical.size === 0 || requested.includes(uri)) return uri
    return requested.find(asked => this.canonical.get(asked) === uri) ?? uri
  }
}

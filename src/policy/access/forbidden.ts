/** What a caller may not use of an agent: the guards of its extensions. */
import type { Selector } from '../selectors/selection.js'
import { comparableUris, isOtherSpelling } from '#wire/uri-spelling.js'
import type { Mode } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import type { Glob } from '#wire/glob.js'

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

/** The data in a request that belongs to an extension. */
export interface OwnedData {
  readonly owned: readonly Selector[]
  /** The selectors of `owned` that select headers. */
  readonly ownedHeaders: ReadonlySet<Selector>
}

/** Data that belongs to a guarded extension. */
export interface GuardedData extends OwnedData {
  /** True when the data is removed; otherwise the request is rejected. */
  readonly strips: boolean
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

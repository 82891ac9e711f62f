/**
 * Which paths of an origin are one agent's. Agents may share an origin, and the author of one card could otherwise name the paths of
 * another, and pull them under its own policy.
 */
import { canonicalPath, isAtOrBelow, loosePath } from '../../wire/target.js'

/** Paths at the agent. */
export interface PathScopeOptions {
  /** Its path is the agent's own. */
  readonly upstreamUrl: URL
  /** `card.interfaces`: prefixes that the operator allows as well; `/` is all of the origin. Default: none. */
  readonly allowed?: readonly string[] | undefined
  /** Below these, as `loosePath` makes them, lies what another agent's `upstream.url` names. Default: none. */
  readonly reserved?: readonly string[] | undefined
}

export class PathScope {
  /** Path of `upstream.url`, without trailing slash. */
  readonly base: string
  private readonly own: readonly string[]
  private readonly reserved: readonly string[]

  constructor ({ upstreamUrl, allowed = [], reserved = [] }: PathScopeOptions) {
    this.base = upstreamUrl.pathname.replace(/\/$/, '')
    this.own = [this.base, ...allowed.map(prefix => prefix === '/' ? '' : prefix)].map(canonicalPath)
    this.reserved = reserved
  }

  /** @returns null for a path that an interface may have, else why not: the rest of a sentence */
  problem (path: string): string | null {
    const canonical = canonicalPath(path)
    const own = this.own.filter(base => isAtOrBelow(canonical, base))
    if (own.length === 0) return `its path is not below that of upstream.url, "${this.base}"; card.interfaces can allow it`
    const other = this.ownerOf(canonical, own)
    return other === null ? null : `its path is below "${other}", where the upstream.url of another agent leads; card.interfaces can allow it`
  }

  /**
   * Whether another agent's `upstream.url` is nearer to a path than anything that names it for this one.
   * @param also a further base that the operator has named for this agent
   */
  isForeign (path: string, also?: string): boolean {
    if (this.reserved.length === 0) return false
    const canonical = canonicalPath(path)
    const own = also === undefined ? this.own : [...this.own, also]
    return this.ownerOf(canonical, own.filter(base => isAtOrBelow(canonical, base))) !== null
  }

  /** The nearest base decides; as lenient servers read them, for `/Shop` may be `/shop` to the agent. */
  private ownerOf (path: string, own: readonly string[]): string | null {
    if (this.reserved.length === 0) return null
    const loose = loosePath(path)
    const nearest = Math.max(-1, ...own.map(base => loosePath(base).length))
    return this.reserved.find(base => base.length > nearest && isAtOrBelow(loose, base)) ?? null
  }
}

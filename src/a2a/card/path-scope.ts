/**
 * Decides which paths of an origin belong to one agent. Agents may share an origin. Without this check, the author of one card could name
 * the paths of another agent and apply the policy of the first agent to them.
 */
import { canonicalPath, isAtOrBelow, loosePath } from '#wire/target.js'

/** Paths at the agent. */
export interface PathScopeOptions {
  /** The path of this URL belongs to the agent. */
  readonly upstreamUrl: URL
  /** `card.interfaces`: further prefixes that the operator allows; `/` means the whole origin. Default: none. */
  readonly allowed?: readonly string[] | undefined
  /** Bases from the `upstream.url` of other agents, in the form of `loosePath`. Paths below them belong to those agents. Default: none. */
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

  /** @returns null for a path that an interface may have, otherwise the reason: the rest of a sentence */
  problem (path: string): string | null {
    const canonical = canonicalPath(path)
    const own = this.own.filter(base => isAtOrBelow(canonical, base))
    if (own.length === 0) return `its path is not below that of upstream.url, "${this.base}"; card.interfaces can allow it`
    const other = this.ownerOf(canonical, own)
    return other === null
      ? null
      : `its path is below "${other}", the path of the upstream.url of another agent; card.interfaces can allow it`
  }

  /**
   * True when the `upstream.url` of another agent is nearer to a path than any base of this agent.
   * @param also a further base that the operator has named for this agent
   */
  isForeign (path: string, also?: string): boolean {
    if (this.reserved.length === 0) return false
    const canonical = canonicalPath(path)
    const own = also === undefined ? this.own : [...this.own, also]
    return this.ownerOf(canonical, own.filter(base => isAtOrBelow(canonical, base))) !== null
  }

  /**
   * Returns the reserved base that owns a path, or null. The nearest base decides. Paths are compared as lenient servers read them, because
   * the agent may read `/Shop` as `/shop`.
   */
  private ownerOf (path: string, own: readonly string[]): string | null {
    if (this.reserved.length === 0) return null
    const loose = loosePath(path)
    const nearest = Math.max(-1, ...own.map(base => loosePath(base).length))
    return this.reserved.find(base => base.length > nearest && isAtOrBelow(loose, base)) ?? null
  }
}

/** Finds the paths that belong to other agents when several agents share one origin. */
import { loosePath } from '#wire/target.js'

interface Upstream {
  readonly url: URL
  /** The setting `card.interfaces`. */
  readonly allowed: readonly string[]
}

/**
 * Returns, for each agent, the paths of other agents below the paths that the agent may use.
 * @returns paths in the form of `loosePath`; the agent's own path is never in its list
 */
export function reservedPaths (agents: readonly Upstream[]): string[][] {
  const below = new Map<string, Set<string>>()
  for (const { url } of agents) {
    const path = loosePath(url.pathname)
    for (let end = path.lastIndexOf('/'); end >= 0; end = path.lastIndexOf('/', end - 1)) {
      const above = `${url.origin}${path.slice(0, end)}`
      const paths = below.get(above) ?? new Set()
      below.set(above, paths.add(path))
      if (end === 0) break
    }
  }
  return agents.map(({ url, allowed }) => {
    const own = loosePath(url.pathname)
    const prefixes = [own, ...allowed.map(loosePath)].flatMap((path) => [...below.get(url.origin + path) ?? []])
    return [...new Set(prefixes)].filter((path) => path !== own)
  })
}

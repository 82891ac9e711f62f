/** The paths that the configuration gives an agent. */
import { PathScope } from '../a2a/card/path-scope.js'
import type { AgentConfig } from '../config/model/model.js'

const known = new WeakMap<AgentConfig, PathScope>()

/** Returns the paths of an agent. They are computed once for each configuration of an agent. */
export function scopeOf (config: AgentConfig): PathScope {
  const made = known.get(config)
  if (made !== undefined) return made
  const scope = new PathScope({
    upstreamUrl: new URL(config.upstream.url),
    allowed: config.card.interfaces,
    reserved: config.reservedPaths
  })
  known.set(config, scope)
  return scope
}

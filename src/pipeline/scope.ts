/** The paths that the configuration gives an agent. */
import { PathScope } from '#a2a/card/path-scope.js'
import type { GrpcScope } from '#a2a/grpc/card-map.js'
import type { AgentConfig } from '#config/model/model.js'

const cache = new WeakMap<AgentConfig, PathScope>()

/** Returns the paths of an agent. They are computed once for each configuration of an agent. */
export function scopeOf (config: AgentConfig): PathScope {
  const pathScope = cache.get(config)
  if (pathScope !== undefined) return pathScope
  const scope = new PathScope({
    upstreamUrl: new URL(config.upstream.url),
    allowed: config.card.interfaces,
    reserved: config.reservedPaths
  })
  cache.set(config, scope)
  return scope
}

/** Returns how the gateway serves an agent by gRPC, or null for an agent without a gRPC listener. */
export function grpcScopeOf ({ grpc, upstream }: AgentConfig): GrpcScope | null {
  if (grpc === null) return null
  const { hostname, protocol } = new URL(upstream.url)
  const own = { host: hostname.replace(/^\[|\]$/g, ''), tls: protocol === 'https:' }
  return { publicAddress: grpc.publicAddress, upstream: grpc.upstream, own: grpc.sharedHost === true ? null : own }
}

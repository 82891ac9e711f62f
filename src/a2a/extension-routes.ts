/** Matches paths to the HTTP routes that extensions add to the operations of A2A. Built when a card is loaded. */
import { loosePath } from '#wire/target.js'
import type { Version } from './versions.js'

/** A route that an agent offers to callers of these versions. */
export interface ExtensionRoute {
  readonly verb: string
  /** Below the agent's public path. */
  readonly path: string
  readonly versions: readonly Version[]
  /** The key of the policy's route; default: of verb and path. */
  readonly key?: string
  /** For a route below an interface: the paths of the interface, without trailing slash. Default: the base of the agent. */
  readonly below?: RouteBase
}

export interface RouteBase { readonly publicPath: string, readonly upstreamPath: string }

export interface FoundRoute {
  /** The key in the form of {@link routeKey}. */
  readonly key: string
  readonly versions: readonly Version[]
  readonly below?: RouteBase
}

/** The path is known, but not with this verb. */
export interface RouteVerbMismatch { readonly allow: string, readonly below?: RouteBase }

/** Begins the path of a route below each HTTP+JSON interface, in keys. */
const INTERFACE = '{interface}'

/** Returns the key of a route. Paths that differ only in the names of their parameters are the same route. */
export function routeKey (verb: string, path: string, base: 'agent' | 'interface' = 'agent'): string {
  return `${verb} ${base === 'interface' ? INTERFACE : ''}${path.replace(/\{[^/]*\}/g, '{}')}`
}

/** Reads a key. */
export function routeOfKey (key: string): { readonly verb: string, readonly path: string, readonly base: 'agent' | 'interface' } {
  const [verb = '', path = ''] = key.split(' ')
  return path.startsWith(INTERFACE) ? { verb, path: path.slice(INTERFACE.length), base: 'interface' } : { verb, path, base: 'agent' }
}

interface Place {
  /** Null stands for a parameter, which matches any single segment that is not empty. */
  readonly segments: readonly (string | null)[]
  readonly byVerb: Map<string, FoundRoute>
}

export class ExtensionRoutes {
  /** Plain segments come before parameters, so that the most specific route wins. */
  private readonly places: readonly Place[]

  constructor (routes: readonly ExtensionRoute[]) {
    const places = new Map<string, Place>()
    for (const { verb, path, versions, key = routeKey(verb, path), below } of routes) {
      const shape = routeKey(verb, path).slice(verb.length + 1)
      const place = places.get(shape) ?? {
        segments: shape
          .slice(1)
          .split('/')
          .map(segment => (segment === '{}' ? null : segment)),
        byVerb: new Map<string, FoundRoute>()
      }
      places.set(shape, place)
      const foundRoute = place.byVerb.get(verb)
      const before = foundRoute?.versions ?? []
      const route = foundRoute ?? { key, ...(below === undefined ? {} : { below }) }
      place.byVerb.set(verb, { ...route, versions: [...before, ...versions.filter(version => !before.includes(version))] })
    }
    this.places = [...places.values()].sort((a, b) => bySpecificity(a.segments, b.segments))
  }

  /**
   * Finds the route of a request.
   * @param path below the agent's public path, not decoded
   * @returns the route, the verbs that would match, or null when no route has this path
   */
  match (verb: string, path: string): FoundRoute | RouteVerbMismatch | null {
    if (this.places.length === 0) return null
    const segments = path.slice(1).split('/')
    const places = this.places.filter(place => fits(place.segments, segments))
    for (const place of places) {
      const route = place.byVerb.get(verb)
      if (route !== undefined) return route
    }
    const [first] = places.flatMap(place => [...place.byVerb.values()])
    if (first === undefined) return null
    const allow = [...new Set(places.flatMap(place => [...place.byVerb.keys()]))].sort().join(', ')
    return { allow, ...(first.below === undefined ? {} : { below: first.below }) }
  }

  /** True when an agent that reads paths leniently could take this path for a route. @param loose in the form of `loosePath` */
  claims (loose: string): boolean {
    if (this.places.length === 0) return false
    const segments = loose.slice(1).split('/')
    return this.places.some(place => fits(place.segments.map(segment => segment === null ? null : loosePath(segment)), segments))
  }
}

/** No route of an extension matches a path with this first segment: the card and other well-known resources lie below it. */
const WELL_KNOWN = '.well-known'

function fits (pattern: readonly (string | null)[], segments: readonly string[]): boolean {
  if (pattern.length !== segments.length || segments[0] === WELL_KNOWN) return false
  return pattern.every((expected, i) => expected === null ? segments[i] !== '' : expected === segments[i])
}

function bySpecificity (a: readonly (string | null)[], b: readonly (string | null)[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if ((a[i] === null) !== (b[i] === null)) return a[i] === null ? 1 : -1
  }
  return 0
}

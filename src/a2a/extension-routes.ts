/** Matches paths to the HTTP routes that extensions add to the operations of A2A. Built when a card is loaded. */
import { loosePath } from '../wire/target.js'
import type { Version } from './versions.js'

/** A route that an agent offers to callers of these versions. */
export interface ExtensionRoute { readonly verb: string, readonly path: string, readonly versions: readonly Version[] }

export interface FoundRoute {
  /** The key in the form of {@link routeKey}. */
  readonly key: string
  readonly versions: readonly Version[]
}

/** Returns the key of a route. Paths that differ only in the names of their parameters are the same route. */
export function routeKey (verb: string, path: string): string {
  return `${verb} ${path.replace(/\{[^/]*\}/g, '{}')}`
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
    for (const { verb, path, versions } of routes) {
      const key = routeKey(verb, path)
      const shape = key.slice(verb.length + 1)
      const place = places.get(shape) ?? {
        segments: shape
          .slice(1)
          .split('/')
          .map(segment => (segment === '{}' ? null : segment)),
        byVerb: new Map<string, FoundRoute>()
      }
      places.set(shape, place)
      const known = place.byVerb.get(verb)?.versions ?? []
      place.byVerb.set(verb, { key, versions: [...known, ...versions.filter(version => !known.includes(version))] })
    }
    this.places = [...places.values()].sort((a, b) => bySpecificity(a.segments, b.segments))
  }

  /**
   * Finds the route of a request.
   * @param path below the agent's public path, not decoded
   * @returns the route, the verbs that would match, or null when no route has this path
   */
  match (verb: string, path: string): FoundRoute | { readonly allow: string } | null {
    if (this.places.length === 0) return null
    const segments = path.slice(1).split('/')
    const found = this.places.filter(place => fits(place.segments, segments))
    for (const place of found) {
      const route = place.byVerb.get(verb)
      if (route !== undefined) return route
    }
    return found.length === 0 ? null : { allow: [...new Set(found.flatMap(place => [...place.byVerb.keys()]))].sort().join(', ') }
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

/** Maps method and path to an interface of the agent's card and an operation. Built when a card is loaded. */
import type { MappedInterface } from './card/map.js'
import { CARD_PATHS, LEGACY_EXTENDED_CARD, parentPath } from './card/map.js'
import type { ExtensionRoute } from './extension-routes.js'
import { ExtensionRoutes } from './extension-routes.js'
import type { Operation } from './operations.js'
import { isLenientRest, matchRest, plainRest } from './operations.js'
import { PathScope } from './card/path-scope.js'
import type { Binding, Version } from './versions.js'
import { VERSIONS } from './versions.js'
import { canonicalPath, isAtOrBelow, loosePath } from '#wire/target.js'

export type Route =
  | { readonly kind: 'card' }
  /**
   * An operation of the card, or a route that an extension adds. `supported` is false when no interface at this address has the requested
   * version.
   */
  | {
    readonly kind: 'operation'
    readonly binding: Binding
    readonly version: Version
    /** Null for JSON-RPC: the body names the operation. */
    readonly operation: Operation | null
    /** Key of an extension's route, in the form of `routeKey`; null for operations of A2A. */
    readonly extensionRoute: string | null
    /** Percent-encoded tenant of the path, or null. */
    readonly tenant: string | null
    readonly upstreamPath: string
    readonly supported: boolean
    /** Versions at this address, for the rejection. */
    readonly versions: readonly Version[]
  }
  /** A CORS preflight for an address of the card: the agent responds to it, and no operation runs. */
  | { readonly kind: 'preflight', readonly upstreamPath: string }
  /** The path has two readings. */
  | { readonly kind: 'ambiguous', readonly binding: Binding, readonly version: Version }
  | { readonly kind: 'verb', readonly binding: Binding, readonly version: Version, readonly allow: string }

interface RpcAddress { readonly byVersion: ReadonlyMap<Version, string>, readonly versions: readonly Version[] }

interface RestAddress { readonly publicPath: string, readonly upstreamPath: string, readonly version: Version }

/** The data about the agent, other than its interfaces, that a router needs. */
interface RouterPlace {
  readonly scope: PathScope
  /** Paths, below the base, of interfaces that are not carried, in the form of `loosePath`. */
  readonly uncarried: readonly string[]
}

const ROOT: RouterPlace = { scope: new PathScope({ upstreamUrl: new URL('http://agent') }), uncarried: [] }

export class Router {
  private readonly rpc: ReadonlyMap<string, RpcAddress>
  /** Longest base first, so that the most specific interface wins. */
  private readonly rest: readonly RestAddress[]
  /** 0.2: maps the public path of the extended card to its path at the agent. */
  private readonly legacyExtended: ReadonlyMap<string, string>
  /** Addresses of JSON-RPC, of the card, of the 0.2 extended card, and of interfaces that are not carried, in the form of `loosePath`. */
  private readonly claimed: ReadonlySet<string>
  /** Bases of HTTP+JSON interfaces, in the same form; a card may have thousands. */
  private readonly claimedBases: ReadonlyMap<string, ReadonlySet<Version>>
  private readonly extensions: ExtensionRoutes
  private readonly scope: PathScope
  /** Routes of `added` that no request reaches, because operations have the same paths: `GET /tasks`. */
  readonly shadowed: readonly string[]

  /** @param added routes of extensions; at the agent they lie below the base of the scope */
  constructor (
    interfaces: readonly MappedInterface[],
    legacyExtendedCard: boolean,
    added: readonly ExtensionRoute[] = [],
    { scope, uncarried }: RouterPlace = ROOT
  ) {
    const rpc = new Map<string, Map<Version, string>>()
    const rest: RestAddress[] = []
    const legacy = new Map<string, string>()
    for (const mappedInterface of interfaces) {
      if (mappedInterface.binding === 'JSONRPC') {
        const versions = rpc.get(mappedInterface.publicPath) ?? new Map<Version, string>()
        if (!versions.has(mappedInterface.version)) versions.set(mappedInterface.version, mappedInterface.dialPath)
        rpc.set(mappedInterface.publicPath, versions)
        const extended = parentPath(mappedInterface.upstreamPath) + LEGACY_EXTENDED_CARD
        if (legacyExtendedCard && scope.problem(extended) === null) {
          legacy.set(parentPath(mappedInterface.publicPath) + LEGACY_EXTENDED_CARD, extended)
        }
      } else if (!rest.some(address => address.publicPath === mappedInterface.publicPath && address.version === mappedInterface.version)) {
        const { publicPath, upstreamPath, version } = mappedInterface
        rest.push({ publicPath, upstreamPath: upstreamPath === '/' ? '' : upstreamPath, version })
      }
    }
    this.rpc = new Map([...rpc].map(([path, byVersion]) => [path, { byVersion, versions: [...byVersion.keys()] }]))
    this.rest = rest.sort((a, b) => b.publicPath.length - a.publicPath.length)
    this.legacyExtended = legacy
    this.claimed = new Set([...rpc.keys(), ...CARD_PATHS, ...legacy.keys(), ...uncarried].map(loosePath))
    const bases = new Map<string, Set<Version>>(uncarried.map(base => [base, new Set(VERSIONS)]))
    for (const { publicPath, version } of rest) {
      const base = loosePath(publicPath)
      bases.set(base, new Set(bases.get(base)).add(version))
    }
    this.claimedBases = bases
    this.extensions = new ExtensionRoutes(added)
    this.scope = scope
    this.shadowed = added
      .filter(({ verb, path }) => this.isOperation(verb, path.replace(/\{[^/]*\}/g, SOME_NAME)))
      .map(({ verb, path }) => `${verb} ${path}`)
  }

  /**
   * Finds the route of a request.
   * @param path below the agent's public path, '' or beginning with `/`, not decoded, without query
   * @param version the version that the request asks for
   * @returns null for a path that is neither an operation of the agent's card nor a route of an extension
   */
  match (verb: string, path: string, version: Version): Route | null {
    // A path of another agent can match only an interface above it: with a tenant, or with a parameter of a route.
    const route = this.find(verb, path, version)
    return route !== null && 'upstreamPath' in route && this.scope.isForeign(route.upstreamPath) ? null : route
  }

  private find (verb: string, written: string, version: Version): Route | null {
    // The canonical path has the same length: the forwarded path is cut from the written path.
    const path = canonicalPath(written)
    const trimmed = path.endsWith('/') ? path.slice(0, -1) : path
    const rpc = this.rpc.get(trimmed)
    if (rpc !== undefined && verb === 'POST') return rpcRoute(rpc, version)
    if (CARD_PATHS.includes(path)) {
      if (verb === 'OPTIONS') return { kind: 'preflight', upstreamPath: this.scope.base + path }
      return verb === 'GET' || verb === 'HEAD' ? { kind: 'card' } : { kind: 'verb', binding: 'HTTP+JSON', version, allow: 'GET, HEAD' }
    }
    const rest = this.matchRest(verb, path, written, version)
    if (rest !== null && (rest.kind === 'operation' || rest.kind === 'ambiguous')) return rest
    const legacy = this.legacyExtended.get(path)
    if (legacy !== undefined && verb === 'GET') {
      return {
        kind: 'operation',
        binding: 'HTTP+JSON',
        version: '0.3',
        operation: 'GetExtendedAgentCard',
        extensionRoute: null,
        tenant: null,
        upstreamPath: legacy,
        supported: true,
        versions: ['0.3']
      }
    }
    if (rpc !== undefined) {
      if (verb === 'OPTIONS') return { kind: 'preflight', upstreamPath: firstPath(rpc) }
      return rest ?? { kind: 'verb', binding: 'JSONRPC', version, allow: 'POST' }
    }
    return rest ?? this.matchExtension(verb, written, version)
  }

  /**
   * True when a path is an address of an operation, of an extension's route or of the card, or when a lenient agent could take it for such
   * an address. No `passthrough` prefix may then carry the path without inspection.
   */
  claims (path: string): boolean {
    const loose = loosePath(path)
    if (this.claimed.has(loose) || this.extensions.claims(loose)) return true
    for (let end = loose.lastIndexOf('/'); end >= 0; end = end === 0 ? -1 : loose.lastIndexOf('/', end - 1)) {
      const base = loose.slice(0, end)
      for (const version of this.claimedBases.get(base) ?? []) if (isLenientRest(loose.slice(end), version, base)) return true
    }
    return false
  }

  /**
   * Matches an HTTP+JSON route. The requested version comes first. A route that only another version has is an unsupported version, not an
   * unknown path.
   */
  private matchRest (verb: string, path: string, written: string, version: Version): Route | null {
    let mismatch: Route | null = null
    let unsupported: Route | null = null
    for (const address of this.rest) {
      if (!isAtOrBelow(path, address.publicPath)) continue
      const rest = plainRest(verb, written.slice(address.publicPath.length))
      const match = matchRest(verb, rest, address.version, address.publicPath)
      if (match === null) continue
      if (verb === 'OPTIONS') return { kind: 'preflight', upstreamPath: address.upstreamPath + rest }
      if ('ambiguous' in match) return { kind: 'ambiguous', binding: 'HTTP+JSON', version: address.version }
      if ('allow' in match) {
        mismatch ??= { kind: 'verb', binding: 'HTTP+JSON', version: address.version, allow: match.allow }
        continue
      }
      // An agent that serves 0.3 here may read `/v1` as the prefix of 0.3, whatever the version.
      if (match.tenant === 'v1' && (unsupported !== null || this.versionsAt(address.publicPath).includes('0.3'))) continue
      const route: Route = {
        kind: 'operation',
        binding: 'HTTP+JSON',
        version: address.version,
        operation: match.operation,
        extensionRoute: null,
        tenant: match.tenant,
        upstreamPath: address.upstreamPath + rest,
        supported: address.version === version,
        versions: this.versionsAt(address.publicPath)
      }
      if (route.supported) return route
      unsupported ??= route
    }
    return unsupported ?? mismatch
  }

  private matchExtension (verb: string, path: string, version: Version): Route | null {
    const match = this.extensions.match(verb, path)
    if (match === null) return null
    const { below } = match
    const upstreamPath = below === undefined ? this.scope.base + path : below.upstreamPath + path.slice(below.publicPath.length)
    if (verb === 'OPTIONS') return { kind: 'preflight', upstreamPath }
    if ('allow' in match) return { kind: 'verb', binding: 'HTTP+JSON', version, allow: match.allow }
    const { key, versions } = match
    const supported = versions.includes(version)
    return {
      kind: 'operation',
      binding: 'HTTP+JSON',
      version: supported ? version : (versions[0] ?? version),
      operation: 'Extension',
      extensionRoute: key,
      tenant: null,
      upstreamPath,
      supported,
      versions
    }
  }

  private isOperation (verb: string, path: string): boolean {
    return this.rpc.has(path) || (verb === 'GET' && this.legacyExtended.has(path)) || this.matchRest(verb, path, path, '1.0') !== null
  }

  private versionsAt (publicPath: string): Version[] {
    return this.rest.filter(address => address.publicPath === publicPath).map(address => address.version)
  }
}

/** Stands for a parameter. No path of an operation has this word as a segment. */
const SOME_NAME = 'x'

function rpcRoute (address: RpcAddress, version: Version): Route {
  const upstreamPath = address.byVersion.get(version)
  return {
    kind: 'operation',
    binding: 'JSONRPC',
    version,
    operation: null,
    extensionRoute: null,
    tenant: null,
    upstreamPath: upstreamPath ?? firstPath(address),
    supported: upstreamPath !== undefined,
    versions: address.versions
  }
}

function firstPath (address: RpcAddress): string {
  return address.byVersion.values().next().value ?? '/'
}

export type OperationRoute = Extract<Route, { kind: 'operation' }>

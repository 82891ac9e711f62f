/** From method and path to an interface of the agent's card and an operation. Built when a card is loaded. */
import type { MappedInterface } from './card-map.js'
import { CARD_PATHS } from './card-map.js'
import type { Operation } from './operations.js'
import { isLenientRest, lenientPath, matchRest } from './operations.js'
import type { Binding, Version } from './versions.js'

export type Route =
  | { readonly kind: 'card' }
  /** An operation of the card. `supported` is false where no interface at this address speaks the version asked for. */
  | {
    readonly kind: 'operation'
    readonly binding: Binding
    readonly version: Version
    /** Null for JSON-RPC: the body names it. */
    readonly operation: Operation | null
    /** Percent-encoded tenant of the path, or null. */
    readonly tenant: string | null
    readonly upstreamPath: string
    readonly supported: boolean
    /** Versions spoken at this address, for the refusal. */
    readonly versions: readonly Version[]
  }
  /** A CORS preflight of an address of the card: the agent answers it, no operation runs. */
  | { readonly kind: 'preflight', readonly upstreamPath: string }
  | { readonly kind: 'verb', readonly binding: Binding, readonly version: Version, readonly allow: string }

interface RpcAddress { readonly byVersion: ReadonlyMap<Version, string>, readonly versions: readonly Version[] }

interface RestAddress { readonly publicPath: string, readonly upstreamPath: string, readonly version: Version }

export class Router {
  private readonly rpc: ReadonlyMap<string, RpcAddress>
  /** Longest base first, so that the most specific interface wins. */
  private readonly rest: readonly RestAddress[]
  /** 0.2: public path of the extended card to its path at the agent. */
  private readonly legacyExtended: ReadonlyMap<string, string>
  /** Addresses of JSON-RPC, card and 0.2 extended card, in lower case. */
  private readonly claimed: ReadonlySet<string>

  constructor (interfaces: readonly MappedInterface[], legacyExtendedCard: boolean) {
    const rpc = new Map<string, Map<Version, string>>()
    const rest: RestAddress[] = []
    const legacy = new Map<string, string>()
    for (const one of interfaces) {
      if (one.binding === 'JSONRPC') {
        const versions = rpc.get(one.publicPath) ?? new Map<Version, string>()
        if (!versions.has(one.version)) versions.set(one.version, one.dialPath)
        rpc.set(one.publicPath, versions)
        if (legacyExtendedCard) legacy.set(parent(one.publicPath) + LEGACY_EXTENDED_CARD, parent(one.upstreamPath) + LEGACY_EXTENDED_CARD)
      } else if (!rest.some(known => known.publicPath === one.publicPath && known.version === one.version)) {
        rest.push({ publicPath: one.publicPath, upstreamPath: one.upstreamPath === '/' ? '' : one.upstreamPath, version: one.version })
      }
    }
    this.rpc = new Map([...rpc].map(([path, byVersion]) => [path, { byVersion, versions: [...byVersion.keys()] }]))
    this.rest = rest.sort((a, b) => b.publicPath.length - a.publicPath.length)
    this.legacyExtended = legacy
    this.claimed = new Set([...rpc.keys(), ...CARD_PATHS, ...legacy.keys()].map(path => path.toLowerCase()))
  }

  /**
   * @param path below the agent's public path, '' or beginning with `/`, undecoded, without query
   * @param version the one the request asks for
   * @returns null for what is not an operation of the agent's card
   */
  match (verb: string, path: string, version: Version): Route | null {
    const trimmed = path.endsWith('/') ? path.slice(0, -1) : path
    const rpc = this.rpc.get(trimmed)
    if (rpc !== undefined && verb === 'POST') return rpcRoute(rpc, version)
    if (CARD_PATHS.includes(path)) return verb === 'GET' || verb === 'HEAD' ? { kind: 'card' } : { kind: 'verb', binding: 'HTTP+JSON', version, allow: 'GET, HEAD' }
    const rest = this.matchRest(verb, path, version)
    if (rest !== null && rest.kind === 'operation') return rest
    const legacy = this.legacyExtended.get(path)
    if (legacy !== undefined && verb === 'GET') {
      return { kind: 'operation', binding: 'HTTP+JSON', version: '0.3', operation: 'GetExtendedAgentCard', tenant: null, upstreamPath: legacy, supported: true, versions: ['0.3'] }
    }
    if (rpc !== undefined) {
      if (verb === 'OPTIONS') return { kind: 'preflight', upstreamPath: firstPath(rpc) }
      return rest ?? { kind: 'verb', binding: 'JSONRPC', version, allow: 'POST' }
    }
    return rest
  }

  /**
   * Whether a path is, or a lenient agent could take it for, an address of an operation or of the card: then no `passthrough` prefix
   * may carry it past inspection.
   */
  claims (path: string): boolean {
    const loose = lenientPath(path)
    if (this.claimed.has(loose)) return true
    return this.rest.some(({ publicPath, version }) => {
      const base = publicPath.toLowerCase()
      return under(loose, base) && isLenientRest(loose.slice(base.length), version, base)
    })
  }

  /** The version asked for first; a route that only another version has is an unsupported version, not an unknown path. */
  private matchRest (verb: string, path: string, version: Version): Route | null {
    let mismatch: Route | null = null
    let unsupported: Route | null = null
    for (const address of this.rest) {
      if (!under(path, address.publicPath)) continue
      const rest = path.slice(address.publicPath.length)
      const found = matchRest(verb, rest, address.version, address.publicPath)
      if (found === null) continue
      if (verb === 'OPTIONS') return { kind: 'preflight', upstreamPath: address.upstreamPath + rest }
      if ('allow' in found) {
        mismatch ??= { kind: 'verb', binding: 'HTTP+JSON', version: address.version, allow: found.allow }
        continue
      }
      const route: Route = {
        kind: 'operation',
        binding: 'HTTP+JSON',
        version: address.version,
        operation: found.operation,
        tenant: found.tenant,
        upstreamPath: address.upstreamPath + rest,
        supported: address.version === version,
        versions: this.versionsAt(address.publicPath)
      }
      if (route.supported) return route
      unsupported ??= route
    }
    return unsupported ?? mismatch
  }

  private versionsAt (publicPath: string): Version[] {
    return this.rest.filter(address => address.publicPath === publicPath).map(address => address.version)
  }
}

const LEGACY_EXTENDED_CARD = '/agent/authenticatedExtendedCard'

function rpcRoute (address: RpcAddress, version: Version): Route {
  const upstreamPath = address.byVersion.get(version)
  return {
    kind: 'operation',
    binding: 'JSONRPC',
    version,
    operation: null,
    tenant: null,
    upstreamPath: upstreamPath ?? firstPath(address),
    supported: upstreamPath !== undefined,
    versions: address.versions
  }
}

function firstPath (address: RpcAddress): string {
  return address.byVersion.values().next().value ?? '/'
}

function under (path: string, base: string): boolean {
  return path.startsWith(base) && (path.length === base.length || path.charCodeAt(base.length) === 0x2f)
}

function parent (path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf('/'), 0))
}

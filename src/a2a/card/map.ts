import { posix } from 'node:path'
import type { CardInterface } from './interfaces.js'
import { canonicalPath, checkCardPath, isAtOrBelow, loosePath } from '#wire/target.js'
import type { PathScope } from './path-scope.js'
import type { Binding, Version } from '../versions.js'

/** Address of a gRPC server. */
export interface GrpcTarget {
  readonly host: string
  readonly port: number
  readonly tls: boolean
}

/** An interface of the card with its path at the agent and its path at the gateway. */
export interface MappedInterface {
  readonly binding: Binding
  readonly version: Version
  readonly tenant: string | null
  /** As in `CardInterface`. */
  readonly unknownMinor?: string
  /** Base path at the agent, without trailing slash unless the path is `/`. Routes of HTTP+JSON are appended to this path. */
  readonly upstreamPath: string
  /**
   * The exact path in the card, with or without a trailing slash. JSON-RPC is posted to this path, because the gateway does not follow
   * redirects.
   */
  readonly dialPath: string
  /** Path relative to the agent's public path, in the form of `canonicalPath`: empty, or `/x/y` without trailing slash. */
  readonly publicPath: string
  /** The URL, or the address of a gRPC interface, as written in the card. */
  readonly url: string
  /** The agent's gRPC server. Absent for other bindings, which are served at paths. */
  readonly address?: GrpcTarget
}

/** The paths at which the gateway serves the card itself. */
export const CARD_PATHS: readonly string[] = ['/.well-known/agent-card.json', '/.well-known/agent.json']

/** 0.2: path of the extended card, beside the main interface. */
export const LEGACY_EXTENDED_CARD = '/agent/authenticatedExtendedCard'

/** Returns a path without its last segment. */
export function parentPath (path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf('/'), 0))
}

const AUTHORITY = /^https?:\/\/[^/?#]*/i
/**
 * Maps each interface to its public path. The public path is the path relative to the path of `upstream.url` when the interface lies below
 * that. It is the whole path when `card.interfaces` allows the interface. Other interfaces are not routed. The gateway ignores the host in
 * the card: agents often name a host that only they can see.
 * @returns the interfaces that can be routed, and one sentence for each interface that cannot, or that lost its query string
 */
export function mapInterfaces (interfaces: readonly CardInterface[], scope: PathScope): { mapped: MappedInterface[], conflicts: string[] } {
  const conflicts: string[] = []
  const mapped = mapEach(interfaces, scope, conflicts).filter((mappedInterface) => mappedInterface !== null)
  return { mapped, conflicts }
}

/** Like `mapInterfaces`, but keeps the positions: null stands for an interface that cannot be routed. */
export function mapEach (interfaces: readonly CardInterface[], scope: PathScope, conflicts: string[]): (MappedInterface | null)[] {
  const base = canonicalPath(scope.base)
  const taken = new Map<string, string>()
  return interfaces.map((cardInterface) => {
    const { url, text, binding, version, tenant, unknownMinor } = cardInterface
    const shown = `${binding} ${version} ${url.origin}${url.pathname}`
    const upstreamPath = trimSlash(url.pathname)
    const problem = checkCardPath(pathText(text)) ?? scope.problem(upstreamPath)
    if (problem !== null) {
      conflicts.push(`${shown} is not served: ${problem}`)
      return null
    }
    const publicPath = publicPathOf(canonicalPath(upstreamPath), base)
    if (CARD_PATHS.includes(publicPath)) {
      conflicts.push(`${shown} is not served: the gateway serves the card at that path`)
      return null
    }
    const owner = taken.get(publicPath)
    if (owner !== undefined && owner !== upstreamPath) {
      conflicts.push(
        `${shown} is not served: its public path "${publicPath || '/'}" already belongs to "${owner || '/'}"; choose an upstream.url ` +
          'that separates them'
      )
      return null
    }
    taken.set(publicPath, upstreamPath)
    if (url.search !== '' || url.hash !== '' || /[?#]$/.test(text)) {
      conflicts.push(`${shown} is served without the query or fragment of its URL`)
    }
    const mapped = { binding, version, tenant, upstreamPath: upstreamPath || '/', dialPath: url.pathname, publicPath, url: text }
    return unknownMinor === undefined ? mapped : { ...mapped, unknownMinor }
  })
}

/** Returns the URL for a served card. The URL ends with a slash exactly when the agent's own URL does. */
export function publicUrlOf (mapped: MappedInterface, publicBase: string): string {
  return publicBase + mapped.publicPath + (pathText(mapped.url).endsWith('/') ? '/' : '')
}

/**
 * Returns the path of an interface below `base` as the most lenient agent reads it. Use this for interfaces that are not carried because of
 * their spelling.
 * @returns null when the path is not below `base`
 */
export function interfacePath (path: string, base: string): string | null {
  // Decoded twice: a path with two layers of encoding is not carried for that reason.
  const loose = loosePath(posix.normalize(loosePath(loosePath(path)).replaceAll('\\', '/')))
  const below = loosePath(base)
  return isAtOrBelow(loose, below) ? loose.slice(below.length) : null
}

function publicPathOf (path: string, base: string): string {
  return isAtOrBelow(path, base) ? path.slice(base.length) : path
}

/** Returns the path of a URL as written in the card. */
function pathText (text: string): string {
  const rest = text.replace(AUTHORITY, '')
  const end = rest.search(/[?#]/)
  return end === -1 ? rest : rest.slice(0, end)
}

function trimSlash (path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path
}

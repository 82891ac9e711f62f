import type { CardInterface } from './card-interfaces.js'
import type { Binding, Version } from './versions.js'

/** An interface of the card with the path it has at the agent and the path it has at the gateway. */
export interface MappedInterface {
  readonly binding: Binding
  readonly version: Version
  readonly tenant: string | null
  /** Base path at the agent, no trailing slash unless it is `/`. Routes of HTTP+JSON are appended to it. */
  readonly upstreamPath: string
  /** The path exactly as the card ends it, with or without slash: JSON-RPC is posted here, because redirects are not followed. */
  readonly dialPath: string
  /** Relative to the agent's public path: empty, or `/x/y` without trailing slash. */
  readonly publicPath: string
  /** The URL as the card writes it. */
  readonly url: string
}

/** The paths at which the gateway serves the card itself. */
export const CARD_PATHS: readonly string[] = ['/.well-known/agent-card.json', '/.well-known/agent.json']

const AUTHORITY = /^https?:\/\/[^/?#]*/i
const DOT_SEGMENT = /\/\.{1,2}(?:;[^/]*)?(?=\/|$)/
/** Encoded slash, backslash, dot and control characters: gateway and agent may read them differently. */
const UNSAFE_ESCAPE = /%(?:2f|5c|2e|[01][0-9a-f]|7f)/i
const BROKEN_ESCAPE = /%(?![0-9a-f]{2})/i

/**
 * Where each interface is served: its path relative to the path of `upstream.url` when it lies under it, its whole path
 * otherwise. The host in the card is ignored: agents often name one that only they can see.
 * @returns the interfaces that can be routed, and a sentence for each that cannot or that lost its query string
 */
export function mapInterfaces (interfaces: readonly CardInterface[], upstreamUrl: URL): { mapped: MappedInterface[], conflicts: string[] } {
  const conflicts: string[] = []
  const mapped = mapEach(interfaces, upstreamUrl, conflicts).filter((one) => one !== null)
  return { mapped, conflicts }
}

/** Like `mapInterfaces`, but keeps the places: null stands for an interface that cannot be routed. */
export function mapEach (interfaces: readonly CardInterface[], upstreamUrl: URL, conflicts: string[]): (MappedInterface | null)[] {
  const base = trimSlash(upstreamUrl.pathname)
  const taken = new Map<string, string>()
  return interfaces.map((one) => {
    const { url, text, binding, version, tenant } = one
    const shown = `${binding} ${version} ${url.origin}${url.pathname}`
    const problem = pathProblem(text)
    if (problem !== null) {
      conflicts.push(`${shown} is not carried: ${problem}`)
      return null
    }
    const upstreamPath = trimSlash(url.pathname)
    const publicPath = publicPathOf(upstreamPath, base)
    if (CARD_PATHS.includes(publicPath)) {
      conflicts.push(`${shown} is not carried: the gateway serves the card at that path`)
      return null
    }
    const owner = taken.get(publicPath)
    if (owner !== undefined && owner !== upstreamPath) {
      conflicts.push(`${shown} is not carried: its public path "${publicPath || '/'}" already stands for "${owner || '/'}"; choose an upstream.url that keeps them apart`)
      return null
    }
    taken.set(publicPath, upstreamPath)
    if (url.search !== '' || url.hash !== '' || /[?#]$/.test(text)) conflicts.push(`${shown} is carried without the query or fragment of its URL`)
    return { binding, version, tenant, upstreamPath: upstreamPath || '/', dialPath: url.pathname, publicPath, url: text }
  })
}

/** The URL to name in a served card, ending in a slash exactly when the agent's own does. */
export function publicUrlOf (mapped: MappedInterface, publicBase: string): string {
  return publicBase + mapped.publicPath + (pathText(mapped.url).endsWith('/') ? '/' : '')
}

function publicPathOf (path: string, base: string): string {
  if (base === '') return path
  if (path === base) return ''
  return path.startsWith(`${base}/`) ? path.slice(base.length) : path
}

function pathProblem (text: string): string | null {
  const path = pathText(text)
  if (path.includes('//')) return 'its path contains an empty segment'
  if (DOT_SEGMENT.test(path)) return 'its path contains a dot segment'
  if (UNSAFE_ESCAPE.test(path)) return 'its path contains an encoded slash, backslash, dot or control character'
  if (BROKEN_ESCAPE.test(path)) return 'its path contains a broken percent escape'
  return null
}

function pathText (text: string): string {
  const rest = text.replace(AUTHORITY, '')
  const end = rest.search(/[?#]/)
  return end === -1 ? rest : rest.slice(0, end)
}

function trimSlash (path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path
}

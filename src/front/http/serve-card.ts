/** Serves an agent's card at the address that the client used, with the gateway's own validators (A2A 1.0 §8.6, RFC 9110 §13). */
import type { Version } from '../../a2a/versions.js'
import type { Agent } from '../../gateway/agent.js'
import type { AgentState } from '../../pipeline/agent-snapshot.js'
import { badHost } from '../../pipeline/rejections.js'
import type { TrustedProxies } from '../../wire/forwarded.js'
import { publicOriginOf } from './client-address.js'
import type { Exchange } from './exchange.js'

export function serveCard (
  exchange: Exchange,
  agent: Agent,
  { served, since }: AgentState,
  version: Version,
  trusted: TrustedProxies
): void {
  exchange.label = 'AgentCard'
  exchange.span.name('AgentCard')
  const origin = agent.publicBase === null ? publicOriginOf(exchange.request, trusted) : null
  const publicBase = agent.publicBase ?? (origin === null ? null : origin.url + agent.config.path)
  if (publicBase === null) return exchange.reject(badHost, 'rejected')
  const { bytes, etag } = served[version].at(publicBase)
  const headers = [
    'etag', etag,
    'last-modified', since.toUTCString(),
    'cache-control', `public, max-age=${Math.max(1, Math.round(agent.config.card.refresh / 1_000))}`,
    // Host is part of the key of every cache (RFC 9111 §2).
    'vary', origin?.proxied === true ? 'A2A-Version, X-Forwarded-Host, X-Forwarded-Proto' : 'A2A-Version'
  ]
  if (matches(exchange.request.headers['if-none-match'], etag)) return exchange.respond(304, headers, null)
  headers.push('content-type', 'application/json', 'content-length', String(bytes.length))
  exchange.respond(200, headers, bytes)
}

/** RFC 9110 §13.1.2: weak comparison, a list, or `*`. */
function matches (header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header.trim() === '*' || header.split(',').some(one => one.trim().replace(/^W\//, '') === etag)
}

/** Serves an agent's card at the gateway's address, with the gateway's own validators (A2A 1.0 §8.6, RFC 9110 §13). */
import type { Version } from '../a2a/versions.js'
import type { AgentState } from '../pipeline/agent-snapshot.js'
import type { Agent } from './agent.js'
import type { Exchange } from '../front/http/exchange.js'

export function serveCard (exchange: Exchange, agent: Agent, state: AgentState, version: Version): void {
  exchange.label = 'AgentCard'
  exchange.span.name('AgentCard')
  const { bytes, etag } = state.served[version]
  const headers = [
    'etag', etag,
    'last-modified', state.since.toUTCString(),
    'cache-control', `public, max-age=${Math.max(1, Math.round(agent.config.card.refresh / 1_000))}`,
    'vary', 'A2A-Version'
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

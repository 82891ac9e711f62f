/** Serves an agent's card at the address that the client used, with the gateway's own validators (A2A 1.0 §8.6, RFC 9110 §13). */
import type { Version } from '#a2a/versions.js'
import { publicCard } from '#a2a/card/minimal.js'
import type { ServedCard } from '#a2a/card/served-card.js'
import type { CardConfig } from '#config/model/model.js'
import type { Agent } from '#agents/agent.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import * as rejections from '#pipeline/rejections.js'
import { credentialHeaders, credentialsIn } from '#agents/card/card-access.js'
import { viewFor } from '#pipeline/card/served-cards.js'
import { matchesEtag } from '#wire/etag.js'
import type { TrustedProxies } from '#wire/forwarded.js'
import { publicOriginOf } from './client-address.js'
import { nameRequest } from './description.js'
import type { Exchange } from './exchange.js'
import type { Result } from './step.js'
import { after } from './run.js'
import { END } from './step.js'
import { enter } from './capacity.js'
import { reject, respond } from './reply.js'

/** Serves the card that the caller may see (`card.public`). */
export function serveCard (exchange: Exchange, agent: Agent, state: AgentState, version: Version): Result | Promise<Result> {
  const { snapshot: { trusted } } = exchange
  nameRequest(exchange, 'AgentCard')
  const { card } = agent.config
  if (state.views.length > 0) return serveView(exchange, agent, state, version)
  if (publicCard(card) === 'full') return send(exchange, agent, state, { card: state.served[version], trusted, vary: [], shared: true })
  const vary = [...new Set([...credentialHeaders(card), ...(exchange.identity?.headers ?? [])])]
  // The gateway has authenticated the caller; the agent gets no credentials that the gateway has verified.
  if (exchange.principal !== null) return send(exchange, agent, state, { card: state.served[version], trusted, vary, shared: false })
  const credentials = credentialsIn(exchange.request.headers, card)
  if (credentials === null) {
    return state.minimal === null
      ? rejectCredentials(exchange, agent, 401)
      : send(exchange, agent, state, { card: state.minimal[version], trusted, vary, shared: true })
  }
  if (!enter(exchange, agent)) return END
  const abort = new AbortController()
  exchange.atEnd = () => { abort.abort() }
  return after(exchange, agent.cardAccess(version, credentials, abort.signal), (exchange, access) => {
    if (access.kind === 'granted') return send(exchange, agent, state, { card: state.served[version], trusted, vary, shared: false })
    if (access.kind === 'unavailable') return reject(exchange, rejections.noCardAccess, 'upstream_error')
    return rejectCredentials(exchange, agent, access.status)
  })
}

/** Serves the part of the card that `card.views` shows to the caller. */
function serveView (exchange: Exchange, agent: Agent, state: AgentState, version: Version): Result {
  const { principal, snapshot: { trusted } } = exchange
  const vary = [...new Set(['authorization', ...(exchange.identity?.headers ?? [])])]
  const view = viewFor(state.views, principal)
  if (view !== null) return send(exchange, agent, state, { card: view.served[version], trusted, vary, shared: false })
  const card = publicCardOf(agent.config.card, state)
  if (card !== null) return send(exchange, agent, state, { card: card[version], trusted, vary, shared: principal === null })
  return reject(exchange, rejections.noView, 'rejected', 403)
}

/** The card for callers that no view matches; null when they see none. */
export function publicCardOf (config: CardConfig, { served, minimal }: AgentState): AgentState['served'] | null {
  const shown = publicCard(config)
  return shown === 'full' ? served : shown === 'minimal' ? minimal : null
}

/** The card that `serveCard` sends to callers without credentials; null when they get none. */
export function cardForStrangers ({ config }: Agent, state: AgentState): AgentState['served'] | null {
  return viewFor(state.views, null)?.served ?? publicCardOf(config.card, state)
}

function rejectCredentials (exchange: Exchange, { config }: Agent, status: 401 | 403): Result {
  const [name = ''] = credentialHeaders(config.card)
  return reject(
    exchange, rejections.cardCredentials(name, status), 'rejected', status,
    status === 401 ? ['www-authenticate', challengeOf(config.card)] : []
  )
}

/** The challenge of a 401 (RFC 9110 §11.6.1), from the scheme that `card.headers` names. */
function challengeOf ({ headers }: CardConfig): string {
  const names = Object.keys(headers)
  const authorization = names.find(name => name.toLowerCase() === 'authorization')
  if (authorization === undefined && names.length > 0) return 'ApiKey'
  const scheme = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+/.exec(headers[authorization ?? '']?.prefix ?? '')?.[0] ?? 'Bearer'
  return `${scheme} realm="AgentCard"`
}

interface CardResponse {
  readonly card: ServedCard
  readonly trusted: TrustedProxies
  /** Names of request headers that decide which card is sent, besides the version. */
  readonly vary: readonly string[]
  /** True when caches may give the response to other callers. */
  readonly shared: boolean
}

function send (exchange: Exchange, agent: Agent, { since }: AgentState, { card, trusted, vary, shared }: CardResponse): Result {
  const origin = agent.publicBase === null ? publicOriginOf(exchange.request, trusted) : null
  const publicBase = agent.publicBase ?? (origin === null ? null : origin.url + agent.config.path)
  if (publicBase === null) return reject(exchange, rejections.badHost, 'rejected')
  const { bytes, etag } = card.at(publicBase)
  const age = Math.max(1, Math.round(agent.config.card.refresh / 1_000))
  const headers = [
    'etag', etag,
    'last-modified', since.toUTCString(),
    // The agent decides about each caller anew.
    'cache-control', shared ? `public, max-age=${age}` : 'private, no-cache',
    // Host is part of the key of every cache (RFC 9111 §2).
    'vary', ['A2A-Version', 'Origin', ...vary, ...(origin?.proxied === true ? ['X-Forwarded-Host', 'X-Forwarded-Proto'] : [])].join(', ')
  ]
  if (exchange.cors?.replaces === false) headers.push(...exchange.cors.headers)
  if (matchesEtag(exchange.request.headers['if-none-match'], etag)) return respond(exchange, 304, headers, null)
  headers.push('content-type', 'application/json', 'content-length', String(bytes.length))
  return respond(exchange, 200, headers, bytes)
}

/** Loads the cards of one agent once, for commands that inspect an agent without forwarding to it. */
import { BACKGROUND, guarded } from '#guard.js'
import { PathScope } from '#a2a/card/path-scope.js'
import type { AgentConfig, SecretHeaders } from '#config/model/model.js'
import type { Headers } from '#config/secrets.js'
import { readHeaders } from '#config/secrets.js'
import type { Environment } from '#config/yaml/substitute.js'
import type { CardLimits } from './card-fetch.js'
import { loadCards } from './card-load.js'
import type { LoadedCards } from '#a2a/card/loaded-cards.js'
import { AgentPools } from '#upstream/pool.js'
import type { TlsFiles } from '#upstream/tls.js'

export type CardsOnce =
  | { readonly ok: true, readonly cards: LoadedCards }
  /** One sentence that contains the URL or the file. */
  | { readonly ok: false, readonly problem: string }

/** Agents whose cards a command loads at the same time. */
export const CARDS_AT_ONCE = 8

/**
 * Reads the cards as the gateway does: both versions, from `card.file`, `card.url` or below the upstream URL, with the agent's TLS files.
 * Leaves no connection open. Never rejects.
 * @param env environment that holds the secrets of `card.headers`
 * @param timeout ms for everything together
 */
export async function loadCardsOnce (
  agent: Pick<AgentConfig, 'card' | 'upstream' | 'reservedPaths'>,
  limits: CardLimits,
  tls: TlsFiles,
  env: Environment,
  timeout = 10_000
): Promise<CardsOnce> {
  const headers = agent.card.file === null ? tryHeaders(agent.card.headers, env) : {}
  const extended = agent.card.extended === null ? null : tryHeaders(agent.card.extended.headers, env, 'card.extended.headers')
  if (typeof extended === 'string') return { ok: false, problem: `of ${agent.upstream.url} cannot be requested: ${extended}` }
  if (typeof headers === 'string') return { ok: false, problem: `of ${agent.upstream.url} cannot be requested: ${headers}` }
  const scope = new PathScope({
    upstreamUrl: new URL(agent.upstream.url),
    allowed: agent.card.interfaces,
    reserved: agent.reservedPaths
  })
  const pools = new AgentPools(agent.upstream, tls)
  const abort = new AbortController()
  const timer = setTimeout(guarded(BACKGROUND, () => { abort.abort() }), timeout)
  try {
    const options = {
      config: agent.card,
      headers,
      extended: extended === null ? null : { headers: extended, scope },
      upstream: new URL(agent.upstream.url),
      limits,
      dispatcher: (origin: string) => pools.for(origin),
      timeout,
      inUse: false
    }
    const loaded = await loadCards(options, { 0.3: null, '1.0': null }, abort.signal)
    if (!loaded.ok) return { ok: false, problem: loaded.problem }
    return { ok: true, cards: { byVersion: loaded.byVersion, extended: loaded.extended, fetchedAt: Date.now(), origin: loaded.origin } }
  } finally {
    clearTimeout(timer)
    await pools.close()
  }
}

/** @returns the headers, or the reason why a secret cannot be read */
function tryHeaders (headers: SecretHeaders, env: Environment, key?: string): Headers | string {
  try {
    return readHeaders(headers, env, key)
  } catch (error) {
    return (error as Error).message
  }
}

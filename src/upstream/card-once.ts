/** Loads the cards of one agent once, for commands that inspect an agent without forwarding to it. */
import type { AgentConfig } from '../config/model/model.js'
import type { CardLimits } from './card-fetch.js'
import { loadCards } from './card-load.js'
import type { LoadedCards } from './card-source.js'
import { AgentPools } from './pool.js'
import type { TlsFiles } from './tls.js'

export type CardsOnce =
  | { readonly ok: true, readonly cards: LoadedCards }
  /** One sentence that contains the URL or the file. */
  | { readonly ok: false, readonly problem: string }

/**
 * Reads the cards as the gateway does: both versions, from `card.file`, `card.url` or below the upstream URL, with the agent's TLS files.
 * Leaves no connection open. Never rejects.
 * @param timeout ms for everything together
 */
export async function loadCardsOnce (
  agent: Pick<AgentConfig, 'card' | 'upstream'>,
  limits: CardLimits,
  tls: TlsFiles,
  timeout = 10_000
): Promise<CardsOnce> {
  const pools = new AgentPools(agent.upstream, tls)
  const abort = new AbortController()
  const timer = setTimeout(() => {
    abort.abort()
  }, timeout)
  try {
    const options = {
      config: agent.card,
      upstream: new URL(agent.upstream.url),
      limits,
      dispatcher: (origin: string) => pools.for(origin),
      timeout,
      inUse: false
    }
    const loaded = await loadCards(options, { 0.3: null, '1.0': null }, abort.signal)
    if (!loaded.ok) return { ok: false, problem: loaded.problem }
    return { ok: true, cards: { byVersion: loaded.byVersion, fetchedAt: Date.now(), origin: loaded.origin } }
  } finally {
    clearTimeout(timer)
    await pools.close()
  }
}

/** Compares the current cards of agents with `agents.lock`. */
import { cardDigests, sameDigests } from '#a2a/card/digest.js'
import type { CardDigests } from '#a2a/card/digest.js'
import type { CardDifference, LoadedCards } from '#a2a/card/loaded-cards.js'
import { lintTexts } from '#a2a/card/texts.js'
import type { TextFinding } from '#a2a/card/texts.js'
import { cardsOf } from '#agents/lock/agreement.js'
import { digestsOf } from '#agents/lock/lock-file.js'
import type { LockEntry, LockFile } from '#agents/lock/lock-file.js'
import type { AgentConfig, Config } from '#config/model/model.js'
import { cardDifferences } from '#policy/card/differences.js'
import { CARDS_AT_ONCE, loadCardsOnce } from '#agents/card/card-once.js'
import { readTlsFiles } from '#upstream/tls.js'
import { inParallel } from '#wire/in-parallel.js'

/** An agent, its agreed card and its current card. */
export type Compared = { readonly name: string, readonly agreed: LockEntry | null } & (
  | {
    readonly state: 'same' | 'changed' | 'new'
    /** An entry with the current card. Time and person are missing. */
    readonly live: Omit<LockEntry, 'pinnedAt' | 'pinnedBy'>
    /** From the agreed card, those that lower enforcement first. Empty if the lock file has only digests. */
    readonly differences: readonly CardDifference[]
    /** Suspicious texts of the current card. */
    readonly texts: readonly TextFinding[]
  }
  | { readonly state: 'failed', readonly problem: string }
)

/** Loads the cards of the agents, and compares them. Never rejects. */
export async function compareCards (
  agents: readonly AgentConfig[],
  { limits }: Config,
  lock: LockFile,
  env: NodeJS.ProcessEnv
): Promise<Compared[]> {
  return await inParallel(agents, CARDS_AT_ONCE, async agent => {
    const { name } = agent
    const agreed = Object.hasOwn(lock.agents, name) ? lock.agents[name] as LockEntry : null
    try {
      const loaded = await loadCardsOnce(agent, limits, readTlsFiles(agent.upstream.tls), env)
      if (!loaded.ok) return { name, agreed, state: 'failed', problem: `the card ${loaded.problem}` }
      return compare(agent, agreed, loaded.cards)
    } catch (error) {
      return { name, agreed, state: 'failed', problem: (error as Error).message }
    }
  })
}

/** @throws NoCanonicalForm for a card that nobody can agree on */
function compare (agent: AgentConfig, agreed: LockEntry | null, cards: LoadedCards): Compared {
  const digests = cardDigests(cards)
  const same = agreed !== null && sameDigests(digests, digestsOf(agreed))
  const { byVersion, extended = null } = cards
  const raws = [...new Set([byVersion['1.0'].card.raw, byVersion['0.3'].card.raw, ...(extended === null ? [] : [extended.raw])])]
  const texts = raws.flatMap(lintTexts)
  return {
    name: agent.name,
    agreed,
    state: same ? 'same' : agreed === null ? 'new' : 'changed',
    live: entryOf(agent, cards, digests),
    differences: same || agreed === null ? [] : differencesOf(agent, agreed, cards),
    texts: [...new Map(texts.map(text => [`${text.kind} ${text.path}`, text])).values()]
  }
}

function entryOf (
  agent: AgentConfig, { byVersion, extended = null, origin }: LoadedCards, digests: CardDigests
): Omit<LockEntry, 'pinnedAt' | 'pinnedBy'> {
  const [recent, old] = [byVersion['1.0'].card, byVersion['0.3'].card]
  const required = [...recent.extensions, ...old.extensions].filter(cardExtension => cardExtension.required).map(({ uri }) => uri)
  return {
    url: agent.card.file === null ? origin : agent.upstream.url,
    digest: digests['1.0'],
    ...(digests['0.3'] === null ? {} : { digest03: digests['0.3'], card03: old.raw }),
    ...(digests.extended === null || extended === null ? {} : { digestExtended: digests.extended, cardExtended: extended.raw }),
    requires: [...new Set(required)].sort(),
    card: recent.raw
  }
}

function differencesOf (agent: AgentConfig, agreed: LockEntry, { byVersion }: LoadedCards): CardDifference[] {
  const before = cardsOf(agreed, 0)?.byVersion
  if (before === undefined) return []
  const differenceLines = [
    ...cardDifferences(before['1.0'].card, byVersion['1.0'].card, agent),
    ...cardDifferences(before['0.3'].card, byVersion['0.3'].card, agent)
  ]
  return [...new Map(differenceLines.map(differenceLine => [`${differenceLine.path} ${differenceLine.message}`, differenceLine])).values()]
}

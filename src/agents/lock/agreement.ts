/** Decides whether cards that an agent serves may be used: `card.changes: hold`. Used by the process that loads the cards. */
import { cardDigests, sameDigests } from '#a2a/card/digest.js'
import type { CardDigests } from '#a2a/card/digest.js'
import { readCard } from '#a2a/card/card.js'
import type { AgentCard } from '#a2a/card/card.js'
import type { CardDocument, HeldCard, LoadedCards } from '#a2a/card/loaded-cards.js'
import type { AgentConfig } from '#config/model/model.js'
import { cardDifferences } from '#policy/card/differences.js'
import type { CardDecision } from '../card/card-keeper.js'
import type { JsonObject } from '#wire/json/object.js'
import { digestsOf, readLockFile } from './lock-file.js'
import type { LockEntry } from './lock-file.js'

/** Differences of a card that waits which are kept. A card may have any number. */
const KEPT = 100

/** The agreement about the card of one agent. Immutable, but for what waits. */
export class CardAgreement {
  /** Changes with the agreed cards, not with who agreed and when. */
  readonly key: string
  readonly entry: LockEntry | null
  readonly #agent: AgentConfig
  readonly #now: () => number
  /** The agreed cards from the lock file; null where it has only digests. */
  readonly #agreed: LoadedCards | null
  #held: HeldCard | null = null
  /** The cards that wait, and their digests. */
  #waiting: { readonly cards: LoadedCards, readonly digests: CardDigests } | null = null

  /** @param entry of the agent in the lock file; null for none */
  constructor (agent: AgentConfig, entry: LockEntry | null, now: () => number = Date.now) {
    this.#agent = agent
    this.entry = entry
    this.key = entry === null ? 'none' : JSON.stringify(digestsOf(entry))
    this.#now = now
    this.#agreed = entry === null ? null : cardsOf(entry, now())
  }

  /** The agreed cards and the cards that wait; null while none wait. */
  get compared (): { readonly agreed: LoadedCards | null, readonly waiting: LoadedCards } | null {
    return this.#waiting === null ? null : { agreed: this.#agreed, waiting: this.#waiting.cards }
  }

  /** True if the cards are those of the agreement. @param cards as the agent sent them */
  covers (cards: LoadedCards): boolean {
    try {
      return this.entry !== null && sameDigests(cardDigests(cards), digestsOf(this.entry))
    } catch {
      return false
    }
  }

  /** Decides about cards as the agent sent them. Never throws. */
  decide (cards: LoadedCards): CardDecision {
    let digests: CardDigests
    try {
      digests = cardDigests(cards)
    } catch (error) {
      return this.#hold(cards, { '1.0': 'none', 0.3: null, extended: null }, `nobody can agree on the card: ${(error as Error).message}`)
    }
    if (this.entry !== null && sameDigests(digests, digestsOf(this.entry))) {
      this.#held = this.#waiting = null
      return { kind: 'agreed' }
    }
    const { name } = this.#agent
    const what = this.entry === null
      ? `agents.lock has no entry for ${name}`
      : 'agents.lock has another card, and only its digest'
    return this.#hold(
      cards, digests, `the card waits for an agreement (card.changes: hold): ${what}; run a2a-gateway agents lock --agent ${name}`
    )
  }

  #hold (cards: LoadedCards, digests: CardDigests, problem: string): CardDecision {
    if (this.#held === null || this.#waiting === null || !sameDigests(this.#waiting.digests, digests)) {
      const differences = this.#differences(cards.byVersion['1.0'].card, cards.byVersion['0.3'].card)
      this.#held = {
        digest: digests['1.0'],
        reason: this.entry === null ? 'new' : 'changed',
        since: this.#held?.since ?? this.#now(),
        versions: (this.#held?.versions ?? 0) + 1,
        differences: differences.slice(0, KEPT),
        omitted: Math.max(0, differences.length - KEPT)
      }
      this.#waiting = { cards, digests }
    }
    return { kind: 'held', held: this.#held, agreed: this.#agreed, problem }
  }

  #differences (recent: AgentCard, old: AgentCard): HeldCard['differences'] {
    const agreed = this.#agreed?.byVersion
    if (agreed === undefined) return []
    const cardChanges = cardDifferences(agreed['1.0'].card, recent, this.#agent)
    return cardChanges.length > 0 || recent === old ? cardChanges : cardDifferences(agreed['0.3'].card, old, this.#agent)
  }
}

/**
 * Returns the cards that a gateway which starts now would use. With `card.changes: hold`, these may be the agreed ones.
 * @param cards as the agent sends them
 * @returns the reason when the gateway would have none
 * @throws LockFileError when the lock file cannot be used
 */
export function cardsInForce (agent: AgentConfig, cards: LoadedCards): LoadedCards | string {
  const { name, card: { lock } } = agent
  if (lock === null) return cards
  const { agents } = readLockFile(lock)
  const decision = new CardAgreement(agent, Object.hasOwn(agents, name) ? agents[name] as LockEntry : null).decide(cards)
  return decision.kind === 'agreed' ? cards : decision.agreed ?? decision.problem
}

/** Returns the cards of an entry. Null when the entry has no card, or its card cannot be read. */
export function cardsOf ({ url, card, card03, digest03, cardExtended, digestExtended }: LockEntry, now: number): LoadedCards | null {
  if (card === undefined || (digest03 !== undefined && card03 === undefined)) return null
  if (digestExtended !== undefined && cardExtended === undefined) return null
  const recent = documentOf(card)
  const old = card03 === undefined ? recent : documentOf(card03)
  if (recent === null || old === null) return null
  const extended = cardExtended === undefined ? null : { bytes: Buffer.from(JSON.stringify(cardExtended)), raw: cardExtended }
  return { byVersion: { 0.3: old, '1.0': recent }, extended, fetchedAt: now, origin: `agents.lock (card of ${url})` }
}

function documentOf (raw: JsonObject): CardDocument | null {
  const read = readCard(raw)
  return read.ok ? { bytes: Buffer.from(JSON.stringify(raw)), value: raw, card: read.card } : null
}

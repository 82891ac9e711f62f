/** Cards that one process reads for all processes: the primary hands out cards, and workers keep them. */
import { isDeepStrictEqual } from 'node:util'
import type { LoadedCards } from '#a2a/card/loaded-cards.js'
import { packCards } from '#a2a/card/packed-cards.js'
import type { AgentConfig } from '#config/model/model.js'
import type { Agent } from '#agents/agent.js'
import type { CardHandover, CardKeeper, CardSourceOptions, CardStatus } from '#agents/card/card-keeper.js'
import { unpackCards } from '#agents/card/unpack-cards.js'
import type { HandedOut, Handout, ToWorker } from './messages.js'

interface CardPlace {
  readonly name: string
  readonly upstream: string
  readonly card: Pick<AgentConfig['card'], 'url' | 'file' | 'extended'>
  /** As in {@link CardSourceOptions}: a card that was verified with other keys is another card. */
  readonly trust: string
  /** As in {@link CardSourceOptions}. */
  readonly agreement: string | null
}

/** The key is equal for two agents that get one card from one place. */
function sourceKey ({ name, upstream, card, trust, agreement }: CardPlace): string {
  return JSON.stringify([name, new URL(upstream).href, card.url, card.file, card.extended !== null, trust, agreement])
}

/** Builds the message about an agent's card that the primary sends to workers. */
export function handoutOf ({ name, config, trust, agreement, cards: { cards, status, written } }: Agent): Handout {
  const key = sourceKey({ name, upstream: config.upstream.url, card: config.card, trust, agreement: agreement?.key ?? null })
  return { key, cards: cards === null ? null : { ...packCards(cards), written }, status }
}

/** In the primary: hands out cards to all workers. */
export class CardHandouts {
  private readonly broadcast: (message: ToWorker) => void
  /** The cards that workers have, by source. */
  private readonly handed = new Map<string, unknown>()

  constructor (broadcast: (message: ToWorker) => void) {
    this.broadcast = broadcast
  }

  handOut (agent: Agent): void {
    const card = handoutOf(agent)
    const { cards } = agent.cards
    const same = cards !== null && this.handed.get(card.key) === cards
    this.handed.set(card.key, cards)
    this.broadcast({ kind: 'card', card: same ? { ...card, cards: 'same' } : card })
  }

  /** Deletes the cards of sources that no agent has any more. */
  forgetAllBut (handouts: readonly Handout[]): void {
    const keys = new Set(handouts.map(handout => handout.key))
    for (const key of this.handed.keys()) if (!keys.has(key)) this.handed.delete(key)
  }
}

/** Minimum time between two messages to the primary, ms. */
const WANTED_AFTER = 1_000
/** Time until the primary has tried to read a card that a worker wants, and has handed out the card, ms. */
const NOTICED = 2_000

const NOTHING_YET: CardStatus = {
  state: 'loading', fetchedAt: null, nextAt: null, problem: null, origin: null, onlyGrpc: false, held: null
}

/** In a worker: the newest handout of each source, and the agents that wait for that source. */
export class HandedCards {
  private readonly handouts = new Map<string, { readonly cards: HandedOut | null, readonly status: CardStatus }>()
  private readonly keepers = new Set<HandedCard>()
  private readonly onWanted: (agent: string) => void
  private readonly onUsed: (agent: string) => void

  /**
   * @param onWanted asks the primary for the card of an agent
   * @param onUsed is called when a card of an agent is in force
   */
  constructor (onWanted: (agent: string) => void = () => {}, onUsed: (agent: string) => void = () => {}) {
    this.onWanted = onWanted
    this.onUsed = onUsed
  }

  used (agent: string): void {
    this.onUsed(agent)
  }

  requestCard (agent: string): void {
    this.onWanted(agent)
  }

  take ({ key, cards, status }: Handout): void {
    this.handouts.set(key, { cards: cards === 'same' ? this.handouts.get(key)?.cards ?? null : cards, status })
    for (const keeper of this.keepers) if (keeper.key === key) keeper.update()
  }

  /** Deletes the handouts of sources that no agent has any more. */
  forgetAllBut (handouts: readonly Handout[]): void {
    const keys = new Set(handouts.map(handout => handout.key))
    for (const key of this.handouts.keys()) if (!keys.has(key)) this.handouts.delete(key)
  }

  readonly keeper = (options: CardSourceOptions): CardKeeper => new HandedCard(this, options)

  newest (key: string): { readonly cards: HandedOut | null, readonly status: CardStatus } {
    return this.handouts.get(key) ?? { cards: null, status: NOTHING_YET }
  }

  add (keeper: HandedCard): void {
    this.keepers.add(keeper)
  }

  remove (keeper: HandedCard): void {
    this.keepers.delete(keeper)
  }
}

/** The card of one agent. */
class HandedCard implements CardKeeper {
  readonly key: string
  private readonly all: HandedCards
  private readonly options: CardSourceOptions
  private cards: LoadedCards | null = null
  /** The handout that `cards` was made from. */
  private from: HandedOut | null = null
  private expired = false
  private lastStatus: CardStatus = NOTHING_YET
  /** Cards in preparation, until these cards or newer cards are used. */
  private pending: { readonly from: HandedOut, readonly over: Promise<void> } | null = null
  private readonly closing = new AbortController()
  /** Earliest time, on the monotonic clock, of the next message to the primary. */
  private wantedFrom = 0

  constructor (all: HandedCards, options: CardSourceOptions) {
    this.all = all
    this.options = options
    const { agent, upstream, config, trust = '', agreement = null } = options
    this.key = sourceKey({ name: agent, upstream: upstream.href, card: config, trust, agreement })
  }

  start (): void {
    this.all.add(this)
    this.update()
  }

  async refreshNow (): Promise<void> {
    await this.pending?.over
  }

  requestCard (): number {
    const now = performance.now()
    if (now >= this.wantedFrom) {
      this.wantedFrom = now + WANTED_AFTER
      this.all.requestCard(this.options.agent)
    }
    return NOTICED
  }

  async close (): Promise<void> {
    this.all.remove(this)
    this.closing.abort()
    this.pending = null
  }

  get status (): CardStatus {
    return this.lastStatus
  }

  handover (): CardHandover | null {
    const { cards, expired, lastStatus: { problem, nextAt, fetchedAt, held } } = this
    if (cards === null) return null
    const byVersion = { 0.3: null, '1.0': null }
    return { cards, sent: null, held, kept: byVersion, fetchedAt, freshAt: 0, expired, overdue: false, failures: 0, problem, nextAt }
  }

  takeOver ({ cards, expired }: CardHandover): void {
    this.cards = cards
    this.expired = expired
    this.start()
  }

  /**
   * Uses the newest handout. The primary could use these cards with the same policies. If this process cannot use them, the old cards stay.
   */
  update (): void {
    const { cards, status } = this.all.newest(this.key)
    this.lastStatus = status
    const expired = status.state === 'expired'
    if (expired && !this.expired) this.options.onExpired()
    if (!expired && cards !== null && cards !== this.pending?.from && (this.expired || cards !== this.from)) this.use(cards)
    this.expired = expired
  }

  private use (from: HandedOut): void {
    this.pending = null
    this.attempt(() => {
      const { limits, config: { verify } } = this.options
      const next = this.cards !== null && holds(this.cards, from) ? this.cards : unpackCards(from, { limits, verify })
      const isNew = next !== this.cards || this.expired
      const preparing = isNew ? this.options.prepare?.(next, this.closing.signal, from.written) ?? null : null
      if (preparing === null) return this.put(from, next, isNew)
      const over = preparing.then(() => {
        if (this.pending?.from !== from) return
        this.pending = null
        this.attempt(() => { this.put(from, next, true) })
      }, (error: unknown) => { this.attempt(() => { throw error }) })
      this.pending = { from, over }
    })
  }

  private put (from: HandedOut, cards: LoadedCards, isNew: boolean): void {
    if (isNew) this.options.onCards(cards)
    this.cards = cards
    this.from = from
    this.all.used(this.options.agent)
  }

  private attempt (what: () => void): void {
    const { agent, log } = this.options
    try {
      what()
    } catch (error) {
      if (!this.closing.signal.aborted) {
        log.error({ agent, err: error }, `agent ${agent}: the card that another process has read cannot be used here`)
      }
    }
  }
}

function holds ({ byVersion, extended = null, signatures = null }: LoadedCards, from: HandedOut): boolean {
  const { plain, v1, extended: handed } = from
  const isSame = handed === null ? extended === null : extended?.bytes.equals(handed) === true
  return isSame &&
    isDeepStrictEqual(signatures, from.signatures) &&
    byVersion['0.3'].bytes.equals(plain) &&
    byVersion['1.0'].bytes.equals(v1 ?? plain)
}

import { isDeepStrictEqual } from 'node:util'
import { BACKGROUND, guarded } from '#guard.js'
import { OnlyGrpc } from '#a2a/grpc/card-map.js'
import type { CardDocument, ExtendedCard, HeldCard, LoadedCards } from '#a2a/card/loaded-cards.js'
import { MAX_TIMER, nextRefresh, nextRetry } from './card-cache.js'
import type { CardHandover, CardKeeper, CardSourceOptions, CardStatus, CardTrusting, RefreshOutcome } from './card-keeper.js'
import { loadCards } from './card-load.js'
import type { CardLoad, KeptByVersion } from './card-load.js'

/** Preparing cards takes at most 1/PREPARING_SHARE of the time, even if an agent changes its card often. */
const PREPARING_SHARE = 20
/** Maximum wait that PREPARING_SHARE causes, ms. */
const LONGEST_WAIT = 600_000

/** Minimum time from one refresh to the next that a request causes, ms. */
const WANTED_AFTER = 1_000
/** Time that a refresh usually takes, ms. */
const USUAL_FETCH = 500

/** Differences that one log line names. */
const LOGGED = 3
/** Number of different cards in a row from which the log says that the card changes too often. */
const OFTEN = 4

/** Cards after preparation. A problem means that the cards cannot be used. */
interface Prepared {
  readonly cards: LoadedCards
  readonly problem: string | null
}

/** The cards to use: those that were loaded, or the agreed ones while the loaded cards wait. */
type Agreed =
  | { readonly ok: true, readonly sent: LoadedCards, readonly cards: LoadedCards, readonly held: HeldCard | null }
  | { readonly ok: false, readonly outcome: 'held' | 'invalid' | 'unreachable', readonly problem: string, readonly held: HeldCard | null }

const NO_CARDS: KeptByVersion = { 0.3: null, '1.0': null }

/**
 * Keeps one agent's card: fetches and refreshes the card, retries while the agent is unreachable, and reports when the card has expired.
 */
export class CardSource implements CardKeeper {
  readonly #options: CardSourceOptions
  readonly #timeout: number
  readonly #random: () => number
  readonly #now: () => number
  #cards: LoadedCards | null = null
  /** `#cards` as the agent sent them. */
  #sent: LoadedCards | null = null
  #held: HeldCard | null = null
  #kept: KeptByVersion = NO_CARDS
  #fetchedAt: number | null = null
  #freshAt = 0
  #expired = false
  /** `maxStale` has passed, but no refresh has failed yet, because `maxStale` is shorter than the wait between two refreshes. */
  #overdue = false
  #failures = 0
  #problem: string | null = null
  #onlyGrpc = false
  #closed = false
  #nextAt: number | null = null
  /** Earliest time, on the monotonic clock, of a refresh that a request causes. */
  #wantedFrom = 0
  #refreshTimer: NodeJS.Timeout | null = null
  #expiryTimer: NodeJS.Timeout | null = null
  #running: Promise<void> | null = null
  #abort: AbortController | null = null
  /** The last cards that could not be prepared. The same cards are not prepared again. */
  #lastRejected: Prepared | null = null

  constructor (options: CardSourceOptions) {
    this.#options = options
    this.#timeout = options.timeout ?? 10_000
    this.#random = options.random ?? Math.random
    this.#now = options.now ?? Date.now
  }

  start (): void {
    this.refreshNow()
  }

  /** Returns the state for another source of the same card; null while there is no card. */
  handover (): CardHandover | null {
    if (this.#cards === null) return null
    return {
      cards: this.#cards,
      sent: this.#sent,
      held: this.#held,
      kept: this.#kept,
      fetchedAt: this.#fetchedAt,
      freshAt: this.#freshAt,
      expired: this.#expired,
      overdue: this.#overdue,
      failures: this.#failures,
      problem: this.#problem,
      nextAt: this.#nextAt
    }
  }

  /** Called instead of `start`: continues with the card and the next refresh time of another source of the same card. */
  takeOver (from: CardHandover): void {
    if (this.#closed) return
    const { config, agree } = this.#options
    this.#cards = from.cards
    this.#sent = from.sent
    // Without an agreement, the card that waits may be used now.
    const isReleased = from.held !== null && agree == null
    this.#held = isReleased ? null : from.held
    if (isReleased) this.#options.onHeld?.(null)
    this.#kept = from.kept
    this.#fetchedAt = from.fetchedAt
    this.#freshAt = from.freshAt
    this.#expired = from.expired
    this.#overdue = from.overdue
    this.#failures = from.failures
    this.#problem = from.problem
    if (!from.expired && !from.overdue) this.#armExpiry(Math.max(0, config.maxStale - (performance.now() - from.freshAt)))
    const due = isReleased ? 0 : Math.max(0, (from.nextAt ?? 0) - this.#now())
    this.#schedule(Math.min(due, nextRefresh(null, { ...config, random: this.#random })))
  }

  /** Refreshes at once, or joins the refresh in progress. Never rejects: the outcome is in `status`. */
  refreshNow (): Promise<void> {
    if (this.#closed) return Promise.resolve()
    this.#running ??= this.#refresh().finally(() => { this.#running = null })
    return this.#running
  }

  requestCard (): number {
    if (this.#closed || this.#nextAt === null) return USUAL_FETCH
    const due = Math.max(0, this.#wantedFrom - performance.now())
    if (this.#nextAt - this.#now() > due) this.#schedule(due)
    return Math.max(0, this.#nextAt - this.#now()) + USUAL_FETCH
  }

  /** Stops for good. No callback is called afterwards. */
  async close (): Promise<void> {
    this.#closed = true
    this.#clearRefresh()
    this.#clearExpiry()
    this.#abort?.abort()
    await this.#running
  }

  get status (): CardStatus {
    return {
      state: this.#state(),
      fetchedAt: this.#fetchedAt,
      nextAt: this.#nextAt,
      problem: this.#problem,
      origin: this.#cards?.origin ?? null,
      onlyGrpc: this.#onlyGrpc,
      held: this.#held
    }
  }

  #state (): CardStatus['state'] {
    if (this.#expired) return 'expired'
    if (this.#cards === null) return this.#failures === 0 ? 'loading' : 'failed'
    return this.#failures === 0 ? 'ok' : 'stale'
  }

  async #refresh (): Promise<void> {
    this.#clearRefresh()
    const abort = this.#abort = new AbortController()
    const deadline = setTimeout(guarded(BACKGROUND, () => { abort.abort() }), this.#timeout).unref()
    const load = await loadCards({ ...this.#options, timeout: this.#timeout, inUse: !this.#expired }, this.#kept, abort.signal)
    clearTimeout(deadline)
    if (this.#closed) return

    const agreed = load.ok ? await this.#agree(load) : null
    if (this.#closed) return
    const begin = performance.now()
    const prepared = agreed?.ok === true ? await this.#prepare(agreed.cards, abort.signal) : null
    if (this.#closed) return

    if (agreed !== null) this.#hold(agreed.held)
    const outcome = !load.ok
      ? this.#fail(load.outcome, load.problem)
      : agreed?.ok === false
        ? this.#fail(agreed.outcome, `${load.origin}: ${agreed.problem}`)
        : this.#accept(load, prepared as Prepared, agreed as Agreed & { ok: true })
    const delays = { ...this.#options.config, random: this.#random }
    const delay = this.#failures > 0 ? nextRetry(this.#failures, delays) : nextRefresh(load.ok ? load.lifetime : null, delays)
    const now = performance.now()
    const pause = Math.min(LONGEST_WAIT, (now - begin) * PREPARING_SHARE)
    this.#wantedFrom = now + Math.max(WANTED_AFTER, pause)
    this.#schedule(Math.max(delay, pause))
    this.#options.onRefresh(outcome)
  }

  #schedule (delay: number): void {
    this.#clearRefresh()
    this.#nextAt = this.#now() + delay
    this.#refreshTimer = setTimeout(guarded(BACKGROUND, () => { this.refreshNow() }), delay).unref()
  }

  /** Verifies the signatures, and then chooses the cards to use. */
  async #agree ({ byVersion, extended, origin }: CardLoad & { ok: true }): Promise<Agreed> {
    const sent: LoadedCards = { byVersion, extended, fetchedAt: this.#now(), origin }
    const trusting = await this.#verify(sent)
    if (!trusting.ok) return this.#rejected(trusting, this.#held)
    const decision = this.#options.agree?.(sent) ?? { kind: 'agreed' }
    if (decision.kind === 'agreed') return { ok: true, sent, cards: trusting.cards, held: null }
    const { held, agreed, problem } = decision
    // Cards in force are agreed: a source with another agreement does not take them over.
    if (this.#cards !== null) return { ok: true, sent: this.#sent ?? this.#cards, cards: this.#cards, held }
    if (agreed === null) return { ok: false, outcome: 'held', problem, held }
    const trusted = await this.#verify(agreed)
    return trusted.ok ? { ok: true, sent: agreed, cards: trusted.cards, held } : this.#rejected(trusted, held)
  }

  #rejected ({ unavailable, problem }: CardTrusting & { ok: false }, held: HeldCard | null): Agreed {
    return { ok: false, outcome: unavailable ? 'unreachable' : 'invalid', problem, held }
  }

  /** Verifies the signatures at every load: the keys may have changed even if the cards have not. */
  async #verify (cards: LoadedCards): Promise<CardTrusting> {
    return await this.#options.verify?.(cards) ?? { ok: true, cards }
  }

  /** Prepares new cards, and waits for the preparation. */
  async #prepare (cards: LoadedCards, signal: AbortSignal): Promise<Prepared> {
    if (!this.#isNew(cards) && !this.#expired) return { cards, problem: null }
    const rejected = this.#lastRejected
    if (rejected !== null && sameCards(rejected.cards, cards)) return { cards, problem: rejected.problem }
    this.#lastRejected = null
    try {
      await this.#options.prepare?.(cards, signal)
      return { cards, problem: null }
    } catch (error) {
      const prepared = { cards, problem: error instanceof Error ? error.message : 'unknown error' }
      this.#lastRejected = prepared
      return prepared
    }
  }

  #isNew (cards: LoadedCards): boolean {
    return this.#cards === null || !sameCards(this.#cards, cards)
  }

  /** Reports a card that begins to wait, or no longer waits. */
  #hold (held: HeldCard | null): void {
    if (held === this.#held) return
    const before = this.#held
    this.#held = held
    const { agent, log, onHeld } = this.#options
    onHeld?.(held)
    if (held === null) return log.info({ agent }, `agent ${agent}: no card waits for an agreement any more`)
    // An agent whose card differs at every fetch does not fill the log.
    if (before !== null && !Number.isInteger(Math.log2(held.versions))) return
    const { digest, differences, versions } = held
    const lowering = differences.filter(({ effect }) => effect === 'lowers').map(({ message }) => message)
    const lost = lowering.length === 0 ? '' : `; it would lower what the gateway enforces: ${lowering.slice(0, LOGGED).join('; ')}`
    const often = versions < OFTEN ? '' : `; the card has differed ${versions} times: a card must not change with every fetch`
    log.warn(
      { agent, digest, differences: differences.length, versions },
      `agent ${agent}: a ${held.reason} card waits for an agreement (card.changes: hold)${lost}${often}; a2a-gateway agents diff --agent ` +
        `${agent} shows the card`
    )
  }

  #accept (load: CardLoad & { ok: true }, { cards, problem }: Prepared, { sent, held }: Agreed & { ok: true }): RefreshOutcome {
    const { origin } = load
    if (problem !== null) return this.#fail('invalid', `${origin} does not contain a usable card: ${problem}`)
    const before = this.#cards
    const changed = this.#isNew(cards)
    const fetchedAt = held === null ? cards.fetchedAt : this.#now()
    if (changed || this.#expired) {
      try {
        this.#options.onCards(cards)
      } catch (error) {
        this.#onlyGrpc = error instanceof OnlyGrpc
        return this.#fail(
          'invalid',
          `${origin} does not contain a usable card: ${error instanceof Error ? error.message : 'unknown error'}`
        )
      }
      this.#cards = cards
    }
    this.#sent = sent
    this.#logSuccess(cards, changed, before === null)
    this.#kept = load.kept
    this.#fetchedAt = fetchedAt
    this.#freshAt = performance.now()
    this.#expired = false
    this.#overdue = false
    this.#failures = 0
    this.#problem = null
    this.#onlyGrpc = false
    this.#armExpiry(this.#options.config.maxStale)
    if (held !== null) return 'held'
    if (changed) return 'changed'
    return load.notModified ? 'not_modified' : 'unchanged'
  }

  #fail (outcome: 'held' | 'invalid' | 'unreachable', problem: string): RefreshOutcome {
    this.#failures++
    if (problem !== this.#problem) {
      this.#problem = problem
      const { agent, log } = this.#options
      const state = this.#state()
      const remark = state === 'stale' ? `; the card of ${new Date(this.#fetchedAt ?? 0).toISOString()} stays in use` : ''
      const text = `agent ${agent} has no ${state === 'stale' ? 'newer ' : ''}card: ${problem}${remark}; trying again`
      log[outcome === 'invalid' ? 'error' : 'warn']({ agent, outcome, state }, text)
    }
    if (this.#overdue) this.#expire()
    return outcome
  }

  #logSuccess ({ origin, byVersion }: LoadedCards, changed: boolean, first: boolean): void {
    const { agent, log } = this.#options
    if (changed) {
      const documents = [...new Set([byVersion['0.3'], byVersion['1.0']])]
      const warnings = [...new Set(documents.flatMap(({ card }) => card.warnings))]
      const { name, interfaces, grpc, uncarried, extensions } = byVersion['1.0'].card
      const values = { agent, origin, name, interfaces: interfaces.length + grpc.length, extensions: extensions.length, uncarried }
      log.info(values, `agent ${agent}: card ${first ? 'loaded' : 'changed'}`)
      if (warnings.length > 0) log.warn({ agent, warnings }, `agent ${agent}: warnings about the card: ${warnings.join('; ')}`)
    } else if (this.#failures > 0) {
      log.info({ agent, origin }, `agent ${agent}: the card can be fetched again`)
    }
  }

  /** Uses the monotonic clock of timers: a change of the wall clock does not change the age of a card. */
  #armExpiry (left: number): void {
    this.#clearExpiry()
    const step = Math.min(left, MAX_TIMER)
    this.#expiryTimer = setTimeout(guarded(BACKGROUND, () => {
      if (left > step) this.#armExpiry(left - step)
      else if (this.#failures > 0) this.#expire()
      else this.#overdue = true
    }), step).unref()
  }

  #expire (): void {
    const { agent, config, log, onExpired } = this.#options
    this.#expired = true
    this.#overdue = false
    log.error(
      { agent, problem: this.#problem },
      `agent ${agent}: the card has expired: no refresh has succeeded for ${config.maxStale} ms (card.maxStale)`
    )
    onExpired()
  }

  #clearRefresh (): void {
    if (this.#refreshTimer !== null) clearTimeout(this.#refreshTimer)
    this.#refreshTimer = null
    this.#nextAt = null
  }

  #clearExpiry (): void {
    if (this.#expiryTimer !== null) clearTimeout(this.#expiryTimer)
    this.#expiryTimer = null
  }
}

function sameCards (cards: LoadedCards, other: LoadedCards): boolean {
  const [a, b] = [cards.byVersion, other.byVersion]
  return same(a['0.3'], b['0.3']) && same(a['1.0'], b['1.0']) && sameExtended(cards.extended ?? null, other.extended ?? null) &&
    isDeepStrictEqual(cards.signatures ?? null, other.signatures ?? null)
}

function sameExtended (a: ExtendedCard | null, b: ExtendedCard | null): boolean {
  return a === null || b === null ? a === b : a.bytes.equals(b.bytes)
}

function same (a: CardDocument, b: CardDocument): boolean {
  return a === b || a.bytes.equals(b.bytes)
}

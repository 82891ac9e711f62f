/** Decides whether loaded cards may be used: `card.verify`. Runs once per load, in the process that loads the cards. */
import type { CardSignature, CardSignatures, LoadedCards } from '#a2a/card/loaded-cards.js'
import { coveredCards, isVerified } from '#a2a/card/signing/verified.js'
import { uncoveredKeys } from '#a2a/card/signing/canonical.js'
import { quoted } from '#a2a/fields.js'
import type { CardVerifyConfig } from '#config/model/model.js'
import { verifyCard } from '#identity/card-signature.js'
import type { VerificationKey } from '#identity/jwk-set.js'
import type { Log } from '#telemetry/log.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'
import type { CardTrusting } from './card-keeper.js'
import { FetchedKeySet } from '../keys/fetched-key-set.js'

/** The keys that may sign the card. */
interface TrustedKeys {
  /** Null while no keys can be had. */
  readonly current: readonly VerificationKey[] | null
  readonly problem: string | null
  /** Resolves when the first attempt to get the keys has ended. */
  readonly started: Promise<void>
  /** Gets the keys again, because a signature names a key that is not known. */
  refresh (): Promise<void>
  close (): void
}

export interface CardTrustOptions {
  readonly agent: string
  readonly config: CardVerifyConfig
  /** Keys of the file; null where the keys have a URL. */
  readonly keys: readonly VerificationKey[] | null
  readonly metrics: Metrics
  readonly log: Log
  /** Called when fetched keys have changed: cards must be verified again. */
  readonly onKeys: () => void
}

const UNAVAILABLE: CardSignature = { outcome: 'unavailable', form: null, key: null }
/** Keys of a card that a log line names. A card may have any number. */
const NAMED = 20

export class CardTrust {
  private readonly options: CardTrustOptions
  private readonly keys: TrustedKeys
  /** The line that was logged last. */
  private logged = ''

  constructor (options: CardTrustOptions) {
    this.options = options
    this.keys = options.keys === null ? fetchedKeys(options) : fixedKeys(options.keys)
  }

  close (): void {
    this.keys.close()
  }

  /** Verifies the cards. Never rejects. */
  async verify (cards: LoadedCards): Promise<CardTrusting> {
    const { byVersion, extended = null } = cards
    await this.keys.started
    const plain = await this.one(byVersion['0.3'].card.raw)
    const recent = byVersion['1.0'] === byVersion['0.3'] ? plain : await this.one(byVersion['1.0'].card.raw)
    const more = extended === null ? null : await this.one(extended.raw)
    const [uses03, uses10] = [this.accepts(plain), this.accepts(recent)]
    if (!uses03 && !uses10) return this.reject(recent, 'the card')
    if (more !== null && !this.accepts(more)) return this.reject(more, 'the extended card')
    // Agents of the JavaScript SDK sign their 1.0 card, and copy its signatures into a 0.3 card with other content.
    const replaced = uses03 ? (uses10 ? null : '1.0') : '0.3'
    const signatures: CardSignatures = {
      0.3: uses03 ? plain : recent,
      '1.0': uses10 ? recent : plain,
      extended: more,
      replaced
    }
    const used = { 0.3: byVersion[uses03 ? '0.3' : '1.0'], '1.0': byVersion[uses10 ? '1.0' : '0.3'] }
    this.report({ ...cards, byVersion: used }, signatures)
    try {
      return { ok: true, cards: coveredCards({ ...cards, byVersion: used }, signatures, this.options.config.uncovered === 'drop') }
    } catch (error) {
      return { ok: false, unavailable: false, problem: (error as Error).message }
    }
  }

  private async one (raw: Readonly<Record<string, unknown>>): Promise<CardSignature> {
    const { agent, config: { algorithms }, metrics } = this.options
    const attempt = async (): Promise<CardSignature> => {
      const { current } = this.keys
      return current === null ? UNAVAILABLE : await verifyCard(raw, current, algorithms)
    }
    let result = await attempt()
    if (result.outcome === 'unknown_key' || result.outcome === 'invalid') {
      // The agent may have begun to sign with a new key.
      const before = this.keys.current
      await this.keys.refresh()
      if (this.keys.current !== before) result = await attempt()
    }
    metrics.add('card_signatures_total', agent, result.outcome)
    return result
  }

  private accepts (cardSignature: CardSignature): boolean {
    const { require, onFailure } = this.options.config
    return isVerified(cardSignature) || onFailure === 'warn' || (cardSignature.outcome === 'unsigned' && !require)
  }

  private reject ({ outcome }: CardSignature, what: string): CardTrusting {
    return { ok: false, unavailable: outcome === 'unavailable', problem: this.problemOf(outcome, what) }
  }

  private problemOf (outcome: CardSignature['outcome'], what: string): string {
    if (outcome === 'unsigned') return `${what} has no signature (card.verify)`
    if (outcome === 'unknown_key') return `no key of card.verify fits a signature of ${what}`
    if (outcome === 'unavailable') return `${what} cannot be verified: ${this.keys.problem ?? 'the keys of card.verify are too old'}`
    return `no signature of ${what} is valid (card.verify)`
  }

  /** Logs the result when it differs from the last one. */
  private report ({ byVersion, extended = null }: LoadedCards, signatures: CardSignatures): void {
    const { agent, config, log } = this.options
    const states = [signatures['0.3'], signatures['1.0'], ...(signatures.extended === null ? [] : [signatures.extended])]
    const line = JSON.stringify(signatures)
    if (line === this.logged) return
    this.logged = line
    const { outcome, form, key } = signatures['1.0']
    const values = { agent, outcome, form, key }
    const bad = states.find(state => !isVerified(state))
    if (bad !== undefined) {
      log.warn(values, `agent ${agent}: the gateway uses the card although ${this.problemOf(bad.outcome, 'it')}`)
    } else log.info(values, `agent ${agent}: the signature of the card is valid`)
    if (signatures.replaced !== null) {
      const other = signatures.replaced === '0.3' ? '1.0' : '0.3'
      log.warn(values, `agent ${agent}: the card for ${signatures.replaced} cannot be verified; the card for ${other} stands in for it`)
    }
    const documents = [byVersion['0.3'].card.raw, byVersion['1.0'].card.raw, ...(extended === null ? [] : [extended.raw])]
    const uncovered = [...new Set(states.flatMap(({ outcome, form }, i) =>
      outcome === 'partial' && form !== null ? uncoveredKeys(documents[i] ?? {}, form) : []
    ))]
    if (uncovered.length > 0) {
      const names = uncovered.slice(0, NAMED).map(name => quoted(name, 100)).join(', ')
      log.warn(
        values,
        `agent ${agent}: the signature of the card does not cover ${names}; the gateway ` +
          `${config.uncovered === 'drop' ? 'drops' : 'uses'} these members (card.verify.uncovered)`
      )
    }
  }
}

function fixedKeys (keys: readonly VerificationKey[]): TrustedKeys {
  return { current: keys, problem: null, started: Promise.resolve(), refresh: async () => {}, close: () => {} }
}

function fetchedKeys ({ agent, config: { keys: { url, maxStale } }, log, onKeys }: CardTrustOptions): TrustedKeys {
  let isFirst = true
  const set = new FetchedKeySet({
    url,
    issuer: '',
    maxStale,
    onRefresh: outcome => {
      if (outcome === 'changed' && !isFirst) onKeys()
      isFirst = false
    },
    onProblem: problem => {
      if (problem !== null) log.warn({ agent, problem }, `agent ${agent}: the keys of card.verify cannot be fetched`)
      else log.info({ agent }, `agent ${agent}: the keys of card.verify can be fetched again`)
    }
  })
  return {
    // eslint-disable-next-line no-restricted-syntax -- one object for each agent
    get current () { return set.current },
    // eslint-disable-next-line no-restricted-syntax -- one object for each agent
    get problem () { return set.problem },
    started: set.start(),
    refresh: () => set.refresh(),
    close: () => { set.close() }
  }
}

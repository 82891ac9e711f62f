import type { Dispatcher } from 'undici'
import type { CardDocument, ExtendedCard } from '#a2a/card/loaded-cards.js'
import type { CardConfig } from '#config/model/model.js'
import type { Version } from '#a2a/versions.js'
import type { Validators } from './card-cache.js'
import { cardUrls, fetchCard, readCardFile, readDocument } from './card-fetch.js'
import type { CardResponse, CardLimits } from './card-fetch.js'
import type { ExtendedCardOptions } from './extended-card.js'
import { loadExtendedCard } from './extended-card.js'

/** One variant of the last good load, for conditional requests. Null stands for a variant that the agent does not serve. */
export interface Kept {
  readonly document: CardDocument
  readonly validators: Validators | null
  readonly lifetime: number | null
}

export type KeptByVersion = Readonly<Record<Version, Kept | null>>

export type CardLoad =
  | {
    readonly ok: true
    readonly byVersion: Readonly<Record<Version, CardDocument>>
    readonly extended: ExtendedCard | null
    readonly kept: KeptByVersion
    readonly origin: string
    /** Milliseconds for which the agent allows use of the card, or null. */
    readonly lifetime: number | null
    /** The agent sent no card, only "not modified". */
    readonly notModified: boolean
  }
  | { readonly ok: false, readonly outcome: 'invalid' | 'unreachable', readonly problem: string }

export interface CardLoadOptions {
  readonly config: CardConfig
  /** Values of `card.headers`, by name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** For `card.extended`: the values of its headers, and the agent's paths. Null when the extended card is not loaded. */
  readonly extended: Pick<ExtendedCardOptions, 'headers' | 'scope'> | null
  readonly upstream: URL
  readonly limits: CardLimits
  readonly dispatcher: (origin: string) => Dispatcher
  /** Timeout of all requests together, ms. */
  readonly timeout: number
  /** False once the held cards have expired. Any card is then better than the held cards. */
  readonly inUse: boolean
}

type Failure = CardResponse & { kind: 'failed' }
type Variant = { readonly kept: Kept, readonly from: string, readonly notModified: boolean }

/** Loads the card, and with `card.extended` the extended card: the load fails when either fails. Never throws. */
export async function loadCards (options: CardLoadOptions, previous: KeptByVersion, signal: AbortSignal): Promise<CardLoad> {
  const load = await loadVariants(options, previous, signal)
  if (!load.ok || options.extended === null) return load
  const { '1.0': recent, 0.3: old } = load.byVersion
  const card = recent.card.extendedCard ? recent.card : old.card
  const extendedCard = await loadExtendedCard(card, { ...options, ...options.extended, signal })
  return extendedCard.ok ? { ...load, extended: extendedCard.extended } : fail({ kind: 'failed', ...extendedCard })
}

/**
 * Loads the card in its two variants: agents may serve another card to callers that send `A2A-Version: 1.0` (the JS SDK does). If an agent
 * rejects one of the two requests, it counts as an agent with one card. Never throws.
 */
async function loadVariants (options: CardLoadOptions, previous: KeptByVersion, signal: AbortSignal): Promise<CardLoad> {
  const { config, headers, limits, dispatcher, timeout } = options
  if (config.file !== null) {
    const outcome = settle(await readCardFile(config.file, limits.card), previous['0.3'], limits)
    return 'problem' in outcome ? fail(outcome) : success(outcome, null)
  }
  const urls = cardUrls(options.upstream, config.url)
  const fetchVersion = (version: string | null, before: Kept | null): Promise<CardResponse> =>
    fetchCard(urls, { dispatcher, version, headers, validators: before?.validators ?? null, limit: limits.card, signal, timeout })
  const held = options.inUse ? previous : { 0.3: null, '1.0': null }
  const [plainResponse, v1Response] = await Promise.all([fetchVersion(null, previous['0.3']), fetchVersion('1.0', previous['1.0'])])

  const plain = settle(plainResponse, previous['0.3'], limits)
  const v1 = sameBytes(plainResponse, v1Response) ? adopt(plain, v1Response) : settle(v1Response, previous['1.0'], limits)
  if (!('problem' in plain)) {
    if (!('problem' in v1)) return success(plain, v1)
    return standsIn(v1, held['1.0']) ? success(plain, null) : fail({ ...v1, problem: `with A2A-Version: 1.0, ${v1.problem}` })
  }
  if (!('problem' in v1) && standsIn(plain, held['0.3'])) return success(null, v1)
  return fail(plain)
}

/**
 * True when the other variant may replace this one: the agent rejected this variant. While a held variant exists, the rejection must be
 * definite, because the agent may have a temporary fault.
 */
function standsIn (failure: Failure, previous: Kept | null): boolean {
  const { status, invalid } = failure
  return status !== null && (status < 200 || status > 299) && (invalid || previous === null)
}

function settle (response: CardResponse, previous: Kept | null, limits: CardLimits): Variant | Failure {
  if (response.kind === 'failed') return response
  const { from } = response
  if (response.kind === 'notModified') {
    if (previous === null) {
      return { kind: 'failed', status: 304, invalid: true, problem: `${from} responded with 304 to a request that was not conditional` }
    }
    return { kept: { ...previous, lifetime: response.lifetime ?? previous.lifetime }, from, notModified: true }
  }
  const { validators, lifetime, bytes } = response
  if (previous !== null && previous.document.bytes.equals(bytes)) {
    return { kept: { document: previous.document, validators, lifetime }, from, notModified: false }
  }
  const document = readDocument(response, limits)
  if (typeof document === 'string') return { kind: 'failed', status: response.status, invalid: true, problem: document }
  return { kept: { document, validators, lifetime }, from, notModified: false }
}

function sameBytes (a: CardResponse, b: CardResponse): boolean {
  return a.kind === 'fetched' && b.kind === 'fetched' && a.bytes.equals(b.bytes)
}

/** Returns the same document for the other variant, with that variant's own cache headers. */
function adopt (other: Variant | Failure, response: CardResponse): Variant | Failure {
  if ('problem' in other || response.kind !== 'fetched') return other
  const { from, validators, lifetime } = response
  return { kept: { document: other.kept.document, validators, lifetime }, from, notModified: false }
}

function success (plain: Variant | null, v1: Variant | null): CardLoad {
  const some = (plain ?? v1) as Variant
  const lifetimes = [plain?.kept.lifetime ?? null, v1?.kept.lifetime ?? null].filter((lifetime) => lifetime !== null)
  return {
    ok: true,
    byVersion: { 0.3: (plain ?? some).kept.document, '1.0': (v1 ?? some).kept.document },
    extended: null,
    kept: { 0.3: plain?.kept ?? null, '1.0': v1?.kept ?? null },
    origin: some.from,
    lifetime: lifetimes.length === 0 ? null : Math.min(...lifetimes),
    notModified: (plain?.notModified ?? true) && (v1?.notModified ?? true)
  }
}

function fail (failure: Failure): CardLoad {
  return { ok: false, outcome: failure.invalid ? 'invalid' : 'unreachable', problem: failure.problem }
}

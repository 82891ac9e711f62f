/** Makes agents of the entries of a source: their names, addresses and cards, and whether they are admitted. */
import { readCard } from '#a2a/card/card.js'
import { CARD_PATHS } from '#a2a/card/map.js'
import type { CardDocument } from '#a2a/card/loaded-cards.js'
import { isVerified } from '#a2a/card/signing/verified.js'
import { NoCanonicalForm } from '#a2a/card/signing/canonical.js'
import type { DiscoveredAgent } from '#config/discovered.js'
import type { AgentSourceConfig } from '#config/model/source-model.js'
import { verifyCard } from '#identity/card-signature.js'
import type { VerificationKey } from '#identity/jwk-set.js'
import type { AddressGuard } from '#upstream/address-guard.js'
import type { Connections } from '#upstream/bounded-request.js'
import type { CardLimits } from '../card/card-fetch.js'
import { fetchCard, readDocument } from '../card/card-fetch.js'
import { inParallel } from '#wire/in-parallel.js'
import { isAtOrBelow, loosePath } from '#wire/target.js'
import { parseUrl } from '#wire/url.js'
import type { LockEntry, LockFile } from '../lock/lock-file.js'
import { cardDigest } from '#a2a/card/digest.js'
import { isAdmitted } from './admit.js'

/** Something of a source that may become an agent. */
export interface Candidate {
  readonly identifier: string
  /** The name that the source gives it, in any spelling. */
  readonly name: string
  readonly cardUrl: URL
  /** Base address of the agent; null: the card has it. */
  readonly upstream: URL | null
  /** Identifier under which the gateway publishes it; null: one of the gateway. */
  readonly published: string | null
  readonly extensions: readonly string[]
  /** The key that has signed the catalog; null for none. */
  readonly signedBy: string | null
  /** Why the candidate cannot become an agent now, although nothing is wrong with it; null for no reason. */
  readonly waits: string | null
}

export type EntryState = 'admitted' | 'waiting' | 'rejected'

export interface EntryReport {
  readonly identifier: string
  /** Name of the agent; null when the entry has none. */
  readonly agent: string | null
  readonly state: EntryState
  /** Null for an admitted entry. */
  readonly reason: string | null
  /** URL of the card; null when the entry has none. */
  readonly card: string | null
}

export interface Resolution {
  readonly agents: readonly DiscoveredAgent[]
  readonly entries: readonly EntryReport[]
}

export interface ResolverOptions {
  readonly config: AgentSourceConfig
  readonly limits: CardLimits
  readonly dispatcher: Connections
  /** Null: addresses come from a cluster and may be any. */
  readonly guard: AddressGuard | null
}

/** Cards that are fetched at once, and time for each, ms. */
const AT_ONCE = 16
const TIMEOUT = 5_000
/** Longest name that an entry gets: a template may add to it. */
const LONGEST_NAME = 48
/** Algorithms that cards are signed with, as for `card.verify`. */
const ALGORITHMS = ['ES256', 'RS256', 'PS256', 'EdDSA']

export class CandidateResolver {
  readonly #options: ResolverOptions
  /** What the last resolution has found, by identifier: a card is fetched once, as long as its entry stays the same and is admitted. */
  #known = new Map<string, { readonly entry: string, readonly agent: DiscoveredAgent }>()

  constructor (options: ResolverOptions) {
    this.#options = options
  }

  /** Continues after a restart. */
  remember (agents: readonly DiscoveredAgent[]): void {
    this.#known = new Map(agents.map(agent => [agent.identifier, { entry: '', agent }]))
  }

  /** Never rejects. @param keys null: no signature is verified */
  async resolve (candidates: readonly Candidate[], lock: LockFile, keys: readonly VerificationKey[] | null): Promise<Resolution> {
    const entries: EntryReport[] = []
    const named: { candidate: Candidate, name: string }[] = []
    const owners = new Map([...this.#known.values()].map(({ agent }) => [agent.name, agent.identifier]))
    const names = new Set<string>()
    // An agent in force keeps its name: an entry that comes later, or before it in the catalog, does not get the name.
    const isOwner = ({ identifier, name }: Candidate): boolean => owners.get(slugOf(name)) === identifier
    for (const candidate of [...candidates.filter(isOwner), ...candidates.filter(one => !isOwner(one))]) {
      const name = slugOf(candidate.name)
      if (name === '') entries.push(reportOf(candidate, null, 'rejected', 'no name can be made of its identifier'))
      else if (names.has(name)) entries.push(reportOf(candidate, this.#nameOf(name), 'rejected', 'another entry of the source has its name'))
      else {
        names.add(name)
        named.push({ candidate, name })
      }
    }
    const agents: DiscoveredAgent[] = []
    const known = new Map<string, { readonly entry: string, readonly agent: DiscoveredAgent }>()
    await inParallel(named, AT_ONCE, async ({ candidate, name }) => {
      const found = await this.#resolveOne(candidate, name, lock, keys)
      if ('agent' in found) {
        agents.push(found.agent)
        known.set(candidate.identifier, { entry: entryOf(candidate), agent: found.agent })
        entries.push(reportOf(candidate, this.#nameOf(name), 'admitted', null))
      } else entries.push(reportOf(candidate, this.#nameOf(name), found.state, found.reason))
    })
    this.#known = known
    const order = (a: { readonly identifier: string }, b: { readonly identifier: string }): number => a.identifier < b.identifier ? -1 : 1
    return { agents: agents.sort(order), entries: entries.sort(order) }
  }

  async #resolveOne (candidate: Candidate, name: string, lock: LockFile, keys: readonly VerificationKey[] | null): Promise<
    { readonly agent: DiscoveredAgent } | { readonly state: EntryState, readonly reason: string }
  > {
    const { config: { admit }, guard } = this.#options
    const { identifier, cardUrl, published, extensions } = candidate
    const known = this.#known.get(identifier)
    if (known !== undefined && admit !== 'pinned' && known.entry === entryOf(candidate)) return { agent: known.agent }
    // An agent in force stays while it is not ready; its calls get the errors of the agent.
    if (candidate.waits !== null && known === undefined) return { state: 'waiting', reason: candidate.waits }
    const facts = { name: this.#nameOf(name), url: cardUrl.href, digest: null, signedBy: candidate.signedBy }
    const agentAt = (upstream: URL): { readonly agent: DiscoveredAgent } =>
      ({ agent: { name, identifier, published, upstream: upstream.href, card: cardUrl.href, extensions } })
    const pin = admit === 'pinned' && Object.hasOwn(lock.agents, facts.name) ? lock.agents[facts.name] ?? null : null
    // Nobody has agreed to this card, so its addresses do not count. `card.changes: hold` keeps the agreed card in force.
    const agreed = pin !== null && pin.url === cardUrl.href ? agreedAgent(candidate, known?.agent ?? null, pin) : null
    if (candidate.upstream !== null && isAdmitted(facts, admit, lock).admitted) return agentAt(candidate.upstream)
    if (admit === 'pinned' && !Object.hasOwn(lock.agents, facts.name)) return waitsFor(isAdmitted(facts, admit, lock))

    const document = await this.#cardAt(cardUrl)
    if (typeof document === 'string' && agreed !== null) return agentAt(agreed)
    if (typeof document === 'string') {
      // The agent in force keeps its last good card by its own rules.
      return known !== undefined && known.agent.card === cardUrl.href && admit !== 'signed'
        ? { agent: known.agent }
        : { state: 'waiting', reason: document }
    }
    const { card } = document
    let digest: string | null = null
    try {
      digest = cardDigest(card.raw)
    } catch (error) {
      if (!(error instanceof NoCanonicalForm)) throw error
    }
    const signature = keys === null || facts.signedBy !== null ? null : await verifyCard(card.raw, keys, ALGORITHMS)
    const signedBy = facts.signedBy ?? (signature !== null && isVerified(signature) ? signature.key : null)
    const admitted = isAdmitted({ ...facts, digest, signedBy }, admit, lock)
    if (!admitted.admitted && agreed === null) return waitsFor(admitted)
    const upstream = admitted.admitted ? candidate.upstream ?? upstreamOf(cardUrl, document) : agreed
    if (upstream === null) return { state: 'rejected', reason: 'its card names no address over HTTP' }
    const problem = guard?.problemOf(upstream) ?? null
    return problem === null ? agentAt(upstream) : { state: 'rejected', reason: `its card has an address that ${problem}` }
  }

  /** @returns one sentence when there is no usable card */
  async #cardAt (url: URL): Promise<CardDocument | string> {
    const { limits, dispatcher } = this.#options
    const signal = AbortSignal.timeout(TIMEOUT)
    const response = await fetchCard([url], {
      dispatcher: () => dispatcher, version: '1.0', headers: {}, validators: null, limit: limits.card, signal, timeout: TIMEOUT
    })
    if (response.kind === 'failed') return response.problem
    return response.kind === 'fetched' ? readDocument(response, limits) : 'the card was not delivered'
  }

  #nameOf (name: string): string {
    const template = this.#options.config.agent['name']
    return typeof template === 'string' ? template.replaceAll('{name}', name) : name
  }
}

/**
 * The address of an agent whose card is not the agreed one: that of the agent in force, or of the agreed card.
 * @returns null when neither is known
 */
function agreedAgent ({ cardUrl, upstream }: Candidate, inForce: DiscoveredAgent | null, { card }: LockEntry): URL | null {
  if (upstream !== null) return upstream
  if (inForce !== null && inForce.card === cardUrl.href) return parseUrl(inForce.upstream)
  const reading = card === undefined ? null : readCard(card)
  return reading?.ok === true ? upstreamOf(cardUrl, reading) : null
}

/** Returns a name of a-z, 0-9 and `-`; '' when nothing is left of the text. */
export function slugOf (text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-').slice(0, LONGEST_NAME).replaceAll(/^-+|-+$/g, '')
}

/** The name of an entry (AI Catalog 0.9, § Resolving an Artifact's Display Name): the last part of its identifier. */
export function nameIn (identifier: string): string {
  const end = identifier.replace(/[:/]+$/, '')
  return end.slice(Math.max(end.lastIndexOf(':'), end.lastIndexOf('/')) + 1)
}

/**
 * The base address of an agent: that of its card if an interface lies below it, otherwise the address of its first interface over HTTP.
 * @returns null when the card names no address over HTTP
 */
export function upstreamOf (cardUrl: URL, { card }: Pick<CardDocument, 'card'>): URL | null {
  const interfaces = card.interfaces.map(one => parseUrl(one.text)).filter(url => url !== null)
  const suffix = CARD_PATHS.find(path => cardUrl.pathname.endsWith(path))
  if (suffix !== undefined) {
    const base = cardUrl.pathname.slice(0, -suffix.length)
    const below = interfaces.some(url => url.origin === cardUrl.origin && isAtOrBelow(loosePath(url.pathname), loosePath(base)))
    if (below) return new URL(base === '' ? '/' : base, cardUrl.origin)
  }
  const [first] = interfaces
  return first === undefined ? null : new URL(first.pathname, first.origin)
}

function entryOf ({ cardUrl, upstream, published, extensions, signedBy }: Candidate): string {
  return JSON.stringify([cardUrl.href, upstream?.href ?? null, published, extensions, signedBy])
}

function waitsFor (admitted: ReturnType<typeof isAdmitted>): { readonly state: EntryState, readonly reason: string } {
  return { state: 'waiting', reason: admitted.admitted ? '' : admitted.reason }
}

function reportOf (candidate: Candidate, agent: string | null, state: EntryState, reason: string | null): EntryReport {
  return { identifier: candidate.identifier, agent, state, reason, card: candidate.cardUrl.href }
}

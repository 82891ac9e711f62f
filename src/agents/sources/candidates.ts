/** Makes agents of the entries of a source: their names, addresses and cards, and whether they are admitted. */
import { dataDigestProblem, digestProblem } from '#a2a/catalog/artifact-digest.js'
import { readCard } from '#a2a/card/card.js'
import { CARD_PATHS } from '#a2a/card/map.js'
import type { CardDocument } from '#a2a/card/loaded-cards.js'
import { isVerified } from '#a2a/card/signing/verified.js'
import { NoCanonicalForm } from '#a2a/card/signing/canonical.js'
import type { DiscoveredAgent } from '#config/discovered.js'
import type { Admission, AgentSourceConfig } from '#config/model/model.js'
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
import type { InlineCards } from './inline-cards.js'

/** Something of a source that may become an agent. */
export interface Candidate {
  readonly identifier: string
  /** The name that the source gives it, in any spelling. */
  readonly name: string
  /** Null: the source itself has the card. */
  readonly cardUrl: URL | null
  /** The card that the source itself has; null: at `cardUrl`. */
  readonly card: unknown
  /** Digest of the card in the source; null for none. */
  readonly digest: string | null
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

interface Agent { readonly agent: DiscoveredAgent }

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
  readonly inline: InlineCards
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
    for (const candidate of [...candidates.filter(isOwner), ...candidates.filter(candidate => !isOwner(candidate))]) {
      const name = slugOf(candidate.name)
      if (name === '') entries.push(reportOf(candidate, null, 'rejected', 'no name can be made of its identifier'))
      else if (names.has(name)) {
        entries.push(reportOf(
          candidate, this.#nameOf(name), 'rejected', 'another entry of the source has its name'
        ))
      } else {
        names.add(name)
        named.push({ candidate, name })
      }
    }
    const agents: DiscoveredAgent[] = []
    const agentsById = new Map<string, { readonly entry: string, readonly agent: DiscoveredAgent }>()
    await inParallel(named, AT_ONCE, async ({ candidate, name }) => {
      const resolved = await this.#resolveOne(candidate, name, lock, keys)
      if ('agent' in resolved) {
        agents.push(resolved.agent)
        agentsById.set(candidate.identifier, { entry: entryOf(candidate), agent: resolved.agent })
        entries.push(reportOf(candidate, this.#nameOf(name), 'admitted', null))
      } else entries.push(reportOf(candidate, this.#nameOf(name), resolved.state, resolved.reason))
    })
    this.#known = agentsById
    this.#options.inline.keep(new Set(agents.map(agent => agent.name)))
    const order = (a: { readonly identifier: string }, b: { readonly identifier: string }): number => a.identifier < b.identifier ? -1 : 1
    return { agents: agents.sort(order), entries: entries.sort(order) }
  }

  async #resolveOne (candidate: Candidate, name: string, lock: LockFile, keys: readonly VerificationKey[] | null): Promise<
    { readonly agent: DiscoveredAgent } | { readonly state: EntryState, readonly reason: string }
  > {
    const { config: { admit }, guard } = this.#options
    const { identifier, cardUrl } = candidate
    const prior = this.#known.get(identifier)
    // The file of a card of the catalog itself is written again: something may have removed the file.
    if (cardUrl !== null && prior !== undefined && admit !== 'pinned' && prior.entry === entryOf(candidate)) return { agent: prior.agent }
    // An agent in force stays while it is not ready; its calls get the errors of the agent.
    if (candidate.waits !== null && prior === undefined) return { state: 'waiting', reason: candidate.waits }
    const agentName = this.#nameOf(name)
    const pin = admit === 'pinned' && Object.hasOwn(lock.agents, agentName) ? lock.agents[agentName] ?? null : null
    if (cardUrl === null) return await this.#resolveInline(candidate, name, pin, lock, keys)
    const facts = { name: agentName, url: cardUrl.href, digest: null, signedBy: candidate.signedBy }
    const agentAt = (upstream: URL): Agent => this.#agentAt(candidate, name, upstream, null)
    // Nobody has agreed to this card, so its addresses do not count. `card.changes: hold` keeps the agreed card in force.
    const agreed = pin !== null && pin.url === cardUrl.href ? agreedAgent(cardUrl, candidate.upstream, prior?.agent ?? null, pin) : null
    if (candidate.upstream !== null && isAdmitted(facts, admit, lock).admitted) return agentAt(candidate.upstream)
    if (admit === 'pinned' && !Object.hasOwn(lock.agents, facts.name)) return waitsFor(isAdmitted(facts, admit, lock))

    const document = await this.#cardAt(cardUrl, candidate.digest)
    if (typeof document === 'string' && agreed !== null) return agentAt(agreed)
    if (typeof document === 'string') {
      // The agent in force keeps its last good card by its own rules.
      return prior !== undefined && prior.agent.card === cardUrl.href && admit !== 'signed'
        ? { agent: prior.agent }
        : { state: 'waiting', reason: document }
    }
    const admitted = await this.#admitted(document, facts, lock, keys)
    if (!admitted.admitted && agreed === null) return waitsFor(admitted)
    const upstream = admitted.admitted ? candidate.upstream ?? upstreamOf(cardUrl, document) : agreed
    return this.#guarded(upstream, guard) ?? agentAt(upstream as URL)
  }

  /** A card of the catalog itself. Its place in the lock file is the address of the agent, as for `card.file`. */
  async #resolveInline (
    candidate: Candidate,
    name: string,
    pin: LockEntry | null,
    lock: LockFile,
    keys: readonly VerificationKey[] | null
  ): Promise<Agent | { readonly state: EntryState, readonly reason: string }> {
    const { config: { admit }, limits, guard } = this.#options
    const bytes = Buffer.from(JSON.stringify(candidate.card))
    const problem = bytes.length > limits.card ? `is larger than ${limits.card} bytes` : dataDigestProblem(candidate.digest, candidate.card)
    if (problem !== null) return { state: 'rejected', reason: `its card ${problem}` }
    const document = readDocument(
      { kind: 'fetched', from: 'the entry', status: 200, contentType: '', bytes, validators: null, lifetime: null }, limits
    )
    if (typeof document === 'string') return { state: 'rejected', reason: document }
    const own = upstreamOf(null, document)
    const facts = { name: this.#nameOf(name), url: own?.href ?? '', digest: null, signedBy: candidate.signedBy }
    const admitted = await this.#admitted(document, facts, lock, keys)
    // The address that somebody has agreed to stays, and `card.changes: hold` keeps the agreed card in force.
    const upstream = admitted.admitted ? own : admit === 'pinned' && pin !== null ? parseUrl(pin.url) : null
    if (!admitted.admitted && upstream === null) return waitsFor(admitted)
    const guarded = this.#guarded(upstream, guard)
    if (guarded !== null) return guarded
    try {
      return this.#agentAt(candidate, name, upstream as URL, this.#options.inline.write(name, bytes))
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
      return { state: 'waiting', reason: `its card cannot be kept in server.stateDir or the directory for temporary files: ${code}` }
    }
  }

  async #admitted (
    { card }: CardDocument,
    facts: AdmissionFacts,
    lock: LockFile,
    keys: readonly VerificationKey[] | null
  ): Promise<ReturnType<typeof isAdmitted>> {
    let digest: string | null = null
    try {
      digest = cardDigest(card.raw)
    } catch (error) {
      if (!(error instanceof NoCanonicalForm)) throw error
    }
    const signature = keys === null || facts.signedBy !== null ? null : await verifyCard(card.raw, keys, ALGORITHMS)
    const signedBy = facts.signedBy ?? (signature !== null && isVerified(signature) ? signature.key : null)
    return isAdmitted({ ...facts, digest, signedBy }, this.#options.config.admit, lock)
  }

  /** @returns why an address of a card cannot be used; null when it can */
  #guarded (upstream: URL | null, guard: AddressGuard | null): { readonly state: EntryState, readonly reason: string } | null {
    if (upstream === null) return { state: 'rejected', reason: 'its card names no address over HTTP' }
    const problem = guard?.problemOf(upstream) ?? null
    return problem === null ? null : { state: 'rejected', reason: `its card has an address that ${problem}` }
  }

  #agentAt ({ identifier, published, cardUrl, extensions }: Candidate, name: string, upstream: URL, cardFile: string | null): Agent {
    return { agent: { name, identifier, published, upstream: upstream.href, card: cardUrl?.href ?? null, cardFile, extensions } }
  }

  /** @returns one sentence when there is no usable card */
  async #cardAt (url: URL, digest: string | null): Promise<CardDocument | string> {
    const { limits, dispatcher } = this.#options
    const signal = AbortSignal.timeout(TIMEOUT)
    const response = await fetchCard([url], {
      dispatcher: () => dispatcher, version: '1.0', headers: {}, validators: null, limit: limits.card, signal, timeout: TIMEOUT
    })
    if (response.kind === 'failed') return response.problem
    if (response.kind !== 'fetched') return 'the card was not delivered'
    const problem = digestProblem(digest, response.bytes)
    return problem === null ? readDocument(response, limits) : `its card ${problem}`
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
function agreedAgent (cardUrl: URL, upstream: URL | null, inForce: DiscoveredAgent | null, { card }: LockEntry): URL | null {
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
 * The base address of an agent: that of its card if an interface lies below it, otherwise the path that its interfaces over HTTP have in
 * common, at the origin of the first.
 * @param cardUrl null: the catalog itself has the card
 * @returns null when the card names no address over HTTP
 */
export function upstreamOf (cardUrl: URL | null, { card }: Pick<CardDocument, 'card'>): URL | null {
  const interfaces = card.interfaces.map(cardInterface => parseUrl(cardInterface.text)).filter(url => url !== null)
  const suffix = CARD_PATHS.find(path => cardUrl?.pathname.endsWith(path))
  if (suffix !== undefined && cardUrl !== null) {
    const base = cardUrl.pathname.slice(0, -suffix.length)
    const below = interfaces.some(url => url.origin === cardUrl.origin && isAtOrBelow(loosePath(url.pathname), loosePath(base)))
    if (below) return new URL(base === '' ? '/' : base, cardUrl.origin)
  }
  const [first] = interfaces
  if (first === undefined) return null
  const paths = interfaces.filter(({ origin }) => origin === first.origin).map(({ pathname }) => pathname.split('/'))
  const [own = [], ...others] = paths
  const end = own.findIndex((step, i) => others.some(other => other[i] !== step))
  return new URL(own.slice(0, end < 0 ? undefined : end).join('/') || '/', first.origin)
}

function entryOf ({ cardUrl, card, digest, upstream, published, extensions, signedBy }: Candidate): string {
  return JSON.stringify([cardUrl?.href ?? card, digest, upstream?.href ?? null, published, extensions, signedBy])
}

function waitsFor (admitted: ReturnType<typeof isAdmitted>): { readonly state: EntryState, readonly reason: string } {
  return { state: 'waiting', reason: admitted.admitted ? '' : admitted.reason }
}

function reportOf (candidate: Candidate, agent: string | null, state: EntryState, reason: string | null): EntryReport {
  return { identifier: candidate.identifier, agent, state, reason, card: candidate.cardUrl?.href ?? null }
}

/* Decides which entries of a source become agents (`agentSources[].admit`). */

/** What is known about an entry. */
interface AdmissionFacts {
  /** Name of the agent, as the template makes it. */
  readonly name: string
  /** URL of the card. */
  readonly url: string
  /** Digest of the card; null while the card has not been read. */
  readonly digest: string | null
  /** The key that has signed the catalog or the card; null for none. */
  readonly signedBy: string | null
}

type Admitted = { readonly admitted: true } | { readonly admitted: false, readonly reason: string }

const ADMITTED: Admitted = { admitted: true }

/** Pure: `lock` has been read before. */
function isAdmitted (entry: AdmissionFacts, admit: Admission, lock: LockFile): Admitted {
  if (admit === 'all') return ADMITTED
  if (admit === 'signed') return entry.signedBy === null ? waits('no configured key has signed the catalog or the card') : ADMITTED
  const pin = Object.hasOwn(lock.agents, entry.name) ? lock.agents[entry.name] : undefined
  if (pin === undefined) return waits('the agent is not in agents.lock')
  if (pin.url !== entry.url) return waits('agents.lock has another address of the card')
  return pin.digest === entry.digest ? ADMITTED : waits('the card differs from the card in agents.lock')
}

function waits (reason: string): Admitted {
  return { admitted: false, reason }
}

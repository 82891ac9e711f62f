/** One source of agents while the gateway runs: reads it again and again, and keeps its last good state. */
import type { DiscoveredAgent } from '#config/discovered.js'
import type { AgentSourceConfig } from '#config/model/model.js'
import type { VerificationKey } from '#identity/jwk-set.js'
import type { Connections } from '#upstream/bounded-request.js'
import { serviceConnections } from '#upstream/bounded-request.js'
import { AddressGuard } from '#upstream/address-guard.js'
import type { CardLimits } from '../card/card-fetch.js'
import type { FoundService } from '#upstream/kubernetes/services.js'
import { KubernetesServices } from '#upstream/kubernetes/services.js'
import { compileGlob } from '#wire/glob.js'
import { isObject } from '#wire/json/object.js'
import type { LockFile } from '../lock/lock-file.js'
import { readLockFile } from '../lock/lock-file.js'
import type { Candidate, EntryReport, Resolution } from './candidates.js'
import { CandidateResolver, nameIn } from './candidates.js'
import type { AgentEntry, CatalogContent, EntryFault } from './catalog-reader.js'
import { addressIn, readCatalogs } from './catalog-reader.js'
import { InlineCards } from './inline-cards.js'
import { SourceKeys } from './source-keys.js'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { digest } from '#config/digest.js'
import { parseStrict } from '#wire/json/json.js'

export interface SourceOptions {
  readonly config: AgentSourceConfig
  readonly limits: CardLimits
  /** `server.stateDir`. */
  readonly stateDir: string | null
  /** Path of the lock file. */
  readonly lockFile: string
  /** Called when the agents or the report have changed. @param agents true when the agents have changed */
  readonly onChange: (agents: boolean) => void
}

export interface SourceReport {
  readonly name: string
  readonly kind: 'catalog' | 'kubernetes'
  /** URL, file, or namespaces. */
  readonly from: string
  /** Why the last reading failed; null when it was good. */
  readonly problem: string | null
  /** Time of the last good reading, ms since the epoch; null before the first. */
  readonly readAt: number | null
  /** True while agents come from `server.stateDir`. */
  readonly restored: boolean
  readonly entries: readonly EntryReport[]
}

/** Time between two attempts after a failure, at first, ms. It doubles up to `refresh`. */
const RETRY = 5_000
/** Time that changes of a cluster are collected for, ms. */
const COLLECTED = 200
const CONNECTIONS = 16
const TIMEOUT = 5_000

type SourceEntries = { readonly candidates: readonly Candidate[], readonly faults: readonly EntryFault[], readonly etag: string | null }

export class AgentSource {
  readonly config: AgentSourceConfig
  agents: readonly DiscoveredAgent[] = []
  readonly #options: SourceOptions
  readonly #guard: AddressGuard | null
  readonly #own: Connections
  readonly #guarded: Connections
  readonly #resolver: CandidateResolver
  readonly #keys: SourceKeys | null
  readonly #cluster: KubernetesServices | null
  #problem: string | null = 'the source has not been read yet'
  #readAt: number | null = null
  #restored = false
  #entries: readonly EntryReport[] = []
  #etag: string | null = null
  #failures = 0
  #timer: NodeJS.Timeout | null = null
  #reading: Promise<void> | null = null
  #again = false
  #closed = false

  constructor (options: SourceOptions) {
    const { config, limits, stateDir } = options
    this.#options = options
    this.config = config
    this.#guard = config.kubernetes === null ? new AddressGuard(config.allowPrivate) : null
    this.#own = serviceConnections(2, TIMEOUT)
    this.#guarded = serviceConnections(CONNECTIONS, TIMEOUT, this.#guard === null ? {} : { lookup: this.#guard.lookup })
    this.#resolver = new CandidateResolver({
      config, limits, dispatcher: this.#guarded, guard: this.#guard, inline: new InlineCards(stateDir, config.name)
    })
    this.#keys = keysOf(config)
    this.#cluster = config.kubernetes === null ? null : new KubernetesServices(config.kubernetes, () => { this.#schedule(COLLECTED) })
    const last = stateDir === null ? null : readLastGood(stateDir, config)
    if (last === null) return
    this.agents = last.agents
    this.#readAt = last.readAt
    this.#restored = true
    this.#resolver.remember(last.agents)
  }

  get report (): SourceReport {
    const { name, catalog, kubernetes } = this.config
    return {
      name,
      kind: kubernetes === null ? 'catalog' : 'kubernetes',
      from: kubernetes === null ? catalog?.url ?? catalog?.file ?? '' : kubernetes.namespaces.join(', '),
      problem: this.#problem,
      readAt: this.#readAt,
      restored: this.#restored,
      entries: this.#entries
    }
  }

  /** Reads the source now, and keeps it fresh. @returns when the first reading has ended. Never rejects. */
  async start (): Promise<void> {
    await this.#cluster?.start()
    await this.refresh()
  }

  /** Reads the source again. Never rejects. */
  refresh (): Promise<void> {
    if (this.#reading !== null) this.#again = true
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
      if (!this.#again) return
      this.#again = false
      this.#schedule(COLLECTED)
    })
    return this.#reading
  }

  close (): void {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#cluster?.close()
    this.#keys?.close()
    for (const dispatcher of [this.#own, this.#guarded]) dispatcher.destroy().catch(() => {})
  }

  #schedule (milliseconds: number): void {
    if (this.#closed) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => { this.refresh().catch(() => {}) }, milliseconds).unref()
  }

  async #read (): Promise<void> {
    const { config: { refresh, limit, admit }, lockFile, stateDir } = this.#options
    const keys = this.#keys === null ? null : await this.#keys.read()
    const hasKeyProblem = keys !== null && 'problem' in keys && admit === 'signed'
      ? { problem: `the keys of the source: ${keys.problem}` }
      : await this.#find(keys)
    if (this.#closed) return
    if ('problem' in hasKeyProblem) return this.#failed(hasKeyProblem.problem)
    if (hasKeyProblem.candidates.length > limit) {
      return this.#failed(`the source has ${hasKeyProblem.candidates.length} agents, more than limit, ${limit}`)
    }
    let lock: LockFile = { agents: {} }
    try {
      if (admit === 'pinned') lock = readLockFile(lockFile)
    } catch (error) {
      return this.#failed((error as Error).message)
    }
    // A card counts only where `card.verify` keeps verifying it.
    const cardKeys = keys !== null && 'keys' in keys && verifiesCards(this.config) ? keys.keys : null
    const resolution = await this.#resolver.resolve(hasKeyProblem.candidates, lock, cardKeys)
    if (this.#closed) return
    this.#failures = 0
    // Entries that wait for their card are tried again, although the catalog stays the same.
    this.#etag = resolution.entries.every(({ state }) => state === 'admitted') && admit !== 'pinned' ? hasKeyProblem.etag : null
    this.#use(resolution, hasKeyProblem.faults)
    if (stateDir !== null) {
      try {
        writeLastGood(stateDir, this.config, { agents: this.agents, readAt: Date.now() })
      } catch (error) {
        this.#problem = `the state cannot be kept in server.stateDir: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`
      }
    }
    // Replicas must not read at the same moment.
    this.#schedule(refresh * (0.9 + Math.random() * 0.2))
  }

  #use ({ agents, entries }: Resolution, faults: readonly EntryFault[]): void {
    const changed = JSON.stringify(agents) !== JSON.stringify(this.agents)
    this.agents = agents
    this.#entries = [
      ...entries,
      ...faults.map(({ identifier, problem }): EntryReport => ({ identifier, agent: null, state: 'rejected', reason: problem, card: null }))
    ]
    this.#problem = null
    this.#readAt = Date.now()
    this.#restored = false
    this.#options.onChange(changed)
  }

  #failed (problem: string): void {
    this.#problem = problem
    this.#etag = null
    this.#options.onChange(false)
    this.#schedule(Math.min(RETRY * 2 ** this.#failures++, this.config.refresh))
  }

  async #find (keys: Awaited<ReturnType<SourceKeys['read']>> | null): Promise<SourceEntries | { readonly problem: string }> {
    if (this.#cluster !== null) {
      const { services, problem } = this.#cluster
      return services === null ? { problem: problem ?? 'the API server has not responded yet' } : clusterCandidates(services, this.config)
    }
    const guard = this.#guard as AddressGuard
    const { catalog, admit } = this.config
    const read = await readCatalogs({
      place: catalog ?? { url: null, file: null },
      own: this.#own,
      guarded: this.#guarded,
      guard,
      keys: keys !== null && 'keys' in keys ? keys.keys : null as readonly VerificationKey[] | null,
      etag: this.#etag
    })
    if (read === 'unchanged') return { candidates: this.#last, faults: this.#lastFaults, etag: this.#etag }
    if ('problem' in read) return read
    if (admit === 'signed' && !read.signed && !verifiesCards(this.config)) {
      return { problem: `the catalog ${read.signature ?? 'has no signature that a configured key has made'} (admit: signed)` }
    }
    const batch = catalogCandidates(read, this.config, guard)
    this.#last = batch.candidates
    this.#lastFaults = batch.faults
    return batch
  }

  #last: readonly Candidate[] = []
  #lastFaults: readonly EntryFault[] = []
}

function verifiesCards ({ agent }: AgentSourceConfig): boolean {
  const { card } = agent
  return isObject(card) && isObject(card['verify'])
}

function keysOf ({ keys, agent }: AgentSourceConfig): SourceKeys | null {
  if (keys !== null) return new SourceKeys(keys)
  const verify = (agent['card'] as { verify?: { keys?: { url?: string, file?: string } } } | undefined)?.verify
  const { url = null, file = null } = verify?.keys ?? {}
  return url === null && file === null ? null : new SourceKeys({ url, file, maxStale: 86_400_000 })
}

function catalogCandidates ({ agents, faults, etag }: CatalogContent, { select }: AgentSourceConfig, guard: AddressGuard): SourceEntries {
  const patterns = select.identifiers.map(compileGlob)
  const wrong: EntryFault[] = [...faults]
  const chosen = agents.filter(({ identifier, tags, publisher }) =>
    (patterns.length === 0 || patterns.some(pattern => pattern.test(identifier))) &&
    select.tags.every(tag => tags.includes(tag)) &&
    (select.publisher === null || publisher === select.publisher))
  const candidates: Candidate[] = []
  for (const entry of newest(chosen)) {
    const { identifier, url } = entry
    const cardUrl = url === null ? null : addressIn(url, entry.base, guard)
    if (cardUrl !== null && 'problem' in cardUrl) wrong.push({ identifier, problem: cardUrl.problem })
    else {
      candidates.push({
        identifier,
        name: nameIn(identifier),
        cardUrl,
        card: entry.data,
        digest: entry.digest,
        upstream: null,
        published: identifier,
        extensions: [],
        signedBy: entry.signedBy,
        waits: null
      })
    }
  }
  return { candidates, faults: wrong, etag }
}

/** Of several versions of one artifact, the newest counts. */
function newest (entries: readonly AgentEntry[]): AgentEntry[] {
  const compared = new Intl.Collator('en', { numeric: true })
  const agentEntries = new Map<string, AgentEntry>()
  for (const entry of entries) {
    const other = agentEntries.get(entry.identifier)
    if (other === undefined || compared.compare(entry.version ?? '', other.version ?? '') > 0) agentEntries.set(entry.identifier, entry)
  }
  return [...agentEntries.values()]
}

function clusterCandidates (services: readonly FoundService[], { kubernetes }: AgentSourceConfig): SourceEntries {
  const several = (kubernetes?.namespaces.length ?? 0) > 1
  const faults: EntryFault[] = []
  const candidates: Candidate[] = []
  for (const { namespace, name, address, problem, ready, extensions, cardPath } of services) {
    const identifier = `${namespace}/${name}`
    if (address === null) faults.push({ identifier, problem: problem ?? 'has no address' })
    else {
      const base = address.pathname.replace(/\/$/, '')
      candidates.push({
        identifier,
        name: several ? `${namespace}-${name}` : name,
        cardUrl: new URL(cardPath ?? `${base}/.well-known/agent-card.json`, address.origin),
        card: null,
        digest: null,
        upstream: address,
        published: null,
        extensions,
        signedBy: null,
        waits: ready ? null : 'the Service has no ready endpoint'
      })
    }
  }
  return { candidates, faults, etag: null }
}

/* Keeps the last good state of a source on disk (`server.stateDir`), for a start while the source cannot be read. */

interface LastGood {
  readonly agents: readonly DiscoveredAgent[]
  /** Time of the reading, ms since the epoch. */
  readonly readAt: number
}

/** Another configuration of the source may admit other agents: its state is not used. */
function identityOf (config: AgentSourceConfig): string {
  const { catalog, kubernetes, select, admit, keys, allowPrivate, limit } = config
  return digest([catalog, kubernetes, select, admit, keys, allowPrivate, limit])
}

/** @returns null without a state of the same configuration */
function readLastGood (stateDir: string, config: AgentSourceConfig): LastGood | null {
  let bytes: Buffer
  try {
    bytes = readFileSync(fileOf(stateDir, config))
  } catch {
    return null
  }
  const parsed = parseStrict(bytes, { depth: 8, members: 1_000_000 })
  if (!parsed.ok || !isObject(parsed.value)) return null
  const { identity, agents, readAt } = parsed.value
  if (identity !== identityOf(config) || !Array.isArray(agents) || !agents.every(isAgent) || typeof readAt !== 'number') return null
  return { agents, readAt }
}

/** @throws Error of the file system */
function writeLastGood (stateDir: string, config: AgentSourceConfig, { agents, readAt }: LastGood): void {
  const file = fileOf(stateDir, config)
  mkdirSync(join(stateDir, 'sources'), { recursive: true, mode: 0o700 })
  // A process that stops in between leaves the old state whole.
  writeFileSync(`${file}.new`, JSON.stringify({ identity: identityOf(config), readAt, agents }), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

function fileOf (stateDir: string, { name }: AgentSourceConfig): string {
  return join(stateDir, 'sources', `${name}.json`)
}

function isAgent (value: unknown): value is DiscoveredAgent {
  if (!isObject(value)) return false
  const { name, identifier, published, upstream, card, cardFile, extensions } = value
  const isText = (text: unknown): boolean => typeof text === 'string'
  return isText(name) && isText(identifier) && isText(upstream) && (published === null || isText(published)) &&
    (card === null || isText(card)) && (cardFile === null || isText(cardFile)) && Array.isArray(extensions) && extensions.every(isText)
}

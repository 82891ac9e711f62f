/** One configured agent while the gateway runs: its connections, its card and the state built from the card. */
import type { LoadedCards } from '#a2a/card/loaded-cards.js'
import type { Router } from '#a2a/route.js'
import type { Version } from '#a2a/versions.js'
import type { AgentState, AgentStateOptions } from '#pipeline/agent-snapshot.js'
import { buildAgentState, CardRejected, schemasToCompile } from '#pipeline/agent-snapshot.js'
import { scopeOf } from '#pipeline/scope.js'
import { digest } from '#config/digest.js'
import type { AgentConfig, Config } from '#config/model/model.js'
import type { CardFinding } from '#policy/card/checks.js'
import type { Secrets } from '#config/secrets.js'
import type { PublicJwk } from '#identity/signing-key.js'
import type { KnownSchema } from '#policy/compile/schema-source.js'
import type { CallerSource, Requirement } from '#identity/schemes.js'
import { fixedRequirement } from '#pipeline/access/agent-security.js'
import type { Log } from '#telemetry/log.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'
import type { CardAccess } from './card/card-access.js'
import { requestAccess } from './card/card-access.js'
import type { CardKeeper, CardSourceOptions, CardStatus } from './card/card-keeper.js'
import { CardSource } from './card/card-source.js'
import { CorsSource } from '#upstream/cors-source.js'
import { AddressGuard } from '#upstream/address-guard.js'
import { AgentPools } from '#upstream/pool.js'
import type { TlsFiles } from '#upstream/tls.js'
import { signerOf } from './card/signer.js'
import type { CardKeys } from './card/key-files.js'
import { CardTrust } from './card/trust.js'
import type { WrittenSchemas } from './card/compiler.js'
import { CardSchemas } from './card/schemas.js'
import { ConcurrencyLimit } from './concurrency-limit.js'
import type { AgentCredentials } from './credentials/agent-credentials.js'
import type { PastRejection } from './describe/describe-agent.js'
import { describeAgent } from './describe/describe-agent.js'
import { parseUrl } from '#wire/url.js'
import { CardAgreement } from './lock/agreement.js'
import type { LockEntry } from './lock/lock-file.js'
import { auditHeld } from './card/held-audit.js'
import { sameSource } from './card/same-source.js'
import type { Audit } from '#telemetry/audit.js'

export interface AgentOptions {
  readonly config: AgentConfig
  readonly limits: Config['limits']
  readonly metrics: Metrics
  readonly log: Log
  /** `server.publicUrl`. */
  readonly publicUrl: string | null
  /** Contents of the files of `upstream.tls`. */
  readonly tls: TlsFiles
  /** Secrets that the agent's policies inject, and that its card needs. */
  readonly secrets: Secrets
  /** Sources of callers; null or absent without `identity`. */
  readonly sources?: readonly CallerSource[] | null
  /** Credentials that the agent gets. Default: none. */
  readonly credentials?: AgentCredentials | null
  /** Keys that verify and sign its card. */
  readonly cardKeys: CardKeys
  /** The agreement about its card in the lock file; null or absent for none. Counts only with `card.changes: hold`. */
  readonly agreed?: LockEntry | null | undefined
  /** Records cards that wait. Absent: nothing is recorded. */
  readonly audit?: Audit | undefined
  /** Called when the card of the agent, or the status of the card, has changed. */
  readonly onCard?: ((agent: Agent) => void) | undefined
  /** Source of the card when another process fetches the card from the agent. That process also logs the warnings about the card. */
  readonly keeper?: ((options: CardSourceOptions) => CardKeeper) | undefined
  /** Connections of calls. Default: to the upstream. */
  readonly pools?: Connections
}

type Connections = Pick<AgentPools, keyof AgentPools>

/** The identity is equal for two agents that are built from the same inputs. */
export function identityOf (options: AgentOptions): string {
  const { config, publicUrl, tls, secrets, sources = null, credentials, cardKeys } = options
  const { card, jsonDepth, jsonMembers, extensions } = options.limits
  const agreed = config.card.changes === 'hold' ? options.agreed ?? null : null
  const contents = [tls.fingerprint, secrets.fingerprint, credentials?.fingerprint, cardKeys.fingerprint, agreed]
  return digest([config, publicUrl, [card, jsonDepth, jsonMembers, extensions], ...contents, sources])
}

const KEPT_REJECTIONS = 5
/** Largest number of versions that are logged. Clients may send any. */
const KEPT_MINORS = 8

const NOTHING_READY: ReadonlyMap<string, KnownSchema> = new Map()

export class Agent {
  readonly config: AgentConfig
  readonly name: string
  readonly pools: Connections
  readonly upstream: URL
  /** Path of `upstream.url` without trailing slash. */
  readonly upstreamBase: string
  /** The gateway's public URL with the agent's path, without trailing slash. Null: it follows the Host of each request. */
  readonly publicBase: string | null
  readonly identity: string
  /** The requirement that does not depend on the card. */
  private readonly fixedRequirement: Requirement | null
  /** Null: the agent gets no credentials of the gateway. */
  readonly credentials: AgentCredentials | null
  /** Changes when the keys of `card.verify` change. */
  readonly trust: string
  /** Null with `card.changes: apply`. */
  readonly agreement: CardAgreement | null
  /** Null without `card.verify`, and where another process fetches the card. */
  private readonly cardTrust: CardTrust | null
  private readonly cors: CorsSource
  /** Calls of the agent in flight. */
  concurrency = new ConcurrencyLimit()
  /** Null until a card is loaded, and again when the card has expired. */
  state: AgentState | null = null
  private readonly options: AgentOptions
  private readonly source: CardKeeper
  private readonly rejections: PastRejection[] = []
  private readonly minors = new Set<string>()
  /** Survives expiry, so that a card that comes back need not be compiled again. */
  private lastState: AgentState | null = null
  /** Findings that policies last reported about a card. */
  private found = ''
  private readonly schemas: CardSchemas

  constructor (options: AgentOptions) {
    const { config, metrics, log } = options
    this.options = options
    this.schemas = new CardSchemas(options.onCard !== undefined)
    this.config = config
    this.name = config.name
    this.credentials = options.credentials ?? null
    this.pools = options.pools ?? new AgentPools(config.upstream, options.tls, AddressGuard.of(config.origin))
    this.upstream = new URL(config.upstream.url)
    this.cors = new CorsSource(() => this.pools.for(this.upstream.origin))
    this.upstreamBase = this.upstream.pathname.replace(/\/$/, '')
    this.publicBase = options.publicUrl === null ? null : options.publicUrl + config.path
    this.identity = identityOf(options)
    this.fixedRequirement = fixedRequirement(config, options.sources ?? null)
    this.agreement = config.card.changes === 'hold' ? new CardAgreement(config, options.agreed ?? null) : null
    const { cardKeys: { trust, verification: keys } } = options
    const { verify } = config.card
    this.trust = trust
    this.cardTrust = verify === null || options.keeper !== undefined
      ? null
      : new CardTrust({ agent: this.name, config: verify, keys, metrics, log, onKeys: () => { this.source.refreshNow().catch(() => {}) } })
    const sourceOptions: CardSourceOptions = {
      agent: config.name,
      config: config.card,
      headers: options.secrets.card,
      extended: config.card.extended === null ? null : { headers: options.secrets.extended, scope: scopeOf(config) },
      upstream: this.upstream,
      limits: { card: options.limits.card, jsonDepth: options.limits.jsonDepth, jsonMembers: options.limits.jsonMembers },
      dispatcher: origin => this.pools.for(origin),
      verify: this.cardTrust === null ? null : cards => (this.cardTrust as CardTrust).verify(cards),
      trust,
      agree: this.agreement === null ? null : cards => (this.agreement as CardAgreement).decide(cards),
      agreement: this.agreement?.key ?? null,
      onHeld: held => { auditHeld(options.audit, config.name, held) },
      prepare: (cards, signal, elsewhere) => this.prepare(cards, this.lastState, signal, elsewhere as WrittenSchemas | undefined),
      onCards: cards => {
        this.use(cards, log)
      },
      onRefresh: outcome => {
        metrics.add('card_refreshes_total', config.name, outcome)
        options.onCard?.(this)
      },
      onExpired: () => {
        this.state = null
        options.onCard?.(this)
      },
      log
    }
    this.source = options.keeper?.(sourceOptions) ?? new CardSource(sourceOptions)
  }

  /** Card, status and compiled schemas for processes that do not fetch the card themselves. */
  get cards (): { readonly cards: LoadedCards | null; readonly status: CardStatus; readonly written: WrittenSchemas } {
    return { cards: this.source.handover()?.cards ?? null, status: this.source.status, written: this.schemas.written }
  }

  /** The cards in force as the agent sent them; null while there are none, and where another process fetches them. */
  get sentCards (): LoadedCards | null {
    return this.source.handover()?.sent ?? null
  }

  /** Keys that verify and sign its card. */
  get cardKeys (): CardKeys {
    return this.options.cardKeys
  }

  /** The public keys of `card.sign` and of the identity header. */
  get publicKeys (): readonly PublicJwk[] {
    return [...this.options.cardKeys.published, ...(this.credentials?.publicKeys ?? [])]
  }

  /** True while a card waits for an agreement; null with `card.changes: apply`. */
  get awaitsAgreement (): boolean | null {
    return this.agreement === null ? null : this.source.status.held !== null
  }

  get lastRefusals (): readonly PastRejection[] {
    return this.rejections
  }

  /** Seconds since the card was last read or confirmed; null without a card. */
  get cardAge (): number | null {
    const { fetchedAt } = this.source.status
    return fetchedAt === null ? null : (Date.now() - fetchedAt) / 1_000
  }

  /** Determines whether the agent shows its card to a caller with these credentials. Never rejects. */
  cardAccess (version: Version, credentials: Readonly<Record<string, string>>, signal: AbortSignal): Promise<CardAccess> {
    const { config, upstream, pools, options } = this
    return requestAccess(
      { config: config.card, upstream, dispatcher: origin => pools.forCallers(origin), limit: options.limits.card },
      version,
      credentials,
      signal
    )
  }

  /** Resolves when the first attempt to load the card has ended, well or not. Later attempts run in the background. */
  async start (): Promise<void> {
    this.source.start()
    await this.source.refreshNow()
  }

  /**
   * Called before `inherit`: compiles schemas of the card that this agent needs and the predecessor did not. `inherit` handles a schema
   * that cannot be compiled.
   */
  async prepareToInherit (predecessor: Agent): Promise<void> {
    const handover = sameSource(this, predecessor) ? predecessor.source.handover() : null
    if (handover === null || predecessor.lastState === null) return
    await this.prepare(handover.cards, predecessor.lastState, new AbortController().signal)?.catch(() => {})
    this.schemas.inherit(predecessor.schemas)
  }

  /**
   * Builds the state of this agent from the card of its predecessor, if both agents get the card from the same source.
   * @returns false when there is nothing to inherit, so that the agent must start on its own
   */
  inherit (predecessor: Agent): boolean {
    if (!sameSource(this, predecessor)) return false
    const handover = predecessor.source.handover()
    if (handover === null || predecessor.lastState === null) return false
    if (this.lastState?.loaded === handover.cards) return true
    try {
      this.use(handover.cards, this.options.log, predecessor.lastState)
      return true
    } catch {
      return false
    }
  }

  /** Called instead of `start`, after `inherit`, at the moment of the change. From then on, this agent keeps the card. */
  takeOver (predecessor: Agent): void {
    if (predecessor.credentials !== null) this.credentials?.inherit(predecessor.credentials)
    const handover = predecessor.source.handover()
    if (handover === null || !this.inherit(predecessor)) return this.source.start()
    if (handover.expired) this.state = null
    this.rejections.push(...predecessor.rejections)
    this.source.takeOver(handover)
  }

  /** The first half of `close`. Calls in flight continue. */
  async stopRefreshing (): Promise<void> {
    this.cardTrust?.close()
    await this.source.close()
  }

  async close (): Promise<void> {
    await this.stopRefreshing()
    await this.credentials?.close()
    await this.pools.close()
  }

  /**
   * Returns the cross-origin headers that the agent sends to an origin.
   * @param card true for its card, false for its operations
   */
  corsHeaders (origin: string, card: boolean): readonly string[] | Promise<readonly string[]> {
    if (card) return this.cors.headersFor({ origin, path: this.cardPath, method: 'GET' })
    const rpc = this.state?.interfaces.find(mappedInterface => mappedInterface.binding === 'JSONRPC')
    const path = rpc?.dialPath ?? `${this.state?.interfaces[0]?.dialPath ?? this.upstreamBase}/message:send`.replace('//', '/')
    return this.cors.headersFor({ origin, path, method: 'OPTIONS' })
  }

  /** Path of the card at the agent. A card from elsewhere has the policy that the agent's own card would have. */
  private get cardPath (): string {
    const { origin } = this.source.status
    const from = origin === null ? null : parseUrl(origin)
    return from?.origin === this.upstream.origin ? from.pathname + from.search : `${this.upstreamBase}/.well-known/agent-card.json`
  }

  /** True while the agent has no usable card because its card names only gRPC interfaces, and the gateway serves none of them. */
  get onlyGrpc (): boolean {
    return this.source.status.onlyGrpc
  }

  /** Called for each request that found no usable card. @returns seconds until the card may be there, at least 1 */
  requestCard (): number {
    return Math.max(1, Math.ceil(this.source.requestCard() / 1_000))
  }

  /** Requirements for callers in a state. Null without `identity`, and without a card that decides (`access.require: card`). */
  requirementIn (state: AgentState | null): Requirement | null {
    return this.fixedRequirement ?? state?.security.requirement ?? null
  }

  /** Router of the newest card ever used, expired or not; null before the first card. */
  get knownRouter (): Router | null {
    return this.lastState?.router ?? null
  }

  get ready (): boolean {
    return this.state !== null || this.config.card.onUnavailable === 'forward'
  }

  /** The reason why the agent is not ready, in words for an operator. */
  get problem (): string {
    const { state, problem } = this.source.status
    if (problem !== null) return problem
    return state === 'expired' ? 'its card has become too old' : 'its card has not been loaded yet'
  }

  /** Warns, once for each version, of requests for a minor version that the gateway does not know. */
  sawMinor (version: string): void {
    const { unknownMinor } = this.config.protocol
    if (this.minors.has(version) || this.minors.size >= KEPT_MINORS) return
    this.minors.add(version)
    const what = unknownMinor === 'carry' ? 'the gateway carries them with the rules of 1.0' : 'the gateway rejects them'
    this.options.log.warn(
      { agent: this.name },
      `agent ${this.name}: clients request A2A ${version}, which the gateway does not know; ${what} (protocol.unknownMinor)`
    )
  }

  rejected (rejection: PastRejection): void {
    this.rejections.push(rejection)
    if (this.rejections.length > KEPT_REJECTIONS) this.rejections.shift()
  }

  private stateOptions (previous: AgentState | null): AgentStateOptions {
    const { config, limits, secrets, sources, cardKeys: { signing }, publicUrl } = this.options
    const signer = signerOf(signing, publicUrl, config.path)
    return { agent: config, maxExtensions: limits.extensions, previous, secretOf: secrets.of, sources, signer }
  }

  /**
   * Compiles the schemas of cards before the cards are used. Null when there is nothing to wait for.
   * @param elsewhere schemas of the same cards that another process has compiled
   */
  private prepare (
    cards: LoadedCards,
    previous: AgentState | null,
    signal: AbortSignal,
    elsewhere?: WrittenSchemas
  ): Promise<void> | null {
    return this.schemas.prepare(cards, schemasToCompile(cards, this.stateOptions(previous)), signal, elsewhere)
  }

  private use (cards: LoadedCards, log: Log, previous = this.lastState): void {
    const { config } = this.options
    const compiled = this.schemas.take(cards)
    const next = this.build(cards, { ...this.stateOptions(previous), ready: compiled?.ready ?? NOTHING_READY })
    this.state = next
    this.lastState = next
    this.schemas.keep(next, compiled)
    if (this.options.keeper !== undefined) return
    for (const warning of next.warnings) {
      if (previous === null || !previous.warnings.includes(warning)) log.warn({ agent: config.name }, `agent ${config.name}: ${warning}`)
    }
  }

  /** @throws Error with a readable message when the cards cannot be used */
  private build (cards: LoadedCards, options: AgentStateOptions): AgentState {
    try {
      const state = buildAgentState(cards, options)
      this.count(state.findings)
      return state
    } catch (error) {
      if (error instanceof CardRejected) this.count(error.findings)
      throw error
    }
  }

  /** Counts the findings once for each card, even if the card is tried several times. */
  private count (findings: readonly CardFinding[]): void {
    const words = findings.map(finding => finding.message).join('\n')
    if (words === this.found || this.options.keeper !== undefined) return
    this.found = words
    for (const { policy, rule, mode } of findings) this.options.metrics.add('violations_total', this.name, policy, rule, 'card', mode)
  }

  /** Description for `/agents`. */
  describe (): object {
    const { config, upstream, publicBase, ready, state, source: { status }, concurrency, rejections, options } = this
    const requirement = this.requirementIn(state)
    const signedBy = config.card.signature === 'resign' ? options.cardKeys.signing?.jwk.kid ?? null : null
    const agreed = this.agreement?.entry ?? null
    return describeAgent({ config, agreed, upstream, publicBase, ready, state, status, signedBy, concurrency, requirement, rejections })
  }
}

/** The Prometheus metrics of the gateway. Nothing is registered globally; every `Metrics` has its own registry. */
import type { SignatureOutcome } from '#a2a/card/loaded-cards.js'
import type { Place } from '#guard.js'
import { PLACES } from '#guard.js'
import type { GrpcCodeName } from '#wire/grpc/codes.js'
import { clipLabel } from './labelled-values.js'
import type { LabelledValues, Labels, NumberCell } from './labelled-values.js'
import type { Distribution, ObservedSpan } from './distribution.js'
import { DECISION_BUCKETS } from './definitions.js'
import type * as LabelValues from './label-values.js'
import { openMetrics } from './open-metrics.js'
import { MetricRegistry, PREFIX } from './registry.js'
import type { MetricsSnapshot } from './registry.js'
import { Vitals } from './vitals.js'
import { LabelShares } from './label-values.js'

type One<List extends readonly string[]> = List[number]

export type Outcome = One<typeof LabelValues.OUTCOMES>
export type FrontName = One<typeof LabelValues.FRONTS>
export type ClientError = One<typeof LabelValues.CLIENT_ERRORS>

/**
 * Distinct `extension` label values of one agent in one process; the rest is `other`. The limit is per agent, because the agent's card
 * names the extensions.
 */
const EXTENSIONS = 256
/**
 * Distinct `rule` label values of rejections by policies of one agent in one process; the rest is `other`. The gateway's own rules are few,
 * and are always exposed.
 */
const RULES = 1_024
/** Counts so far of one agent, and of one outcome for requests. Entries are in order of creation, and are never removed. */
export interface Counted {
  readonly labels: Readonly<Record<string, string>>
  readonly count: number
  /** Seconds. */
  readonly sum: number
  /** Counts by bucket, not cumulative. */
  readonly counts: readonly number[]
}

/** The labels of a request that has ended. */
export interface EndedRequest {
  readonly agent: string
  readonly operation: string
  readonly binding: string
  readonly version: string
  readonly outcome: Outcome
  readonly front: FrontName
}

/** A number that a policy has observed. */
export interface ObservedNumber {
  readonly extension: string
  readonly metric: string
  readonly type: 'counter' | 'gauge'
  /** '' when the policy does not divide the metric. */
  readonly by: string
  readonly value: number
}

export class Metrics {
  /** Content type of {@link text}. */
  readonly contentType: string
  readonly vitals: Vitals
  /** True when the histograms of calls keep exemplars. */
  exemplars = false
  private readonly registry: MetricRegistry
  private readonly extensions: LabelShares
  private readonly ages: Map<string, () => number | null>
  private readonly active: Map<string, () => number | null>
  private readonly rules: LabelShares
  private readonly requests: LabelledValues<NumberCell>
  private readonly durations: Distribution
  private readonly decisions: Distribution
  private readonly upstreams: Distribution
  private readonly violations: LabelledValues<NumberCell>
  private readonly unexamined: LabelledValues<NumberCell>
  private readonly activations: LabelledValues<NumberCell>
  private readonly streams: LabelledValues<NumberCell>
  private readonly events: LabelledValues<NumberCell>
  private readonly refreshes: LabelledValues<NumberCell>
  private readonly reloads: LabelledValues<NumberCell>
  private readonly errors: LabelledValues<NumberCell>
  private readonly lookups: LabelledValues<NumberCell>
  private readonly claims: LabelledValues<NumberCell>
  private readonly pauses: LabelledValues<NumberCell>
  private readonly ownerChecks: LabelledValues<NumberCell>
  private readonly pushUrls: LabelledValues<NumberCell>
  private readonly accessDecisions: LabelledValues<NumberCell>
  private readonly writes: LabelledValues<NumberCell>
  private readonly observedTotals: LabelledValues<NumberCell>
  private readonly observedValues: LabelledValues<NumberCell>
  private readonly unread: LabelledValues<NumberCell>
  private readonly signatures: LabelledValues<NumberCell>
  private readonly refusals: LabelledValues<NumberCell>
  private readonly grpcResponses: LabelledValues<NumberCell>
  private readonly authentications: LabelledValues<NumberCell>
  private readonly authenticationTimes: Distribution
  private readonly credentials: LabelledValues<NumberCell>
  private readonly delegations: LabelledValues<NumberCell>
  private readonly external: LabelledValues<NumberCell>
  private readonly externalTimes: Distribution
  private readonly keyRefreshes: LabelledValues<NumberCell>
  private readonly limited: LabelledValues<NumberCell>
  private readonly rateStores: LabelledValues<NumberCell>
  private readonly spent: LabelledValues<NumberCell>
  private readonly clientErrors: LabelledValues<NumberCell>
  private readonly unexpectedErrors: LabelledValues<NumberCell>
  private readonly info: (labels: Labels) => void
  private remembered: () => number | null = () => null

  /**
   * `process: false` omits Node's process metrics, whose observers cannot be stopped: for tests. `serves: false` is for a process that
   * handles no calls.
   */
  constructor (options: { readonly process?: boolean; readonly serves?: boolean } = {}) {
    const registry = new MetricRegistry()
    this.registry = registry
    this.contentType = registry.contentType
    this.extensions = new LabelShares(EXTENSIONS)
    this.ages = new Map()
    this.active = new Map()
    this.rules = new LabelShares(RULES)
    this.requests = registry.counter('requests_total')
    this.durations = registry.distribution('request_duration_seconds')
    this.decisions = registry.distribution('decision_duration_seconds')
    this.upstreams = registry.distribution('upstream_duration_seconds')
    this.violations = registry.counter('violations_total')
    this.unexamined = registry.counter('unexamined_data_total')
    this.activations = registry.counter('activations_total')
    this.refusals = registry.counter('refusals_total')
    this.grpcResponses = registry.counter('grpc_responses_total')
    this.authentications = registry.counter('authentications_total')
    this.authenticationTimes = registry.distribution('authentication_duration_seconds')
    this.credentials = registry.counter('upstream_credentials_total')
    this.delegations = registry.counter('delegations_total')
    this.external = registry.counter('external_decisions_total')
    this.externalTimes = registry.distribution('external_decision_duration_seconds')
    this.keyRefreshes = registry.counter('identity_key_refreshes_total')
    this.limited = registry.counter('rate_limited_total')
    this.rateStores = registry.counter('rate_store_total')
    this.spent = registry.counter('budget_spent_total')
    this.clientErrors = registry.counter('client_errors_total')
    this.unexpectedErrors = registry.counter('unexpected_errors_total')
    registry.agentGauge('requests_active', this.active)
    this.streams = registry.gauge('streams_active')
    this.events = registry.counter('stream_events_total')
    registry.agentGauge('card_age_seconds', this.ages)
    this.refreshes = registry.counter('card_refreshes_total')
    this.signatures = registry.counter('card_signatures_total')
    this.reloads = registry.counter('config_reloads_total')
    this.info = registry.infoGauge('config_info')
    this.errors = registry.counter('upstream_errors_total')
    this.lookups = registry.counter('task_lookups_total')
    this.writes = registry.counter('task_writes_total')
    this.claims = registry.counter('unique_claims_total')
    this.pauses = registry.counter('paused_requests_total')
    this.ownerChecks = registry.counter('task_owner_checks_total')
    this.pushUrls = registry.counter('push_urls_total')
    this.accessDecisions = registry.counter('access_decisions_total')
    registry.callbackGauge('tasks_remembered', () => this.remembered())
    this.observedTotals = registry.counter('observed_total')
    this.observedValues = registry.gauge('observed_value')
    this.unread = registry.counter('answers_unread_total')
    this.vitals = new Vitals(PREFIX, options.serves ?? true)
    for (const vital of this.vitals.metrics) registry.register(vital)
    // Present from the start, so that the first failed reload, and the first unexpected error, is an increase.
    for (const place of PLACES) this.unexpectedErrors.at(place)
    this.reloads.at('ok')
    this.reloads.at('invalid')
    if (options.process !== false) registry.collectProcessMetrics()
  }

  /** Records one request that ended `seconds` after its head arrived. */
  request (
    { agent, operation, binding, version, outcome, front }: EndedRequest,
    seconds: number,
    span: ObservedSpan | null = null
  ): void {
    this.requests.at(agent, operation, binding, version, outcome, front).value++
    this.durations.tree.at(agent, operation, outcome).observe(seconds, this.exemplars ? span : null)
  }

  /** @param rule as in the header `gateway-decision` */
  refusal (agent: string, rule: string): void {
    this.refusals.at(agent, rule.startsWith('gateway/') ? rule : this.rules.label(agent, rule)).value++
  }

  grpcResponse (agent: string, operation: string, status: GrpcCodeName): void {
    this.grpcResponses.at(agent, operation, status).value++
  }

  authentication (agent: string, source: string, outcome: One<typeof LabelValues.AUTHENTICATION_OUTCOMES>): void {
    this.authentications.at(agent, source, outcome).value++
  }

  /** Records the duration of one authentication, whatever its outcome. */
  authenticated (source: string, cache: One<typeof LabelValues.TOKEN_CACHE>, seconds: number): void {
    this.authenticationTimes.tree.at(source, cache).observe(seconds, null)
  }

  keyRefresh (source: string, outcome: One<typeof LabelValues.KEY_OUTCOMES>): void {
    this.keyRefreshes.at(source, outcome).value++
  }

  rateLimited (agent: string, limit: string): void {
    this.limited.at(agent, limit).value++
  }

  rateStore (outcome: One<typeof LabelValues.RATE_STORE_OUTCOMES>): void {
    this.rateStores.at(outcome).value++
  }

  budgetSpent (budget: string, amount: number): void {
    this.spent.at(budget).value += amount
  }

  upstreamCredential (
    agent: string,
    kind: One<typeof LabelValues.CREDENTIAL_KINDS>,
    outcome: One<typeof LabelValues.CREDENTIAL_OUTCOMES>
  ): void {
    this.credentials.at(agent, kind, outcome).value++
  }

  delegation (agent: string, outcome: One<typeof LabelValues.DELEGATION_OUTCOMES>): void {
    this.delegations.at(agent, outcome).value++
  }

  /** @param rule id of the entry, or `policy/rule` */
  externalDecision (agent: string, rule: string, outcome: One<typeof LabelValues.EXTERNAL_OUTCOMES>): void {
    this.external.at(agent, rule, outcome).value++
  }

  /** Records how long a call waited for policy servers. */
  externalWait (agent: string, phase: One<typeof LabelValues.CALL_PHASES>, seconds: number): void {
    this.externalTimes.tree.at(agent, phase).observe(seconds, null)
  }

  clientError (kind: ClientError): void {
    this.clientErrors.at(kind).value++
  }

  unexpectedError (place: Place): void {
    this.unexpectedErrors.at(place).value++
  }

  /**
   * Sets the functions that return the number of calls in flight for each agent. They are called at every scrape. Other agents have no
   * sample.
   */
  requestsActive (agents: ReadonlyMap<string, () => number>): void {
    this.active.clear()
    for (const [agent, count] of agents) this.active.set(clipLabel(agent), count)
  }

  /** Records the duration of one decision, whether it rejects or not. */
  decision (agent: string, seconds: number, span: ObservedSpan | null = null): void {
    this.decisions.tree.at(agent).observe(seconds, this.exemplars ? span : null)
  }

  /** Records the agent's response headers, which arrived `seconds` after the call was dialled. */
  upstream (agent: string, operation: string, seconds: number, span: ObservedSpan | null = null): void {
    this.upstreams.tree.at(agent, operation).observe(seconds, this.exemplars ? span : null)
  }

  violation (
    agent: string,
    extension: string,
    rule: string,
    phase: One<typeof LabelValues.PHASES>,
    mode: One<typeof LabelValues.VIOLATION_MODES>
  ): void {
    this.violations.at(agent, this.extensions.label(agent, extension), rule, phase, mode).value++
  }

  unexaminedData (agent: string, extension: string): void {
    this.unexamined.at(agent, this.extensions.label(agent, extension)).value++
  }

  activation (agent: string, extension: string, source: One<typeof LabelValues.SOURCES>, echo: One<typeof LabelValues.ECHOES>): void {
    this.activations.at(agent, this.extensions.label(agent, extension), source, echo).value++
  }

  streamOpened (agent: string): void {
    this.streams.at(agent).value++
  }

  streamClosed (agent: string): void {
    this.streams.at(agent).value--
  }

  streamEvents (agent: string, n: number): void {
    if (n > 0) this.events.at(agent).value += n
  }

  /**
   * Sets the function that returns the age of an agent's card. It is called at every scrape; null = no sample. A second call for the same
   * agent replaces the function.
   */
  cardAge (agent: string, secondsSinceFetch: () => number | null): void {
    this.ages.set(clipLabel(agent), secondsSinceFetch)
  }

  /** Sets the functions of {@link cardAge} for all current agents. Other agents no longer have a sample. */
  cardAges (agents: ReadonlyMap<string, () => number | null>): void {
    this.ages.clear()
    for (const [agent, age] of agents) this.cardAge(agent, age)
  }

  cardSignature (agent: string, outcome: SignatureOutcome): void {
    this.signatures.at(agent, outcome).value++
  }

  cardRefresh (agent: string, outcome: One<typeof LabelValues.CARD_OUTCOMES>): void {
    this.refreshes.at(agent, outcome).value++
  }

  configReload (outcome: One<typeof LabelValues.RELOAD_OUTCOMES>): void {
    this.reloads.at(outcome).value++
    this.vitals.reloaded = outcome === 'ok'
  }

  /** Sets the configuration in force. Only the last hash is exposed. */
  configInfo (hash: string): void {
    this.info({ hash: clipLabel(hash) })
  }

  upstreamError (agent: string, kind: One<typeof LabelValues.FAILURE_KINDS>): void {
    this.errors.at(agent, kind).value++
  }

  /** Records a lookup of a task that a request names. */
  taskLookup (agent: string, outcome: One<typeof LabelValues.LOOKUP_OUTCOMES>): void {
    this.lookups.at(agent, outcome).value++
  }

  uniqueClaim (agent: string, outcome: One<typeof LabelValues.CLAIM_OUTCOMES>): void {
    this.claims.at(agent, outcome).value++
  }

  pausedRequest (agent: string, outcome: One<typeof LabelValues.PAUSE_OUTCOMES>): void {
    this.pauses.at(agent, outcome).value++
  }

  taskOwnerCheck (agent: string, outcome: One<typeof LabelValues.OWNER_OUTCOMES>): void {
    this.ownerChecks.at(agent, outcome).value++
  }

  accessDecision (
    agent: string,
    rule: string,
    decision: One<typeof LabelValues.ACCESS_DECISIONS>,
    mode: One<typeof LabelValues.VIOLATION_MODES>
  ): void {
    this.accessDecisions.at(agent, rule, decision, mode).value++
  }

  pushUrl (agent: string, decision: One<typeof LabelValues.PUSH_DECISIONS>): void {
    this.pushUrls.at(agent, decision).value++
  }

  taskWrite (agent: string, outcome: One<typeof LabelValues.WRITE_OUTCOMES>): void {
    this.writes.at(agent, outcome).value++
  }

  /**
   * Sets the function that returns the number of tasks in this process. It is called at every scrape; null = no sample, when a server holds
   * the tasks.
   */
  tasksRemembered (count: () => number | null): void {
    this.remembered = count
  }

  /** Numbers that are not finite, and negative values of counters, are ignored. */
  observed (agent: string, { extension, metric, type, by, value }: ObservedNumber): void {
    if (!Number.isFinite(value) || (type === 'counter' && value < 0)) return
    const label = this.extensions.label(agent, extension)
    if (type === 'counter') this.observedTotals.at(agent, label, metric, by).value += value
    else this.observedValues.at(agent, label, metric, by).value = value
  }

  responseUnread (agent: string, reason: One<typeof LabelValues.UNREAD_REASONS>): void {
    this.unread.at(agent, reason).value++
  }

  /** Adds the metrics of a gateway of several processes: the number of serving workers, and the number of replaced workers. */
  workers (serving: () => number, replaced: () => number): void {
    this.registry.callbackGauge('workers', serving)
    this.registry.callbackCounter('worker_restarts_total', replaced)
  }

  /**
   * Counts of ended requests and of decisions, for a reader that polls every few seconds. A full scrape would be too expensive for that.
   */
  get counted (): { readonly ended: readonly Counted[]; readonly decided: readonly Counted[] } {
    return { ended: this.durations.tree.cells, decided: this.decisions.tree.cells }
  }

  /** Upper bounds of the buckets of decisions, in seconds. Longer decisions are in no bucket. */
  readonly decisionBounds: readonly number[] = DECISION_BUCKETS

  /** Returns the metrics for another process, which merges several snapshots. */
  snapshot (): Promise<MetricsSnapshot> {
    return this.registry.snapshot()
  }

  /** Returns the exposition, in Prometheus text format 0.0.4. */
  text (): Promise<string> {
    return this.registry.text()
  }

  /** Returns the exposition in the format of OpenMetrics; null without exemplars, for which alone the format is served. */
  async openMetrics (): Promise<string | null> {
    return this.exemplars ? openMetrics(await this.snapshot()) : null
  }

  /** Removes every metric. Numbers recorded afterwards are lost. */
  close (): void {
    this.ages.clear()
    this.active.clear()
    this.remembered = () => null
    this.registry.clear()
  }
}

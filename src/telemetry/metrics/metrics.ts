/**
 * The Prometheus metrics of the gateway. Only this file imports prom-client: the package was renamed after 15.1.3, so a later swap is one
 * line. Nothing is registered globally; every `Metrics` has its own registry.
 */
import * as prometheus from 'prom-client'
import type { Counter, Gauge, Metric, MetricObjectWithValues, MetricValue, Registry } from 'prom-client'
import { LabelledValues, NumberCell, clipLabel } from './labelled-values.js'
import { Distribution } from './distribution.js'
import { LabelShares } from './label-shares.js'
import type * as Definitions from './definitions.js'
import { DECISION_BUCKETS, definitionOf } from './definitions.js'
import type { MetricName } from './definitions.js'
import { Vitals } from './vitals.js'

type One<List extends readonly string[]> = List[number]

export type Outcome = One<typeof Definitions.OUTCOMES>
export type ClientError = One<typeof Definitions.CLIENT_ERRORS>

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
export const PREFIX = 'a2a_gateway_'

/** The metrics of one process, in the form that is sent to another process. */
export type MetricsSnapshot = readonly MetricObjectWithValues<MetricValue<string>>[]

/** Counts so far of one agent, and of one outcome for requests. Entries are in order of creation, and are never removed. */
export interface Counted {
  readonly labels: Readonly<Record<string, string>>
  readonly count: number
  /** Seconds. */
  readonly sum: number
  /** Counts by bucket, not cumulative. */
  readonly counts: readonly number[]
}

/**
 * How samples of several processes are merged when a sum makes no sense. For metrics that prom-client omits, the first process's sample is
 * used.
 */
const TOGETHER: Readonly<Record<string, 'first' | 'max'>> = {
  [`${PREFIX}card_age_seconds`]: 'first',
  [`${PREFIX}card_max_stale_seconds`]: 'first',
  [`${PREFIX}card_usable`]: 'first',
  [`${PREFIX}config_info`]: 'first',
  [`${PREFIX}config_last_reload_successful`]: 'first',
  [`${PREFIX}build_info`]: 'first',
  [`${PREFIX}identity_keys_age_seconds`]: 'max',
  [`${PREFIX}memory_limit_bytes`]: 'first',
  [`${PREFIX}observed_value`]: 'max'
}

/** Merges snapshots: sums counters, distributions and gauges of open items. For process metrics, prom-client defines the aggregation. */
export function mergeSnapshots (snapshots: readonly MetricsSnapshot[]): { snapshot(): Promise<MetricsSnapshot>; text(): Promise<string> } {
  const told = snapshots.map(metrics =>
    metrics.map(metric => {
      const aggregator = TOGETHER[metric.name] ?? (metric.aggregator === 'omit' ? 'first' : metric.aggregator)
      return { ...metric, aggregator }
    })
  )
  const registry = prometheus.AggregatorRegistry.aggregate(told)
  return { snapshot: () => registry.getMetricsAsJSON(), text: () => registry.metrics() }
}

/** Keeps the metrics of an ended process that stay valid: its counts, but not its last gauge values. */
export function lasting (snapshot: MetricsSnapshot): MetricsSnapshot {
  return snapshot.filter(({ type }) => String(type) === 'counter' || String(type) === 'histogram')
}

/** The labels of a request that has ended. */
export interface EndedRequest {
  readonly agent: string
  readonly operation: string
  readonly binding: string
  readonly version: string
  readonly outcome: Outcome
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
  private readonly registry: Registry
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
  private readonly writes: LabelledValues<NumberCell>
  private readonly observedTotals: LabelledValues<NumberCell>
  private readonly observedValues: LabelledValues<NumberCell>
  private readonly unread: LabelledValues<NumberCell>
  private readonly refusals: LabelledValues<NumberCell>
  private readonly authentications: LabelledValues<NumberCell>
  private readonly keyRefreshes: LabelledValues<NumberCell>
  private readonly clientErrors: LabelledValues<NumberCell>
  private readonly info: Gauge
  private remembered: () => number | null = () => null

  /**
   * `process: false` omits Node's process metrics, whose observers cannot be stopped: for tests. `serves: false` is for a process that
   * handles no calls.
   */
  constructor (options: { readonly process?: boolean; readonly serves?: boolean } = {}) {
    const registry = new prometheus.Registry()
    this.registry = registry
    this.contentType = registry.contentType
    this.extensions = new LabelShares(EXTENSIONS)
    this.ages = new Map()
    this.active = new Map()
    this.rules = new LabelShares(RULES)
    this.requests = this.counter('requests_total')
    this.durations = this.distribution('request_duration_seconds')
    this.decisions = this.distribution('decision_duration_seconds')
    this.upstreams = this.distribution('upstream_duration_seconds')
    this.violations = this.counter('violations_total')
    this.unexamined = this.counter('unexamined_data_total')
    this.activations = this.counter('activations_total')
    this.refusals = this.counter('refusals_total')
    this.authentications = this.counter('authentications_total')
    this.keyRefreshes = this.counter('identity_key_refreshes_total')
    this.clientErrors = this.counter('client_errors_total')
    this.askingGauge('requests_active', this.active)
    this.streams = this.gauge('streams_active')
    this.events = this.counter('stream_events_total')
    this.askingGauge('card_age_seconds', this.ages)
    this.refreshes = this.counter('card_refreshes_total')
    this.reloads = this.counter('config_reloads_total')
    this.info = new prometheus.Gauge({ ...described('config_info'), registers: [registry] })
    this.errors = this.counter('upstream_errors_total')
    this.lookups = this.counter('task_lookups_total')
    this.writes = this.counter('task_writes_total')
    this.rememberedCollector()
    this.observedTotals = this.counter('observed_total')
    this.observedValues = this.gauge('observed_value')
    this.unread = this.counter('answers_unread_total')
    this.vitals = new Vitals(PREFIX, options.serves ?? true)
    for (const vital of this.vitals.metrics) registry.registerMetric(vital as unknown as Metric<string>)
    // Present from the start, so that the first failed reload is an increase.
    this.reloads.at('ok')
    this.reloads.at('invalid')
    if (options.process !== false) prometheus.collectDefaultMetrics({ register: registry })
  }

  /** Records one request that ended `seconds` after its head arrived. */
  request ({ agent, operation, binding, version, outcome }: EndedRequest, seconds: number): void {
    this.requests.at(agent, operation, binding, version, outcome).value++
    this.durations.tree.at(agent, operation, outcome).observe(seconds)
  }

  /** @param rule as in the header `gateway-decision` */
  refusal (agent: string, rule: string): void {
    this.refusals.at(agent, rule.startsWith('gateway/') ? rule : this.rules.label(agent, rule)).value++
  }

  authentication (agent: string, source: string, outcome: One<typeof Definitions.AUTHENTICATION_OUTCOMES>): void {
    this.authentications.at(agent, source, outcome).value++
  }

  keyRefresh (source: string, outcome: One<typeof Definitions.KEY_OUTCOMES>): void {
    this.keyRefreshes.at(source, outcome).value++
  }

  clientError (kind: ClientError): void {
    this.clientErrors.at(kind).value++
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
  decision (agent: string, seconds: number): void {
    this.decisions.tree.at(agent).observe(seconds)
  }

  /** Records the agent's response headers, which arrived `seconds` after the call was dialled. */
  upstream (agent: string, operation: string, seconds: number): void {
    this.upstreams.tree.at(agent, operation).observe(seconds)
  }

  violation (
    agent: string,
    extension: string,
    rule: string,
    phase: One<typeof Definitions.PHASES>,
    mode: One<typeof Definitions.VIOLATION_MODES>
  ): void {
    this.violations.at(agent, this.extensions.label(agent, extension), rule, phase, mode).value++
  }

  unexaminedData (agent: string, extension: string): void {
    this.unexamined.at(agent, this.extensions.label(agent, extension)).value++
  }

  activation (agent: string, extension: string, source: One<typeof Definitions.SOURCES>, echo: One<typeof Definitions.ECHOES>): void {
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

  cardRefresh (agent: string, outcome: One<typeof Definitions.CARD_OUTCOMES>): void {
    this.refreshes.at(agent, outcome).value++
  }

  configReload (outcome: One<typeof Definitions.RELOAD_OUTCOMES>): void {
    this.reloads.at(outcome).value++
    this.vitals.reloaded = outcome === 'ok'
  }

  /** Sets the configuration in force. Only the last hash is exposed. */
  configInfo (hash: string): void {
    this.info.reset()
    this.info.set({ hash: clipLabel(hash) }, 1)
  }

  upstreamError (agent: string, kind: One<typeof Definitions.FAILURE_KINDS>): void {
    this.errors.at(agent, kind).value++
  }

  /** Records a lookup of a task that a request names. */
  taskLookup (agent: string, outcome: One<typeof Definitions.LOOKUP_OUTCOMES>): void {
    this.lookups.at(agent, outcome).value++
  }

  taskWrite (agent: string, outcome: One<typeof Definitions.WRITE_OUTCOMES>): void {
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

  answerUnread (agent: string, reason: One<typeof Definitions.UNREAD_REASONS>): void {
    this.unread.at(agent, reason).value++
  }

  /** Adds the metrics of a gateway of several processes: the number of serving workers, and the number of replaced workers. */
  workers (serving: () => number, replaced: () => number): void {
    const gauge: Gauge = new prometheus.Gauge({
      ...described('workers'),
      registers: [this.registry],
      collect () {
        gauge.set(serving())
      }
    })
    const counter: Counter = new prometheus.Counter({
      ...described('worker_restarts_total'),
      registers: [this.registry],
      collect () {
        counter.reset()
        counter.inc(replaced())
      }
    })
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
    return this.registry.getMetricsAsJSON()
  }

  /** Returns the exposition, in Prometheus text format 0.0.4. */
  text (): Promise<string> {
    return this.registry.metrics()
  }

  /** Removes every metric. Numbers recorded afterwards are lost. */
  close (): void {
    this.ages.clear()
    this.active.clear()
    this.remembered = () => null
    this.registry.clear()
  }

  private counter (name: MetricName): LabelledValues<NumberCell> {
    const tree = new LabelledValues(described(name).labelNames, labels => new NumberCell(labels))
    const counter = new prometheus.Counter({
      ...described(name),
      registers: [this.registry],
      collect () {
        for (const cell of tree.cells) {
          counter.inc(cell.labels, cell.value)
          cell.value = 0
        }
      }
    })
    return tree
  }

  private gauge (name: MetricName): LabelledValues<NumberCell> {
    const tree = new LabelledValues(described(name).labelNames, labels => new NumberCell(labels))
    const gauge = new prometheus.Gauge({
      ...described(name),
      registers: [this.registry],
      collect () {
        for (const cell of tree.cells) gauge.set(cell.labels, cell.value)
      }
    })
    return tree
  }

  private distribution (metric: MetricName): Distribution {
    const { name, help, labelNames } = described(metric)
    const distribution = new Distribution(name, help, labelNames, definitionOf(metric).buckets ?? [])
    // The registry calls only get(), the one method that a collectable metric needs.
    this.registry.registerMetric(distribution as unknown as Metric<string>)
    return distribution
  }

  private rememberedCollector (): void {
    const count = (): number | null => readOrNull(() => this.remembered())
    const gauge: Gauge = new prometheus.Gauge({
      ...described('tasks_remembered'),
      registers: [this.registry],
      collect () {
        gauge.remove()
        const tasks = count()
        if (tasks !== null) gauge.set(tasks)
      }
    })
  }

  /** Adds a gauge with one sample per agent, read at each scrape. */
  private askingGauge (name: MetricName, agents: ReadonlyMap<string, () => number | null>): void {
    const gauge: Gauge = new prometheus.Gauge({
      ...described(name),
      registers: [this.registry],
      collect () {
        gauge.reset()
        for (const [agent, read] of agents) {
          const value = readOrNull(read)
          if (value !== null) gauge.set({ agent }, value)
        }
      }
    })
  }
}

/** Options of a metric in the form that prom-client expects. */
function described (name: MetricName): { readonly name: string, readonly help: string, readonly labelNames: string[] } {
  const { help, labels } = definitionOf(name)
  return { name: PREFIX + name, help, labelNames: Object.keys(labels) }
}

/** Reads a value; null when it cannot be read. A value that fails, for example the age of a card, must not fail the whole scrape. */
function readOrNull (read: () => number | null): number | null {
  try {
    const told = read()
    return told === null || !Number.isFinite(told) ? null : told
  } catch {
    return null
  }
}

/**
 * Every metric of the gateway, with its labels and their values. The metrics are created from this table, and docs/reference/metrics.md is
 * generated from it.
 */
import { SIGNATURE_OUTCOMES } from '#a2a/card/loaded-cards.js'
import { GRPC_CODE_NAMES } from '#wire/grpc/code-names.js'
import { PLACES } from '#guard.js'
import * as values from './label-values.js'

/** Values of a label: a closed set, or words that state what bounds them. */
export type LabelValues = readonly string[] | string

export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** The help text of the exposition: one sentence. */
  readonly help: string
  /** Further information about the numbers, for the documentation. Markdown. */
  readonly more?: string
  /** Labels with their values, in the order in which `metrics.add()` takes them. */
  readonly labels: readonly (readonly [name: string, values: LabelValues])[]
  /** Upper bounds of the buckets, for histograms. */
  readonly buckets?: readonly number[]
  /** Condition under which a sample exists; omitted if a sample exists once something has been counted. */
  readonly present?: string
  /** True for a metric whose samples are read at each scrape, with `metrics.read()`. */
  readonly read?: true
  /** Processes that have the metric; default: all. The primary of a cluster handles no calls: its workers report their limits. */
  readonly process?: 'serving' | 'primary'
  /** How the samples of several processes become one; default: their sum. */
  readonly merged?: 'first' | 'max'
  /** Quota of each agent for the values of the second label. The first label is then the agent. */
  readonly quota?: values.QuotaName
}

/** Seconds: 1 ms to 2 min, for calls that may stream. */
const REQUEST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120]
/** Seconds: 10 µs to 50 ms, for the gateway's own decision. */
export const DECISION_BUCKETS = [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05]

/** Seconds: 10 µs to 2.5 s. A call with a key that is not known waits for a fetch for 2 s at most. */
const AUTHENTICATION_BUCKETS = [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 2.5]

const agent = 'name of the agent in the configuration; `other` if the address belongs to no agent'
const served = 'name of the agent in the configuration'
const source = 'name of the source in `agentSources`'
const operations = Object.keys(values.OPERATIONS).map(name => `\`${name}\``).join(' ')
const operation = `${operations}, and the methods and routes that policies declare, as they write them`
const extension = 'name of the policy, or the URI in the card if there is no policy; at most 256 for each agent, then `other`'
const rule = 'id of the rule, from the policy or built in'
const metric = 'name in the policy\'s `observe.metrics`'
const by = 'value in the response, one of the policy\'s list or `other`; empty without `by`'

/** Names without the prefix `a2a_gateway_`. */
export const METRICS = {
  requests_total: {
    type: 'counter',
    help: 'Requests, by outcome.',
    more: '`forwarded`: also cards, preflights and directory pages that the gateway serves itself; `agent_error`: forwarded, and the ' +
      'agent responded with an HTTP status of 400 or more or with a JSON-RPC error; `rejected`: by the gateway; `client_aborted`: the ' +
      'client disconnected; `upstream_error`: the agent sent no usable response, or the gateway could not load its card; ' +
      '`gateway_error`: an internal error of the gateway, or a shutdown. `front`: the listener, or the question of a mesh',
    labels: [
      ['agent', agent],
      ['operation', operation],
      ['binding', ['JSONRPC', 'HTTP+JSON', 'GRPC']],
      ['version', ['0.3', '1.0']],
      ['outcome', values.OUTCOMES],
      ['front', values.FRONTS]
    ]
  },
  request_duration_seconds: {
    type: 'histogram',
    help: 'Seconds from the head of the request to the end of the response; for a stream, to the end of the stream.',
    labels: [['agent', agent], ['operation', operation], ['outcome', values.OUTCOMES]],
    buckets: REQUEST_BUCKETS
  },
  decision_duration_seconds: {
    type: 'histogram',
    help: 'Seconds that the gateway took to read, parse and evaluate a request.',
    more: 'The latency that the gateway adds to a call, without the network and the work on the response',
    labels: [['agent', served]],
    buckets: DECISION_BUCKETS
  },
  upstream_duration_seconds: {
    type: 'histogram',
    help: 'Seconds from calling the agent to the headers of its response.',
    labels: [['agent', served], ['operation', operation]],
    buckets: REQUEST_BUCKETS
  },
  violations_total: {
    type: 'counter',
    help: 'Violations of rules, by mode: enforce (request or response rejected) or observe (forwarded).',
    more: 'Also `mode="observe"` if the data that breaks the rule was removed',
    labels: [['agent', served], ['extension', extension], ['rule', rule], ['phase', values.PHASES], ['mode', values.VIOLATION_MODES]],
    quota: 'extensions'
  },
  unexamined_data_total: {
    type: 'counter',
    help: 'Values in requests that belong to an extension by owns of its policy, and that no rule looked at.',
    more: 'The policy does not cover what clients send. `explain` names the paths',
    labels: [['agent', served], ['extension', extension]],
    quota: 'extensions'
  },
  activations_total: {
    type: 'counter',
    help: 'Requested extensions, by who requested them and whether the response proves them active.',
    more: 'Each extension counts once per call, at the end of the call. `source="gateway"`: injected. `confirmed`: by the header, by ' +
      '`extensions` in the response, or by the extension\'s data; `unexpected`: not requested, with `source="client"`',
    labels: [['agent', served], ['extension', extension], ['source', values.SOURCES], ['echo', values.ECHOES]],
    quota: 'extensions'
  },
  refusals_total: {
    type: 'counter',
    help: 'Requests and responses that the gateway rejected, by rule as in the header gateway-decision.',
    more: 'Includes errors that the gateway sent because the agent failed',
    labels: [
      ['agent', agent],
      ['rule', "`gateway/…` for the [gateway's own rules](errors.md), else `policy/rule`; at most 1024 rules of policies for each agent, " +
        'then `other`']
    ],
    quota: 'rules'
  },
  grpc_responses_total: {
    type: 'counter',
    help: 'Responses over gRPC, by the status that the client got.',
    more: 'Statuses of the agent and of the gateway; a call that the client or the agent cancels has none. `UNKNOWN` stands also for ' +
      'numbers that gRPC does not define',
    labels: [['agent', agent], ['operation', operation], ['status', GRPC_CODE_NAMES]]
  },
  client_errors_total: {
    type: 'counter',
    help: 'Client connections without a valid request, and connections that the gateway closed, by reason.',
    more: '`dropped`: more than `limits.connections`; `write_timeout`: the client read nothing for `limits.writeTimeout`, or over gRPC ' +
      'less than 16 KiB; `tls_handshake`: a connection to `server.tls` without TLS, or without a valid client certificate; `memory`: a ' +
      'message of a proxy for which `limits.memory` had no room, and whose first bytes have no address. Clients that disconnect are not counted',
    labels: [['kind', values.CLIENT_ERRORS]]
  },
  unexpected_errors_total: {
    type: 'counter',
    help: 'Errors within the gateway that nothing expected, by the part that they ended a call or a connection of.',
    more: 'Always a fault of the gateway: report it, with `err.stack` of the log line. Other calls go on. `upstream`: a connection to an ' +
      'agent; `mesh`: a connection of a proxy, or a call of the health service',
    labels: [['place', PLACES]],
    present: 'from the start'
  },
  authentications_total: {
    type: 'counter',
    help: 'Authentications of callers, by source and outcome.',
    more: 'Only with `identity`. Requests that need no caller are not counted. A caller with a token and a client certificate adds one ' +
      'to both sources',
    labels: [
      ['agent', served],
      ['source', 'name in `identity.sources`; `anonymous` without credentials where `access.require` accepts that, `none` without ' +
        'credentials elsewhere or with those of two sources, `other` if no source of several knows them'],
      ['outcome', values.AUTHENTICATION_OUTCOMES]
    ]
  },
  authentication_duration_seconds: {
    type: 'histogram',
    help: 'Seconds that the authentication of a caller took, by source and by whether the token was remembered.',
    more: '`hit`: a remembered token; `miss`: the signature of a token was verified, perhaps after keys were fetched; `none`: nothing to ' +
      'remember, such as API keys, certificates, and tokens that are rejected because of their claims. Requests without credentials are ' +
      'not counted',
    labels: [
      ['source', 'name in `identity.sources`; `other` if no source of several knows the credentials'], ['cache', values.TOKEN_CACHE]
    ],
    buckets: AUTHENTICATION_BUCKETS
  },
  identity_key_refreshes_total: {
    type: 'counter',
    help: 'Attempts to fetch the keys of an issuer.',
    more: 'Each process fetches for itself',
    labels: [['source', 'name in `identity.sources`'], ['outcome', values.KEY_OUTCOMES]]
  },
  identity_keys_age_seconds: {
    type: 'gauge',
    help: 'Seconds since the gateway last got the keys of an issuer.',
    labels: [['source', 'name in `identity.sources`']],
    present: 'for each `jwt` source whose keys were fetched',
    read: true,
    merged: 'max'
  },
  token_cache_entries: {
    type: 'gauge',
    help: 'Verified access tokens that the process remembers.',
    labels: [['source', 'name in `identity.sources`']],
    present: 'for each `jwt` source',
    read: true
  },
  token_verifications_waiting: {
    type: 'gauge',
    help: 'Access tokens that wait for the verification of their signature.',
    more: 'Tokens wait once too many tokens of their address were not valid: at most 250 in each process',
    labels: [],
    present: 'from the start',
    read: true
  },
  rate_limited_total: {
    type: 'counter',
    help: 'Requests that a limit rejected, by limit.',
    more: 'Only with `identity`, `rates` or `budgets`',
    labels: [['agent', served], ['limit', 'id in `rates` or `budgets`; `failed-authentications` is built in']]
  },
  rate_store_total: {
    type: 'counter',
    help: 'Requests to the server that counts for several gateways, by outcome.',
    more: 'Only with `scope: shared`. `unavailable`: no response, and `onStoreDown` of each limit decides',
    labels: [['outcome', values.RATE_STORE_OUTCOMES]]
  },
  budget_spent_total: {
    type: 'counter',
    help: 'Amounts charged to budgets.',
    more: 'Only with `budgets`',
    labels: [['budget', 'id in `budgets`']]
  },
  upstream_credentials_total: {
    type: 'counter',
    help: 'Credentials for agents that the gateway needed, by kind and outcome.',
    more: 'Only with `upstream.credentials`. `new`: fetched or signed; calls that wait for one fetch count too. `rejected`: the ' +
      'authorization server does not accept the token of the caller. `unavailable`: the gateway got no token. `dropped`: the agent ' +
      'responded with 401, so the next call gets a new token',
    labels: [['agent', served], ['kind', values.CREDENTIAL_KINDS], ['outcome', values.CREDENTIAL_OUTCOMES]]
  },
  delegations_total: {
    type: 'counter',
    help: 'Calls of agents with `access.delegation`, by what stands behind the call.',
    more: 'Only with `access.delegation`. `direct`: no agent stands between initiator and agent; `delegated`: at least one does; the ' +
      'other outcomes are problems, as in `metadata.problem` of the rejection. A call that its body shows to be one that the initiator ' +
      'may not send counts as `initiator` too',
    labels: [['agent', served], ['outcome', values.DELEGATION_OUTCOMES]]
  },
  external_decisions_total: {
    type: 'counter',
    help: 'Questions to policy servers, by the entry that asked and the outcome.',
    more: 'Only with `external`. Remembered answers count too. `obligation`: allowed, with an obligation that the gateway cannot fulfil, ' +
      'so denied; `error`: no valid answer in time; `forwarded`: the same, with `onError: forward`',
    labels: [['agent', served], ['rule', 'id of the entry in `external`, or `policy/rule`'], ['outcome', values.EXTERNAL_OUTCOMES]]
  },
  external_decision_duration_seconds: {
    type: 'histogram',
    help: 'Seconds that a call waited for the answers of policy servers.',
    more: 'Only with `external`, and without calls whose answers the gateway remembers',
    labels: [['agent', served], ['phase', values.CALL_PHASES]],
    buckets: REQUEST_BUCKETS
  },
  requests_active: {
    type: 'gauge',
    help: 'Calls in flight, without streams.',
    more: 'Limited by `concurrency.requests`',
    labels: [['agent', served]],
    present: 'for each agent',
    read: true
  },
  requests_limit: {
    type: 'gauge',
    help: 'Maximum number of calls in flight to an agent, without streams: concurrency.requests of each process.',
    more: 'Multiplied by the number of processes',
    labels: [['agent', served]],
    present: 'for each agent',
    read: true,
    process: 'serving'
  },
  streams_active: { type: 'gauge', help: 'Open streams.', labels: [['agent', served]] },
  streams_limit: {
    type: 'gauge',
    help: 'Maximum number of open streams of an agent: concurrency.streams of each process.',
    more: 'Multiplied by the number of processes',
    labels: [['agent', served]],
    present: 'for each agent',
    read: true,
    process: 'serving'
  },
  stream_events_total: { type: 'counter', help: 'Forwarded server-sent events.', labels: [['agent', served]] },
  agent_sources: {
    type: 'gauge',
    help: 'Entries of the sources of agents.',
    more: '`admitted`: the entry is an agent; `waiting`: nobody has agreed to the entry, its card cannot be read, or its Service is not ' +
      'ready; `rejected`: the entry is not valid, or another agent has its name, path or address. `/agent-sources` has the reasons',
    labels: [['source', source], ['state', values.ENTRY_STATES]],
    present: 'with `agentSources`',
    read: true
  },
  agent_source_age_seconds: {
    type: 'gauge',
    help: 'Seconds since the last good reading of a source of agents.',
    labels: [['source', source]],
    present: 'with `agentSources`, after the first good reading',
    read: true
  },
  agent_source_readable: {
    type: 'gauge',
    help: '1 when the last reading of a source of agents was good, otherwise 0.',
    labels: [['source', source]],
    present: 'with `agentSources`',
    read: true
  },
  card_age_seconds: {
    type: 'gauge',
    help: 'Seconds since the gateway last loaded the current AgentCard, or the agent confirmed it.',
    labels: [['agent', served]],
    present: 'for each agent with a card',
    read: true,
    merged: 'first'
  },
  card_max_stale_seconds: {
    type: 'gauge',
    help: 'Age at which the gateway stops using an unconfirmed AgentCard: card.maxStale.',
    labels: [['agent', served]],
    present: 'for each agent',
    read: true,
    merged: 'first'
  },
  card_usable: {
    type: 'gauge',
    help: 'Whether the gateway has a usable AgentCard (1), or rejects calls or forwards them without checks (0).',
    more: 'It forwards them with `card.onUnavailable: forward`',
    labels: [['agent', served]],
    present: 'for each agent',
    read: true,
    merged: 'first'
  },
  cards_held: {
    type: 'gauge',
    help: 'Whether a new or changed AgentCard waits until somebody agrees (1) or not (0).',
    more: 'The agreed card stays in use. Without an agreed card, `card_usable` is 0',
    labels: [['agent', served]],
    present: 'for each agent with `card.changes: hold`',
    read: true,
    merged: 'first'
  },
  card_refreshes_total: {
    type: 'counter',
    help: 'Attempts to refresh an AgentCard.',
    more: '`held`: the card waits for an agreement (`card.changes: hold`)',
    labels: [['agent', served], ['outcome', values.CARD_OUTCOMES]]
  },
  card_signatures_total: {
    type: 'counter',
    help: 'Cards whose signatures were verified, by result.',
    more: 'Only with `card.verify`; each load verifies the card of each version. `partial`: the signature covers only the members that ' +
      'A2A 1.0 defines; `unavailable`: the keys could not be fetched',
    labels: [['agent', served], ['outcome', SIGNATURE_OUTCOMES]]
  },
  config_reloads_total: {
    type: 'counter',
    help: 'Attempts to reload the configuration.',
    more: '`invalid`: the last good configuration stays in use',
    labels: [['outcome', values.RELOAD_OUTCOMES]],
    present: 'from the start, for both outcomes'
  },
  config_last_reload_successful: {
    type: 'gauge',
    help: 'Whether the last reload of the configuration succeeded (1), or an earlier configuration stays in use (0).',
    labels: [],
    present: 'from the start',
    merged: 'first'
  },
  config_info: {
    type: 'gauge',
    help: 'Always 1; hash identifies the current configuration.',
    labels: [['hash', 'digest of the loaded configuration; one sample']],
    present: 'from the start',
    read: true,
    merged: 'first'
  },
  build_info: {
    type: 'gauge',
    help: 'Always 1; version of the gateway and of Node.',
    labels: [['version', 'version of the gateway'], ['node', 'version of Node, such as `v24.1.0`']],
    present: 'from the start',
    read: true,
    merged: 'first'
  },
  upstream_errors_total: {
    type: 'counter',
    help: 'Calls to the agent that failed below HTTP, by kind.',
    more: 'The error that the client gets for each kind: [when the agent fails](../how-to/run.md#when-the-agent-fails)',
    labels: [['agent', served], ['kind', values.FAILURE_KINDS]]
  },
  task_lookups_total: {
    type: 'counter',
    help: 'Lookups of the tasks that requests name, by result.',
    more: 'Only if a policy follows tasks. `unavailable`: the store did not respond',
    labels: [['agent', served], ['outcome', values.LOOKUP_OUTCOMES]]
  },
  task_writes_total: {
    type: 'counter',
    help: 'Writes of task state to the store, by result.',
    labels: [['agent', served], ['outcome', values.WRITE_OUTCOMES]]
  },
  access_decisions_total: {
    type: 'counter',
    help: 'Decisions of the access lists, by the entry that decided.',
    more: 'Only for agents with `access.allow` or `access.deny`. With `observe`, `deny` counts requests that `enforce` would reject',
    labels: [
      ['agent', served],
      ['rule', 'id of the entry; `none` if there is no `allow`, or no entry of it matches'],
      ['decision', values.ACCESS_DECISIONS],
      ['mode', values.VIOLATION_MODES]
    ]
  },
  paused_requests_total: {
    type: 'counter',
    help: 'Requests that wait for a person, by what happened to them.',
    more: 'Only if a rule has `pause`. A request is `paused` each time that a rule asks for it; `resumed` counts evidence, whether or ' +
      'not another rule rejects the request then',
    labels: [['agent', served], ['outcome', values.PAUSE_OUTCOMES]]
  },
  unique_claims_total: {
    type: 'counter',
    help: 'Values that must be unique, by result.',
    more: 'Only if a rule has `unique`. `unavailable`: the store did not respond, or its memory is full; `onUnknown` of the rule decides',
    labels: [['agent', served], ['outcome', values.CLAIM_OUTCOMES]]
  },
  task_owner_checks_total: {
    type: 'counter',
    help: 'Calls that name tasks or contexts, by the owner.',
    more: 'Only with `access.tasks`. `mismatch`: a task or context of another caller; also an agent that responds with one. `unknown`: ' +
      'the store knows no owner. `unavailable`: the store did not respond. `shared`: the caller may use all tasks',
    labels: [['agent', served], ['outcome', values.OWNER_OUTCOMES]]
  },
  push_urls_total: {
    type: 'counter',
    help: 'URLs for push notifications that requests set, by decision.',
    more: 'Only with `push`. `observe`: forwarded, although `push.mode: enforce` would reject it. URLs of requests that something else ' +
      'rejects are not counted',
    labels: [['agent', served], ['decision', values.PUSH_DECISIONS]]
  },
  tasks_remembered: {
    type: 'gauge',
    help: 'Tasks that this process remembers.',
    labels: [],
    present: 'unless a server is the `state.store`',
    read: true
  },
  held_bytes: { type: 'gauge', help: 'Bytes of the bodies of calls in flight.', labels: [], present: 'from the start', read: true },
  held_limit_bytes: {
    type: 'gauge',
    help: 'Maximum of held bytes: limits.memory of each process.',
    more: 'Multiplied by the number of processes',
    labels: [],
    present: 'from the start',
    read: true
  },
  heap_limit_bytes: {
    type: 'gauge',
    help: "Maximum size of Node's heap.",
    more: '`nodejs_heap_size_used_bytes` is the used size',
    labels: [],
    present: 'from the start',
    read: true
  },
  memory_limit_bytes: {
    type: 'gauge',
    help: 'Memory limit of all processes together, if a container sets one.',
    labels: [],
    present: 'only if there is a limit',
    read: true,
    merged: 'first'
  },
  trace_spans_lost_total: {
    type: 'counter',
    help: 'Spans lost because the collector, or the reader of span lines, did not accept them, or because the queue was full.',
    labels: [],
    present: 'from the start'
  },
  audit_lines_lost_total: {
    type: 'counter',
    help: 'Audit lines lost because stdout could not be written: its reader is too slow or gone, or the disk is full.',
    labels: [],
    present: 'from the start'
  },
  log_lines_lost_total: {
    type: 'counter',
    help: 'Log lines lost because stdout could not be written: its reader is too slow or gone, or the disk is full.',
    labels: [],
    present: 'from the start'
  },
  log_records_lost_total: {
    type: 'counter',
    help: 'Log lines and audit lines that did not reach the log collector: it did not accept them, or the queue was full.',
    more: 'Only with `OTEL_LOGS_EXPORTER=otlp`. The lines are on stdout all the same',
    labels: [],
    present: 'from the start'
  },
  observed_total: {
    type: 'counter',
    help: 'Counters that policies define on data of responses.',
    more: '`type: counter` of `observe.metrics`',
    labels: [['agent', served], ['extension', extension], ['metric', metric], ['by', by]],
    quota: 'extensions'
  },
  observed_value: {
    type: 'gauge',
    help: 'Gauges that policies define on data of responses, with the last value.',
    more: '`type: gauge` of `observe.metrics`',
    labels: [['agent', served], ['extension', extension], ['metric', metric], ['by', by]],
    merged: 'max',
    quota: 'extensions'
  },
  answers_unread_total: {
    type: 'counter',
    help: 'Responses with rules that the gateway could not read, by reason.',
    more: 'Each event of a stream counts as a response',
    labels: [['agent', served], ['reason', values.UNREAD_REASONS]]
  },
  workers: {
    type: 'gauge',
    help: 'Serving worker processes.',
    labels: [],
    present: 'with `server.workers` above 1',
    read: true,
    process: 'primary'
  },
  worker_restarts_total: {
    type: 'counter',
    help: 'Worker processes started to replace one that ended.',
    labels: [],
    present: 'with `server.workers` above 1',
    read: true,
    process: 'primary'
  }
} as const satisfies Readonly<Record<string, MetricDefinition>>

export type MetricName = keyof typeof METRICS
type Definitions = typeof METRICS

/** Metrics of one type that are counted, and not read. */
type CountedName<Type extends MetricDefinition['type']> = Exclude<
  { [Name in MetricName]: Definitions[Name] extends { readonly type: Type } ? Name : never }[MetricName],
  ReadName
>
export type CounterName = CountedName<'counter'>
export type GaugeName = CountedName<'gauge'>
export type HistogramName = CountedName<'histogram'>
/** Metrics that are read at each scrape. */
export type ReadName = { [Name in MetricName]: Definitions[Name] extends { readonly read: true } ? Name : never }[MetricName]

type ValuesOf<Labels extends MetricDefinition['labels']> = {
  readonly [I in keyof Labels]: Labels[I] extends readonly [string, readonly (infer Value)[]] ? Value : string
}
/** The values of the labels of a metric, one for each label, in the order of the table. */
export type LabelsOf<Name extends MetricName> = ValuesOf<Definitions[Name]['labels']>

/** Returns the definition of a metric by its name. */
export function definitionOf (name: MetricName): MetricDefinition {
  return METRICS[name]
}

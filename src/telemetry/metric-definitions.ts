/**
 * What there is to measure: every metric of the gateway with its labels, and what their values may be. Metrics are made of this table, and docs/metrics.md
 * is written from it.
 */
import type { Operation } from '../a2a/operations.js'

/** Where the values of a label come from: a closed set, or words that say what bounds them. */
export type LabelValues = readonly string[] | string

export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** The help of the exposition: one sentence. */
  readonly help: string
  /** What else a reader of its numbers must know, for the documentation. Markdown. */
  readonly more?: string
  /** In the order in which they are given. */
  readonly labels: Readonly<Record<string, LabelValues>>
  /** Upper bounds, of histograms. */
  readonly buckets?: readonly number[]
  /** When there is a sample at all, where that is not once something has been counted. */
  readonly present?: string
}

/** How a request ended. */
export const OUTCOMES = ['forwarded', 'rejected', 'client_aborted', 'upstream_error', 'gateway_error'] as const
/** Why a connection of a client brought no request, or was given up. */
export const CLIENT_ERRORS = ['header_overflow', 'malformed', 'timeout', 'other', 'dropped', 'write_timeout'] as const
export const PHASES = ['request', 'response', 'card'] as const
export const VIOLATION_MODES = ['enforce', 'observe'] as const
export const SOURCES = ['client', 'gateway'] as const
export const ECHOES = ['confirmed', 'absent', 'unexpected'] as const
export const CARD_OUTCOMES = ['changed', 'unchanged', 'not_modified', 'invalid', 'unreachable'] as const
export const RELOAD_OUTCOMES = ['ok', 'invalid'] as const
export const LOOKUP_OUTCOMES = ['known', 'unknown', 'unavailable'] as const
export const WRITE_OUTCOMES = ['kept', 'lost'] as const
export const UNREAD_REASONS = ['too_large', 'no_memory', 'encoding', 'content_type', 'malformed'] as const
export const FAILURE_KINDS = [
  'refused', 'dns', 'connect_timeout', 'tls', 'reset', 'headers_timeout', 'body_timeout', 'queue_timeout', 'total_timeout', 'protocol', 'too_large', 'redirect', 'resources', 'other'
] as const

/** Operations of A2A, and what else a request can be for. An operation without an entry does not compile. */
const OPERATIONS: Readonly<Record<Operation | 'AgentCard' | 'Passthrough' | 'Preflight', true>> = {
  SendMessage: true,
  SendStreamingMessage: true,
  GetTask: true,
  ListTasks: true,
  CancelTask: true,
  SubscribeToTask: true,
  CreateTaskPushNotificationConfig: true,
  GetTaskPushNotificationConfig: true,
  ListTaskPushNotificationConfigs: true,
  DeleteTaskPushNotificationConfig: true,
  GetExtendedAgentCard: true,
  AgentCard: true,
  Passthrough: true,
  Preflight: true,
  Extension: true,
  Other: true
}

/** Seconds: 1 ms to 2 min, for calls that may stream. */
const REQUEST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120]
/** Seconds: 10 µs to 50 ms, for the gateway's own decision. */
export const DECISION_BUCKETS = [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05]

const agent = 'name of the agent in the configuration; `other` where the address is of none'
const served = 'name of the agent in the configuration'
const operation = Object.keys(OPERATIONS)
const extension = 'name of the policy; the URI in the card where there is none; 256 at most, then `other`'
const rule = 'id of the rule, of the policy or built in'
const metric = 'name in the policy\'s `observe.metrics`'
const by = 'value of the answer that the policy divides by, one of those it lists or `other`; empty where it does not'

/** Names without the prefix `a2a_gateway_`. */
export const METRICS = {
  requests_total: {
    type: 'counter',
    help: 'Requests by how they ended.',
    more: '`rejected`: by the gateway; `client_aborted`: the client left; `upstream_error`: the agent failed; `gateway_error`: no card, or a fault of the gateway',
    labels: { agent, operation, binding: ['JSONRPC', 'HTTP+JSON'], version: ['0.3', '1.0'], outcome: OUTCOMES }
  },
  request_duration_seconds: {
    type: 'histogram',
    help: 'Seconds from the request head to the end of the answer; for a stream, its whole life.',
    labels: { agent, operation, outcome: OUTCOMES },
    buckets: REQUEST_BUCKETS
  },
  decision_duration_seconds: {
    type: 'histogram',
    help: 'Seconds the gateway took to scan, parse and decide on a request.',
    more: 'What it adds to a call, but for the network and what is done with the answer',
    labels: { agent: served },
    buckets: DECISION_BUCKETS
  },
  upstream_duration_seconds: {
    type: 'histogram',
    help: 'Seconds from dialling the agent to the headers of its answer.',
    labels: { agent: served, operation },
    buckets: REQUEST_BUCKETS
  },
  violations_total: {
    type: 'counter',
    help: 'Broken rules, whether request or answer was refused (enforce) or let through (observe).',
    more: '`mode="observe"` also where what breaks the rule was removed',
    labels: { agent: served, extension, rule, phase: PHASES, mode: VIOLATION_MODES }
  },
  activations_total: {
    type: 'counter',
    help: 'Extensions asked for, by who asked and whether the answer proves them active.',
    more: 'Each once per call, at its end. `source="gateway"`: injected. `confirmed`: by the header, by `extensions` of what the agent sent, or by the extension\'s data; `unexpected`: not asked for, under `source="client"`',
    labels: { agent: served, extension, source: SOURCES, echo: ECHOES }
  },
  refusals_total: {
    type: 'counter',
    help: 'Requests and answers that the gateway refused, by rule as in the header gateway-decision.',
    more: 'Failures of the agent that it answered for too',
    labels: { agent, rule: '`gateway/…` of the [gateway\'s own](refusals.md), else `policy/rule`; 1024 of policies at most, then `other`' }
  },
  client_errors_total: {
    type: 'counter',
    help: 'Connections of clients that brought no request, or were given up, by why.',
    more: '`dropped`: more than `limits.connections`; `write_timeout`: took nothing for `limits.writeTimeout`. Clients that leave by themselves are not counted',
    labels: { kind: CLIENT_ERRORS }
  },
  requests_active: {
    type: 'gauge',
    help: 'Calls under way, other than streams.',
    more: 'What `concurrency.requests` bounds',
    labels: { agent: served },
    present: 'for each agent there is'
  },
  requests_limit: {
    type: 'gauge',
    help: 'Calls that an agent may have under way, other than streams: concurrency.requests of each process.',
    more: 'Times the processes',
    labels: { agent: served },
    present: 'for each agent there is'
  },
  streams_active: { type: 'gauge', help: 'Streams open now.', labels: { agent: served } },
  streams_limit: {
    type: 'gauge',
    help: 'Streams that an agent may have open: concurrency.streams of each process.',
    more: 'Times the processes',
    labels: { agent: served },
    present: 'for each agent there is'
  },
  stream_events_total: { type: 'counter', help: 'Server-sent events relayed.', labels: { agent: served } },
  card_age_seconds: {
    type: 'gauge',
    help: 'Seconds since the AgentCard in force was last read from the agent, or confirmed by it.',
    labels: { agent: served },
    present: 'for each agent that has a card'
  },
  card_max_stale_seconds: {
    type: 'gauge',
    help: 'Age at which an AgentCard that nobody confirms is not used any more: card.maxStale.',
    labels: { agent: served },
    present: 'for each agent there is'
  },
  card_usable: {
    type: 'gauge',
    help: 'Whether there is an AgentCard to decide by (1), or calls are refused or pass uninspected (0).',
    more: 'Uninspected with `card.onUnavailable: forward`',
    labels: { agent: served },
    present: 'for each agent there is'
  },
  card_refreshes_total: {
    type: 'counter',
    help: 'Attempts to read an AgentCard again.',
    labels: { agent: served, outcome: CARD_OUTCOMES }
  },
  config_reloads_total: {
    type: 'counter',
    help: 'Attempts to load the configuration again.',
    more: '`invalid`: the last good one stays in force',
    labels: { outcome: RELOAD_OUTCOMES },
    present: 'from the start, both'
  },
  config_last_reload_successful: {
    type: 'gauge',
    help: 'Whether the last attempt to load the configuration again went well (1), or an earlier one stays in force (0).',
    labels: {},
    present: 'from the start'
  },
  config_info: {
    type: 'gauge',
    help: 'Always 1; hash names the configuration in force.',
    labels: { hash: 'digest of the configuration that was loaded last; one sample' },
    present: 'from the start'
  },
  build_info: {
    type: 'gauge',
    help: 'Always 1; version of the gateway, and of the Node it runs on.',
    labels: { version: 'of the gateway', node: 'of Node, such as `v24.1.0`' },
    present: 'from the start'
  },
  upstream_errors_total: {
    type: 'counter',
    help: 'Calls to the agent that failed below HTTP, by kind.',
    more: 'What the caller gets for each: [when the agent fails](running.md#when-the-agent-fails)',
    labels: { agent: served, kind: FAILURE_KINDS }
  },
  task_lookups_total: {
    type: 'counter',
    help: 'Tasks that requests named, by whether the store knew them.',
    more: 'Only where a policy follows tasks. `unavailable`: the store did not answer',
    labels: { agent: served, outcome: LOOKUP_OUTCOMES }
  },
  task_writes_total: {
    type: 'counter',
    help: 'What was to be remembered of tasks, by whether the store kept it.',
    labels: { agent: served, outcome: WRITE_OUTCOMES }
  },
  tasks_remembered: {
    type: 'gauge',
    help: 'Tasks remembered in this process.',
    labels: {},
    present: 'unless a server is the `state.store`'
  },
  held_bytes: { type: 'gauge', help: 'Bytes of bodies that calls under way hold.', labels: {}, present: 'from the start' },
  held_limit_bytes: {
    type: 'gauge',
    help: 'How many they may hold: limits.memory of each process.',
    more: 'Times the processes',
    labels: {},
    present: 'from the start'
  },
  heap_limit_bytes: {
    type: 'gauge',
    help: 'Size that the heap of Node may reach.',
    more: '`nodejs_heap_size_used_bytes` is what it has',
    labels: {},
    present: 'from the start'
  },
  memory_limit_bytes: {
    type: 'gauge',
    help: 'Memory that all processes may have together, where a container bounds it.',
    labels: {},
    present: 'only where something bounds it'
  },
  trace_spans_lost_total: { type: 'counter', help: 'Spans that were not taken, by the collector or by who reads them as lines, or that found no room to wait for it.', labels: {}, present: 'from the start' },
  audit_lines_lost_total: {
    type: 'counter',
    help: 'Audit lines that were dropped because what reads them was too slow.',
    more: 'Or is gone',
    labels: {},
    present: 'from the start'
  },
  observed_total: {
    type: 'counter',
    help: 'What policies count in answers.',
    more: '`type: counter` of `observe.metrics`',
    labels: { agent: served, extension, metric, by }
  },
  observed_value: {
    type: 'gauge',
    help: 'The last value of what policies watch in answers.',
    more: '`type: gauge` of `observe.metrics`',
    labels: { agent: served, extension, metric, by }
  },
  answers_unread_total: {
    type: 'counter',
    help: 'Answers that policies look at and that could not be read, by why.',
    more: 'Each event of a stream is an answer',
    labels: { agent: served, reason: UNREAD_REASONS }
  },
  workers: {
    type: 'gauge',
    help: 'Worker processes that serve now.',
    labels: {},
    present: 'with `server.workers` above 1'
  },
  worker_restarts_total: {
    type: 'counter',
    help: 'Worker processes started in the place of one that ended.',
    labels: {},
    present: 'with `server.workers` above 1'
  }
} as const satisfies Readonly<Record<string, MetricDefinition>>

export type MetricName = keyof typeof METRICS

/** One of the table, by name. */
export function definitionOf (name: MetricName): MetricDefinition {
  return METRICS[name]
}

/** The dashboard for Grafana: the questions of an operator about a gateway, from left to right and from top to bottom. */
import type { Row } from './grafana-kit.js'
import { dashboardText, heatmap, lines, stacked, stat, states, table } from './grafana-kit.js'
import { publicPage } from './public-address.js'

/** Selector for metrics with the label `agent`. */
const ONE = 'job=~"$job",instance=~"$instance",agent=~"$agent"'
/** Selector for metrics without the label `agent`. */
const ALL = 'job=~"$job",instance=~"$instance"'
/** Restricts Node's own metrics to gateways. */
const OURS = `and on (job, instance) a2a_gateway_build_info{${ALL}}`
const STREAMING = 'operation=~"SendStreamingMessage|SubscribeToTask"'
const WHOLE = 'operation!~"SendStreamingMessage|SubscribeToTask"'
/** Calls whose response was forwarded to its end. */
const FORWARDED = 'outcome=~"forwarded|agent_error"'

const rate = (metric: string, labels: string, by: string): string =>
  `sum by (${by}) (rate(a2a_gateway_${metric}{${labels}}[$__rate_interval]))`
const share = (outcome: string, by = ''): string => {
  const all = `sum${by} (rate(a2a_gateway_requests_total{${ONE}}[$__rate_interval]))`
  return `(sum${by} (rate(a2a_gateway_requests_total{${ONE},outcome="${outcome}"}[$__rate_interval])) or ${all} * 0) / ${all}`
}
const quantile = (q: number, metric: string, labels: string, by: string): string =>
  `histogram_quantile(${q}, ${rate(`${metric}_bucket`, labels, by)})`
const quantiles = (metric: string, labels: string): [string, string][] =>
  [0.5, 0.95, 0.99].map(q => [quantile(q, metric, labels, 'le'), `p${q * 100}`])

const overview: Row = {
  title: 'Overview',
  panels: [
    stat({
      title: 'Gateways',
      about: 'Scraped processes, or groups of workers.',
      unit: 'short',
      queries: [[`count(a2a_gateway_build_info{${ALL}})`, '']]
    }),
    stat({
      title: 'Agents without card',
      about: 'Their calls are rejected, or pass without checks.',
      unit: 'short',
      limits: [1, 1],
      queries: [[`count(a2a_gateway_card_usable{${ONE}} == 0) or vector(0)`, '']]
    }),
    stat({
      title: 'Old configurations',
      about: 'Gateways whose last reload has failed.',
      unit: 'short',
      limits: [1, 1],
      queries: [[`count(a2a_gateway_config_last_reload_successful{${ALL}} == 0) or vector(0)`, '']]
    }),
    stat({
      title: 'Calls',
      about: 'Calls per second, with any outcome.',
      unit: 'reqps',
      queries: [[`sum(rate(a2a_gateway_requests_total{${ONE}}[$__rate_interval]))`, '']]
    }),
    stat({
      title: 'Refused',
      about: 'Share of calls that the gateway rejected.',
      unit: 'percentunit',
      limits: [0.1, 0.5],
      queries: [[share('rejected'), '']]
    }),
    stat({
      title: 'Failed at the agent',
      about: 'Share of calls that failed below HTTP.',
      unit: 'percentunit',
      limits: [0.05, 0.5],
      queries: [[share('upstream_error'), '']]
    }),
    stat({
      title: 'Error responses',
      about: 'Share of calls to which the agent responded with an HTTP error or a JSON-RPC error.',
      unit: 'percentunit',
      limits: [0.1, 0.5],
      queries: [[share('agent_error'), '']]
    }),
    stat({
      title: 'Decision, p99',
      about: 'Time to read and evaluate a request.',
      unit: 's',
      limits: [0.01, 0.05],
      queries: [[quantile(0.99, 'decision_duration_seconds', ONE, 'le'), '']]
    }),
    stat({ title: 'Streams', about: 'Currently open.', unit: 'short', queries: [[`sum(a2a_gateway_streams_active{${ONE}})`, '']] })
  ]
}

const traffic: Row = {
  title: 'Traffic',
  panels: [
    stacked({
      title: 'Calls by outcome',
      about:
        'forwarded; agent_error: the agent responded with an error; rejected by the gateway; client_aborted; upstream_error: no usable response, or no card; gateway_error: a shutdown, or an internal error.',
      unit: 'reqps',
      queries: [[rate('requests_total', ONE, 'outcome'), '{{outcome}}']]
    }),
    stacked({
      title: 'Calls by agent',
      about: 'All calls, including rejected ones.',
      unit: 'reqps',
      queries: [[rate('requests_total', ONE, 'agent'), '{{agent}}']]
    }),
    stacked({
      title: 'Calls by operation and version',
      about: 'Binding and A2A version of the clients.',
      unit: 'reqps',
      queries: [[rate('requests_total', ONE, 'operation, binding, version'), '{{operation}} {{binding}} {{version}}']]
    }),
    stacked({
      title: 'gRPC by status',
      about: 'Status that clients of the binding GRPC got, from the agent or the gateway. Empty without server.grpc.',
      unit: 'reqps',
      queries: [[rate('grpc_responses_total', ONE, 'status'), '{{status}}']]
    }),
    lines({
      title: 'Duration of calls',
      about: 'From the head of the request to the end of the response, without streams. Includes the time of the agent.',
      unit: 's',
      queries: quantiles('request_duration_seconds', `${ONE},${WHOLE}`)
    }),
    lines({
      title: 'The agent, p95',
      about: 'From calling the agent to the headers of its response.',
      unit: 's',
      queries: [[quantile(0.95, 'upstream_duration_seconds', ONE, 'agent, le'), '{{agent}}']]
    }),
    lines({
      title: 'Share of error responses, by agent',
      about: 'HTTP status of 400 or more, or JSON-RPC error. Includes errors that clients provoke, such as an unknown task.',
      unit: 'percentunit',
      max: 1,
      queries: [[share('agent_error', ' by (agent)'), '{{agent}}']]
    }),
    lines({
      title: 'Failures of agents',
      about: 'Below HTTP, by kind. docs/how-to/run.md describes each kind.',
      unit: 'reqps',
      queries: [[rate('upstream_errors_total', ONE, 'agent, kind'), '{{agent}} {{kind}}']]
    })
  ]
}

const decisions: Row = {
  title: 'Decisions',
  panels: [
    lines({
      title: 'Share rejected, by agent',
      about: 'A jump means that a client, a card or a policy has changed.',
      unit: 'percentunit',
      max: 1,
      queries: [[share('rejected', ' by (agent)'), '{{agent}}']]
    }),
    stacked({
      title: 'Rejections by rule',
      about: 'As in the header gateway-decision. Rules of the gateway itself begin with gateway/.',
      unit: 'reqps',
      queries: [[rate('refusals_total', ONE, 'rule'), '{{rule}}']]
    }),
    stacked({
      title: 'Rejected for load',
      about: 'Rejected because a limit is reached. Healthy: none.',
      unit: 'reqps',
      queries: [
        [
          rate(
            'refusals_total',
            `${ONE},rule=~"gateway/(overloaded|too-many-requests|too-many-streams|memory|response-memory|upstream-queue-timeout)"`,
            'agent, rule'
          ),
          '{{agent}} {{rule}}'
        ]
      ]
    })
  ]
}

const violations: Row = {
  title: 'Violations, by extension and rule',
  panels: [
    stacked({
      title: 'Enforced',
      about: 'Violations for which a request or response was rejected.',
      unit: 'reqps',
      queries: [[rate('violations_total', `${ONE},mode="enforce"`, 'extension, rule'), '{{extension}} {{rule}}']]
    }),
    stacked({
      title: 'Observed',
      about: 'Violations that would be rejected in mode enforce, and data of extensions that no rule looked at.',
      unit: 'reqps',
      queries: [
        [rate('violations_total', `${ONE},mode="observe"`, 'extension, rule'), '{{extension}} {{rule}}'],
        [rate('unexamined_data_total', ONE, 'extension'), '{{extension}}: no rule']
      ]
    }),
    stacked({
      title: 'By phase',
      about: 'request: by clients. response: by agents. card: rules for cards, once per card.',
      unit: 'reqps',
      queries: [[rate('violations_total', ONE, 'phase'), '{{phase}}']]
    }),
    table({
      title: 'Most broken',
      about: 'In the selected time range.',
      unit: 'short',
      width: 16,
      queries: [
        [`topk(25, sum by (agent, extension, rule, phase, mode) (increase(a2a_gateway_violations_total{${ONE}}[$__range])) > 0)`, '']
      ]
    }),
    lines({
      title: 'Responses that could not be read',
      about: 'Not validated, because they are too large, compressed, or not JSON.',
      unit: 'reqps',
      queries: [[rate('answers_unread_total', ONE, 'agent, reason'), '{{agent}} {{reason}}']]
    })
  ]
}

const activation: Row = {
  title: 'Activation truth',
  panels: [
    stacked({
      title: 'Requested by clients',
      about:
        'confirmed: the response proves the extension active. absent: no proof in the response. unexpected: active, but not requested.',
      unit: 'reqps',
      queries: [[rate('activations_total', `${ONE},source="client"`, 'echo'), '{{echo}}']]
    }),
    stacked({
      title: 'Requested by the gateway',
      about: 'For clients that did not request them.',
      unit: 'reqps',
      queries: [[rate('activations_total', `${ONE},source="gateway"`, 'echo'), '{{echo}}']]
    }),
    table({
      title: 'By extension',
      about: 'In the selected time range.',
      unit: 'short',
      width: 8,
      queries: [[`sum by (extension, source, echo) (increase(a2a_gateway_activations_total{${ONE}}[$__range])) > 0`, '']]
    })
  ]
}

const latency: Row = {
  title: 'Latency added by the gateway',
  panels: [
    lines({
      title: 'Decision',
      about: 'Time to read, parse and evaluate a request.',
      unit: 's',
      queries: quantiles('decision_duration_seconds', ONE)
    }),
    lines({
      title: 'Decision by agent, p99',
      about: 'An agent with high values has large bodies or expensive schemas.',
      unit: 's',
      queries: [[quantile(0.99, 'decision_duration_seconds', ONE, 'agent, le'), '{{agent}}']]
    }),
    heatmap({
      title: 'Decisions',
      about: 'Distribution of the times.',
      unit: 's',
      queries: [[rate('decision_duration_seconds_bucket', ONE, 'le'), '{{le}}']]
    }),
    lines({
      title: 'Not spent waiting for the agent, on average',
      about:
        'Duration of forwarded calls minus the time to the headers of the response, without streams. Includes the upload of the request and the download of the response.',
      unit: 's',
      width: 12,
      queries: [
        [
          `(${rate('request_duration_seconds_sum', `${ONE},${WHOLE},${FORWARDED}`, 'agent')} - ${rate('upstream_duration_seconds_sum', `${ONE},${WHOLE}`, 'agent')}) / ${rate('request_duration_seconds_count', `${ONE},${WHOLE},${FORWARDED}`, 'agent')}`,
          '{{agent}}'
        ]
      ]
    }),
    lines({
      title: 'Delay of the event loop',
      about: 'Every call of the process waits this long.',
      unit: 's',
      width: 12,
      limits: [0.2, 1],
      queries: [
        [`nodejs_eventloop_lag_p50_seconds{${ALL}} ${OURS}`, '{{instance}} p50'],
        [`nodejs_eventloop_lag_p99_seconds{${ALL}} ${OURS}`, '{{instance}} p99']
      ]
    })
  ]
}

const streams: Row = {
  title: 'Streams',
  panels: [
    stacked({
      title: 'Open',
      about: 'Each uses a connection to the agent.',
      unit: 'short',
      queries: [[`sum by (agent) (a2a_gateway_streams_active{${ONE}})`, '{{agent}}']]
    }),
    lines({
      title: 'Events',
      about: 'Forwarded server-sent events per second.',
      unit: 'short',
      queries: [[rate('stream_events_total', ONE, 'agent'), '{{agent}}']]
    }),
    lines({
      title: 'Ended, by duration',
      about: 'Of streaming calls; the longest bucket ends at 2 minutes.',
      unit: 's',
      queries: quantiles('request_duration_seconds', `${ONE},${STREAMING}`)
    })
  ]
}

const cards: Row = {
  title: 'Cards',
  panels: [
    states({
      title: 'Usable',
      about: 'Without a card, calls are rejected or pass without checks.',
      unit: 'short',
      queries: [[`min by (agent) (a2a_gateway_card_usable{${ONE}})`, '{{agent}}']]
    }),
    lines({
      title: 'Age, share of the maximum',
      about: 'At 100% (card.maxStale) the gateway stops using the card.',
      unit: 'percentunit',
      limits: [0.75, 1],
      queries: [[`max by (agent) (a2a_gateway_card_age_seconds{${ONE}} / (a2a_gateway_card_max_stale_seconds{${ONE}} > 0))`, '{{agent}}']]
    }),
    stacked({
      title: 'Refreshes',
      about: 'invalid: the card cannot be used. unreachable: the agent did not respond.',
      unit: 'short',
      queries: [[`sum by (agent, outcome) (increase(a2a_gateway_card_refreshes_total{${ONE}}[$__rate_interval]))`, '{{agent}} {{outcome}}']]
    }),
    lines({
      title: 'Waiting for an agreement',
      about: 'Agents whose card waits (card.changes: hold). The agreed card stays in use. a2a-gateway agents diff shows the card.',
      unit: 'short',
      queries: [[`max by (agent) (a2a_gateway_cards_held{${ONE}}) or vector(0)`, '{{agent}}']]
    }),
    stacked({
      title: 'Signatures',
      about: 'Cards that card.verify has verified. invalid, unsigned and unknown_key: no configured key has signed the card. partial: the signature does not cover all members.',
      unit: 'short',
      queries: [[`sum by (agent, outcome) (increase(a2a_gateway_card_signatures_total{${ONE}}[$__rate_interval]))`, '{{agent}} {{outcome}}']]
    })
  ]
}

const sources: Row = {
  title: 'Sources of agents',
  panels: [
    stacked({
      title: 'Entries of sources',
      about: 'admitted: agents. waiting: nobody has agreed to the entry, or its card or Service is not ready. rejected: /agent-sources has the reasons.',
      unit: 'short',
      queries: [[`max by (source, state) (a2a_gateway_agent_sources{${ALL}}) or vector(0)`, '{{source}} {{state}}']]
    }),
    lines({
      title: 'Sources that cannot be read',
      about: 'Their last good state stays in use.',
      unit: 'short',
      queries: [[`count(a2a_gateway_agent_source_readable{${ALL}} == 0) or vector(0)`, 'unreadable']]
    }),
    lines({
      title: 'Age of the last good reading',
      about: 'Sources are read again after their refresh.',
      unit: 's',
      queries: [[`max by (source) (a2a_gateway_agent_source_age_seconds{${ALL}}) or vector(0)`, '{{source}}']]
    })
  ]
}

const configuration: Row = {
  title: 'Configuration and versions',
  panels: [
    stacked({
      title: 'Reloads',
      about: 'invalid: the previous configuration stays in use.',
      unit: 'short',
      queries: [[`sum by (outcome) (increase(a2a_gateway_config_reloads_total{${ALL}}[$__rate_interval]))`, '{{outcome}}']]
    }),
    states({
      title: 'Last configuration in use',
      about: 'no: an older configuration is in use.',
      unit: 'short',
      queries: [[`a2a_gateway_config_last_reload_successful{${ALL}}`, '{{instance}}']]
    }),
    table({
      title: 'In force',
      about: 'Replicas with different hashes decide differently.',
      unit: 'short',
      width: 8,
      queries: [
        [
          `count by (job, hash, version) (a2a_gateway_config_info{${ALL}} * on (job, instance) group_left(version) a2a_gateway_build_info{${ALL}})`,
          ''
        ]
      ]
    })
  ]
}

const saturation: Row = {
  title: 'Saturation',
  panels: [
    lines({
      title: 'Processor',
      about: 'Cores. One process uses one, and a little more for garbage collection.',
      unit: 'short',
      queries: [[`rate(process_cpu_seconds_total{${ALL}}[$__rate_interval]) ${OURS}`, '{{instance}}']]
    }),
    lines({
      title: 'Memory',
      about: 'All processes together, and the limit of the container.',
      unit: 'bytes',
      queries: [
        [`process_resident_memory_bytes{${ALL}} ${OURS}`, '{{instance}}'],
        [`a2a_gateway_memory_limit_bytes{${ALL}}`, '{{instance}} limit']
      ]
    }),
    lines({
      title: 'Heap, share of the limit',
      about: 'A full heap ends the process.',
      unit: 'percentunit',
      limits: [0.85, 1],
      queries: [[`nodejs_heap_size_used_bytes{${ALL}} / on (job, instance) a2a_gateway_heap_limit_bytes{${ALL}}`, '{{instance}}']]
    }),
    lines({
      title: 'Calls in flight, share of the limit',
      about: 'concurrency.requests of each agent.',
      unit: 'percentunit',
      limits: [0.8, 1],
      queries: [[`max by (agent) (a2a_gateway_requests_active{${ONE}} / (a2a_gateway_requests_limit{${ONE}} > 0))`, '{{agent}}']]
    }),
    lines({
      title: 'Open streams, share of the limit',
      about: 'concurrency.streams of each agent.',
      unit: 'percentunit',
      limits: [0.8, 1],
      queries: [[`max by (agent) (a2a_gateway_streams_active{${ONE}} / (a2a_gateway_streams_limit{${ONE}} > 0))`, '{{agent}}']]
    }),
    lines({
      title: 'Held bodies, share of the limit',
      about: 'limits.memory.',
      unit: 'percentunit',
      limits: [0.8, 1],
      queries: [[`a2a_gateway_held_bytes{${ALL}} / (a2a_gateway_held_limit_bytes{${ALL}} > 0)`, '{{instance}}']]
    }),
    lines({
      title: 'File descriptors, share of the limit',
      about: 'Each client and each call to an agent needs one.',
      unit: 'percentunit',
      limits: [0.8, 1],
      queries: [[`process_open_fds{${ALL}} / process_max_fds{${ALL}} ${OURS}`, '{{instance}}']]
    }),
    stacked({
      title: 'Connections without a request',
      about: 'Not HTTP, too slow, too large, or beyond limits.connections (dropped).',
      unit: 'short',
      queries: [[rate('client_errors_total', ALL, 'kind'), '{{kind}}']]
    }),
    lines({
      title: 'Authentications',
      about: 'By source and outcome; only with identity.',
      unit: 'reqps',
      queries: [[rate('authentications_total', ONE, 'source, outcome'), '{{source}} {{outcome}}']]
    }),
    stacked({
      title: 'Requests beyond limits',
      about: 'Rejected with 429, by id in rates or budgets.',
      unit: 'reqps',
      queries: [[rate('rate_limited_total', ONE, 'agent, limit'), '{{agent}} {{limit}}']]
    }),
    lines({
      title: 'Counts of shared limits',
      about: 'Requests to the server that gateways share. unavailable: onStoreDown of each limit decides.',
      unit: 'reqps',
      queries: [[rate('rate_store_total', ALL, 'outcome'), '{{outcome}}']]
    }),
    lines({
      title: 'Spent budgets',
      about: 'Amounts per second, as agents report them.',
      unit: 'short',
      queries: [[rate('budget_spent_total', ALL, 'budget'), '{{budget}}']]
    }),
    lines({
      title: 'Access',
      about: 'Decisions of the access lists, by the entry that decided. none: no entry of allow matches, or there is no allow.',
      unit: 'reqps',
      queries: [[rate('access_decisions_total', ONE, 'rule, decision, mode'), '{{rule}} {{decision}} {{mode}}']]
    }),
    lines({
      title: 'Time of authentications, p99',
      about: 'By source; miss: the signature of a token was verified.',
      unit: 's',
      queries: [[quantile(0.99, 'authentication_duration_seconds', ALL, 'source, cache, le'), '{{source}} {{cache}}']]
    }),
    lines({
      title: 'Age of the keys of issuers',
      about: 'The gateway fetches keys at least once an hour; a growing age means that the issuer cannot be reached.',
      unit: 's',
      queries: [[`max by (source) (a2a_gateway_identity_keys_age_seconds{${ALL}})`, '{{source}}']]
    }),
    lines({
      title: 'Fetches of the keys of issuers',
      about: 'By source and outcome.',
      unit: 'short',
      queries: [[rate('identity_key_refreshes_total', ALL, 'source, outcome'), '{{source}} {{outcome}}']]
    }),
    lines({
      title: 'Verified access tokens in memory',
      about: 'At most 10,000 for each source in each process.',
      unit: 'short',
      queries: [[`sum by (source) (a2a_gateway_token_cache_entries{${ALL}})`, '{{source}}']]
    }),
    lines({
      title: 'Access tokens that wait for a verification',
      about: 'At most 250 in each process. A flood of forged tokens fills the queue; callers who renew a token pass before others.',
      unit: 'short',
      queries: [[`sum by (instance) (a2a_gateway_token_verifications_waiting{${ALL}})`, '{{instance}}']]
    }),
    lines({
      title: 'Credentials for agents',
      about: 'By agent, kind and outcome; only with upstream.credentials. unavailable: calls fail with 502.',
      unit: 'reqps',
      queries: [[rate('upstream_credentials_total', ONE, 'agent, kind, outcome'), '{{agent}} {{kind}} {{outcome}}']]
    }),
    lines({
      title: 'Delegated calls',
      about: 'By agent and outcome; only with access.delegation. direct and delegated pass; the other outcomes are rejections, or only observed.',
      unit: 'reqps',
      queries: [[rate('delegations_total', ONE, 'agent, outcome'), '{{agent}} {{outcome}}']]
    }),
    lines({
      title: 'Decisions of policy servers',
      about: 'By agent, rule and outcome; only with external. error: calls fail with 503. forwarded: calls pass without a decision.',
      unit: 'reqps',
      queries: [[rate('external_decisions_total', ONE, 'agent, rule, outcome'), '{{agent}} {{rule}} {{outcome}}']]
    }),
    lines({
      title: 'Wait for policy servers',
      about: 'Seconds, 99% of calls; only with external, without calls whose answers are remembered.',
      unit: 's',
      queries: [[quantile(0.99, 'external_decision_duration_seconds', ONE, 'agent, phase, le'), '{{agent}} {{phase}}']]
    }),
    lines({
      title: 'Garbage collection',
      about: 'Seconds per second.',
      unit: 'percentunit',
      queries: [[`sum by (instance) (rate(nodejs_gc_duration_seconds_sum{${ALL}}[$__rate_interval]) ${OURS})`, '{{instance}}']]
    }),
    lines({
      title: 'Workers',
      about: 'Only with server.workers above 1.',
      unit: 'short',
      queries: [
        [`a2a_gateway_workers{${ALL}}`, '{{instance}} serve'],
        [`increase(a2a_gateway_worker_restarts_total{${ALL}}[$__rate_interval])`, '{{instance}} replaced']
      ]
    }),
    lines({
      title: 'Running for',
      about: 'Since the process was started.',
      unit: 's',
      queries: [[`time() - process_start_time_seconds{${ALL}} ${OURS}`, '{{instance}}']]
    }),
    lines({
      title: 'Telemetry lost',
      about: 'Spans and log records that the collector did not accept, and lines for stdout that nobody read in time or that found no room.',
      unit: 'short',
      queries: [
        [`rate(a2a_gateway_trace_spans_lost_total{${ALL}}[$__rate_interval])`, '{{instance}} spans'],
        [`rate(a2a_gateway_audit_lines_lost_total{${ALL}}[$__rate_interval])`, '{{instance}} audit lines'],
        [`rate(a2a_gateway_log_lines_lost_total{${ALL}}[$__rate_interval])`, '{{instance}} log lines'],
        [`rate(a2a_gateway_log_records_lost_total{${ALL}}[$__rate_interval])`, '{{instance}} log records']
      ]
    }),
    lines({
      title: 'Unexpected errors',
      about: 'Errors in the code of the gateway. Each one ended one call or one connection, and has a log line. Report them.',
      unit: 'short',
      queries: [[`sum by (place) (rate(a2a_gateway_unexpected_errors_total{${ALL}}[$__rate_interval]))`, '{{place}}']]
    })
  ]
}

const tasks: Row = {
  title: 'Tasks, and what policies watch',
  panels: [
    stacked({
      title: 'Look-ups',
      about: 'Requests about tasks that may have state. unavailable: the store did not respond.',
      unit: 'reqps',
      queries: [[rate('task_lookups_total', ONE, 'outcome'), '{{outcome}}']]
    }),
    stacked({
      title: 'Writes',
      about: 'lost: the store did not accept them.',
      unit: 'reqps',
      queries: [[rate('task_writes_total', ONE, 'outcome'), '{{outcome}}']]
    }),
    stacked({
      title: 'Unique values',
      about: 'seen: a replay. unavailable: the store did not respond, or its memory is full.',
      unit: 'reqps',
      queries: [[rate('unique_claims_total', ONE, 'outcome'), '{{outcome}}']]
    }),
    stacked({
      title: 'Requests that wait for a person',
      about: 'Only with pause. paused: a rule asks. resumed, declined, canceled: how the wait ended.',
      unit: 'reqps',
      queries: [[rate('paused_requests_total', ONE, 'outcome'), '{{outcome}}']]
    }),
    lines({
      title: 'Owners of tasks',
      about: 'mismatch: callers who name tasks of others. unknown: the store has lost the owner, or the id is a guess.',
      unit: 'reqps',
      queries: [[rate('task_owner_checks_total', ONE, 'outcome'), '{{outcome}}']]
    }),
    lines({
      title: 'Push notification URLs',
      about: 'Only with push. reject: not allowed. observe: forwarded, but enforce would reject it.',
      unit: 'reqps',
      queries: [[rate('push_urls_total', ONE, 'decision'), '{{decision}}']]
    }),
    lines({
      title: 'Remembered',
      about: 'In the process; none if a server stores them.',
      unit: 'short',
      queries: [[`a2a_gateway_tasks_remembered{${ALL}}`, '{{instance}}']]
    }),
    lines({
      title: 'Counters from responses',
      about: 'observe.metrics of policies, per second.',
      unit: 'short',
      width: 12,
      queries: [[rate('observed_total', ONE, 'agent, extension, metric, by'), '{{agent}} {{extension}} {{metric}} {{by}}']]
    }),
    lines({
      title: 'Gauges from responses',
      about: 'observe.metrics of policies, of type gauge.',
      unit: 'short',
      width: 12,
      queries: [[`max by (agent, extension, metric, by) (a2a_gateway_observed_value{${ONE}})`, '{{agent}} {{extension}} {{metric}} {{by}}']]
    })
  ]
}

export function dashboard (): string {
  return dashboardText({
    uid: 'a2a-gateway',
    title: 'A2A extension gateway',
    about: 'Traffic, decisions and limits of the gateway. Alerts and their runbooks: ' + publicPage('docs/reference/alerts.md'),
    variables: [
      { name: 'job', label: 'Job', query: 'label_values(a2a_gateway_build_info, job)' },
      { name: 'instance', label: 'Gateway', query: 'label_values(a2a_gateway_build_info{job=~"$job"}, instance)' },
      { name: 'agent', label: 'Agent', query: 'label_values(a2a_gateway_card_usable{job=~"$job",instance=~"$instance"}, agent)' }
    ],
    marks: [
      {
        name: 'Configuration',
        expr: `sum by (instance, outcome) (increase(a2a_gateway_config_reloads_total{${ALL}}[$__rate_interval])) > 0`,
        text: '{{instance}}: reload, {{outcome}}'
      }
    ],
    rows: [overview, traffic, decisions, violations, activation, latency, streams, cards, sources, configuration, saturation, tasks]
  })
}

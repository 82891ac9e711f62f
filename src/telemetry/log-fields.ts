/**
 * Every field that a log line of the gateway may have, in addition to `level`, `time` and `msg`. docs/reference/logs.md is generated from
 * this table.
 */
import type { DescribedTable } from './described.js'

export const LOG_FIELDS = {
  request_id: {
    type: 'string',
    when: 'about one request',
    meaning: 'id of the process and number of its request in base 36: `1f0c9a3e-2k`; the same as in the audit line'
  },
  agent: { type: 'string', when: 'about one agent', meaning: 'its name in the configuration; `other` for a request to no agent' },
  trace_id: { type: 'string', when: '`request`, of a traced request', meaning: '32 hex digits' },
  span_id: { type: 'string', when: '`request`, if its span is sent', meaning: 'id of the SERVER span: 16 hex digits' },
  task_id: {
    type: 'string',
    when: '`request`, if it is known',
    meaning: 'id of the task in the request, or else in the response, if it was read; at most 256 characters'
  },
  context_id: { type: 'string', when: '`request`, if it is known', meaning: 'id of the context, likewise' },
  operation: { type: 'string', when: '`request`', meaning: 'as the [metrics](metrics.md) label it' },
  binding: { type: 'string', when: '`request`', meaning: '`JSONRPC`, `HTTP+JSON` or `GRPC`' },
  version: { type: 'string', when: '`request`, `listening`', meaning: 'A2A version; in `listening`, version of the gateway' },
  front: { type: 'string', when: '`request`, when a proxy of a mesh asked', meaning: '`ext_authz` or `ext_proc`' },
  status: { type: 'number', when: '`request`, unless a proxy of a mesh hid the response', meaning: 'HTTP status of the response' },
  grpc_status: { type: 'string', when: '`request`, over gRPC', meaning: 'name of the status of gRPC, such as `INVALID_ARGUMENT`' },
  outcome: {
    type: 'string',
    when: '`request`; a card cannot be loaded; the signature of a card was verified',
    meaning: 'as in `requests_total`, as in `card_refreshes_total`, or as in `card_signatures_total`'
  },
  duration_ms: { type: 'number', when: '`request`', meaning: 'milliseconds from the head of the request to the end of the response' },
  err: { type: 'object', when: 'something failed', meaning: '`type`, `message`, `code`, `cause`; `stack` from level `error` on' },
  kind: {
    type: 'string',
    when: 'the agent failed; a connection without a request',
    meaning: 'as in `upstream_errors_total`, or as in `client_errors_total`'
  },
  code: {
    type: 'string',
    when: 'a connection without a request; a problem of a rejected configuration',
    meaning: 'error code of Node, or [code of the problem](operator-errors.md)'
  },
  client: { type: 'string', when: 'a connection without a request; rejected credentials', meaning: 'address of the client' },
  caller: {
    type: 'object',
    when: '`request`, of an [authenticated](../how-to/authenticate-callers.md) caller',
    meaning: '`source`, `id`, `client`, `tenant`, `act`, as in the audit line'
  },
  access_rule: {
    type: 'string',
    when: '`request`, of an agent with [access lists](../how-to/authorize-callers.md)',
    meaning: 'id of the entry that decided, or `none`, as in the audit line'
  },
  source: {
    type: 'string',
    when: 'rejected credentials; a source of agents was read',
    meaning: 'source of `identity.sources`; `other` if several share the header; source of `agentSources`'
  },
  identifier: {
    type: 'string', when: 'an entry of a source of agents is rejected', meaning: 'the entry; at most 200 characters, as the source wrote it'
  },
  admitted: { type: 'number', when: 'a source of agents was read', meaning: 'entries that are agents' },
  waiting: {
    type: 'number', when: 'a source of agents was read', meaning: 'entries that nobody has agreed to, or whose card or Service is not ready'
  },
  rejected: { type: 'number', when: 'a source of agents was read', meaning: 'entries that cannot be agents' },
  place: { type: 'string', when: 'an unexpected error', meaning: 'part of the gateway, as in `unexpected_errors_total`' },
  omitted: {
    type: 'number',
    when: 'rejected credentials, and `request` of a rejected authentication, more than 10 in a second; unexpected errors, more than one ' +
      'in a minute at one place of the code',
    meaning: 'number of failures, or of requests, without a line; `authentications_total` and `requests_total` count all'
  },
  url: { type: 'string', when: '`listening`, with a main listener', meaning: 'URL of the main listener' },
  grpc: { type: 'list', when: '`listening`, with gRPC', meaning: 'addresses of the gRPC listeners' },
  mesh: { type: 'string', when: '`listening`, with a mesh', meaning: 'address of the listener for a mesh' },
  node: { type: 'string', when: 'a fault of this version of Node', meaning: 'version of Node, such as `v24.1.0`' },
  publicUrl: { type: 'string', when: '`listening`, with `server.publicUrl`', meaning: 'URL in the served cards' },
  certificate: {
    type: 'string',
    when: 'a certificate of `server.tls`, `server.grpc.tls` or `server.mesh.tls` is in use',
    meaning: 'its subject alternative names'
  },
  validTo: {
    type: 'string', when: 'a certificate of `server.tls`, `server.grpc.tls` or `server.mesh.tls` is in use', meaning: 'end of its validity'
  },
  admin: { type: 'string', when: '`listening`', meaning: 'URL of the admin listener' },
  metrics: { type: 'string', when: '`listening`, with `server.metrics`', meaning: 'URL of the listener for metrics and probes' },
  agents: {
    type: 'list or object',
    when: '`listening`, a reload',
    meaning: 'names of the agents; for a reload `added`, `removed` and `changed`'
  },
  workers: { type: 'number', when: '`listening` and `worker … serves`, with workers', meaning: 'the configured number' },
  hash: { type: 'string', when: 'a reload', meaning: 'hash of the configuration, as in `config_info`' },
  rules: { type: 'object', when: 'a reload', meaning: '`added`, `removed` and `changed` rules of policies, as `agent/policy/rule`' },
  modes: { type: 'list', when: 'a reload', meaning: 'changed modes, as `agent: enforce -> observe`' },
  settings: {
    type: 'list',
    when: 'a reload',
    meaning: 'changed keys outside of `agents`; or, in a separate line, the keys that need a restart'
  },
  decision_point: { type: 'string', when: 'a policy server did not answer', meaning: 'its name in `decisionPoints`' },
  problem: {
    type: 'string',
    when: 'a rejected configuration; an expired card; a worker that ended; rejected credentials; no token for an agent; a policy server ' +
      'did not answer',
    meaning: 'description of the problem; for credentials, `outcome` of `authentications_total`'
  },
  problems: { type: 'number', when: 'a rejected configuration', meaning: 'number of problems; each has a line before this one' },
  origin: { type: 'string', when: 'a card was loaded', meaning: 'URL or file of the card' },
  name: { type: 'string', when: 'a card was loaded', meaning: 'name of the agent in the card' },
  interfaces: { type: 'number', when: 'a card was loaded', meaning: 'interfaces that the gateway serves' },
  extensions: { type: 'number', when: 'a card was loaded', meaning: 'extensions that the card declares' },
  uncarried: {
    type: 'list', when: 'a card was loaded', meaning: 'interfaces omitted from the served card, such as those of other bindings'
  },
  digest: { type: 'string', when: 'a card waits for an agreement', meaning: 'digest of that card, as `agents.lock` would have it' },
  differences: { type: 'number', when: 'a card waits for an agreement', meaning: 'differences from the agreed card' },
  versions: { type: 'number', when: 'a card waits for an agreement', meaning: 'different cards that came since some card waits' },
  form: {
    type: 'string',
    when: 'the signature of a card was verified',
    meaning: 'form of the card that the signature covers: `json`, `spec`, `sdk` or `sdk-js`; null for none'
  },
  key: {
    type: 'string',
    when: 'the signature of a card was verified',
    meaning: '`kid`, or thumbprint, of the key that made the signature; null for none'
  },
  warnings: { type: 'list', when: 'a card with warnings', meaning: 'the warnings' },
  state: {
    type: 'string',
    when: 'a card cannot be loaded',
    meaning: 'state of the current card: `failed` (none yet), `stale`, `expired`'
  },
  signs: { type: 'list', when: 'calls are shed', meaning: 'exceeded limits of `shedding`' },
  eventLoopDelay: { type: 'number', when: 'calls are shed', meaning: 'milliseconds' },
  eventLoopUtilized: { type: 'number', when: 'calls are shed', meaning: '0 to 1' },
  heapUsed: { type: 'number', when: 'calls are shed', meaning: 'bytes' },
  rssBytes: { type: 'number', when: 'calls are shed', meaning: 'bytes' },
  spans_lost: {
    type: 'number',
    when: 'the trace collector',
    meaning: 'spans that the collector did not accept since it last accepted some, or that did not fit into the queue so far'
  },
  sampler: { type: 'string', when: 'an unknown `OTEL_TRACES_SAMPLER`', meaning: 'value of the variable' },
  server: { type: 'string', when: 'the store of tasks', meaning: 'host and port' },
  reason: { type: 'string', when: 'the store of tasks', meaning: 'why it cannot be used' },
  worker: { type: 'number', when: 'written by a worker', meaning: 'number of the worker' },
  of: { type: 'number', when: 'written by the primary about a worker', meaning: 'number of that worker' },
  pid: { type: 'number', when: 'a worker serves or ended', meaning: 'its process id' },
  serving: { type: 'number', when: 'a worker serves or ended', meaning: 'number of serving workers' },
  how: { type: 'string', when: 'a worker ended', meaning: 'the signal, or the exit code' }
} as const satisfies DescribedTable

/** Fields of one line. A field that is not in the table does not compile. */
export type LogFields = Readonly<Partial<Record<keyof typeof LOG_FIELDS, unknown>>>

/** Fields that every line has. */
export const LINE_FIELDS = {
  level: { type: 'string', meaning: '`fatal`, `error`, `warn`, `info`, `debug`, `trace`' },
  time: { type: 'string', meaning: 'ISO 8601, UTC, milliseconds' },
  msg: { type: 'string', meaning: 'the message; words in `code` below refer to lines with this message' }
} as const satisfies DescribedTable

/** Every field that a log line of ours may have, beside `level`, `time` and `msg`. docs/logs.md is written from it. */
import type { DescribedTable } from './described.js'

export const LOG_FIELDS = {
  request_id: { type: 'string', when: 'about one request', meaning: 'of the process, and the number of the request in it in base 36: `1f0c9a3e-2k`; the same in the audit line' },
  agent: { type: 'string', when: 'about one agent', meaning: 'its name in the configuration; `other` where a request was for none' },
  trace_id: { type: 'string', when: '`request`, of a traced request', meaning: '32 hex digits' },
  operation: { type: 'string', when: '`request`', meaning: 'as the [metrics](metrics.md) label it' },
  binding: { type: 'string', when: '`request`', meaning: '`JSONRPC` or `HTTP+JSON`' },
  version: { type: 'string', when: '`request`, `listening`', meaning: 'of A2A; in `listening`, of the gateway' },
  status: { type: 'number', when: '`request`', meaning: 'HTTP status of the answer' },
  outcome: { type: 'string', when: '`request`; a card that cannot be had', meaning: 'as in `requests_total`, or as in `card_refreshes_total`' },
  duration_ms: { type: 'number', when: '`request`', meaning: 'from the request\'s head to the end of the answer, milliseconds' },
  err: { type: 'object', when: 'something failed', meaning: '`type`, `message`, `code`, `cause`; `stack` from level `error` on' },
  kind: { type: 'string', when: 'the agent failed; a connection without a request', meaning: 'as in `upstream_errors_total`, or as in `client_errors_total`' },
  code: { type: 'string', when: 'a connection without a request', meaning: 'Node\'s code of the error' },
  client: { type: 'string', when: 'a connection without a request', meaning: 'address of the client' },
  url: { type: 'string', when: '`listening`', meaning: 'of the main listener' },
  publicUrl: { type: 'string', when: '`listening`', meaning: 'where served cards point to' },
  admin: { type: 'string', when: '`listening`', meaning: 'URL of the admin listener' },
  agents: { type: 'list or object', when: '`listening`, a reload', meaning: 'names of the agents; of a reload `added`, `removed` and `changed`' },
  workers: { type: 'number', when: '`listening` and `worker … serves`, with workers', meaning: 'how many are wanted' },
  hash: { type: 'string', when: 'a reload', meaning: 'of the configuration, as in `config_info`' },
  rules: { type: 'object', when: 'a reload', meaning: '`added`, `removed` and `changed` rules of policies, as `agent/policy/rule`' },
  modes: { type: 'list', when: 'a reload', meaning: 'modes that changed, as `agent: enforce -> observe`' },
  settings: { type: 'list', when: 'a reload', meaning: 'keys outside the agents that changed; or, in a line of its own, those that need a restart' },
  problem: { type: 'string', when: 'a configuration that is refused; a card that has expired; a worker that ended', meaning: 'what is wrong, in words' },
  problems: { type: 'number', when: 'a configuration that is refused', meaning: 'how many there are; each has a line before this one' },
  origin: { type: 'string', when: 'a card was loaded', meaning: 'URL or file that it came from' },
  name: { type: 'string', when: 'a card was loaded', meaning: 'that the card gives the agent' },
  interfaces: { type: 'number', when: 'a card was loaded', meaning: 'interfaces that the gateway serves' },
  extensions: { type: 'number', when: 'a card was loaded', meaning: 'extensions that the card declares' },
  uncarried: { type: 'list', when: 'a card was loaded', meaning: 'interfaces left out of the served card, such as gRPC' },
  warnings: { type: 'list', when: 'a card with oddities', meaning: 'them, in words' },
  state: { type: 'string', when: 'a card that cannot be had', meaning: 'what is in force meanwhile: `failed` (none yet), `stale`, `expired`' },
  signs: { type: 'list', when: 'calls are shed', meaning: 'limits of `shedding` that are exceeded' },
  eventLoopDelay: { type: 'number', when: 'calls are shed', meaning: 'milliseconds' },
  eventLoopUtilized: { type: 'number', when: 'calls are shed', meaning: '0 to 1' },
  heapUsed: { type: 'number', when: 'calls are shed', meaning: 'bytes' },
  rssBytes: { type: 'number', when: 'calls are shed', meaning: 'bytes' },
  spans_lost: { type: 'number', when: 'the trace collector', meaning: 'spans it did not take since it last took some, or that found no room to wait since that was last said' },
  sampler: { type: 'string', when: 'an unknown `OTEL_TRACES_SAMPLER`', meaning: 'what the variable says' },
  server: { type: 'string', when: 'the store of tasks', meaning: 'host and port' },
  reason: { type: 'string', when: 'the store of tasks', meaning: 'why it cannot be used' },
  worker: { type: 'number', when: 'said by a worker', meaning: 'number of the process that writes the line' },
  of: { type: 'number', when: 'said of a worker by the primary', meaning: 'number of that worker' },
  pid: { type: 'number', when: 'a worker serves or ended', meaning: 'its process id' },
  serving: { type: 'number', when: 'a worker serves or ended', meaning: 'how many serve now' },
  how: { type: 'string', when: 'a worker ended', meaning: 'the signal, or the exit code' }
} as const satisfies DescribedTable

/** Fields of one line. One that is not in the table does not compile. */
export type LogFields = Readonly<Partial<Record<keyof typeof LOG_FIELDS, unknown>>>

/** What every line has. */
export const LINE_FIELDS = {
  level: { type: 'string', meaning: '`fatal`, `error`, `warn`, `info`, `debug`, `trace`' },
  time: { type: 'string', meaning: 'ISO 8601, UTC, milliseconds' },
  msg: { type: 'string', meaning: 'what happened, in words; words in `code` below name the line by it' }
} as const satisfies DescribedTable

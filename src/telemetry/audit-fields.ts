/** Every member of an audit line. docs/reference/logs.md is generated from this table. A member without an entry does not compile. */
import type { Described } from './described.js'

/** One violation of a rule. `message` and `path` describe the problem and its place, never the value that was found. */
export interface AuditViolation {
  readonly reason: string
  readonly extension: string | null
  readonly rule: string | null
  /** Path in the request or response, in the field names of the sender. */
  readonly path: string | null
  readonly message: string
}

/** One answer of a policy server. */
export interface ExternalAnswer {
  /** Id of the entry in `external`, or `policy/rule`. */
  readonly rule: string
  readonly phase: 'request' | 'response'
  readonly mode: 'enforce' | 'observe'
  /** As in `external_decisions_total`. */
  readonly outcome: string
  readonly failure?: string
  readonly cached?: boolean
  /** The server's id of the decision, and its reason for administrators. */
  readonly id?: string
  readonly reason?: string
  /** The obligation that the gateway cannot fulfil. */
  readonly refused?: string
}

/** A request or response with violations, a forwarded call, or a change of a task's state, under the names of the audit line. */
export interface AuditEntry {
  /**
   * request, response = the evaluated message (each event of a stream is evaluated by itself); call = the whole call; task = its task;
   * card = the card of the agent.
   */
  readonly phase: 'request' | 'response' | 'call' | 'task' | 'card'
  readonly agent: string
  readonly operation: string
  readonly binding: string
  readonly version: string
  /**
   * rejected = the request or response was rejected; edited = forwarded with changes; observed = forwarded unchanged, despite violations;
   * forwarded = of the phase call; changed = of the phase task; notified = a policy server asks to notify somebody; held = the card waits
   * for an agreement, agreed = no card waits any more; paused = the request waits for a person, resumed = a message had the evidence,
   * declined = a message declined, canceled = the client canceled the task that waits.
   */
  readonly decision:
    | 'rejected' | 'edited' | 'observed' | 'forwarded' | 'changed' | 'notified' | 'held' | 'agreed'
    | 'paused' | 'resumed' | 'declined' | 'canceled'
  /** `policy/rule` of the rules for which the request waits. */
  readonly paused_rules?: readonly string[]
  /** Reason of the violation that decided; null without violations. */
  readonly reason: string | null
  readonly extension: string | null
  readonly rule: string | null
  /** `policy/rule` of each change, never the changed data. */
  readonly edited: readonly string[]
  readonly violations: readonly AuditViolation[]
  /** Number of lines that were not written: of a response with more lines than one response may have, or of a rule in one second. */
  readonly lines_omitted?: number
  /** Phase call: the outcome, as in `requests_total`, the HTTP status, the status of gRPC, and the URIs of the active extensions. */
  readonly outcome?: string
  readonly status?: number
  readonly grpc_status?: string
  readonly extensions?: readonly string[]
  /** `ext_authz` or `ext_proc`, when a proxy of a mesh asked. */
  readonly front?: string
  /** Phase task: the state, and the state that this process saw before, or null. */
  readonly task_state?: string
  readonly previous_state?: string | null
  /** Phase card: digest of the card that waits, and places in the card whose differences would lower enforcement. */
  readonly card_digest?: string
  readonly lowers?: readonly string[]
  readonly task_id: string | null
  readonly context_id: string | null
  readonly trace_id: string | null
  readonly span_id?: string
  /** The client's address. */
  readonly client: string | null
  /** The authenticated caller, and the kind of its credential. */
  readonly caller?: object
  readonly credential?: string
  /** Id of the limit that rejected the request. */
  readonly limit?: string
  /** Result of the check of owners (`access.tasks`). */
  readonly owner?: string
  /** The entry of `access` that decided, or `none`. */
  readonly access_rule?: string
  /** The chain of callers, of an agent with `access.delegation`: its depth, the agents that it names, and the caller who began it. */
  readonly delegation?: {
    readonly depth: number
    readonly hops: readonly string[]
    readonly initiator?: object | null
    readonly budgets?: Readonly<Record<string, number>>
  }
  /** The answers of policy servers so far, and the messages that they ask to send. */
  readonly external?: readonly ExternalAnswer[]
  readonly notices?: readonly object[]
  /** Result of the exchange of the caller's token for one of the agent: cached, new, or rejected. */
  readonly exchange?: string
  readonly request_id: string | null
}

type Member = keyof AuditEntry | 'audit' | 'time' | 'violations_omitted'

export const AUDIT_FIELDS: Readonly<Record<Member, Described>> = {
  audit: { type: 'boolean', meaning: 'always true; distinguishes the line from log lines' },
  time: { type: 'string', meaning: 'ISO 8601, UTC' },
  phase: {
    type: 'string',
    meaning: 'what the line is about: `request` or `response`, a `call`, the state of a `task`, or a `card` that [waits for an ' +
      'agreement](../how-to/agree-on-cards.md)'
  },
  agent: { type: 'string', meaning: 'its name in the configuration' },
  operation: { type: 'string', meaning: 'as the [metrics](metrics.md) label it' },
  binding: { type: 'string', meaning: '`JSONRPC`, `HTTP+JSON` or `GRPC`' },
  version: { type: 'string', meaning: 'A2A version' },
  decision: {
    type: 'string',
    meaning: '`rejected`; `edited`: something was removed; `observed`: forwarded despite violations; `forwarded`: of a `call`; ' +
      '`changed`: of a `task`; `notified`: a [policy server](../how-to/external-decisions.md) asks to notify somebody; `held`: a `card` ' +
      'waits; `agreed`: no `card` waits any more; `paused`: the request [waits for a person](../how-to/ask-a-person.md), and `resumed`, ' +
      '`declined` or `canceled` by a message on its task'
  },
  paused_rules: {
    type: 'list', when: 'decision `resumed`, `declined` or `canceled`', meaning: 'rules for which the request waits, as `policy/rule`'
  },
  reason: { type: 'string or null', meaning: '[reason](errors.md#reasons) of the violation that decided' },
  extension: { type: 'string or null', meaning: "the policy's name, or the URI if there is no policy" },
  rule: { type: 'string or null', meaning: 'id of the rule' },
  edited: { type: 'list', when: 'something was removed', meaning: '`policy/rule` that removed it, never the removed data' },
  violations: { type: 'list', meaning: 'all violations, at most 20, see below' },
  violations_omitted: { type: 'number', when: 'more than 20 violations', meaning: 'how many more' },
  lines_omitted: {
    type: 'number',
    when: 'the last line of a stream with more than 20; a rule that was observed more than `observedLines` times in a second',
    meaning: 'number of omitted lines'
  },
  front: { type: 'string', when: 'a proxy of a mesh asked', meaning: '`ext_authz` or `ext_proc`' },
  outcome: { type: 'string', when: 'phase `call`', meaning: 'as in `requests_total`' },
  status: { type: 'number', when: 'phase `call`, unless a proxy of a mesh hid the response', meaning: 'HTTP status of the response' },
  grpc_status: { type: 'string', when: 'phase `call`, over gRPC', meaning: 'name of the status of gRPC, such as `NOT_FOUND`' },
  extensions: { type: 'list', when: 'phase `call`, if any are active', meaning: 'URIs of the extensions that are active, at most 64' },
  task_state: { type: 'string', when: 'phase `task`', meaning: 'state of the task, in the words of A2A 0.3: `input-required`' },
  previous_state: { type: 'string or null', when: 'phase `task`', meaning: 'the last state that this process saw before' },
  card_digest: {
    type: 'string',
    when: 'phase `card`, decision `held`',
    meaning: '[digest](../how-to/agree-on-cards.md#what-counts) of the card that waits'
  },
  lowers: {
    type: 'list',
    when: 'phase `card`, decision `held`',
    meaning: 'places in the card whose differences would lower what the gateway enforces, at most 20'
  },
  task_id: { type: 'string or null', meaning: 'id of the task in the request, or else in the response, if it was read' },
  context_id: { type: 'string or null', meaning: 'id of the context, likewise' },
  trace_id: { type: 'string or null', meaning: 'trace id of the gateway, or else of the client' },
  span_id: { type: 'string', when: 'the span of the request is sent', meaning: 'id of the SERVER span' },
  client: { type: 'string or null', meaning: 'address of the client connection' },
  caller: {
    type: 'object',
    when: 'the caller is [authenticated](../how-to/authenticate-callers.md)',
    meaning: '`source`, `id` (a digest, or the subject with `identity.audit: subject`), `client` and `tenant` if they are known, `act` ' +
      'if its token was delegated (RFC 8693): ids of those who act for the caller, in the form of `id`, the current actor first, at most ' +
      '8; and `sources` if a [client certificate](../how-to/client-certificates.md) came with the credentials'
  },
  credential: { type: 'string', when: 'as `caller`', meaning: 'kind of the source: `apiKey`, `basic`, `jwt`, `envoyJwt`, `certificate`' },
  access_rule: {
    type: 'string',
    when: 'the agent has [access lists](../how-to/authorize-callers.md)',
    meaning: 'id of the entry that decided; `none` if there is no `allow`, or no entry of it matches'
  },
  limit: { type: 'string', when: 'a [limit](../how-to/limit-requests.md) rejected the request', meaning: 'its id' },
  owner: {
    type: 'string',
    when: '[tasks have owners](../how-to/protect-tasks.md), and the call names a task or context',
    meaning: '`match`, `mismatch`, `unknown`, `unavailable` or `shared`, as in `task_owner_checks_total`'
  },
  delegation: {
    type: 'object',
    when: 'the agent has [limits of delegation](../how-to/control-delegation.md), and an agent has sent the call for somebody else',
    meaning: '`depth`: number of agents between the initiator and this agent; `hops`: the agents that the signed chain names, as ' +
      '`gateway/agent`; `initiator`: the caller who began the chain, in the form of `caller`, or null for one without credentials; ' +
      '`budgets`: what is left of [budgets of the chain](../how-to/budgets-across-agents.md), by id'
  },
  external: {
    type: 'list',
    when: '[policy servers](../how-to/external-decisions.md) have answered',
    meaning: 'at most 20 answers: `rule`, `phase`, `mode`, `outcome` as in `external_decisions_total`, `failure` or `cached`, and if the ' +
      'server sent them `id` of the decision and `reason` for administrators; `refused`: the obligation that the gateway cannot fulfil'
  },
  notices: { type: 'list', when: 'decision `notified`', meaning: 'messages of obligations: `to`, `topic`, `body`' },
  exchange: {
    type: 'string',
    when: 'the gateway exchanged the token of the caller ([credentials for the agent](../how-to/credentials-for-agents.md))',
    meaning: '`cached`, `new`, or `rejected`: the authorization server did not accept it'
  },
  request_id: { type: 'string or null', meaning: 'as in the log' }
}

/** Members of each entry in `violations`. */
export const VIOLATION_FIELDS: Readonly<Record<keyof AuditViolation, Described>> = {
  reason: { type: 'string', meaning: '[reason](errors.md#reasons)' },
  extension: { type: 'string or null', meaning: 'the policy\'s name, or the URI' },
  rule: { type: 'string or null', meaning: 'id of the rule' },
  path: { type: 'string or null', meaning: 'path in the request or response' },
  message: { type: 'string', meaning: 'description of the violation, without the value' }
}

/** Members of a separate line, written when a slow reader accepts lines again. */
export const DROPPED_FIELDS: Readonly<Record<'audit' | 'time' | 'dropped', Described>> = {
  audit: AUDIT_FIELDS.audit,
  time: AUDIT_FIELDS.time,
  dropped: {
    type: 'number',
    meaning: 'lines lost since the last line, because more than 4 MiB waited for the reader. Calls do not wait for the reader'
  }
}

/** A line before it is written. Undefined members are omitted. */
export type AuditLine = Readonly<Record<Member, unknown>>

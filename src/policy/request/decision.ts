/** What is asked of `decide`, and what it answers. */
import type { Call } from '../../a2a/message/call.js'
import type { Rejection } from '../../a2a/errors.js'
import type { Settled } from './edits.js'
import type { PolicyActivity } from '../compile/compiled.js'
import type { TaskMemory, TaskRecord } from '../task/memory.js'
import type { Violation } from '../violation.js'

export interface DecisionRequest {
  readonly call: Call
  /** URIs of both header spellings, deduplicated, in order. */
  readonly requested: readonly string[]
  /** Header name to advise the client to send: the spelling of its protocol version. */
  readonly headerName: string
  /** Tenant of the path prefix, percent-decoded, or null. */
  readonly pathTenant: string | null
  /** Which route of an extension the request is for, as `routeKey` makes it; null for operations of A2A. */
  readonly extensionRoute: string | null
  /** Of the request, as Node lists them: name, value, name, value. */
  readonly headers: readonly string[]
  /** What is remembered of the task that the request names: null where it names none, or none is known. */
  readonly record: TaskRecord | null
}

/** `edits`, `headers` and `edited` mean nothing where the request is refused. */
export interface Decision extends Settled {
  /** Null: forward. */
  readonly rejection: Rejection | null
  /** All of them, observed ones included. */
  readonly violations: readonly Violation[]
  /** URIs of the card, and which of them the message lists, whose data it carries, that are active: as the card spells them. */
  readonly declared: readonly string[]
  readonly listed: readonly string[]
  readonly evidenced: readonly string[]
  readonly active: readonly string[]
  /** URIs to ask the agent for, the client's first. */
  readonly outbound: readonly string[]
  /** URIs that only the gateway asks for. */
  readonly injected: readonly string[]
  /** Whether an active extension has the request forwarded as it was sent. */
  readonly verbatim: boolean
  /** Required URIs that neither client nor gateway asks for. */
  readonly missing: readonly string[]
  /** Every policy whose extension the card declares, and whether that is active. */
  readonly activity: readonly PolicyActivity[]
  /** `policy/rule` of the rules that answers ask for, found something and let it pass. */
  readonly matched: ReadonlySet<string>
  /** What was remembered of the task, and what this request adds; null where nothing of tasks is remembered. */
  readonly memory: TaskMemory | null
}

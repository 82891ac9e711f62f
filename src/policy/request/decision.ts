/** Input and result of `decide`. */
import type { Call } from '#a2a/message/call.js'
import type { Rejection } from '#a2a/errors.js'
import type { Principal } from '#identity/principal.js'
import type { Settled } from './edits.js'
import type { CompiledPolicy, CompiledRule, PolicyActivity } from '../compile/compiled.js'
import type { OwnerFindings, OwnerOutcome } from '../access/ownership.js'
import type { AskedRule } from '../asked-rule.js'
import type { TaskMemory, TaskRecord } from '../task/memory.js'
import type { Evidence, Pause } from './pause.js'
import type { UnexaminedData } from './unexamined.js'
import type { Violation } from '../violation.js'
import type { Forbidden } from '../access/forbidden.js'

/** A value to claim, for the agent that the request is for. */
export interface Claim {
  /** Digest of policy, rule and value: 43 characters of base64url. */
  readonly key: string
  /** Milliseconds for which the value is remembered. */
  readonly window: number
  readonly policy: CompiledPolicy
  readonly rule: CompiledRule
  readonly path: string
}

export interface DecisionRequest {
  readonly call: Call
  /** URIs of both header spellings, deduplicated, in order. */
  readonly requested: readonly string[]
  /** Header name that messages recommend to the client: the spelling of its protocol version. */
  readonly headerName: string
  /** Tenant of the path prefix, percent-decoded, or null. */
  readonly pathTenant: string | null
  /** Key (`routeKey`) of the extension route that the request is for; null for operations of A2A. */
  readonly extensionRoute: string | null
  /** Headers of the request, as Node lists them: name, value, name, value. */
  readonly headers: readonly string[]
  /** The remembered record of the task that the request names. Null when it names none, or when the task is unknown. */
  readonly record: TaskRecord | null
  /** With `access.tasks`: to whom the tasks and contexts of the request belong. */
  readonly owners?: OwnerFindings | undefined
  /** Who calls; null for nobody that the gateway knows. */
  readonly caller: Principal | null
  /** Time of the request, in milliseconds since 1970. */
  readonly now?: number | null
  /** `policy/rule` of the rules with `pause` that a person has agreed to break; null for none. */
  readonly approved?: ReadonlySet<string> | null
}

/** The decision on a request. `edits`, `headers` and `edited` have no meaning when the request is rejected. */
export interface Decision extends Settled {
  /** Null: forward. */
  readonly rejection: Rejection | null
  /** All violations, including observed ones. */
  readonly violations: readonly Violation[]
  /** Result of the check of owners; null when no task or context was checked. */
  readonly owner: OwnerOutcome | null
  /** The values that must not have been accepted before. Empty when a rule rejects the request. `settleClaims` adds the outcome. */
  readonly claims: readonly Claim[]
  /** Set when only rules with `pause` reject the request: it waits for a person. */
  readonly pause: Pause | null
  /** Whether the message has the evidence that its task waits for. */
  readonly evidence: Evidence
  /** Rules whose values a policy server decides about. Empty when a rule rejects the request. */
  readonly asked: readonly AskedRule[]
  /**
   * URIs as the card spells them. `declared`: in the card. `listed`: in the message. `evidenced`: the message carries data of the
   * extension. `active`: the extension is active.
   */
  readonly declared: readonly string[]
  readonly listed: readonly string[]
  readonly evidenced: readonly string[]
  readonly active: readonly string[]
  /** URIs to request from the agent, the client's first. */
  readonly outbound: readonly string[]
  /** URIs that only the gateway requests. */
  readonly injected: readonly string[]
  /** True when an active extension requires the request to be forwarded exactly as sent. */
  readonly verbatim: boolean
  /** Required URIs that neither client nor gateway requests. */
  readonly missing: readonly string[]
  /** Every policy whose extension the card declares, and whether that extension is active. */
  readonly activity: readonly PolicyActivity[]
  /** `policy/rule` of the request rules that responses refer to, and that found something and accepted it. */
  readonly matched: ReadonlySet<string>
  /** Data that a policy owns and no rule looked at. Empty when the request is rejected before its rules. */
  readonly unexamined: readonly UnexaminedData[]
  /** Caller of the request. Conditions on the response use it too. */
  readonly caller: Principal | null
  /** The extensions that the caller may not use; null for none. */
  readonly forbidden: Forbidden | null
  /** The remembered data of the task, plus the data that this request adds. Null when nothing about tasks is remembered. */
  readonly memory: TaskMemory | null
}

/** `access`: who may call an agent, and what callers may do. */
import type { AgentDelegationConfig } from './delegation-model.js'
import type { CallerConfig } from './identity-model.js'

export interface AccessConfig {
  /** Alternatives, each a list of sources that all must verify. `card`: those of the agent's card. Null: any one source. */
  readonly require: RequireConfig | null
  /** Values of the claim `aud`, of which an access token must name one besides one of its source. Null: those of the source are enough. */
  readonly audience: readonly string[] | null
  /** `observe` records what `enforce` would reject. */
  readonly mode: 'enforce' | 'observe'
  /** Null: every caller. Empty: nobody. */
  readonly allow: readonly AccessEntry[] | null
  readonly deny: readonly AccessEntry[]
  /** Null: the gateway does not know whose tasks are. */
  readonly tasks: TaskOwnershipConfig | null
  /** Null: calls on behalf of others are calls of their caller. */
  readonly delegation: AgentDelegationConfig | null
}

/** The name `anonymous` in the place of a source stands for a request without credentials. */
export type RequireConfig = 'card' | readonly (readonly string[])[]

/** One entry of `allow` or `deny`. All given keys must match. */
export interface AccessEntry {
  /** Unique among the entries of the agent; a metric label. */
  readonly id: string
  /** Operations by their 1.0 names, `messages`, `all`, `Extension` and `passthrough`. */
  readonly on: readonly string[]
  /** Limits `Extension`: JSON-RPC methods by name, and routes as `POST /path/{name}`. */
  readonly methods?: readonly string[]
  readonly routes?: readonly string[]
  readonly caller?: CallerConfig
  /** `own`: the tenant of the request is that of the caller. */
  readonly tenant?: 'own'
  readonly when?: AccessCondition
  readonly unless?: AccessCondition
}

/** A condition on the request. All given keys must match. */
export interface AccessCondition {
  readonly taskId?: 'present' | 'absent'
  readonly contextId?: 'present' | 'absent'
  /** JSON Schema over the normalised request. */
  readonly match?: Readonly<Record<string, unknown>> | boolean
}

/** A task belongs to the caller who created it. */
export interface TaskOwnershipConfig {
  /** Property of the caller that owns tasks, within its source. */
  readonly owner: 'subject' | 'client'
  /** `own`: contexts have owners too. */
  readonly contexts: 'own' | 'any'
  /** ListTasks: removes the tasks of others from the response, or is rejected. */
  readonly list: 'filter' | 'reject'
  /** Treatment of tasks and contexts without a known owner. */
  readonly onUnknown: 'reject' | 'allow'
  /** Callers who may use the tasks of everybody; null for none. */
  readonly shared: CallerConfig | null
}

/** Access of an agent without `access`. */
const OPEN_ACCESS: AccessConfig = { require: null, audience: null, mode: 'enforce', allow: null, deny: [], tasks: null, delegation: null }

/** Merges both as in the file. A key of the agent replaces the same key of the defaults, as a whole; so does `require: null`. */
export function resolveAccess (defaults: Partial<AccessConfig>, own: Partial<AccessConfig>): AccessConfig {
  return { ...OPEN_ACCESS, ...defaults, ...own }
}

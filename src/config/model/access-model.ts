/** `access`: who may do what with an agent. */
import type { CallerConfig } from './identity-model.js'

export interface AccessConfig {
  /** `observe` records what `enforce` would reject. */
  readonly mode: 'enforce' | 'observe'
  /** Null: every caller. Empty: nobody. */
  readonly allow: readonly AccessEntry[] | null
  readonly deny: readonly AccessEntry[]
}

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

/** A condition on the request. All given keys must hold. */
export interface AccessCondition {
  readonly taskId?: 'present' | 'absent'
  readonly contextId?: 'present' | 'absent'
  /** JSON Schema over the normalised request. */
  readonly match?: Readonly<Record<string, unknown>> | boolean
}

/** What an agent without `access` has. */
export const OPEN_ACCESS: AccessConfig = { mode: 'enforce', allow: null, deny: [] }

/** Merges both as in the file. A key of the agent replaces the same key of the defaults, as a whole. Null is no value. */
export function resolveAccess (defaults: Partial<AccessConfig>, own: Partial<AccessConfig>): AccessConfig {
  const given = (access: Partial<AccessConfig>): Partial<AccessConfig> =>
    Object.fromEntries(Object.entries(access).filter(([, value]) => value !== null && value !== undefined))
  return { ...OPEN_ACCESS, ...given(defaults), ...given(own) }
}

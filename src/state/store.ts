/** Interface of the store of task state. Two backends: `memory-store.ts`, and `redis-store.ts` for several gateways that share a store. */
import type { Claimed } from '#policy/request/claims.js'
import type { TaskRecord } from '#policy/task/memory.js'
import type { Claim } from '#policy/request/decision.js'

export interface TaskKey {
  /** Name of the agent. */
  readonly agent: string
  /** Tenant of the request, or null. */
  readonly tenant: string | null
  readonly taskId: string
}

/** Result of a lookup: the record, `unknown`, or `unavailable` when the store cannot tell. */
export type Lookup = TaskRecord | 'unknown' | 'unavailable'

/** A value that may be accepted once within its window, in milliseconds. */
export type ClaimKey = Pick<Claim, 'key' | 'window'>

/** A task or a context that may have an owner. Tenants do not matter: an agent may ignore them. */
export interface OwnedName { readonly kind: 'task' | 'context', readonly id: string }

/** The owner of each name, in order; null for a name without a known owner. `unavailable` when the store cannot tell. */
export type Owners = readonly (string | null)[] | 'unavailable'

/** A change of the push notification configurations that count for a task. Tenants do not matter: an agent may ignore them. */
export interface PushChange {
  readonly agent: string
  readonly taskId: string
  /**
   * `reserve`: count these configurations, all or none. `mark`: note the token of a configuration that counts. `free`: stop counting those
   * whose last token is this one. `keep`: count, whatever the maximum.
   */
  readonly kind: 'reserve' | 'mark' | 'free' | 'keep'
  /** Digests of the ids of configurations, each once. */
  readonly entries: readonly string[]
  /** Names the change: a later change of the same configuration has another token. */
  readonly token: string
  /** Limit of `reserve`. */
  readonly max: number
}

/** True for each entry that is new, in order. `full`: nothing was reserved. `unavailable` when the store cannot tell. */
export type PushCounted = readonly boolean[] | 'full' | 'unavailable'

export interface TaskStore {
  /** Never rejects, and ends within the timeout of the configuration. A backend in memory returns at once, without a promise. */
  read (key: TaskKey): Lookup | Promise<Lookup>
  /**
   * Adds fields to a task's record, replaces existing fields, and renews the time to live.
   * @returns null when the write is done, or a promise that never rejects: false when the write was not kept
   */
  write (key: TaskKey, fields: TaskRecord): null | Promise<boolean>
  /**
   * Claims values for an agent. Of any number of callers that claim a value within its window, one gets `new`.
   * @returns the outcome of each claim, in order. A promise never rejects, and ends within the timeout of the configuration
   */
  claim (agent: string, claims: readonly ClaimKey[]): readonly Claimed[] | Promise<readonly Claimed[]>
  /**
   * Withdraws claims that were `new`, of a request that the gateway does not forward. Claims that cannot be withdrawn stay until they
   * expire.
   */
  release (agent: string, claims: readonly ClaimKey[]): void
  /**
   * Returns the owners of tasks and contexts, in one round trip.
   * @param claim becomes the owner of each name without one: of any number of callers that claim a name, the first one owns it. Null only
   *   reads
   * @returns a promise never rejects, and ends within the timeout of the configuration
   */
  owners (agent: string, names: readonly OwnedName[], claim: string | null): Owners | Promise<Owners>
  /** A promise never rejects, and ends within the timeout of the configuration. */
  pushConfigs (change: PushChange): PushCounted | Promise<PushCounted>
  close (): Promise<void>
}

/** Interface of the store of task state. Two backends: `memory-store.ts`, and `redis-store.ts` for several gateways that share a store. */
import type { Claim, Claimed } from '../policy/request/claims.js'
import type { TaskRecord } from '../policy/task/memory.js'

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
  close (): Promise<void>
}

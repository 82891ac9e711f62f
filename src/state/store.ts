/** Interface of the store of task state. Two backends: `memory-store.ts`, and `redis-store.ts` for several gateways that share a store. */
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

export interface TaskStore {
  /** Never rejects, and ends within the timeout of the configuration. A backend in memory returns at once, without a promise. */
  read (key: TaskKey): Lookup | Promise<Lookup>
  /**
   * Adds fields to a task's record, replaces existing fields, and renews the time to live.
   * @returns null when the write is done, or a promise that never rejects: false when the write was not kept
   */
  write (key: TaskKey, fields: TaskRecord): null | Promise<boolean>
  close (): Promise<void>
}

/** Where memory of tasks is kept. Two backends: `memory-store.ts`, and `redis-store.ts` for several gateways that share one. */
import type { TaskRecord } from '../policy/task/memory.js'

export interface TaskKey {
  /** Name of the agent. */
  readonly agent: string
  /** Tenant of the request, or null. */
  readonly tenant: string | null
  readonly taskId: string
}

/** What a store knows: the record, nothing, or nobody can tell. */
export type Lookup = TaskRecord | 'unknown' | 'unavailable'

export interface TaskStore {
  /** Never rejects, and ends within the timeout of the configuration. A backend in memory answers at once, without a promise. */
  read (key: TaskKey): Lookup | Promise<Lookup>
  /**
   * Adds fields to a task's record, replaces those it has, and keeps it for another time to live.
   * @returns null when it is done, or a promise that never rejects: false where it was not kept
   */
  write (key: TaskKey, fields: TaskRecord): null | Promise<boolean>
  close (): Promise<void>
}

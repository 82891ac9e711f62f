/** The memory of one task during the evaluation of a request and its response: the record from the store, and new fields. */

/** The record of a task in a store: fields and their values, both short strings. */
export type TaskRecord = ReadonlyMap<string, string>

/** The fields of a record. Names of policies contain neither ":" nor "/". */
export const FIELDS = {
  /** Names of the policies that have followed the task from its beginning, joined by ":". */
  begun: 'b',
  /** The last TaskState. */
  state: 'state',
  /** The last substate, as `stored` writes it. `scope` is the name of the policy, or empty in the memory of a key. */
  substate: (scope: string): string => `s:${scope}`,
  /** Number of times that a substate was entered. */
  visits: (scope: string, substate: string): string => `v:${scope}:${substate}`,
  /** The greatest number sent. */
  monotonic: (scope: string): string => `m:${scope}`,
  /** The states of all keys, as `keyed-memory.ts` writes them. */
  keyed: (policy: string): string => `k:${policy}`,
  /** The values of a correlation, as `remembered-values.ts` writes them. */
  correlation: (policy: string, id: string): string => `c:${policy}/${id}`,
  /** State of a request that waits for a person (`paused.ts`), and what the gateway keeps of the request. */
  paused: 'p',
  pausedRules: 'p:rules',
  pausedForm: 'p:form',
  pausedBody: 'p:body',
  pausedContext: 'p:context',
  pausedAt: 'p:at',
  /** The amount that a metric has counted. */
  counted: (policy: string, metric: string): string => `o:${policy}/${metric}`
} as const

export class TaskMemory {
  /** Null: the store does not know the task, or is not available. */
  private record: TaskRecord | null
  private begun: string | null
  private recall: (() => TaskRecord | null) | null = null
  private changed: Map<string, string> | null = null
  private taken: Map<string, string> | null = null

  /**
   * Creates the memory of a task.
   * @param record null when nothing is known of the task
   * @param policies that follow the task from its beginning, if the task begins here
   */
  constructor (record: TaskRecord | null, policies: readonly string[] = []) {
    this.record = record
    this.begun = policies.length === 0 ? null : policies.join(':')
  }

  /**
   * True when the policy has followed the task from its beginning. A missing field is then known to be unset. For a task that was first
   * seen later, after a restart or a lost write, a record proves only the fields that it contains.
   */
  knows (policy: string): boolean {
    return (this.begun ?? this.record?.get(FIELDS.begun))?.split(':').includes(policy) ?? false
  }

  get (field: string): string | null {
    return this.changed?.get(field) ?? this.taken?.get(field) ?? this.record?.get(field) ?? null
  }

  /**
   * Called when the task is known, before any field is taken. An agent may continue a task that the request does not name. That task does
   * not begin here.
   * @param recall returns what the store knows of the task now, as far as it is available immediately
   */
  recallBy (recall: () => TaskRecord | null): void {
    this.recall = recall
    const recalled = this.begun === null ? null : recall()
    if (recalled === null) return
    this.record = recalled
    this.begun = null
  }

  /** Value that other requests of the task have set meanwhile, when it differs from the value here; null for none. */
  elsewhere (field: string): string | null {
    const value = this.recall?.()?.get(field) ?? null
    return value === this.get(field) ? null : value
  }

  set (field: string, value: string): void {
    if (this.get(field) === value) return
    this.changed ??= new Map()
    this.changed.set(field, value)
  }

  /** Fields set since the last call, for the store; null for none. They also stay in this memory. */
  take (): TaskRecord | null {
    const { changed } = this
    if (changed === null) return null
    this.changed = null
    if (this.taken === null && this.begun !== null) changed.set(FIELDS.begun, this.begun)
    if (this.taken === null) this.taken = new Map(changed)
    else for (const [field, value] of changed) this.taken.set(field, value)
    return changed
  }
}

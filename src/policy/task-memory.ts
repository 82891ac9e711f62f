/** What is remembered of one task while a request and its answer are judged: what a store told, and what is new. */

/** What a store keeps of a task: fields and their values, both short strings. */
export type TaskRecord = ReadonlyMap<string, string>

/** Of a task that begins with the request: nothing has happened in it yet, which is not the same as nobody knowing. */
export const NEW_TASK: TaskRecord = new Map()

/** The fields of a record. Names of policies hold neither ":" nor "/". */
export const FIELDS = {
  /** The last TaskState. */
  state: 'state',
  /** The last substate, as `stored` writes it; '' of a task that was seen from its beginning and has said none. */
  substate: (policy: string): string => `s:${policy}`,
  /** How often a substate was entered. */
  visits: (policy: string, substate: string): string => `v:${policy}:${substate}`,
  /** The greatest number sent. */
  monotonic: (policy: string): string => `m:${policy}`,
  /** What a correlation remembers, as `remembered-values.ts` writes it. */
  correlation: (policy: string, id: string): string => `c:${policy}/${id}`,
  /** What a metric has counted. */
  counted: (policy: string, metric: string): string => `o:${policy}/${metric}`
} as const

export class TaskMemory {
  /** Null: the store does not know the task, or cannot be asked. */
  private readonly record: TaskRecord | null
  private changed: Map<string, string> | null = null
  private taken: Map<string, string> | null = null
  private recall: (() => TaskRecord | null) | null = null

  /** @param record null where nobody knows the task; `NEW_TASK` for one that begins here */
  constructor (record: TaskRecord | null) {
    this.record = record
  }

  /** Whether the task begins with this request: only then a field that is not there is known not to be. Of others the record may tell a part. */
  get begins (): boolean {
    return this.record === NEW_TASK
  }

  get (field: string): string | null {
    return this.changed?.get(field) ?? this.taken?.get(field) ?? this.record?.get(field) ?? null
  }

  /** @param recall what the store knows of the task by now, as far as it can tell at once */
  recallBy (recall: () => TaskRecord | null): void {
    this.recall = recall
  }

  /** What is known by now from other requests of the task, where that is something else than here; null for nothing. */
  elsewhere (field: string): string | null {
    const value = this.recall?.()?.get(field) ?? null
    return value === this.get(field) ? null : value
  }

  set (field: string, value: string): void {
    if (this.get(field) === value) return
    this.changed ??= new Map()
    this.changed.set(field, value)
  }

  /** Fields set since it was last asked, for the store; null for none. They are still remembered here. */
  take (): TaskRecord | null {
    const { changed } = this
    if (changed === null) return null
    this.changed = null
    // A task that was to begin here, and that the agent has begun before.
    if (this.begins && this.taken === null) for (const [field, value] of changed) if (value === '' && this.elsewhere(field) !== null) changed.delete(field)
    if (this.taken === null) this.taken = new Map(changed)
    else for (const [field, value] of changed) this.taken.set(field, value)
    return changed
  }
}

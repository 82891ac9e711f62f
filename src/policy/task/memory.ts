/** What is remembered of one task while a request and its answer are judged: what a store told, and what is new. */

/** What a store keeps of a task: fields and their values, both short strings. */
export type TaskRecord = ReadonlyMap<string, string>

/** The fields of a record. Names of policies hold neither ":" nor "/". */
export const FIELDS = {
  /** Names of the policies that have followed the task from its beginning, joined by ":". */
  begun: 'b',
  /** The last TaskState. */
  state: 'state',
  /** The last substate, as `stored` writes it. */
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
  private record: TaskRecord | null
  private begun: string | null
  private recall: (() => TaskRecord | null) | null = null
  private changed: Map<string, string> | null = null
  private taken: Map<string, string> | null = null

  /**
   * @param record null where nothing is known of the task
   * @param policies that follow the task from its beginning, where it begins here
   */
  constructor (record: TaskRecord | null, policies: readonly string[] = []) {
    this.record = record
    this.begun = policies.length === 0 ? null : policies.join(':')
  }

  /**
   * Whether the policy has followed the task from its beginning: then a field that is not there is known not to be. Of a task first seen later,
   * after a restart or a write that was lost, a record tells what is in it and nothing else.
   */
  knows (policy: string): boolean {
    return (this.begun ?? this.record?.get(FIELDS.begun))?.split(':').includes(policy) ?? false
  }

  get (field: string): string | null {
    return this.changed?.get(field) ?? this.taken?.get(field) ?? this.record?.get(field) ?? null
  }

  /**
   * Called when the task is known, before anything is taken. An agent may go on with a task that the request does not name: then it does not
   * begin here.
   * @param recall what the store knows of the task by now, as far as it can tell at once
   */
  recallBy (recall: () => TaskRecord | null): void {
    this.recall = recall
    const found = this.begun === null ? null : recall()
    if (found === null) return
    this.record = found
    this.begun = null
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
    if (this.taken === null && this.begun !== null) changed.set(FIELDS.begun, this.begun)
    if (this.taken === null) this.taken = new Map(changed)
    else for (const [field, value] of changed) this.taken.set(field, value)
    return changed
  }
}

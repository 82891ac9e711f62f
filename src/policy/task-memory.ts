/** What is remembered of one task while a request and its answer are judged: what a store told, and what is new. */

/** What a store keeps of a task: fields and their values, both short strings. */
export type TaskRecord = ReadonlyMap<string, string>

export class TaskMemory {
  /** Null: the store does not know the task, or cannot be asked. */
  private readonly record: TaskRecord | null
  private changed: Map<string, string> | null = null

  constructor (record: TaskRecord | null) {
    this.record = record
  }

  /** Whether anything is known of the task: then a field that is not there is known not to be. */
  get known (): boolean {
    return this.record !== null
  }

  get (field: string): string | null {
    return this.changed?.get(field) ?? this.record?.get(field) ?? null
  }

  set (field: string, value: string): void {
    if (this.get(field) === value) return
    this.changed ??= new Map()
    this.changed.set(field, value)
  }

  /** Fields set since it was last asked, for the store; null for none. */
  take (): TaskRecord | null {
    throw new Error('not yet')
  }
}
